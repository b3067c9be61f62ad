package repair

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/inspect/inspecttest"
	"github.com/offsetctl/offsetctl/offset"
)

// twoClusters are a source with three partitions and a target whose records lie 1,000 further.
func twoClusters() (from, to *inspecttest.World) {
	from, to = ownStore(), external()
	to.Cluster = "c2"
	for i, p := range []string{"orders:0", "orders:1", "orders:2"} {
		l, m := from.Log(p, 0, 10), to.Log(p, 1000, 1010)
		for n := range int64(10) {
			at := noon.Add(time.Duration(n) * time.Minute)
			l.Records = append(l.Records, offset.Record{Offset: n, Time: at})
			m.Records = append(m.Records, offset.Record{Offset: 1000 + n, Time: at})
		}
		if i < 2 {
			from.Commit("billing", p, int64(4+6*i)) // 4, and 10 at the end
		}
	}
	return from, to
}

func copied(t *testing.T, from, to *inspecttest.World, o CopyOptions) (*Plan, error) {
	t.Helper()
	o.Origin = Origin{Broker: "kafka://t:9092", Store: "sqlite:/target.db"}
	o.FromBroker, o.FromStore = "kafka://s:9092", "kafka://s:9092"
	return MakeCopy(report(t, from), reportOf(t, to, inspect.Ask{Groups: []string{"billing2"}, Topics: []string{"orders"}}), o)
}

// TestCopyOfNothing: a misspelt source is no success. What is left out is named once, with the reason.
func TestCopyOfNothing(t *testing.T) {
	w := external()
	w.Log("orders:0", 0, 10)
	w.Log("orders:1", 0, 10)
	w.Commit("billing", "orders:0", 4)
	w.Commit("billing", "orders:7", 5)
	try := func(source string) (*Plan, error) {
		o := CopyOptions{FromBroker: here.Broker, FromStore: here.Store}
		o.Origin = here
		return MakeCopy(reportOf(t, w, inspect.Ask{Groups: []string{source}, Topics: []string{"orders"}}),
			reportOf(t, w, inspect.Ask{Groups: []string{"billing2"}, Topics: []string{"orders"}}), o)
	}
	_, err := try("biling")
	wantRefused(t, err, CauseNames, "group biling has nothing stored", "inspect -g biling")
	p, err := try("billing")
	if err != nil || len(p.Groups) != 1 || len(p.Groups[0].Items) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	if got := strings.Join(p.NotSelected, ", "); got != "orders:1 (nothing to copy), orders:7 (no such partition)" {
		t.Errorf("not selected: %s", got)
	}
}

func TestCopyBetweenClusters(t *testing.T) {
	from, to := twoClusters()
	_, err := copied(t, from, to, CopyOptions{})
	wantRefused(t, err, CauseCluster, "different clusters, c1 and c2", "--translate time")

	_, err = copied(t, from, to, CopyOptions{Translation: SameNumbers})
	wantRefused(t, err, CauseOutside, "orders:0", "1000 to 1010")

	at := []offset.Position{{Partition: inspecttest.P("orders:0"), Offset: 4}, {Partition: inspecttest.P("orders:1"), Offset: 10}}
	o := CopyOptions{Translation: TranslateByTime}
	peeks, logs := from.Count("peek"), to.Count("logs")
	o.Translated = Translate(t.Context(), from.Broker(), to.Broker(), at, o.At)
	if p, l := from.Count("peek")-peeks, to.Count("logs")-logs; p != 2 || l != 1 {
		t.Errorf("%d and %d trips", p, l)
	}
	p, err := copied(t, from, to, o)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{"orders:0": 1004, "orders:1": 1010} {
		if it := row(t, p, name); it.Action != Write || it.To.Next != want || it.To.Metadata != "" {
			t.Errorf("%s: %+v", name, it)
		}
	}
	if p.Kind != KindCopy || !p.NewGroups || len(p.NotSelected) != 1 {
		t.Errorf("%+v", p)
	}
}

func TestTranslationsThatAreNotKnown(t *testing.T) {
	from, to := twoClusters()
	from.Log("orders:0", 0, 10).Err = offset.ErrNoLeader
	from.Log("orders:1", 10, 10) // its records are gone
	at := []offset.Position{{Partition: inspecttest.P("orders:0"), Offset: 4}, {Partition: inspecttest.P("orders:1"), Offset: 10}}
	o := CopyOptions{Translation: TranslateByTime}
	o.Translated = Translate(t.Context(), from.Broker(), to.Broker(), at, o.At)
	_, err := copied(t, from, to, o)
	wantRefused(t, err, CauseUnknown, "orders:0", "leader")
	if len(reasons(err)) != 2 || !errors.Is(err, offset.ErrNoLeader) {
		t.Errorf("got %v", err)
	}
}

