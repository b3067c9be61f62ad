package offsettest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// faults: another program, a cancellation, a lost answer, at every moment of a write.
func (d Store) faults(t *testing.T) {
	t.Run("another program at every moment", d.interleaved)
	t.Run("cancelled at every moment", d.cancelled)
	if d.Cut != nil {
		t.Run("answer lost", func(t *testing.T) { d.cut(t, true) })
		t.Run("request lost", func(t *testing.T) { d.cut(t, false) })
	}
	if d.Down != nil {
		t.Run("not there", d.down)
	}
}

// moments counts the requests of one write.
func (p *place) moments() int64 {
	p.Helper()
	ch := p.to(p.fresh(1), 2)
	p.hook.set(nil)
	p.write(p.s, ch)
	n := p.hook.calls.Load()
	if n == 0 {
		p.Fatal("a Write reports no request to Env.Trace")
	}
	return n
}

// pokeAtCall lets a foreign program write partition 1 while the store makes its n-th call. done is closed when it has.
func (p *place) pokeAtCall(n, next int64) (done chan struct{}) {
	done = make(chan struct{})
	p.hook.set(func(call int64) {
		if call != n {
			return
		}
		go func() {
			defer close(done)
			p.poke(1, next)
		}()
		select { // a server may let it wait until our transaction ends
		case <-done:
		case <-time.After(300 * time.Millisecond):
		}
	})
	return done
}

// interleaved lets another program write just before each request of a Write. Where the comparison is part of the write,
// its value is never lost, wherever it comes; where it is not, there is a moment at which it is.
func (d Store) interleaved(t *testing.T) {
	p := d.at(t, "between")
	lost := 0
	n := p.moments()
	for k := range n {
		foreign := 9000 + k
		ch := p.to(p.fresh(100), 200)
		done := p.pokeAtCall(k+1, foreign)
		r := p.try(context.Background(), p.s, ch)
		calls := p.hook.calls.Load()
		p.hook.set(nil)
		if calls <= k {
			t.Fatalf("a write of %d requests now took %d", n, calls)
		}
		<-done
		now := p.read(p.open())[1]
		switch {
		case now.Value.Next == foreign:
		case now.Value.Same(ch[1].To):
			lost++
			if d.Caps.Atomic {
				t.Errorf("another program's %d, written before request %d of %d, is lost (the write answers %v)", foreign, k+1, n, r[1].Err)
			}
		default:
			t.Errorf("request %d of %d: %s is %s, which nobody wrote", k+1, n, p.ps[1], describe(now))
		}
	}
	if lost == 0 && !d.Caps.Atomic {
		t.Errorf("it does not claim that the comparison is part of the write, and at no moment of %d could it be deceived", n)
	}
}

// cancelled ends the context just before each request of a Write: what is answered must be true all the same.
func (d Store) cancelled(t *testing.T) {
	p := d.at(t, "cancelled")
	n := p.moments()
	for k := range n {
		ch := p.to(p.fresh(100), 200)
		ctx, cancel := context.WithCancel(context.Background())
		p.hook.set(func(n int64) {
			if n == k+1 {
				cancel()
			}
		})
		r := p.try(ctx, p.s, ch)
		p.hook.set(nil)
		cancel()
		what := fmt.Sprintf("cancelled before request %d of %d", k+1, n)
		p.truth(ch, r, what)
		p.whole(ch, what)
	}
}

// cut loses the connection around the request that writes.
func (d Store) cut(t *testing.T, sent bool) {
	p := d.at(t, fmt.Sprintf("cut-%v", sent))
	s, arm := d.Cut(t, p.hook.env())
	p.close(s)
	for n := range int64(3) {
		ch := p.to(p.fresh(100), 200+n)
		p.read(s)
		arm(sent)
		r := p.try(context.Background(), s, ch)
		p.truth(ch, r, "after a lost connection")
		p.whole(ch, "after a lost connection")
		for i := range r {
			if sent && r[i].Err != nil {
				t.Errorf("%s was written, only the answer was lost, and the store answers %v", p.ps[i], r[i].Err)
			}
		}
	}
}

func (d Store) down(t *testing.T) {
	p := d.at(t, "down")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	away := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, offset.ErrUnreachable) && !errors.Is(err, offset.ErrUnknownName) && !errors.Is(err, offset.ErrDenied) {
			t.Errorf("%s: %v; it should be: %v", what, err, offset.ErrUnreachable)
		}
	}
	s, err := d.Down(t, p.hook.env())
	if err != nil {
		away("opening", err)
		return
	}
	p.close(s)
	for i, r := range p.ask(ctx, s) {
		away("reading "+p.ps[i].String(), r.Err)
	}
	from := make(results, len(p.ps))
	for i := range from {
		from[i].Value = offset.Stored{State: offset.Absent}
	}
	for i, r := range p.try(ctx, s, p.to(from, 1)) {
		away("writing "+p.ps[i].String(), r.Err)
	}
	_, _, err = s.Groups(ctx)
	away("listing groups", err)
}
