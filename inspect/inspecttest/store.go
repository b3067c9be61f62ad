package inspecttest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/offsetctl/offsetctl/offset"
)

// Positions is the store of the world. With Caps.Members it refuses writes to live groups.
func (w *World) Positions() offset.Store { return store{w} }

type store struct{ *World }

func (s store) Caps() offset.Caps { return s.World.Caps }
func (s store) Close() error      { return nil }

func (s store) Groups(ctx context.Context) ([]string, []error, error) {
	if err := s.call(ctx, "groups"); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	names := slices.Collect(maps.Keys(s.stored))
	if s.World.Caps.Members {
		for n := range s.groups {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil, nil
}

func (s store) Read(ctx context.Context, qs []offset.Query) []offset.Answer {
	err := s.call(ctx, "read")
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]offset.Answer, len(qs))
	for i, q := range qs {
		if e := s.readErr[q.Group]; e != nil || err != nil {
			out[i] = failed(q, firstOf(e, err))
			continue
		}
		out[i] = s.read(q)
	}
	return out
}

func firstOf(errs ...error) error {
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return nil
}

func failed(q offset.Query, err error) offset.Answer {
	a := offset.Answer{Err: err, Expected: make([]offset.Result[offset.Stored], len(q.Expect))}
	for i := range a.Expected {
		a.Expected[i].Err = err
	}
	return a
}

func (s store) read(q offset.Query) (a offset.Answer) {
	for _, p := range q.Expect {
		a.Expected = append(a.Expected, s.get(q.Group, p))
	}
	for p, r := range s.stored[q.Group] {
		if (q.Topics == nil || slices.Contains(q.Topics, p.Topic)) && !slices.Contains(q.Expect, p) {
			a.Others = append(a.Others, offset.Entry{Partition: p, Result: r})
		}
	}
	slices.SortFunc(a.Others, func(x, y offset.Entry) int { return x.Partition.Compare(y.Partition) })
	return a
}

func (s store) Write(ctx context.Context, group string, changes []offset.Change) []offset.Result[offset.Stored] {
	err := s.call(ctx, "write")
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]offset.Result[offset.Stored], len(changes))
	bad := false
	for i, c := range changes {
		out[i].Err = firstOf(err, s.refusal(group, c))
		out[i].Value = s.get(group, c.Partition).Value
		bad = bad || out[i].Err != nil
	}
	for i, c := range changes {
		switch {
		case out[i].Err != nil:
		case bad && s.World.Caps.Together == offset.PerGroup:
			out[i].Err = offset.ErrUntouched
		default:
			to := c.To
			to.Version = ""
			s.put(group, c.Partition, offset.Result[offset.Stored]{Value: to})
			out[i].Value = s.get(group, c.Partition).Value
		}
	}
	return out
}

func (s store) refusal(group string, c offset.Change) error {
	switch g := s.groups[group]; {
	case s.World.Caps.Members && g.Phase == offset.Live:
		return fmt.Errorf("group %s %w", group, offset.ErrLive)
	case s.writeErr[c.Partition] != nil:
		return s.writeErr[c.Partition]
	case s.get(group, c.Partition).Value.Version != c.From.Version:
		return fmt.Errorf("%s %w", c.Partition, offset.ErrMoved)
	}
	return nil
}

// Refuses answers World.Refusal.
func (s store) Refuses(string, offset.Change) error { return s.Refusal }

// Guard answers World.Objections.
func (s store) Guard(context.Context, string, []offset.Change) []offset.Objection {
	return s.Objections
}
