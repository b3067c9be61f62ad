package kafka

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

const (
	peekLeast = 16 << 10 // of one partition at first: most batches are smaller
	peekMost  = 64 << 20
	peekAll   = 16 << 20 // of one answer
)

// fetchRecordsByName is the last version of Fetch that asks by the topic's name.
const fetchRecordsByName = 12

// Peek fetches the first record at or after each position that a read-committed consumer would be given, joining no group:
// holes, transaction markers and aborted records are passed over. nil: there is none yet. Where the position says so, it is the
// first that any consumer would be given.
func (c *Cluster) Peek(ctx context.Context, at []offset.Position) []offset.Result[*offset.Record] {
	p := &peeking{c: c, at: at, out: make([]offset.Result[*offset.Record], len(at)), state: make([]peekState, len(at))}
	left := p.route(ctx)
	for len(left) > 0 && ctx.Err() == nil {
		left = p.fetch(ctx, left)
	}
	for _, i := range left {
		p.out[i].Err = fmt.Errorf("%v: %w", at[i].Partition, ctx.Err())
	}
	return p.out
}

type peeking struct {
	c     *Cluster
	at    []offset.Position
	out   []offset.Result[*offset.Record]
	state []peekState
}

// peekState is where the search for one position is.
type peekState struct {
	next   int64
	bytes  int32
	leader int32
	id     topicID
	moves  int
}

// route finds the leaders as Logs does.
func (p *peeking) route(ctx context.Context) (left []int) {
	var missing []string
	t := p.c.table.Load()
	for i := range p.at {
		if n := p.at[i].Partition.Topic; t.topic(n) == nil && (len(missing) == 0 || missing[len(missing)-1] != n) {
			missing = append(missing, n)
		}
	}
	if len(missing) > 0 {
		var err error
		if t, err = p.c.refresh(ctx, missing); err != nil {
			for i := range p.out {
				p.out[i].Err = fmt.Errorf("%v: %w", p.at[i].Partition, err)
			}
			return nil
		}
	}
	for i := range p.at {
		p.state[i] = peekState{next: p.at[i].Offset, bytes: peekLeast}
		if p.place(i, t) {
			left = append(left, i)
		}
	}
	return left
}

func (p *peeking) place(i int, t *table) bool {
	part := p.at[i].Partition
	x := t.topic(part.Topic)
	s := &p.state[i]
	switch {
	case x == nil:
		p.out[i].Err = leftOut("topic " + part.Topic)
	case x.err != nil:
		p.out[i].Err = x.err
	case x.part(part.Index).leader == noPartition:
		p.out[i].Err = fmt.Errorf("partition %v %w", part, offset.ErrUnknownName)
	case x.part(part.Index).leader == noLeader:
		p.out[i].Err = x.part(part.Index).err
	default:
		s.leader, s.id = x.part(part.Index).leader, x.id
		return true
	}
	return false
}

// fetch asks every leader once and answers what is still to be found.
func (p *peeking) fetch(ctx context.Context, which []int) (left []int) {
	nodes, parts := p.split(which)
	resps := make([]*kmsg.FetchResponse, len(nodes))
	errs := make([]error, len(nodes))
	each(len(nodes), func(k int) {
		resps[k], errs[k] = request[*kmsg.FetchResponse](ctx, p.c, nodes[k], p.request(parts[k]))
	})
	var stale []int
	for k := range nodes {
		if errs[k] != nil {
			for _, i := range parts[k] {
				p.out[i].Err = fmt.Errorf("%v: its leader: %w", p.at[i].Partition, errs[k])
			}
			continue
		}
		l, s := p.read(resps[k], parts[k])
		left, stale = append(left, l...), append(stale, s...)
	}
	if len(stale) > 0 {
		left = append(left, p.reroute(ctx, stale)...)
	}
	slices.Sort(left)
	return left
}

// split groups positions by leader and isolation. A broker answers a partition once in a request, so a second position of one goes
// into another.
func (p *peeking) split(which []int) (nodes []int32, parts [][]int) {
	for _, i := range which {
		k := 0
		for k < len(nodes) && (nodes[k] != p.state[i].leader || p.at[parts[k][0]].Uncommitted != p.at[i].Uncommitted || p.has(parts[k], i)) {
			k++
		}
		if k == len(nodes) {
			nodes, parts = append(nodes, p.state[i].leader), append(parts, nil)
		}
		parts[k] = append(parts[k], i)
	}
	return nodes, parts
}

// has tells whether the last position of part is of the same partition as i: the list is sorted.
func (p *peeking) has(part []int, i int) bool {
	return p.at[part[len(part)-1]].Partition == p.at[i].Partition
}

