package kafka

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

type (
	fetchedGroup     = kmsg.OffsetFetchResponseGroup
	fetchedTopic     = kmsg.OffsetFetchResponseGroupTopic
	fetchedPartition = kmsg.OffsetFetchResponseGroupTopicPartition
)

// Versions of OffsetFetch.
const (
	fetchMany = 8  // several groups in one request
	fetchName = 9  // the last one that asks by name; "all topics" of the next one leaves out topics that are no more
	fetchByID = 10 // asks by topic id
)

// fetchAsk is a question to one coordinator for what some groups have committed.
type fetchAsk struct {
	node   int32
	max    int16
	stable bool // an open transaction's commit is an error beside its partition, instead of the position in force
	groups []kmsg.OffsetFetchRequestGroup
	which  []int // of the queries
	out    []fetched
}

// fetched is one group's answer.
type fetched struct {
	g     *fetchedGroup
	asked []kmsg.OffsetFetchRequestGroupTopic
	err   error // there was no answer
}

// run sends the question. A broker that takes one group at a time is asked for each, side by side.
func (f *fetchAsk) run(ctx context.Context, c *Cluster) {
	f.out = make([]fetched, len(f.groups))
	for i := range f.out {
		f.out[i].asked = f.groups[i].Topics
	}
	if len(f.groups) > 1 && c.offers.Load().has(keyOffsetFetch, fetchMany) && f.together(ctx, c) {
		return
	}
	each(len(f.groups), func(i int) {
		r, err := request[*kmsg.OffsetFetchResponse](ctx, c, f.node, capped{f.request(f.groups[i : i+1]), f.max})
		switch {
		case err != nil:
			f.out[i].err = err
		case f.max >= fetchByID && r.Version < fetchByID:
			f.out[i].err = errTooOld
		case r.Version < fetchMany:
			f.out[i].g = oldForm(f.groups[i].Group, r)
		case len(r.Groups) == 1:
			f.out[i].g = &r.Groups[0]
		default:
			f.out[i].err = leftOut("group " + f.groups[i].Group)
		}
	})
}

// together answers false where the broker is older than the one that was asked what it offers.
func (f *fetchAsk) together(ctx context.Context, c *Cluster) bool {
	r, err := request[*kmsg.OffsetFetchResponse](ctx, c, f.node, capped{f.request(f.groups), f.max})
	if err == nil && r.Version < fetchMany {
		return false
	}
	for i := range f.out {
		switch {
		case err != nil:
			f.out[i].err = err
		case f.max >= fetchByID && r.Version < fetchByID:
			f.out[i].err = errTooOld
		default:
			if f.out[i].g = groupOf(r.Groups, f.groups[i].Group, i); f.out[i].g == nil {
				f.out[i].err = leftOut("group " + f.groups[i].Group)
			}
		}
	}
	return true
}

// request has one group in the old form besides, for the versions that know nothing else.
func (f *fetchAsk) request(groups []kmsg.OffsetFetchRequestGroup) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable, req.Groups = f.stable, groups
	if len(groups) != 1 {
		return req
	}
	req.Group = groups[0].Group
	if groups[0].Topics != nil {
		req.Topics = make([]kmsg.OffsetFetchRequestTopic, len(groups[0].Topics))
		for i, t := range groups[0].Topics {
			req.Topics[i] = kmsg.OffsetFetchRequestTopic{Topic: t.Topic, Partitions: t.Partitions}
		}
	}
	return req
}

func groupOf(gs []fetchedGroup, name string, hint int) *fetchedGroup {
	if hint < len(gs) && gs[hint].Group == name {
		return &gs[hint]
	}
	for i := range gs {
		if gs[i].Group == name {
			return &gs[i]
		}
	}
	return nil
}

// oldForm is an answer of the versions that know one group.
func oldForm(name string, r *kmsg.OffsetFetchResponse) *fetchedGroup {
	g := &fetchedGroup{Group: name, ErrorCode: r.ErrorCode, Topics: make([]fetchedTopic, len(r.Topics))}
	for i := range r.Topics {
		t := &r.Topics[i]
		ps := make([]fetchedPartition, len(t.Partitions))
		for k := range t.Partitions {
			p := &t.Partitions[k]
			ps[k] = fetchedPartition{Partition: p.Partition, Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: p.Metadata, ErrorCode: p.ErrorCode}
		}
		g.Topics[i] = fetchedTopic{Topic: t.Topic, Partitions: ps}
	}
	return g
}

// cursor walks an answer in the order of partitions.
type cursor struct {
	topics []fetchedTopic
	t, p   int
}

// walk sorts what brokers answer in any order.
func walk(g *fetchedGroup) *cursor {
	if g == nil {
		return &cursor{}
	}
	byName := func(a, b fetchedTopic) int { return strings.Compare(a.Topic, b.Topic) }
	byNumber := func(a, b fetchedPartition) int { return cmp.Compare(a.Partition, b.Partition) }
	if !slices.IsSortedFunc(g.Topics, byName) {
		slices.SortFunc(g.Topics, byName)
	}
	for i := range g.Topics {
		if ps := g.Topics[i].Partitions; !slices.IsSortedFunc(ps, byNumber) {
			slices.SortFunc(ps, byNumber)
		}
	}
	return &cursor{topics: g.Topics}
}

// seek finds a partition; the ones asked for come in order. nil: the answer does not have it.
func (c *cursor) seek(p offset.Partition) *fetchedPartition {
	for c.t < len(c.topics) && c.topics[c.t].Topic < p.Topic {
		c.t, c.p = c.t+1, 0
	}
	if c.t == len(c.topics) || c.topics[c.t].Topic != p.Topic {
		return nil
	}
	ps := c.topics[c.t].Partitions
	for c.p < len(ps) && ps[c.p].Partition < p.Index {
		c.p++
	}
	if c.p < len(ps) && ps[c.p].Partition == p.Index {
		return &ps[c.p]
	}
	return nil
}

func (c *cursor) size() (n int) {
	for i := range c.topics {
		n += len(c.topics[i].Partitions)
	}
	return n
}
