package kafka

import (
	"context"
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

var errTooOld = errors.New("the broker does not know this version of the request")

// Read asks every coordinator, in one round trip, for all that the groups have committed and once more for Expect: by name, where
// an open transaction shows, and by topic id where the brokers know that. The list of all is asked by name too: by topic id it
// leaves out topics that are no more. What is there by name and not by id belongs to an earlier topic of that name.
func (g groupStore) Read(ctx context.Context, qs []offset.Query) []offset.Answer {
	r, which := newReading(g.Cluster, holdable(qs))
	var seen <-chan visibility
	if slices.ContainsFunc(qs, func(q offset.Query) bool { return q.Topics == nil }) {
		seen = g.visibility(ctx)
	}
	which = r.ask(ctx, which)
	for try := 0; len(which) > 0 && try < len(patience) && wait(ctx, patience[try]); try++ {
		which = r.ask(ctx, which)
	}
	for i := range qs {
		r.answer(i)
	}
	r.confirm(ctx)
	r.qs = qs
	for i := range qs {
		r.refuseNames(i)
	}
	if seen != nil {
		r.gaps(<-seen)
	}
	return r.out
}

// reading is one call of Read.
type reading struct {
	c                *Cluster
	qs               []offset.Query
	all, named, byID []fetched
	shares, shared   []sharedAnswer // of share groups: all, and by name
	out              []offset.Answer
	doubts           []doubt
}

func newReading(c *Cluster, qs []offset.Query) (r *reading, which []int) {
	n := len(qs)
	f := make([]fetched, 3*n)
	s := make([]sharedAnswer, 2*n)
	r = &reading{c: c, qs: qs, all: f[:n], named: f[n : 2*n], byID: f[2*n:], shares: s[:n], shared: s[n:], out: make([]offset.Answer, n)}
	which = make([]int, n)
	for i := range qs {
		which[i] = i
		r.out[i].Expected = make([]offset.Result[offset.Stored], len(qs[i].Expect))
	}
	return r, which
}

// doubt is a position that is there by name and not by id.
type doubt struct{ query, expected int }

// ask sends everything about these queries and answers which of them another coordinator keeps by now.
func (r *reading) ask(ctx context.Context, which []int) (again []int) {
	names := make([]string, len(which))
	for k, i := range which {
		names[k] = r.qs[i].Group
	}
	fs := r.c.find(ctx, names)
	for k, i := range which {
		if r.out[i].Err = badGroup(names[k]); r.out[i].Err != nil {
			fs[k] = &coordinator{err: r.out[i].Err}
		}
		r.out[i].Err = fs[k].err
	}
	var asks []*fetchAsk
	var shares []*shareAsk
	nodes, members := byNode(fs)
	for n, node := range nodes {
		of := make([]int, len(members[n]))
		for k, m := range members[n] {
			of[k] = which[m]
		}
		asks = append(asks, r.fetches(node, of)...)
		shares = append(shares, r.shareAsks(node, of)...)
	}
	each(len(asks)+len(shares), func(k int) {
		if k < len(asks) {
			asks[k].run(ctx, r.c)
		} else {
			shares[k-len(asks)].run(ctx, r.c)
		}
	})
	for _, a := range asks {
		into := r.all
		if a.stable {
			into = r.named
		}
		if a.max >= fetchByID {
			into = r.byID
		}
		for k, i := range a.which {
			into[i] = a.out[k]
		}
	}
	for _, s := range shares {
		s.into(r)
	}
	r.askNewShares(ctx, fs, which)
	for k, i := range which {
		if fs[k].err == nil && r.elsewhere(i) {
			r.c.forget(names[k], fs[k])
			again = append(again, i)
		}
	}
	return again
}

// elsewhere tells whether another coordinator keeps the group by now, or the known one is gone.
func (r *reading) elsewhere(i int) bool {
	a := r.all[i]
	s := r.shares[i]
	switch {
	case a.g != nil:
		return moved(a.g.ErrorCode)
	case a.err != nil:
		return errors.Is(a.err, offset.ErrUnreachable) && !errors.Is(a.err, context.DeadlineExceeded)
	}
	return s.g != nil && (moved(s.g.ErrorCode) || s.g.ErrorCode == kerr.GroupIDNotFound.Code)
}

// fetches are the questions to one coordinator.
func (r *reading) fetches(node int32, of []int) (asks []*fetchAsk) {
	all := &fetchAsk{node: node, max: fetchName}
	named := &fetchAsk{node: node, max: fetchName, stable: true}
	byID := &fetchAsk{node: node, max: fetchByID}
	t := r.c.table.Load()
	ids := r.c.offers.Load().has(keyOffsetFetch, fetchByID)
	for _, i := range of {
		if r.c.kindOf(r.qs[i].Group) == share {
			continue
		}
		q := kmsg.OffsetFetchRequestGroup{Group: r.qs[i].Group, MemberEpoch: -1}
		all.groups, all.which = append(all.groups, q), append(all.which, i)
		if len(r.qs[i].Expect) == 0 {
			continue
		}
		q.Topics = topicsOf(r.qs[i].Expect, t)
		named.groups, named.which = append(named.groups, q), append(named.which, i)
		if q.Topics = withIDs(q.Topics); ids && len(q.Topics) > 0 {
			byID.groups, byID.which = append(byID.groups, q), append(byID.which, i)
		}
	}
	for _, a := range []*fetchAsk{all, named, byID} {
		if len(a.which) > 0 {
			asks = append(asks, a)
		}
	}
	return asks
}

// topicsOf groups sorted partitions by topic, with the ids that the table has.
func topicsOf(ps []offset.Partition, t *table) (out []kmsg.OffsetFetchRequestGroupTopic) {
	numbers := make([]int32, len(ps))
	for from := 0; from < len(ps); {
		to := from
		for to < len(ps) && ps[to].Topic == ps[from].Topic {
			numbers[to] = ps[to].Index
			to++
		}
		q := kmsg.OffsetFetchRequestGroupTopic{Topic: ps[from].Topic, Partitions: numbers[from:to:to]}
		if x := t.topic(q.Topic); x != nil {
			q.TopicID = x.id
		}
		out = append(out, q)
		from = to
	}
	return out
}

func withIDs(ts []kmsg.OffsetFetchRequestGroupTopic) []kmsg.OffsetFetchRequestGroupTopic {
	unknown := func(t kmsg.OffsetFetchRequestGroupTopic) bool { return t.TopicID == topicID{} }
	if !slices.ContainsFunc(ts, unknown) {
		return ts
	}
	return slices.DeleteFunc(slices.Clone(ts), unknown)
}

// nameIDs writes the names beside the ids of an answer.
func nameIDs(g *fetchedGroup, asked []kmsg.OffsetFetchRequestGroupTopic) {
	for i := range g.Topics {
		t := &g.Topics[i]
		if t.Topic != "" {
			continue
		}
		if i < len(asked) && asked[i].TopicID == t.TopicID {
			t.Topic = asked[i].Topic
			continue
		}
		for k := range asked {
			if asked[k].TopicID == t.TopicID {
				t.Topic = asked[k].Topic
				break
			}
		}
	}
}