func (p *peeking) request(which []int) kmsg.Request {
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.IsolationLevel, req.SessionEpoch = peekAll, committed, -1
	if p.at[which[0]].Uncommitted {
		req.IsolationLevel = uncommitted
	}
	newest := req.MaxVersion()
	for _, i := range which {
		s := &p.state[i]
		if s.id == (topicID{}) {
			newest = fetchRecordsByName
		}
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != p.at[i].Partition.Topic {
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = p.at[i].Partition.Topic, s.id
			req.Topics = append(req.Topics, t)
		}
		x := kmsg.NewFetchRequestTopicPartition()
		x.Partition, x.FetchOffset, x.PartitionMaxBytes = p.at[i].Partition.Index, s.next, s.bytes
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, x)
	}
	return capped{req, newest}
}

// read takes one answer in: left is to be asked again at a later position, stale at another leader.
func (p *peeking) read(r *kmsg.FetchResponse, which []int) (left, stale []int) {
	if r.ErrorCode != 0 {
		for _, i := range which {
			p.out[i].Err = refused(p.at[i].Partition.String(), "READ", r.ErrorCode, nil)
		}
		return nil, nil
	}
	for _, i := range which {
		x := p.find(r, i)
		switch {
		case x == nil:
			p.out[i].Err = leftOut(p.at[i].Partition.String())
		case leaderMoved(x.ErrorCode) || x.ErrorCode == kerr.UnknownTopicID.Code:
			stale = append(stale, i)
			p.out[i].Err = refused(p.at[i].Partition.String(), "READ", x.ErrorCode, nil)
		case x.ErrorCode != 0:
			p.out[i].Err = p.fetchError(i, x)
		case p.record(i, x):
			left = append(left, i)
		}
	}
	return left, stale
}

func (p *peeking) find(r *kmsg.FetchResponse, i int) *kmsg.FetchResponseTopicPartition {
	for ti := range r.Topics {
		t := &r.Topics[ti]
		if t.Topic != p.at[i].Partition.Topic && (t.Topic != "" || t.TopicID != p.state[i].id) {
			continue
		}
		for pi := range t.Partitions {
			if t.Partitions[pi].Partition == p.at[i].Partition.Index {
				return &t.Partitions[pi]
			}
		}
	}
	return nil
}

func (p *peeking) fetchError(i int, x *kmsg.FetchResponseTopicPartition) error {
	what := p.at[i].Partition.String()
	switch x.ErrorCode {
	case codeTopicDenied:
		what = "topic " + p.at[i].Partition.Topic
	case kerr.OffsetOutOfRange.Code:
		return fmt.Errorf("%s: %d is outside the log", what, p.at[i].Offset)
	}
	return refused(what, "READ", x.ErrorCode, nil)
}

// record takes the first record out of what was fetched; it answers whether to go on.
func (p *peeking) record(i int, x *kmsg.FetchResponseTopicPartition) (more bool) {
	s := &p.state[i]
	isolation, reach := kgo.ReadCommitted(), min(x.HighWatermark, max(x.LastStableOffset, 0))
	if p.at[i].Uncommitted {
		isolation, reach = kgo.ReadUncommitted(), x.HighWatermark
	}
	opts := kgo.ProcessFetchPartitionOpts{Offset: s.next, Topic: p.at[i].Partition.Topic, Partition: p.at[i].Partition.Index, IsolationLevel: isolation}
	size := len(x.RecordBatches)
	fp, next := kgo.ProcessFetchPartition(opts, x, kgo.DefaultDecompressor(), nil)
	switch {
	case len(fp.Records) > 0:
		p.out[i].Value = toRecord(fp.Records[0])
	case fp.Err != nil:
		p.out[i].Err = fmt.Errorf("%v at %d: %w", p.at[i].Partition, s.next, fp.Err)
	case next > s.next:
		s.next = next
		return true
	case size > 0 && s.bytes < peekMost: // a batch that did not fit
		s.bytes *= 16
		return true
	case s.next < reach && s.bytes < peekMost: // others filled the answer
		s.bytes *= 2
		return true
	}
	return false
}

// reroute asks for leaders anew, a few times in all.
func (p *peeking) reroute(ctx context.Context, which []int) (left []int) {
	var names []string
	for _, i := range which {
		if s := &p.state[i]; s.moves < len(elections) {
			names = append(names, p.at[i].Partition.Topic)
		}
	}
	if len(names) == 0 || !wait(ctx, elections[min(p.state[which[0]].moves, len(elections)-1)]) {
		return nil
	}
	slices.Sort(names)
	t, err := p.c.refresh(ctx, slices.Compact(names))
	for _, i := range which {
		s := &p.state[i]
		if s.moves++; s.moves > len(elections) {
			continue
		}
		if p.out[i].Err = err; err == nil && p.place(i, t) {
			left = append(left, i)
		}
	}
	return left
}

func toRecord(r *kgo.Record) *offset.Record {
	out := &offset.Record{Offset: r.Offset, Time: r.Timestamp, LogAppend: r.Attrs.TimestampType() == 1, Key: r.Key, Value: r.Value}
	for _, h := range r.Headers {
		out.Headers = append(out.Headers, offset.Header{Key: h.Key, Value: h.Value})
	}
	return out
}
