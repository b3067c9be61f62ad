package offsettest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
)

// memory is a server with two kinds of store on it: one that can do everything, and one that claims next to nothing.
type memory struct {
	mu   sync.Mutex
	rows map[string]map[offset.Partition]row
	last int64
}

type row struct {
	raw     string
	version int64
	stored  offset.Stored
}

// able has every Caps that memory can give, plain has none.
var (
	able  = offset.Caps{Atomic: true, Together: offset.PerGroup, Fence: true, Delete: true, Metadata: true, CommitTime: true, Queues: true}
	plain = offset.Caps{}
)

type client struct {
	*memory
	caps offset.Caps
	env  offset.Env
}

func (c client) Caps() offset.Caps { return c.caps }
func (c client) Close() error      { return nil }

func (c client) Groups(context.Context) (out []string, _ []error, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for g, rows := range c.rows {
		if len(rows) > 0 {
			out = append(out, g)
		}
	}
	slices.Sort(out)
	return out, nil, nil
}

func (c client) get(group string, p offset.Partition) offset.Stored {
	r, ok := c.rows[group][p]
	if !ok {
		return offset.Stored{State: offset.Absent, Version: "none"}
	}
	s := offset.Stored{State: offset.Set, Version: offset.Version(r.raw)}
	if c.caps.Fence {
		s.Version = offset.Version(fmt.Sprint(r.version))
	}
	if c.caps.Metadata {
		s.Metadata, s.LeaderEpoch = r.stored.Metadata, r.stored.LeaderEpoch
	}
	if c.caps.CommitTime {
		s.Committed = r.stored.Committed
	}
	n, err := strconv.ParseInt(r.raw, 10, 64)
	if s.Next = n; err != nil || n < 0 {
		s.State, s.Next, s.Raw, s.Version = offset.Invalid, 0, []byte(r.raw), offset.Version(fmt.Sprint(r.version))
	}
	return s
}

func (c client) Read(_ context.Context, qs []offset.Query) []offset.Answer {
	c.env.Call("memory", "read")
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]offset.Answer, len(qs))
	for i, q := range qs {
		for _, p := range q.Expect {
			r := offset.Result[offset.Stored]{Value: c.get(q.Group, p)}
			if p.Broker != "" && !c.caps.Queues {
				r.Err = offset.ErrUnsupported
			}
			out[i].Expected = append(out[i].Expected, r)
		}
		for p := range c.rows[q.Group] {
			if !slices.Contains(q.Expect, p) && (q.Topics == nil || slices.Contains(q.Topics, p.Topic)) {
				out[i].Others = append(out[i].Others, offset.Entry{Partition: p, Result: offset.Result[offset.Stored]{Value: c.get(q.Group, p)}})
			}
		}
		slices.SortFunc(out[i].Others, func(a, b offset.Entry) int { return a.Partition.Compare(b.Partition) })
	}
	return out
}

func (c client) check(group string, x offset.Change) error {
	switch {
	case x.To.State == offset.Unknown || x.To.State == offset.Set && x.To.Next < 0,
		x.To.State == offset.Absent && !c.caps.Delete, x.Partition.Broker != "" && !c.caps.Queues:
		return offset.ErrUnsupported
	case c.get(group, x.Partition).Version != x.From.Version:
		return offset.ErrMoved
	}
	return nil
}

func (c client) put(group string, p offset.Partition, to offset.Stored) {
	if c.rows[group] == nil {
		c.rows[group] = map[offset.Partition]row{}
	}
	if c.last++; to.State == offset.Absent {
		delete(c.rows[group], p)
		return
	}
	raw := strconv.FormatInt(to.Next, 10)
	if to.State == offset.Invalid {
		raw = string(to.Raw)
	}
	to.Committed = c.env.Now()
	c.rows[group][p] = row{raw, c.last, to}
}

func (c client) Write(_ context.Context, group string, ch []offset.Change) []offset.Result[offset.Stored] {
	out := make([]offset.Result[offset.Stored], len(ch))
	look := func() (bad bool) {
		for i, x := range ch {
			out[i] = offset.Result[offset.Stored]{Value: c.get(group, x.Partition), Err: c.check(group, x)}
			bad = bad || out[i].Err != nil
		}
		return bad
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	bad := false
	if !c.caps.Atomic {
		bad = look()
	}
	c.mu.Unlock()
	c.env.Call("memory", "write")
	c.mu.Lock()
	if c.caps.Atomic {
		bad = look()
	}
	for i, x := range ch {
		switch {
		case out[i].Err != nil:
		case bad && c.caps.Together == offset.PerGroup:
			out[i].Err = offset.ErrUntouched
		default:
			c.put(group, x.Partition, x.To)
			out[i].Value = c.get(group, x.Partition)
		}
	}
	return out
}

func (c client) DeletesGroups() error {
	if !c.caps.Delete {
		return offset.ErrUnsupported
	}
	return nil
}

func (c client) DeleteGroup(ctx context.Context, group string, had []offset.Change) ([]offset.Result[offset.Stored], error) {
	if err := c.DeletesGroups(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	for p := range c.rows[group] {
		if !slices.ContainsFunc(had, func(x offset.Change) bool { return x.Partition == p }) {
			c.mu.Unlock()
			return nil, offset.ErrMoved
		}
	}
	c.mu.Unlock()
	return c.Write(ctx, group, had), nil
}

func TestRunStore(t *testing.T) {
	for name, caps := range map[string]offset.Caps{"able": able, "plain": plain} {
		t.Run(name, func(t *testing.T) {
			m := &memory{rows: map[string]map[offset.Partition]row{}}
			RunStore(t, Store{
				Open: func(_ testing.TB, env offset.Env) offset.Store { return client{m, caps, env} },
				Caps: caps,
				Poke: func(_ testing.TB, group string, p offset.Partition, raw []byte) {
					m.mu.Lock()
					defer m.mu.Unlock()
					if m.rows[group] == nil {
						m.rows[group] = map[offset.Partition]row{}
					}
					if m.last++; raw == nil {
						delete(m.rows[group], p)
						return
					}
					m.rows[group][p] = row{raw: string(raw), version: m.last}
				},
				Bad: map[string][]byte{"text": []byte("abc"), "negative": []byte("-1")},
			})
		})
	}
}
