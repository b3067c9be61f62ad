// Package inspecttest is a small cluster and a store of positions in memory, for tests: every answer and every failure
// can be set, and the calls that were made are counted.
package inspecttest

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// World is the cluster and what groups have stored. Its fields may be changed between calls, and inside OnCall.
type World struct {
	Cluster, Product string
	Brokers          []offset.Server
	Partial          bool // Topology.Whole is false
	Gaps             []error
	Caps             offset.Caps // of the store
	Calls            []string    // "topology", "logs", "peek", "retention", "groups", "describe", "read", "write"
	OnCall           func(call string)
	Broken           map[string]error // a whole call fails
	Objections       []offset.Objection
	Refusal          error // of every change, see offset.Refuser

	topics    map[string]*topic
	hidden    map[string]bool
	logs      map[offset.Partition]*Log
	groups    map[string]offset.Group
	groupErr  map[string]error
	readErr   map[string]error
	stored    map[string]map[offset.Partition]offset.Result[offset.Stored]
	writeErr  map[offset.Partition]error
	retention map[string]offset.Retention
	version   int
	mu        sync.Mutex
}

type topic struct {
	id  string
	err error
	ps  []offset.Partition
}

// Log is one log of the world.
type Log struct {
	offset.Bounds
	Epoch     offset.Epoch
	EpochEnds map[int32]int64 // where a leader epoch ends; others answer -1
	Records   []offset.Record // sorted by offset; for Peek and look-ups by time
	Proven    *int64          // the true start, which only LogQuery.Prove shows
	Err       error           // no leader, denied
}

// New is an empty Kafka-like world whose store can do everything.
func New() *World {
	return &World{Cluster: "c1", Product: "Kafka 4.4.0", Broken: map[string]error{},
		Caps:   offset.Caps{Atomic: true, Together: offset.PerGroup, Fence: true, Delete: true, Metadata: true, Queues: true},
		topics: map[string]*topic{}, hidden: map[string]bool{}, logs: map[offset.Partition]*Log{}, groups: map[string]offset.Group{},
		groupErr: map[string]error{}, readErr: map[string]error{}, writeErr: map[offset.Partition]error{},
		stored: map[string]map[offset.Partition]offset.Result[offset.Stored]{}, retention: map[string]offset.Retention{}}
}

// P is orders:3, or orders@broker-a:3.
func P(text string) offset.Partition {
	p, err := offset.ParsePartition(text)
	if err != nil {
		panic(err)
	}
	return p
}

// Log makes a partition, and its topic, with these bounds, and answers its log for further settings.
func (w *World) Log(p string, start, end int64) *Log {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := P(p)
	t := w.topics[at.Topic]
	if t == nil {
		t = &topic{}
		w.topics[at.Topic] = t
	}
	if !slices.Contains(t.ps, at) {
		t.ps = append(t.ps, at)
		slices.SortFunc(t.ps, offset.Partition.Compare)
	}
	l := &Log{Bounds: offset.Bounds{Start: start, Stable: end, End: end}, EpochEnds: map[int32]int64{}}
	w.logs[at] = l
	return l
}

// Topic sets a topic's id and error; a topic without a Log has no partitions.
func (w *World) Topic(name, id string, err error) {
	t := w.topics[name]
	if t == nil {
		t = &topic{}
		w.topics[name] = t
	}
	t.id, t.err = id, err
}

// Hide leaves a topic out of the list of all topics; by name it is answered.
func (w *World) Hide(name string) { w.hidden[name] = true }

// Group sets what Describe answers of a group; groups that were not set are missing.
func (w *World) Group(g offset.Group) { w.groups[g.Name] = g }

// GroupErr makes Describe fail for a group.
func (w *World) GroupErr(group string, err error) { w.groupErr[group] = err }

// ReadErr makes Read know nothing of a group.
func (w *World) ReadErr(group string, err error) { w.readErr[group] = err }

// WriteErr makes Write fail for a partition.
func (w *World) WriteErr(p string, err error) { w.writeErr[P(p)] = err }

// Keep sets a topic's retention.
func (w *World) Keep(topic string, r offset.Retention) { w.retention[topic] = r }

// Commit stores a position.
func (w *World) Commit(group, p string, next int64) {
	w.Store(group, p, offset.Result[offset.Stored]{Value: offset.Stored{State: offset.Set, Next: next}})
}

// Store stores anything, also an error that Read answers for it.
func (w *World) Store(group, p string, r offset.Result[offset.Stored]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.put(group, P(p), r)
}

// Stored is what lies there now.
func (w *World) Stored(group, p string) offset.Stored {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.get(group, P(p)).Value
}

func (w *World) put(group string, p offset.Partition, r offset.Result[offset.Stored]) {
	m := w.stored[group]
	if m == nil {
		m = map[offset.Partition]offset.Result[offset.Stored]{}
		w.stored[group] = m
	}
	w.version++
	if r.Value.Version == "" || r.Value.State == offset.Absent {
		r.Value.Version = offset.Version("v" + strconv.Itoa(w.version))
	}
	if r.Err == nil && r.Value.State == offset.Absent {
		delete(m, p)
		return
	}
	m[p] = r
}

func (w *World) get(group string, p offset.Partition) offset.Result[offset.Stored] {
	if r, ok := w.stored[group][p]; ok {
		return r
	}
	return offset.Result[offset.Stored]{Value: offset.Stored{State: offset.Absent, Version: "none"}}
}

// call counts, and answers the error that the call as a whole has.
func (w *World) call(ctx context.Context, name string) error {
	w.mu.Lock()
	w.Calls = append(w.Calls, name)
	hook := w.OnCall
	w.mu.Unlock()
	if hook != nil {
		hook(name)
	}
	w.mu.Lock()
	err := w.Broken[name]
	w.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Count is how often a call was made.
func (w *World) Count(call string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.Calls {
		if c == call {
			n++
		}
	}
	return n
}

// at is the first record that want accepts.
func (l *Log) at(want func(offset.Record) bool) *offset.Record {
	i := slices.IndexFunc(l.Records, want)
	if i < 0 {
		return nil
	}
	return &l.Records[i]
}

// Fill writes one record for each offset of [from, to), stamped alike.
func (l *Log) Fill(from, to int64, at time.Time) *Log {
	for n := from; n < to; n++ {
		l.Records = append(l.Records, offset.Record{Offset: n, Time: at})
	}
	return l
}

// Forget drops a group with all that it stored.
func (w *World) Forget(group string) {
	delete(w.stored, group)
	delete(w.groups, group)
}
