package offsettest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
)

// groups: a store that deletes whole groups deletes what was read of one, and nothing else. Brokers, which compare nothing and
// demand that nobody is in the group, have tests of their own.
func (d Store) groups(t *testing.T) {
	p := d.at(t, "group")
	del, ok := p.s.(offset.GroupDeleter)
	switch {
	case !ok || d.Caps.Members:
		return
	case d.OneGroup && del.DeletesGroups() == nil:
		t.Error("a place that is one group, whatever it is called, deletes groups")
	case del.DeletesGroups() != nil:
		d.groupsKept(t, p)
		return
	}
	t.Run("deleted", d.groupDeleted)
	t.Run("nothing there", d.noGroup)
	if d.Caps.Atomic {
		t.Run("moved", d.groupMoved)
		t.Run("grown", d.groupGrown)
		t.Run("another program at every moment", d.groupInterleaved)
	}
	if d.Cut != nil {
		t.Run("answer lost", func(t *testing.T) { d.groupCut(t, true) })
		t.Run("request lost", func(t *testing.T) { d.groupCut(t, false) })
	}
}

// deletion is a group's positions, each to become absent.
func (p *place) deletion(from results) []offset.Change {
	ch := p.to(from, 0)
	for i := range ch {
		ch[i].To = offset.Stored{State: offset.Absent}
	}
	return ch
}

// tryDelete answers one result for each of had, also where the store's answer is about the whole group.
func (p *place) tryDelete(s offset.Store, had []offset.Change) results {
	p.Helper()
	r, err := s.(offset.GroupDeleter).DeleteGroup(context.Background(), p.group, had)
	if err == nil && r != nil {
		if len(r) != len(had) {
			p.Fatalf("a group of %d positions was deleted, and %d results answer it", len(had), len(r))
		}
		return r
	}
	r = make(results, len(had))
	for i := range r {
		if r[i].Err = err; err == nil {
			r[i].Value = p.ask(context.Background(), p.open())[i].Value
		}
	}
	return r
}

// groupsKept: what says that it deletes no groups says so when it is asked to, and deletes nothing.
func (d Store) groupsKept(t *testing.T, p *place) {
	if err := p.s.(offset.GroupDeleter).DeletesGroups(); !errors.Is(err, offset.ErrUnsupported) {
		t.Errorf("why no groups can be deleted: %v; it should be: %v", err, offset.ErrUnsupported)
	}
	from := p.fresh(100)
	for i, r := range p.tryDelete(p.s, p.deletion(from)) {
		if !errors.Is(r.Err, offset.ErrUnsupported) {
			t.Errorf("%s of a group that cannot be deleted: %s; it should be: %v", p.ps[i], describe(r), offset.ErrUnsupported)
		}
	}
	p.same(from, p.read(p.open()), -1, "after a group that cannot be deleted")
}

// groupDeleted: it goes, its neighbours stay, and what was there can be put back.
func (d Store) groupDeleted(t *testing.T) {
	p := d.at(t, "gone")
	var others []*place
	var before []results
	for _, name := range []string{p.group + "0", p.group[:len(p.group)-1]} {
		q := *p
		q.group = name
		q.prepare(name)
		others = append(others, &q)
		before = append(before, q.fresh(500))
	}
	from := p.fresh(100)
	for i, r := range p.tryDelete(p.s, p.deletion(from)) {
		if r.Err != nil || r.Value.State != offset.Absent {
			t.Errorf("%s of the deleted group: %s", p.ps[i], describe(r))
		}
	}
	now := p.read(p.open())
	for i, r := range now {
		if r.Value.State != offset.Absent {
			t.Errorf("the group was deleted, and %s is %s", p.ps[i], describe(r))
		}
	}
	p.others(offset.Query{Group: p.group}, nil)
	for i, q := range others {
		q.same(before[i], q.read(q.open()), -1, "after its neighbour was deleted")
	}
	names, _, err := p.s.Groups(context.Background())
	if err != nil || slices.Contains(names, p.group) || !slices.Contains(names, others[0].group) {
		t.Errorf("after %q was deleted the groups are %q, %v", p.group, names, err)
	}
	back := p.to(now, 0)
	for i := range back {
		back[i].To = from[i].Value
	}
	p.write(p.s, back)
}

