package offsettest

import (
	"context"
	"slices"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
)

// groups: a group with positions and no members is empty, one that is not there is missing, and neither is an error.
func (d Broker) groups(t *testing.T) {
	x := d.at(t)
	ps := d.Create(t, d.name("read"), 2)
	stored := d.name("stored")
	d.Commit(t, stored, ps[0], 5)
	names := []string{d.name("nobody"), stored, d.name("nobody2")}
	r := x.b.Describe(context.Background(), names)
	if len(r) != len(names) {
		t.Fatalf("%d groups were asked, and %d answered", len(names), len(r))
	}
	for i, want := range []offset.Phase{offset.Missing, offset.Empty, offset.Missing} {
		if g := r[i].Value; r[i].Err != nil || g.Phase != want || g.Name != names[i] || len(g.Members) != 0 {
			t.Errorf("group %s should be %s: %+v", names[i], want, r[i])
		}
	}
	all, gaps, err := x.b.Groups(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	x.listed(all, stored, true)
	x.listed(all, names[0], false)
	if !slices.IsSortedFunc(all, func(a, b offset.Group) int { return compare(a.Name, b.Name) }) {
		t.Error("groups are not sorted")
	}
	t.Logf("%d gaps in the list of groups", len(gaps))
	// The broker's own store is on the same connections and knows the same groups.
	a := x.b.Offsets().Read(context.Background(), []offset.Query{{Group: stored, Expect: ps}})
	if len(a) != 1 || a[0].Err != nil || a[0].Expected[0].Value.Next != 5 || a[0].Expected[1].Value.State != offset.Absent {
		t.Errorf("positions of %s: %+v", stored, a)
	}
}

func (x *desk) listed(all []offset.Group, name string, want bool) {
	x.Helper()
	n := 0
	for _, g := range all {
		if g.Name == name {
			n++
			if g.Phase == offset.Missing || g.Phase == offset.Live {
				x.Errorf("group %s without members is listed as %s", name, g.Phase)
			}
		}
	}
	if want && n != 1 || !want && n != 0 {
		x.Errorf("group %s is listed %d times", name, n)
	}
}

// liveGroup: who is in a group, what each one wants and owns; and that nobody is when it left.
func (d Broker) liveGroup(t *testing.T) {
	if d.Live == nil {
		return
	}
	x := d.at(t)
	ps := d.Create(t, d.name("alive"), 2)
	group := d.name("alive-group")
	stop := d.Live(t, group, ps[0].Topic)
	r := x.b.Describe(context.Background(), []string{group})[0]
	if r.Err != nil || r.Value.Phase != offset.Live || r.Value.Kind != d.Kind || len(r.Value.Members) != 1 {
		t.Fatalf("a group with one member: %+v", r)
	}
	m := r.Value.Members[0]
	wants := slices.ContainsFunc(m.Subscribes, func(s offset.Subscription) bool { return s.Topic == ps[0].Topic })
	if m.ID == "" || m.Host == "" || !wants || !slices.Equal(m.Owns, ps) {
		t.Errorf("its member: %+v; it owns %v", m, ps)
	}
	all, _, err := x.b.Groups(context.Background())
	i := slices.IndexFunc(all, func(g offset.Group) bool { return g.Name == group })
	if err != nil || i < 0 || all[i].Phase == offset.Missing || all[i].Phase == offset.Empty {
		t.Errorf("the list of groups: %v, %v", all, err)
	}
	stop()
	if r := x.b.Describe(context.Background(), []string{group})[0]; r.Err != nil || r.Value.Phase == offset.Live || len(r.Value.Members) != 0 {
		t.Errorf("a group whose member has left: %+v", r)
	}
}
