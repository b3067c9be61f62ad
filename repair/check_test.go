package repair

import (
	"errors"
	"testing"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/inspect/inspecttest"
	"github.com/offsetctl/offsetctl/offset"
)

func today(t *testing.T, w *inspecttest.World) Today {
	return Today{Survey: survey(t, w, inspect.Ask{}), Broker: here.Broker, Store: here.Store}
}

var live = offset.Group{Name: "billing", Kind: "classic", State: "Stable", Phase: offset.Live, Members: []offset.Member{
	{ID: "billing-7-uuid", Client: "billing-7", Host: "10.2.0.7", Owns: []offset.Partition{{Topic: "orders", Index: 0}, {Topic: "orders", Index: 1}}},
	{ID: "billing-8-uuid", Host: "10.2.0.9"}}}

func checkedPlan(t *testing.T, w *inspecttest.World) *Plan {
	w.Log("orders:0", 0, 10)
	w.Commit("billing", "orders:0", 5)
	return mustPlan(t, report(t, w), toEarliest)
}

// BR-18: a live group of every kind that Kafka has is refused by name, and no flag overrules it.
func TestBR18LiveGroupsAreRefused(t *testing.T) {
	for _, kind := range []string{"classic", "consumer", "share", "streams"} {
		w := ownStore()
		p := checkedPlan(t, w)
		g := live
		g.Kind = kind
		w.Group(g)
		for _, a := range []Allowed{nil, {AllowLive, AllowStateful}} {
			d := today(t, w)
			d.Allowed = a
			err := Check(p, d)
			wantRefused(t, err, CauseLive, "billing is live, "+kind+", Stable, 2 members", "billing-7 10.2.0.7 orders:0-1", "billing-8-uuid 10.2.0.9", "stop all 2", "--wait-empty")
			if !errors.Is(err, offset.ErrLive) {
				t.Errorf("%v is not of its kind", err)
			}
		}
	}
	w := ownStore()
	p := checkedPlan(t, w)
	w.Group(offset.Group{Name: "billing", Kind: "push", Phase: offset.Live, Members: live.Members[:1]})
	d := today(t, w)
	wantRefused(t, Check(p, d), CauseLive, "stop it", "--allow-live")
	d.Allowed = Allowed{AllowLive}
	if err := Check(p, d); err != nil {
		t.Errorf("allowed: %v", err)
	}
}

func TestGroupsThatCannotBeJudged(t *testing.T) {
	w := ownStore()
	p := checkedPlan(t, w)
	w.Group(offset.Group{Name: "billing", Kind: "classic", Phase: offset.PhaseUnknown})
	wantRefused(t, Check(p, today(t, w)), CauseUnknown, "billing")
	w.Group(offset.Group{Name: "billing", Kind: "broadcast", Phase: offset.Empty})
	wantRefused(t, Check(p, today(t, w)), CauseImpossible, "broadcasting")
	w.GroupErr("billing", offset.ErrDenied)
	err := Check(p, today(t, w))
	wantRefused(t, err, CauseUnknown, "not permitted")
	if !errors.Is(err, offset.ErrDenied) {
		t.Errorf("%v is not of its kind", err)
	}
	e := external() // a store without members does not depend on what the broker says
	p = checkedPlan(t, e)
	e.GroupErr("billing", offset.ErrDenied)
	if err := Check(p, today(t, e)); err != nil {
		t.Error(err)
	}
}