// noGroup: where nothing is there any more nothing is left to do, or it is said; the neighbours stay.
func (d Store) noGroup(t *testing.T) {
	p := d.at(t, "nogroup")
	before := p.fresh(100)
	q := *p
	q.group += "0"
	r, err := p.s.(offset.GroupDeleter).DeleteGroup(context.Background(), q.group, nil)
	if len(r) > 0 || err != nil && !errors.Is(err, offset.ErrUnknownName) {
		t.Errorf("a group that is not there: %v, %v", r, err)
	}
	p.same(before, p.read(p.open()), -1, "after a group that is not there was deleted")
}

// groupMoved: one of its positions is another by now.
func (d Store) groupMoved(t *testing.T) {
	p := d.at(t, "gonemoved")
	from := p.fresh(100)
	p.poke(1, 55)
	p.kept(from, p.deletion(from), 1, 55)
}

// groupGrown: it has a position that was not there when it was read.
func (d Store) groupGrown(t *testing.T) {
	p := d.at(t, "gonegrown")
	last := len(p.ps) - 1
	from := p.fresh(100)
	p.kept(from, p.deletion(from)[:last], -1, 100+int64(last))
}

// kept deletes a group that is not as it was read: one position stands in the way, which stays.
func (p *place) kept(from results, had []offset.Change, moved int, there int64) {
	p.Helper()
	r := p.tryDelete(p.s, had)
	if !slices.ContainsFunc(r, func(r offset.Result[offset.Stored]) bool { return errors.Is(r.Err, offset.ErrMoved) }) {
		p.Errorf("the group is not as it was read, and deleting it answers %s to %s", describe(r[0]), describe(r[len(r)-1]))
	}
	now := p.read(p.open())
	at := moved
	if at < 0 {
		at = len(now) - 1
	}
	if now[at].Value.Next != there {
		p.Errorf("%s was %d, which nobody had read, and is %s", p.ps[at], there, describe(now[at]))
	}
	if p.d.Caps.Together == offset.PerGroup {
		p.same(from, now, moved, "after a deletion that must be all or nothing")
	}
}

// groupInterleaved lets another program write just before each request: its value is never lost.
func (d Store) groupInterleaved(t *testing.T) {
	p := d.at(t, "gonebetween")
	ch := p.deletion(p.fresh(1))
	p.hook.set(nil)
	p.tryDelete(p.s, ch)
	moments := p.hook.calls.Load()
	for k := range moments {
		foreign := 9000 + k
		ch := p.deletion(p.fresh(100))
		done := p.pokeAtCall(k+1, foreign)
		p.tryDelete(p.s, ch)
		calls := p.hook.calls.Load()
		p.hook.set(nil)
		if calls <= k {
			t.Fatalf("a deletion of %d requests now took %d", moments, calls)
		}
		<-done
		if now := p.read(p.open())[1]; now.Value.Next != foreign {
			t.Errorf("another program's %d, written before request %d of %d, is lost: %s", foreign, k+1, moments, describe(now))
		}
	}
}

// groupCut loses the connection around the request that deletes.
func (d Store) groupCut(t *testing.T, sent bool) {
	p := d.at(t, "gonecut")
	s, arm := d.Cut(t, p.hook.env())
	p.close(s)
	ch := p.deletion(p.fresh(100))
	p.read(s)
	arm(sent)
	r := p.tryDelete(s, ch)
	now := p.read(p.open())
	for i := range r {
		gone := now[i].Value.State == offset.Absent
		switch {
		case r[i].Err == nil && !gone:
			t.Errorf("%s is called deleted, and is %s", p.ps[i], describe(now[i]))
		case r[i].Err != nil && !errors.Is(r[i].Err, offset.ErrOutcome) && gone:
			t.Errorf("%s failed (%v), and yet it is gone", p.ps[i], r[i].Err)
		case sent && r[i].Err != nil:
			t.Errorf("%s was deleted, only the answer was lost, and the store answers %v", p.ps[i], r[i].Err)
		}
	}
}
