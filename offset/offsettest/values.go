package offsettest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
)

// values: every number of 64 bits, what is no number, and the way back to either.
func (d Store) values(t *testing.T) {
	t.Run("numbers", d.numbers)
	t.Run("what is no position is never written", func(t *testing.T) {
		p := d.at(t, "never")
		from := p.fresh(100)
		ch := p.to(from, 200)
		for i := range ch {
			ch[i].To.Next = -1 - int64(i)
		}
		p.refused(ch, nil, "negative positions")
		for i := range ch {
			ch[i].To = offset.Stored{}
		}
		p.refused(ch, nil, "the unknown state")
	})
	t.Run("invalid", func(t *testing.T) {
		for what, raw := range d.Bad {
			t.Run(what, func(t *testing.T) { d.invalid(t, what, raw) })
		}
	})
	t.Run("undo", d.undo)
}

func (d Store) numbers(t *testing.T) {
	p := d.at(t, "numbers")
	p.fresh(100)
	for _, n := range []int64{0, 1, 255, 256, 2147483647, 2147483648, 2623027957, 9007199254740992, 9007199254740993, d.Largest} {
		if n > d.Largest {
			continue
		}
		ch := p.to(p.read(p.s), 0)
		for i := range ch {
			ch[i].To.Next = n
		}
		p.write(p.s, ch)
		for i, r := range p.read(p.open()) {
			if r.Value.State != offset.Set || r.Value.Next != n {
				t.Fatalf("%s: %d was written, and is read as %s", p.ps[i], n, describe(r))
			}
		}
		p.poke(0, 77)
		p.poke(0, n)
		if r := p.read(p.s)[0]; r.Value.State != offset.Set || r.Value.Next != n {
			t.Fatalf("another program wrote %q, and it is read as %s", d.Raw(n), describe(r))
		}
	}
}

func (d Store) invalid(t *testing.T, what string, raw []byte) {
	p := d.at(t, "invalid")
	if !d.Caps.Whole {
		p.fresh(100)
	}
	d.Poke(t, p.group, p.ps[1], raw)
	bad := p.read(p.s)
	if v := bad[1].Value; v.State != offset.Invalid || !bytes.Equal(v.Raw, raw) {
		t.Fatalf("%s: %q reads as %s with raw %q", what, raw, v.State, v.Raw)
	}
	if v := bad[0].Value; v.State != offset.Set {
		t.Errorf("%s: its neighbour reads as %s", what, v.State)
	}
	// A reset makes it a position, and undo makes it what it was, also after both have lain in a journal.
	wrote := p.write(p.s, p.to(bad, 40))
	now := p.read(p.open())
	p.same(wrote, now, -1, "after the reset")
	var back []offset.Change
	for i, c := range p.to(bad, 40) {
		back = append(back, throughJSON(t, c.Undo(now[i].Value)))
	}
	p.write(p.s, back)
	if v := p.read(p.open())[1].Value; v.State != offset.Invalid || !bytes.Equal(v.Raw, raw) {
		t.Errorf("%s: undo left %s, raw %q, instead of %q", what, v.State, v.Raw, raw)
	}
}

func throughJSON(t testing.TB, c offset.Change) (out offset.Change) {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func (d Store) undo(t *testing.T) {
	p := d.at(t, "undo")
	var steps [][]offset.Change
	first := p.read(p.s)
	ch := p.to(first, 100)
	steps = append(steps, ch)
	now := p.write(p.s, ch)
	ch = p.to(now, 7)
	steps = append(steps, ch)
	now = p.write(p.s, ch)
	for n := len(steps) - 1; n >= 0; n-- {
		if n == 0 && (!d.Caps.Delete || d.Caps.Whole) {
			break
		}
		var back []offset.Change
		for i, c := range steps[n] {
			back = append(back, throughJSON(t, c.Undo(now[i].Value)))
		}
		now = p.write(p.s, back)
		for i, r := range p.read(p.open()) {
			if !r.Value.Same(steps[n][i].From) {
				t.Errorf("undo of step %d: %s is %s and was %s", n, p.ps[i], describe(r), steps[n][i].From.State)
			}
		}
		p.refused(back, offset.ErrMoved, "the same undo again")
	}
}

// recreated: a row that was deleted and made again is not the one that was read.
func (d Store) recreated(t *testing.T) {
	p := d.at(t, "recreated")
	old := p.fresh(100)
	drop := func(from results) results {
		ch := p.to(from, 0)
		for i := range ch {
			ch[i].To = offset.Stored{State: offset.Absent}
		}
		return p.write(p.s, ch)
	}
	for _, next := range []int64{300, 100} {
		p.write(p.s, p.to(drop(p.read(p.s)), next))
		if next == 100 && !d.Caps.Fence {
			continue // by its value it is the old one: that is all such a layout can tell
		}
		for i, r := range p.try(context.Background(), p.s, p.to(old, 500)) {
			if !errors.Is(r.Err, offset.ErrMoved) && !errors.Is(r.Err, offset.ErrUntouched) {
				t.Errorf("%s was deleted and made again with %d, and a change from the old one answers %v", p.ps[i], next+int64(i), r.Err)
			}
		}
	}
	// Absent is something to start from as well: whoever made the row in between is not overwritten.
	gone := drop(p.read(p.s))
	p.write(p.s, p.to(gone, 600))
	p.refused(p.to(gone, 700), offset.ErrMoved, "a second creation from the same absence")
}
