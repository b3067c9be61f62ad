// Package offsettest is the contract of offset.Store as a suite: a store's conformance test is one Store literal and RunStore.
package offsettest

import (
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// Store describes one store to the suite. What stands under Open, Caps, Poke, Bad and Down every store has; the rest is for
// stores that demand something of names or logs. All handles and pokes go to the same place, which other tests do not use,
// or where Prefix keeps the suite's names apart.
type Store struct {
	// Open makes a new handle, which the suite closes. The store must report its requests to env: the suite counts them and
	// acts between them.
	Open func(t testing.TB, env offset.Env) offset.Store
	// Caps is what the store must claim and is held to.
	Caps offset.Caps
	// Poke writes as a foreign program does, on a connection of its own; nil deletes.
	Poke func(t testing.TB, group string, p offset.Partition, raw []byte)
	// Bad are values that are no position, by what is wrong with them. Each must read as Invalid with these bytes as Raw.
	Bad map[string][]byte
	// Down opens a handle on a server that is not there. Either the error or every answer is offset.ErrUnreachable (for
	// files: offset.ErrUnknownName or offset.ErrDenied). nil: the store has nothing that could be away.
	Down func(t testing.TB, env offset.Env) (offset.Store, error)
	// Cut opens a handle whose next write, after arm, loses its connection: sent tells whether the request still reaches the
	// server. nil: there is no connection.
	Cut func(t testing.TB, env offset.Env) (s offset.Store, arm func(sent bool))

	// Raw is a position as a foreign program writes it. nil: decimal digits.
	Raw func(next int64) []byte
	// Largest is the highest position that the layout holds. 0: 2^63-1.
	Largest int64
	// Prefix stands before every group and topic that the suite uses.
	Prefix string
	// Prepare makes logs and groups exist where the store demands it. A store with Caps.Whole stores positions there too.
	Prepare func(t testing.TB, group string, ps []offset.Partition)
	// Partitions are the partitions that the suite uses of a topic, sorted, at least three. nil: 0, 2 and 10, and where the
	// store keeps queues, two with the names of brokers.
	Partitions func(topic string) []offset.Partition
	// Topics are the odd topic names that are tried. nil: Names.
	Topics []string
	// Refuses tells which names the layout cannot hold. nil: it holds them all.
	Refuses func(name string, topic bool) bool
	// OneGroup says that the place is one group, whatever it is called.
	OneGroup bool
	// OneByOne says that a Read takes a request for each partition (all of them under way together).
	OneByOne bool
	// Live puts a running member into a group of a store that refuses to write then (Caps.Members).
	Live func(t testing.TB, group string, ps []offset.Partition)
	// Rounds of each race. 0: 200.
	Rounds int
}

// RunStore holds a store to the contract.
func RunStore(t *testing.T, d Store) {
	if d.Raw == nil {
		d.Raw = func(next int64) []byte { return strconv.AppendInt(nil, next, 10) }
	}
	if d.Largest == 0 {
		d.Largest = math.MaxInt64
	}
	if d.Rounds == 0 {
		d.Rounds = 200
	}
	if d.Partitions == nil {
		d.Partitions = d.usualPartitions
	}
	if d.Topics == nil {
		d.Topics = Names
	}
	if d.Refuses == nil {
		d.Refuses = func(string, bool) bool { return false }
	}
	t.Run("claims", func(t *testing.T) {
		if c := d.at(t, "claims").s.Caps(); c != d.Caps {
			t.Fatalf("it claims %+v, and should %+v", c, d.Caps)
		}
	})
	t.Run("answers", d.answers)
	t.Run("values", d.values)
	t.Run("caps", d.caps)
	t.Run("groups", d.groups)
	t.Run("listing", d.listing)
	t.Run("faults", d.faults)
	t.Run("races", d.races)
	t.Run("names", d.names) // last: it leaves hundreds of positions behind
}

func (d Store) usualPartitions(topic string) []offset.Partition {
	ps := []offset.Partition{{Topic: topic, Index: 0}, {Topic: topic, Index: 2}, {Topic: topic, Index: 10}}
	if d.Caps.Queues {
		ps = append(ps, offset.Partition{Topic: topic, Broker: "broker-a", Index: 0}, offset.Partition{Topic: topic, Broker: "broker-b", Index: 0})
	}
	return ps
}

// place is one group with two topics, which one test has for itself, and a handle.
type place struct {
	testing.TB
	d     Store
	label string
	group string
	ps    []offset.Partition
	s     offset.Store
	hook  *hook
}

// at makes a place. Its label is part of all its names.
func (d Store) at(t testing.TB, label string) *place {
	p := &place{TB: t, d: d, label: label, group: d.Prefix + "group-" + label, hook: &hook{}}
	p.ps = append(d.Partitions(d.topic(label, "a")), d.Partitions(d.topic(label, "b"))...)
	p.prepare(p.group)
	p.s = p.open()
	return p
}

func (d Store) topic(label, which string) string { return d.Prefix + "topic-" + label + "-" + which }

func (p *place) prepare(group string) {
	if p.d.Prepare != nil {
		p.d.Prepare(p.TB, group, p.ps)
	}
}

// open makes another handle on the place, with the place's hook.
func (p *place) open() offset.Store {
	return p.close(p.d.Open(p.TB, p.hook.env()))
}

func (p *place) close(s offset.Store) offset.Store {
	p.Cleanup(func() {
		if err := s.Close(); err != nil {
			p.Errorf("closing: %v", err)
		}
	})
	return s
}

// hook hears of every request before it is sent.
type hook struct {
	mu    sync.Mutex
	f     func(n int64)
	calls atomic.Int64
	clock atomic.Int64
}

// set makes f hear of the requests from here on, and counts anew. f gets each one's number, from 1: requests that are sent side
// by side may all have been counted before the first is heard of.
func (h *hook) set(f func(n int64)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.f = f
	h.calls.Store(0)
}

func (h *hook) env() offset.Env {
	return offset.Env{
		Log: slog.New(slog.DiscardHandler),
		// Every look at the clock is a millisecond later than the one before.
		Now: func() time.Time { return time.UnixMilli(1_767_225_600_000 + h.clock.Add(1)) },
		Trace: func(string, string) {
			n := h.calls.Add(1)
			h.mu.Lock()
			f := h.f
			h.mu.Unlock()
			if f != nil {
				f(n)
			}
		},
	}
}

func describe(r offset.Result[offset.Stored]) string {
	if r.Err != nil {
		return "error " + r.Err.Error()
	}
	switch r.Value.State {
	case offset.Set:
		return strconv.FormatInt(r.Value.Next, 10)
	case offset.Invalid:
		return fmt.Sprintf("invalid %q", r.Value.Raw)
	}
	return r.Value.State.String()
}
