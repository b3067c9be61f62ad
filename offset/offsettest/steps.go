package offsettest

import (
	"context"
	"errors"

	"github.com/offsetctl/offsetctl/offset"
)

// Steps of the tests: reading and writing a place, with what holds for every answer looked at in passing.

// results is what the place's partitions have, in their order.
type results []offset.Result[offset.Stored]

// read asks a handle for the place's partitions; each must be answered.
func (p *place) read(s offset.Store) results {
	p.Helper()
	r := p.ask(context.Background(), s)
	for i := range r {
		if r[i].Err != nil {
			p.Fatalf("reading %s: %v", p.ps[i], r[i].Err)
		}
		p.sound(r[i].Value)
	}
	return r
}

// ask is read where errors are expected.
func (p *place) ask(ctx context.Context, s offset.Store) results {
	p.Helper()
	a := s.Read(ctx, []offset.Query{{Group: p.group, Expect: p.ps}})
	if len(a) != 1 || len(a[0].Expected) != len(p.ps) {
		p.Fatalf("one query for %d partitions was answered by %+v", len(p.ps), a)
	}
	r := results(a[0].Expected)
	if a[0].Err != nil {
		for i := range r {
			r[i].Err = errors.Join(a[0].Err, r[i].Err)
		}
	}
	return r
}

// sound holds for every stored position.
func (p *place) sound(s offset.Stored) {
	p.Helper()
	if s.State == offset.Unknown {
		p.Fatal("an answer without an error that says nothing")
	}
	if s.State != offset.Set && s.Next != 0 {
		p.Fatalf("%s and yet %d", s.State, s.Next)
	}
	if s.Version == "" || len(s.Version) > 1024 {
		p.Fatalf("version %q: it must be there, and at most 1 KiB", s.Version)
	}
	for _, c := range []byte(s.Version) {
		if c < ' ' || c > '~' {
			p.Fatalf("version %q is not printable ASCII", s.Version)
		}
	}
}

// to makes the changes that put partition i to next+i.
func (p *place) to(from results, next int64) []offset.Change {
	ch := make([]offset.Change, len(p.ps))
	for i := range ch {
		ch[i] = offset.Change{Partition: p.ps[i], From: from[i].Value, To: offset.Stored{State: offset.Set, Next: next + int64(i)}}
	}
	return ch
}

// try writes and answers one result for each change.
func (p *place) try(ctx context.Context, s offset.Store, ch []offset.Change) results {
	p.Helper()
	r := s.Write(ctx, p.group, ch)
	if len(r) != len(ch) {
		p.Fatalf("%d changes were answered by %d results", len(ch), len(r))
	}
	return r
}

// write writes what must succeed, and proves that another handle sees the same.
func (p *place) write(s offset.Store, ch []offset.Change) results {
	p.Helper()
	r := p.try(context.Background(), s, ch)
	for i := range r {
		if r[i].Err != nil {
			p.Fatalf("writing %s: %v", ch[i].Partition, r[i].Err)
		}
		p.sound(r[i].Value)
		if !r[i].Value.Same(expected(ch[i].To, p.d.Caps)) {
			p.Fatalf("writing %s: it answers %s for %s", ch[i].Partition, describe(r[i]), describe(offset.Result[offset.Stored]{Value: ch[i].To}))
		}
	}
	return r
}

// expected is what a reader sees of what was written.
func expected(to offset.Stored, c offset.Caps) offset.Stored {
	if !c.Metadata {
		to.Metadata = ""
	}
	return to
}

// fresh is a place with positions in it: next+i at partition i.
func (p *place) fresh(next int64) results {
	p.Helper()
	return p.write(p.s, p.to(p.read(p.s), next))
}

// poke writes position next at partition i as a foreign program does.
func (p *place) poke(i int, next int64) {
	p.Helper()
	p.d.Poke(p.TB, p.group, p.ps[i], p.d.Raw(next))
}

// same tells whether two readings agree, versions included.
func (p *place) same(a, b results, but int, what string) {
	p.Helper()
	for i := range a {
		if i != but && (!a[i].Value.Same(b[i].Value) || a[i].Value.Version != b[i].Value.Version) {
			p.Errorf("%s: %s was %s and is %s", what, p.ps[i], describe(a[i]), describe(b[i]))
		}
	}
}

// truth holds after any Write: a success is there, a failure changed nothing, ErrOutcome may be either.
func (p *place) truth(ch []offset.Change, r results, what string) {
	p.Helper()
	now := p.read(p.open())
	for i, c := range ch {
		there, before := now[i].Value.Same(expected(c.To, p.d.Caps)), now[i].Value.Same(c.From)
		switch {
		case r[i].Err == nil && !there:
			p.Errorf("%s: %s is called written, and %s is there", what, c.Partition, describe(now[i]))
		case r[i].Err == nil && r[i].Value.Version != now[i].Value.Version:
			p.Errorf("%s: %s is answered with version %q, and has %q", what, c.Partition, r[i].Value.Version, now[i].Value.Version)
		case errors.Is(r[i].Err, offset.ErrOutcome) && !there && !before:
			p.Errorf("%s: %s is neither old nor new: %s", what, c.Partition, describe(now[i]))
		case r[i].Err != nil && !errors.Is(r[i].Err, offset.ErrOutcome) && !before:
			p.Errorf("%s: %s failed (%v), and yet it changed to %s", what, c.Partition, r[i].Err, describe(now[i]))
		}
	}
}

// whole holds where all or nothing is claimed: no extent is half new.
func (p *place) whole(ch []offset.Change, what string) {
	p.Helper()
	now := p.read(p.open())
	written := map[string]bool{}
	for i, c := range ch {
		key := p.ps[i].String()
		switch p.d.Caps.Together {
		case offset.PerGroup:
			key = ""
		case offset.PerTopic:
			key = c.Partition.Topic
		}
		w := now[i].Value.Same(expected(c.To, p.d.Caps))
		if before, seen := written[key]; seen && before != w {
			p.Errorf("%s: half of it was written: %s is %s", what, c.Partition, describe(now[i]))
		}
		written[key] = w
	}
}
