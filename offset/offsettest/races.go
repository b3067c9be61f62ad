package offsettest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
)

// races: of two who start from the same reading exactly one wins, and nobody's progress is lost.
func (d Store) races(t *testing.T) {
	t.Run("one handle, many callers", d.shared)
	if !d.Caps.Atomic {
		return
	}
	t.Run("two writers", d.twoWriters)
	t.Run("lost update", d.lostUpdate)
}

func (d Store) twoWriters(t *testing.T) {
	p := d.at(t, "race")
	other := p.open()
	p.fresh(1)
	for n := range int64(d.Rounds) {
		from := p.read(p.s)
		if n%4 == 3 && d.Caps.Delete && !d.Caps.Whole {
			ch := p.to(from, 0)
			for i := range ch {
				ch[i].To = offset.Stored{State: offset.Absent}
			}
			from = p.write(p.s, ch)
		}
		var wg sync.WaitGroup
		var res [2]results
		one, two := p.to(from, 1000*n+100), p.to(from, 1000*n+200)
		wg.Go(func() { res[0] = p.s.Write(context.Background(), p.group, one) })
		wg.Go(func() { res[1] = other.Write(context.Background(), p.group, two) })
		wg.Wait()
		if len(res[0]) != len(p.ps) || len(res[1]) != len(p.ps) {
			t.Fatalf("round %d: %d and %d results for %d changes", n, len(res[0]), len(res[1]), len(p.ps))
		}
		now := p.read(p.s)
		for i := range p.ps {
			a, b := res[0][i].Err, res[1][i].Err
			switch {
			case a == nil && b == nil:
				t.Fatalf("round %d, %s: both won; it is %s", n, p.ps[i], describe(now[i]))
			case a != nil && b != nil:
				t.Fatalf("round %d, %s: nobody won: %v; %v", n, p.ps[i], a, b)
			}
			won := one[i].To
			if b == nil {
				won = two[i].To
			}
			if !now[i].Value.Same(won) {
				t.Fatalf("round %d, %s: %d won, and %s is there", n, p.ps[i], won.Next, describe(now[i]))
			}
			for _, err := range []error{a, b} {
				if err != nil && !errors.Is(err, offset.ErrMoved) && !errors.Is(err, offset.ErrUntouched) {
					t.Fatalf("round %d, %s: the loser is told %v", n, p.ps[i], err)
				}
			}
		}
	}
}

// lostUpdate lets two writers count one position up together: every success counts once.
func (d Store) lostUpdate(t *testing.T) {
	p := d.at(t, "count")
	p.fresh(0)
	handles := []offset.Store{p.s, p.open()}
	each := d.Rounds / 4
	var wg sync.WaitGroup
	var won [2]int64
	for h, s := range handles {
		wg.Go(func() {
			for tries := 0; won[h] < int64(each) && tries < 50*each; tries++ {
				a := s.Read(context.Background(), []offset.Query{{Group: p.group, Expect: p.ps}})
				if a[0].Err != nil {
					t.Errorf("reading in a race: %v", a[0].Err)
					return
				}
				r := s.Write(context.Background(), p.group, p.to(a[0].Expected, a[0].Expected[0].Value.Next+1))
				switch {
				case r[0].Err == nil:
					won[h]++
				case !errors.Is(r[0].Err, offset.ErrMoved) && !errors.Is(r[0].Err, offset.ErrUntouched):
					t.Errorf("writing in a race: %v", r[0].Err)
					return
				}
			}
		})
	}
	wg.Wait()
	if now := p.read(p.s)[0]; now.Value.Next != won[0]+won[1] {
		t.Errorf("%d and %d steps succeeded, and the position is %s", won[0], won[1], describe(now))
	}
	if won[0]+won[1] < int64(2*each) {
		t.Errorf("of %d steps %d and %d succeeded", 2*each, won[0], won[1])
	}
}

// shared: one handle used by several at a time mixes nothing up.
func (d Store) shared(t *testing.T) {
	if d.OneGroup || d.Caps.Whole {
		return
	}
	base := d.at(t, "shared")
	var wg sync.WaitGroup
	for k := range int64(4) {
		p := *base
		p.group = base.group + string(rune('0'+k))
		p.prepare(p.group)
		from := p.read(p.s)
		wg.Go(func() {
			for n := range int64(5) {
				r := p.s.Write(context.Background(), p.group, p.to(from, 100*k+10*n))
				for i := range r {
					if r[i].Err != nil {
						t.Errorf("%s, %s: %v", p.group, p.ps[i], r[i].Err)
						return
					}
				}
				from = r
				a := p.s.Read(context.Background(), []offset.Query{{Group: p.group, Expect: p.ps}})
				for i, x := range a[0].Expected {
					if a[0].Err != nil || x.Err != nil || x.Value.Next != 100*k+10*n+int64(i) {
						t.Errorf("%s, %s: %s, %v", p.group, p.ps[i], describe(x), a[0].Err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}