func TestFrameworksThatIgnoreAGroupReset(t *testing.T) {
	for name, g := range map[string]offset.Group{
		"streams": {Kind: "streams", Phase: offset.Empty}, "connect": {Kind: "classic", Protocol: "connect", Phase: offset.Empty}} {
		w := ownStore()
		p := checkedPlan(t, w)
		g.Name = "billing"
		w.Group(g)
		d := today(t, w)
		wantRefused(t, Check(p, d), CauseStateful, "--allow-stateful")
		d.Allowed = Allowed{AllowStateful}
		if err := Check(p, d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"connect-sink", "KafkaSource-123", "spark-kafka-source-9-driver-0"} {
		for own, w := range map[bool]*inspecttest.World{true: ownStore(), false: external()} {
			w.Log("orders:0", 0, 10)
			w.Commit(name, "orders:0", 5)
			p := mustPlan(t, reportOf(t, w, inspect.Ask{Groups: []string{name}}), toEarliest)
			d := Today{Survey: survey(t, w, inspect.Ask{Groups: []string{name}}), Broker: here.Broker, Store: here.Store}
			if own {
				wantRefused(t, Check(p, d), CauseStateful, name)
			} else if err := Check(p, d); err != nil { // a table is what its job reads, whatever the group is called
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	w := ownStore()
	w.Log("orders:0", 0, 10)
	w.Store("billing", "orders:0", offset.Result[offset.Stored]{Value: offset.Stored{State: offset.Set, Next: 5, Metadata: "AgAAAaIsr5Sj"}})
	wantRefused(t, Check(mustPlan(t, report(t, w), toEarliest), today(t, w)), CauseStateful, "Streams")
}

func TestRightCluster(t *testing.T) {
	w := external()
	p := checkedPlan(t, w)
	ok := today(t, w)
	if err := Check(p, ok); err != nil {
		t.Fatal(err)
	}
	other := ok
	other.Store = "sqlite:/elsewhere.db"
	wantRefused(t, Check(p, other), CauseCluster, "sqlite:/var/lib/jobs.db", "sqlite:/elsewhere.db")

	other = ok
	other.Remembered = "c7"
	wantRefused(t, Check(p, other), CauseCluster, "last used with cluster c7", "--new-cluster")
	other.Allowed = Allowed{NewCluster}
	if err := Check(p, other); err != nil {
		t.Error(err)
	}
	w.Cluster = "c2"
	wantRefused(t, Check(p, today(t, w)), CauseCluster, "for cluster c1, and this is cluster c2")

	k := ownStore() // one cluster has many addresses, and its store is the broker
	p = checkedPlan(t, k)
	moved := today(t, k)
	moved.Broker, moved.Store = "kafka://k2:9092", "kafka://k2:9092"
	wantRefused(t, Check(p, moved), CauseCluster, "sqlite:/var/lib/jobs.db", "kafka://k2:9092") // a table's plan is not the broker's
	p.Store = p.Broker
	if err := Check(p, moved); err != nil {
		t.Error(err)
	}
	k.Cluster, p.Cluster = "", ""
	moved.Survey = survey(t, k, inspect.Ask{})
	wantRefused(t, Check(p, moved), CauseCluster, "no id")
}

// Time passes between a plan and its write.
func TestRenew(t *testing.T) {
	w := external()
	w.Log("orders:0", 0, 100)
	w.Log("orders:1", 0, 100)
	w.Commit("billing", "orders:0", 50)
	w.Commit("billing", "orders:1", 50)
	p := mustPlan(t, report(t, w), to(20))

	w.Log("orders:0", 30, 100) // retention passes the target
	_, err := Renew(p, survey(t, w, inspect.Ask{}), false)
	wantRefused(t, err, CauseOutside, "orders:0", "retention", "30 to 100", "--clamp")
	q, err := Renew(p, survey(t, w, inspect.Ask{}), true)
	if it := row(t, q, "orders:0"); err != nil || it.To.Next != 30 || it.Effect.Replayed != 20 {
		t.Errorf("clamped: %+v, %v", it, err)
	}
	w.Log("orders:0", 0, 10) // the topic is made again
	_, err = Renew(p, survey(t, w, inspect.Ask{}), false)
	wantRefused(t, err, CauseOutside, "0 to 10")

	w.Log("orders:0", 0, 100)
	w.Commit("billing", "orders:0", 51) // a job goes on
	_, err = Renew(p, survey(t, w, inspect.Ask{}), true)
	wantRefused(t, err, CauseMoved, "orders:0 changed from 50 to 51 since the plan")
	if !errors.Is(err, offset.ErrMoved) {
		t.Errorf("%v is not of its kind", err)
	}
	w.Commit("billing", "orders:0", 50) // back, but written
	_, err = Renew(p, survey(t, w, inspect.Ask{}), true)
	wantRefused(t, err, CauseMoved, "written anew")

	w.Commit("billing", "orders:0", 20) // somebody did it already
	q, err = Renew(p, survey(t, w, inspect.Ask{}), false)
	if it := row(t, q, "orders:0"); err != nil || it.Action != Keep || it.Note != "already there" {
		t.Errorf("%+v, %v", it, err)
	}
	if it := row(t, p, "orders:0"); it.Action != Write {
		t.Error("the plan itself was changed")
	}
}
