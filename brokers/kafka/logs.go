package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

// Timestamps that are symbols.
const (
	tsLatest   int64 = -1
	tsEarliest int64 = -2
)

const (
	uncommitted int8 = iota
	committed
)

// elections are the waits before a partition whose leader is gone is asked again. A broker that is busy with a new topic says for
// seconds that it does not lead it, while the metadata says that it does.
var elections = []time.Duration{0, 100 * time.Millisecond, 400 * time.Millisecond, time.Second, 2 * time.Second}

// staleLeader is how old knowledge of a missing leader may be before it is asked again.
const staleLeader = time.Second

// Logs asks every leader for start, last stable offset, end, times and epochs, all at once. A partition whose leader has moved
// is asked again where it leads now.
func (c *Cluster) Logs(ctx context.Context, qs []offset.LogQuery) []offset.Result[offset.Log] {
	l := &logAsk{c: c, qs: qs, out: make([]offset.Result[offset.Log], len(qs)), got: make([]uint8, len(qs))}
	l.prepare()
	c.warm()
	left, again := l.route(ctx, l.all())
	l.ask(ctx, left)
	again = append(again, l.failed(left)...)
	for try := 0; len(again) > 0 && try < len(elections) && wait(ctx, elections[try]); try++ {
		slices.Sort(again)
		left = l.reroute(ctx, again)
		l.ask(ctx, left)
		again = l.failed(left)
		if try > 0 { // an address that does not work will not
			again = slices.DeleteFunc(again, func(i int) bool { return l.got[i]&gotLost != 0 })
		}
	}
	for i := range l.out {
		l.settle(i)
	}
	return l.out
}

// logAsk is one call of Logs.
type logAsk struct {
	c       *Cluster
	qs      []offset.LogQuery
	out     []offset.Result[offset.Log]
	got     []uint8 // a bit for each of start, stable, end that was answered
	leaders []int32 // of each query
	times   int     // most times of one query
	epochs  int     // most epochs of one query
}

const (
	gotStart uint8 = 1 << iota
	gotStable
	gotEnd
	gotMoved  // the leader is another one by now, or does not know yet
	gotLost   // the leader cannot be reached
	gotBounds = gotStart | gotStable | gotEnd
)

// prepare gives every query its slices out of common ones.
func (l *logAsk) prepare() {
	n := 0
	for i := range l.qs {
		t, e := len(l.qs[i].Times), len(l.qs[i].Epochs)
		l.times, l.epochs = max(l.times, t), max(l.epochs, e)
		n += t + e
	}
	l.leaders = make([]int32, len(l.qs))
	if n == 0 {
		return
	}
	all := make([]int64, n)
	for i := range all {
		all[i] = offset.NoRecord
	}
	for i := range l.qs {
		t, e := len(l.qs[i].Times), len(l.qs[i].Epochs)
		l.out[i].Value.Times, all = all[:t:t], all[t:]
		l.out[i].Value.EpochEnds, all = all[:e:e], all[e:]
	}
}

func (l *logAsk) all() []int {
	out := make([]int, len(l.qs))
	for i := range out {
		out[i] = i
	}
	return out
}

// route finds the leaders. What the table does not know is asked for first; what it knew to be without a leader some time ago is
// returned as old.
func (l *logAsk) route(ctx context.Context, which []int) (ready, old []int) {
	var missing []string
	t := l.c.table.Load()
	for _, run := range l.runs(which) {
		if x := t.topic(run.name); x == nil {
			missing = append(missing, run.name)
		}
	}
	if len(missing) > 0 {
		var err error
		if t, err = l.c.refresh(ctx, missing); err != nil {
			l.fail(which, err)
			return nil, nil
		}
	}
	now := l.c.env.Now()
	for _, run := range l.runs(which) {
		x := t.topic(run.name)
		for _, i := range run.which {
			switch err := l.place(i, x); {
			case err == nil:
				ready = append(ready, i)
			case x != nil && now.Sub(x.at) > staleLeader && !errors.Is(err, offset.ErrDenied):
				old = append(old, i)
			default:
				l.out[i].Err = err
			}
		}
	}
	return ready, old
}