func TestCopyOnOneCluster(t *testing.T) {
	from := ownStore()
	from.Log("orders:0", 0, 100)
	from.Store("billing", "orders:0", offset.Result[offset.Stored]{Value: offset.Stored{State: offset.Set, Next: 60, LeaderEpoch: offset.EpochOf(4), Metadata: "kgo-1"}})
	to := external()
	to.Log("orders:0", 0, 100)
	p, err := copied(t, from, to, CopyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	it := row(t, p, "orders:0")
	if _, known := it.To.LeaderEpoch.Get(); known || it.To.Metadata != "" || it.To.Next != 60 {
		t.Errorf("%+v", it.To)
	}

	to.Commit("billing2", "orders:0", 10) // the target has a position of its own
	_, err = copied(t, from, to, CopyOptions{})
	wantRefused(t, err, CauseOverwrite, "orders:0", "--overwrite")
	p, err = copied(t, from, to, CopyOptions{Overwrite: true})
	if err != nil {
		t.Fatal(err)
	}
	if c, _ := Ask(p, Limits{MaxSkip: 1e6}, Given{Yes: true}); c.Word != "billing2" {
		t.Errorf("a copy that skips 50 needs %+v", c)
	}
	to.Commit("billing2", "orders:0", 60)
	if p, err = copied(t, from, to, CopyOptions{}); err != nil || !p.Empty() {
		t.Errorf("the same position: %+v, %v", p, err)
	}
}

func TestCopyThatMeansNothing(t *testing.T) {
	from := ownStore()
	partitions(from, "orders", 1)
	partitions(from, "old", 1)
	o := CopyOptions{FromBroker: "b", FromStore: "b"}
	o.Origin = Origin{Broker: "b", Store: "b"}
	_, err := MakeCopy(report(t, from), report(t, from), o)
	wantRefused(t, err, CauseChoice, "same group of the same store")

	to := external()
	to.Log("orders:0", 0, 100)
	_, err = copied(t, from, to, CopyOptions{MapTopic: map[string]string{"old": "orders"}})
	wantRefused(t, err, CauseNames, "orders:0 would be written twice")
	_, err = copied(t, from, to, CopyOptions{MapTopic: map[string]string{"old": "nosuch"}})
	wantRefused(t, err, CauseNames, "nosuch:0")

	from.Store("billing", "orders:0", offset.Result[offset.Stored]{Value: offset.Stored{State: offset.Invalid, Raw: []byte("abc")}})
	_, err = copied(t, from, to, CopyOptions{MapTopic: map[string]string{"old": "orders"}})
	wantRefused(t, err, CauseChoice, "no position")
}

func TestDeleteAGroupAndBringItsPositionsBack(t *testing.T) {
	w := ownStore()
	partitions(w, "orders", 2)
	w.Commit("billing", "gone:0", 5)
	d := &deleter{faulty: faulty{Store: w.Positions()}, world: w}
	r := runner(t, w, d)
	p, err := MakeDelete(report(t, w), nil, here)
	if err != nil {
		t.Fatal(err)
	}
	if p.Empty() || len(p.Groups[0].Items) != 3 || row(t, p, "gone:0").Note == "" {
		t.Errorf("%+v", p.Groups)
	}
	w.Group(live)
	_, err = r.Apply(t.Context(), p)
	wantRefused(t, err, CauseLive, "billing")
	w.Group(offset.Group{Name: "billing", Phase: offset.Empty})
	apply(t, r, p)
	if d.deleted != "billing" || w.Stored("billing", "orders:0").State != offset.Absent {
		t.Errorf("deleted %q", d.deleted)
	}
	q, err := undo(t, w, r, 1, UndoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if it := row(t, q, "gone:0"); it.Note != "CANNOT be undone: there is no such partition any more" {
		t.Errorf("%+v", it)
	}
	apply(t, r, q)
	wantStored(t, w, "orders:1", 50)

	_, err = MakeDelete(report(t, w), offset.ErrUnsupported, here)
	wantRefused(t, err, CauseImpossible, "is not possible there")
	_, err = MakeDelete(reportOf(t, ownStore(), inspect.Ask{Groups: []string{"nosuch"}}), nil, here)
	wantRefused(t, err, CauseNames, "nosuch does not exist")
}

func TestDeleteAGroupThatStoresNothing(t *testing.T) {
	w := ownStore()
	w.Group(offset.Group{Name: "billing", Phase: offset.Empty})
	d := &deleter{faulty: faulty{Store: w.Positions()}, world: w, err: offset.ErrDenied}
	r := runner(t, w, d)
	p, err := MakeDelete(report(t, w), nil, here)
	if err != nil || p.Empty() {
		t.Fatalf("%+v, %v", p, err)
	}
	a, err := r.Apply(t.Context(), p)
	if !errors.Is(err, offset.ErrDenied) || a.Outcomes[0].Status != Failed {
		t.Errorf("%+v, %v", a, err)
	}
	d.err = nil
	if a := apply(t, r, p); a.Count(Written) != 1 {
		t.Errorf("%+v", a)
	}
	if e, err := r.Journal.Entry(t.Context(), 2); err != nil || e.Done[0].Status != Written {
		t.Errorf("%+v, %v", e, err)
	}
}

type deleter struct {
	faulty
	world   *inspecttest.World
	deleted string
	err     error
}

func (d *deleter) DeletesGroups() error { return nil }

func (d *deleter) DeleteGroup(_ context.Context, group string, _ []offset.Change) ([]offset.Result[offset.Stored], error) {
	if d.err != nil {
		return nil, d.err
	}
	d.deleted = group
	for _, p := range []string{"orders:0", "orders:1", "gone:0"} {
		d.world.Store(group, p, offset.Result[offset.Stored]{Value: offset.Stored{State: offset.Absent}})
	}
	return nil, nil
}
