package offsettest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
)

// answers: everything asked is answered in order, and what a write answers is what is there.
func (d Store) answers(t *testing.T) {
	t.Run("nothing asked", func(t *testing.T) {
		p := d.at(t, "nothing")
		if a := p.s.Read(context.Background(), nil); len(a) != 0 {
			t.Errorf("no query has %d answers", len(a))
		}
		if r := p.s.Write(context.Background(), p.group, nil); len(r) != 0 {
			t.Errorf("no change has %d results", len(r))
		}
	})
	if !d.Caps.Whole {
		t.Run("absent is not zero", func(t *testing.T) {
			p := d.at(t, "absent")
			for i, r := range p.read(p.s) {
				if r.Value.State != offset.Absent {
					t.Errorf("%s: %s where nothing was written", p.ps[i], describe(r))
				}
			}
			for i, r := range p.fresh(0) {
				if r.Value.State != offset.Set || r.Value.Next != int64(i) {
					t.Errorf("%s: %s instead of %d", p.ps[i], describe(r), i)
				}
			}
		})
	}
	t.Run("what is written is there", func(t *testing.T) {
		p := d.at(t, "written")
		wrote := p.fresh(100)
		p.same(wrote, p.read(p.open()), -1, "after the write")
	})
	t.Run("a version is good in a plan file", func(t *testing.T) {
		p := d.at(t, "version")
		ch := p.to(p.fresh(100), 200)
		for i := range ch {
			text, err := json.Marshal(ch[i])
			if err != nil {
				t.Fatal(err)
			}
			ch[i] = offset.Change{}
			if err := json.Unmarshal(text, &ch[i]); err != nil {
				t.Fatal(err)
			}
		}
		p.write(p.open(), ch)
		p.refused(ch, offset.ErrMoved, "the same change a second time")
	})
	t.Run("another program was there", func(t *testing.T) {
		p := d.at(t, "foreign")
		ch := p.to(p.fresh(100), 10)
		p.poke(1, 111)
		r := p.try(context.Background(), p.s, ch)
		if !errors.Is(r[1].Err, offset.ErrMoved) || r[1].Value.State != offset.Set || r[1].Value.Next != 111 {
			t.Errorf("%s moved from 101 to 111 since it was read, and the write answers %v with %s", p.ps[1], r[1].Err, describe(offset.Result[offset.Stored]{Value: r[1].Value}))
		}
		if now := p.read(p.open()); now[1].Value.Next != 111 {
			t.Errorf("%s: the other program's 111 is lost: %s", p.ps[1], describe(now[1]))
		}
	})
	t.Run("context that is done", func(t *testing.T) {
		p := d.at(t, "done")
		before := p.fresh(100)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for i, r := range p.ask(ctx, p.s) {
			if r.Err == nil && !r.Value.Same(before[i].Value) {
				t.Errorf("%s: %s without an error", p.ps[i], describe(r))
			}
		}
		ch := p.to(before, 200)
		p.truth(ch, p.try(ctx, p.s, ch), "with a context that is done")
	})
	t.Run("several groups in one question", d.severalGroups)
	if !d.Caps.Whole {
		t.Run("requests", d.requests)
	}
}

// refused holds that the changes are refused with an error of this kind, and that nothing was written.
func (p *place) refused(ch []offset.Change, kind error, what string) {
	p.Helper()
	before := p.read(p.s)
	for i, r := range p.try(context.Background(), p.s, ch) {
		switch {
		case r.Err == nil:
			p.Errorf("%s: %s was written", what, ch[i].Partition)
		case kind != nil && !errors.Is(r.Err, kind) && !errors.Is(r.Err, offset.ErrUntouched):
			p.Errorf("%s: %s: %v; it should be: %v", what, ch[i].Partition, r.Err, kind)
		case errors.Is(r.Err, offset.ErrOutcome):
			p.Errorf("%s: %s: %v; nothing should have been sent", what, ch[i].Partition, r.Err)
		}
	}
	p.same(before, p.read(p.open()), -1, what)
}

func (d Store) severalGroups(t *testing.T) {
	if d.OneGroup {
		return
	}
	p := d.at(t, "several")
	q := *p
	q.group = p.group + "-2"
	q.prepare(q.group)
	p.fresh(100)
	q.fresh(500)
	rest := p.ps[1:]
	qs := []offset.Query{{Group: p.group, Expect: rest}, {Group: p.group + "-0", Expect: p.ps[:1]}, {Group: q.group, Expect: q.ps}}
	a := p.s.Read(context.Background(), qs)
	if len(a) != len(qs) {
		t.Fatalf("%d queries have %d answers", len(qs), len(a))
	}
	for i, want := range []struct{ n, first int64 }{{int64(len(rest)), 101}, {1, -1}, {int64(len(q.ps)), 500}} {
		if int64(len(a[i].Expected)) != want.n {
			t.Fatalf("query %d: %d answers for %d partitions", i, len(a[i].Expected), want.n)
		}
		if want.first < 0 {
			if r := a[i].Expected[0]; a[i].Err == nil && r.Err == nil && r.Value.State != offset.Absent {
				t.Errorf("a group that is not there has %s", describe(r))
			}
			continue
		}
		for j, r := range a[i].Expected {
			if a[i].Err != nil || r.Err != nil || r.Value.Next != want.first+int64(j) {
				t.Errorf("query %d, %s: %s, %v", i, qs[i].Expect[j], describe(r), a[i].Err)
			}
		}
	}
}

// requests: a hundred partitions cost no more requests than a few.
func (d Store) requests(t *testing.T) {
	p := d.at(t, "requests")
	var many []offset.Partition
	for i := range int32(100) {
		many = append(many, offset.Partition{Topic: p.ps[0].Topic, Broker: p.ps[0].Broker, Index: i})
	}
	p.fresh(1)
	count := func() int64 {
		p.hook.set(nil)
		p.read(p.s)
		return p.hook.calls.Load()
	}
	few := count()
	if few == 0 {
		t.Fatal("a Read reports no request to Env.Trace")
	}
	p.ps = many
	if d.Prepare != nil {
		d.Prepare(t, p.group, many)
	}
	p.fresh(1)
	if p.hook.calls.Load() == 0 {
		t.Error("a Write reports no request to Env.Trace")
	}
	if n := count(); n > few && !d.OneByOne {
		t.Errorf("reading 100 partitions takes %d requests, reading %d takes %d", n, len(p.d.Partitions("x"))*2, few)
	}
}
