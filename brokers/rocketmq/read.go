package rocketmq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/offset"
)

const (
	// fewGroups may be asked one by one for what the whole offset table does not have: when positions were last read.
	fewGroups = 64
	// fewDoubts are asked one by one; of more it is asked first whether the broker has any position of the topic.
	fewDoubts = 2
)

// Read asks each broker once for each group and topic, whatever the number of queues; a position that the answer shows as 0 may
// be none and is asked for by itself. All topics of a group, or many groups, are read from the brokers' whole offset tables.
func (s store) Read(ctx context.Context, qs []offset.Query) []offset.Answer {
	defer s.met.reading.begin()()
	r := reading{store: s, qs: qs, out: make([]offset.Answer, len(qs)), tables: map[string]*table{}}
	whole := len(qs) > fewGroups
	for i, q := range qs {
		r.out[i].Expected = make([]offset.Result[offset.Stored], len(q.Expect))
		whole = whole || q.Topics == nil
	}
	r.whole = whole
	masters, err := r.brokers(ctx)
	if err != nil {
		for i := range r.out {
			r.out[i].Err = err
			r.fail(i, func(offset.Partition) bool { return true }, err)
		}
		return r.out
	}
	r.others = make([][][]offset.Entry, len(qs))
	for i := range qs {
		r.others[i] = make([][]offset.Entry, len(masters))
		for j := range r.out[i].Expected {
			if name := qs[i].Expect[j].Broker; !slices.ContainsFunc(masters, func(b remoting.Broker) bool { return b.Name == name }) {
				r.out[i].Expected[j].Err = r.elsewhere(qs[i].Expect[j])
			}
		}
	}
	each(len(qs)*len(masters), func(n int) { r.group(ctx, n/len(masters), n%len(masters), masters[n%len(masters)]) })
	for i := range qs {
		a := &r.out[i]
		a.Others = slices.Concat(r.others[i]...)
		slices.SortFunc(a.Others, func(x, y offset.Entry) int { return x.Partition.Compare(y.Partition) })
		a.Gaps = append(a.Gaps, r.gaps...)
	}
	return r.out
}

// reading is one Read under way.
type reading struct {
	store
	qs     []offset.Query
	out    []offset.Answer
	others [][][]offset.Entry // by query and broker
	whole  bool               // from the offset tables
	gaps   []error

	mu     sync.Mutex // of tables and of each answer's Gaps
	tables map[string]*table
}

// brokers are the masters to ask: those of the expected queues, and for what else there may be all that are known.
func (r *reading) brokers(ctx context.Context) (masters []remoting.Broker, err error) {
	if r.whole {
		masters, r.gaps, err = r.allMasters(ctx)
		return masters, err
	}
	names := map[string]bool{}
	for _, q := range r.qs {
		for _, p := range q.Expect {
			names[p.Broker] = p.Broker != ""
		}
	}
	for name, ok := range names {
		if !ok {
			continue
		}
		b, err := r.master(ctx, name)
		switch {
		case err == nil:
			masters = append(masters, b)
		case !errors.Is(err, offset.ErrNoLeader):
			return nil, err
		}
	}
	if slices.ContainsFunc(r.qs, func(q offset.Query) bool { return len(q.Topics) > 0 }) {
		var known []remoting.Broker
		if known, r.gaps, err = r.knownMasters(ctx); err != nil {
			return nil, err
		}
		for _, b := range known {
			if !slices.Contains(masters, b) {
				masters = append(masters, b)
			}
		}
	}
	slices.SortFunc(masters, func(a, b remoting.Broker) int { return strings.Compare(a.Name, b.Name) })
	return masters, nil
}

// elsewhere is the answer for a queue of a broker that cannot be asked.
func (r *reading) elsewhere(p offset.Partition) error {
	if p.Broker == "" {
		return offset.As(offset.ErrUnsupported, fmt.Errorf("%s: a RocketMQ queue is named with its broker, as in %s@BROKER:%d", p, p.Topic, p.Index))
	}
	return fmt.Errorf("%s: %w", p, noMaster(p.Broker))
}

// fail gives an error to the expected partitions that it is true of.
func (r *reading) fail(i int, of func(offset.Partition) bool, err error) {
	for j, p := range r.qs[i].Expect {
		if of(p) {
			r.out[i].Expected[j] = offset.Result[offset.Stored]{Err: fmt.Errorf("%s: %w", p, err)}
		}
	}
}

// group answers what query i asks of one broker.
func (r *reading) group(ctx context.Context, i, k int, b remoting.Broker) {
	q := r.qs[i]
	here := func(p offset.Partition) bool { return p.Broker == b.Name }
	if q.Topics != nil && len(q.Topics) == 0 && !slices.ContainsFunc(q.Expect, here) {
		return
	}
	f := found{reading: r, b: b, group: q.Group}
	if err := f.ask(ctx, q); err != nil {
		err = asked(b, err)
		r.fail(i, here, err)
		r.mu.Lock()
		r.out[i].Gaps = append(r.out[i].Gaps, fmt.Errorf("positions on %s: %w", b.Name, err))
		r.mu.Unlock()
		return
	}
	f.settle(ctx, q)
	if len(f.values) > 0 {
		r.met.add(q.Group)
	}
	for j, p := range q.Expect {
		if here(p) {
			r.out[i].Expected[j] = f.answer(p)
		}
	}
	for p := range f.values {
		v := f.answer(p).Value
		_, expected := slices.BinarySearchFunc(q.Expect, p, offset.Partition.Compare)
		if !expected && v.State != offset.Absent && (q.Topics == nil || slices.Contains(q.Topics, p.Topic)) {
			r.others[i][k] = append(r.others[i][k], offset.Entry{Partition: p, Result: offset.Result[offset.Stored]{Value: v}})
		}
	}
}

// table is a broker's whole offset table, read once in a Read, by group.
type table struct {
	once sync.Once
	of   map[string]map[offset.Partition]int64
	err  error
}

func (r *reading) table(ctx context.Context, b remoting.Broker) (*table, error) {
	r.mu.Lock()
	t := r.tables[b.Name]
	if t == nil {
		t = &table{}
		r.tables[b.Name] = t
	}
	r.mu.Unlock()
	t.once.Do(func() {
		var all []remoting.StoredOffset
		if all, t.err = r.client.AllOffsets(ctx, b); t.err != nil {
			return
		}
		t.of = map[string]map[offset.Partition]int64{}
		for _, o := range all {
			if t.of[o.Group] == nil {
				t.of[o.Group] = map[offset.Partition]int64{}
			}
			t.of[o.Group][offset.Partition{Topic: o.Topic, Broker: b.Name, Index: o.Queue}] = o.Next
		}
	})
	return t, t.err
}