// reroute asks for the leaders anew.
func (l *logAsk) reroute(ctx context.Context, which []int) (ready []int) {
	runs := l.runs(which)
	names := make([]string, len(runs))
	for i := range runs {
		names[i] = runs[i].name
	}
	t, err := l.c.refresh(ctx, names)
	if err != nil {
		l.fail(which, err)
		return nil
	}
	for _, run := range runs {
		x := t.topic(run.name)
		for _, i := range run.which {
			l.out[i].Err, l.got[i] = l.place(i, x), 0
			if l.out[i].Err == nil {
				ready = append(ready, i)
			}
		}
	}
	return ready
}

// place notes the leader of one query's partition.
func (l *logAsk) place(i int, x *topic) error {
	p := l.qs[i].Partition
	if x == nil {
		return leftOut("topic " + p.Topic)
	}
	if x.err != nil {
		return x.err
	}
	at := x.part(p.Index)
	switch at.leader {
	case noPartition:
		return fmt.Errorf("partition %v %w", p, offset.ErrUnknownName)
	case noLeader:
		return at.err
	}
	l.leaders[i] = at.leader
	return nil
}

func (l *logAsk) fail(which []int, err error) {
	for _, i := range which {
		l.out[i].Err = fmt.Errorf("%v: %w", l.qs[i].Partition, err)
	}
}

// failed are the queries whose leader did not answer as a leader.
func (l *logAsk) failed(which []int) (out []int) {
	for _, i := range which {
		if l.got[i]&(gotMoved|gotLost) != 0 {
			out = append(out, i)
		}
	}
	return out
}

// settle makes the answer of one query whole.
func (l *logAsk) settle(i int) {
	r := &l.out[i]
	if r.Err != nil {
		return
	}
	if l.got[i]&gotBounds != gotBounds {
		r.Err = leftOut(l.qs[i].Partition.String())
		return
	}
	// The three were measured side by side: a moving log may have shown them in any order.
	r.Value.Stable = max(r.Value.Stable, r.Value.Start)
	r.Value.End = max(r.Value.End, r.Value.Stable)
}

// run is the queries of one topic.
type run struct {
	name  string
	which []int
}

func (l *logAsk) runs(which []int) (out []run) {
	for from := 0; from < len(which); {
		name := l.qs[which[from]].Partition.Topic
		to := from
		for to < len(which) && l.qs[which[to]].Partition.Topic == name {
			to++
		}
		out = append(out, run{name, which[from:to]})
		from = to
	}
	return out
}

// at finds a partition among those that a leader was asked about, usually at the hint, for answers come in the question's order;
// -1: it was not asked about.
func (l *logAsk) at(asked []int, topic string, index int32, hint int) int {
	if hint < len(asked) {
		if p := &l.qs[asked[hint]].Partition; p.Index == index && p.Topic == topic {
			return hint
		}
	}
	k, ok := slices.BinarySearchFunc(asked, offset.Partition{Topic: topic, Index: index}, func(i int, p offset.Partition) int {
		if c := strings.Compare(l.qs[i].Partition.Topic, p.Topic); c != 0 {
			return c
		}
		return int(l.qs[i].Partition.Index) - int(p.Index)
	})
	if !ok {
		return -1
	}
	return k
}

// millis is the first millisecond at or after t. A time before 1970 is 0: negative numbers are symbols, and no record is older.
func millis(t time.Time) int64 {
	ms := t.UnixMilli()
	if t.After(time.UnixMilli(ms)) {
		ms++
	}
	return max(ms, 0)
}

// shot is one request to one leader and how to read its answer.
type shot struct {
	node  int32
	req   kmsg.Request
	which []int
	read  func(r kmsg.Response, l *logAsk, asked []int)
	resp  kmsg.Response
	err   error
}

// ask sends all requests for these queries and reads the answers.
func (l *logAsk) ask(ctx context.Context, which []int) {
	if len(which) == 0 {
		return
	}
	shots := l.shots(which)
	each(len(shots), func(k int) {
		s := &shots[k]
		s.resp, s.err = request[kmsg.Response](ctx, l.c, s.node, s.req)
	})
	for k := range shots {
		s := &shots[k]
		if s.err == nil {
			s.read(s.resp, l, s.which)
			continue
		}
		for _, i := range s.which {
			l.out[i].Err = fmt.Errorf("%v: its leader: %w", l.qs[i].Partition, s.err)
			if !errors.Is(s.err, context.DeadlineExceeded) {
				l.got[i] |= gotLost
			}
		}
	}
}
