package repair

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/inspect/inspecttest"
	"github.com/offsetctl/offsetctl/offset"
	"pgregory.net/rapid"
)

// undo plans to take an entry back.
func undo(t testing.TB, w *inspecttest.World, r *Run, id int64, o UndoOptions) (*Plan, error) {
	t.Helper()
	e, err := r.Journal.Entry(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	o.Origin = here
	sv, err := r.Look(t.Context(), e.Rows())
	if err != nil {
		t.Fatal(err)
	}
	return MakeUndo(e, sv, o)
}

func apply(t testing.TB, r *Run, p *Plan) *Applied {
	t.Helper()
	a, err := r.Apply(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The example that the documentation shows.
func TestUndoAfterAConsumerMovedOn(t *testing.T) {
	w := external()
	for p, n := range map[string][4]int64{ // start, end, stored, target
		"orders:0": {7100204, 8800431, 8800125, 8791310}, "orders:1": {7104331, 7400731, 5900120, 7104331},
		"orders:2": {7099871, 8790001, 8790001, 8781100}, "payments:0": {1100000, 1200410, 1200400, 1199002}} {
		w.Log(p, n[0], n[1])
		w.Commit("billing", p, n[2])
	}
	given := map[offset.Partition]int64{inspecttest.P("orders:0"): 8791310, inspecttest.P("orders:1"): 7104331, inspecttest.P("orders:2"): 8781100, inspecttest.P("payments:0"): 1199002}
	r := runner(t, w, nil)
	apply(t, r, mustPlan(t, report(t, w), Options{Target: offset.Target{Kind: offset.ToOffsets, Offsets: given}}))
	w.Commit("billing", "orders:2", 8785730)

	p, err := undo(t, w, r, 1, UndoOptions{})
	wantRefused(t, err, CauseMoved, "1 of 4 moved", "--only-unmoved restores 3; --also-moved all 4")
	for name, want := range map[string]string{
		"orders:0":   "back, skips 8,815 read before",
		"orders:1":   "back, below the log start again (head-overflow)",
		"orders:2":   "MOVED: a consumer read 4,630 since; back skips 4,271",
		"payments:0": "back, skips 1,398 read before",
	} {
		it := row(t, p, name)
		if it.Note != want {
			t.Errorf("%s: %q, want %q", name, it.Note, want)
		}
		if it.Written == nil || it.Written.Next != given[it.Partition] {
			t.Errorf("%s: written %+v", name, it.Written)
		}
	}

	p, err = undo(t, w, r, 1, UndoOptions{OnlyUnmoved: true})
	if err != nil {
		t.Fatal(err)
	}
	if it := row(t, p, "orders:2"); it.Action != Keep || it.To.Next != 8785730 || it.Before == nil || it.Before.Next != 8790001 {
		t.Errorf("what was there before is lost: %+v", it)
	}
	a := apply(t, r, p)
	wantStatuses(t, a, "orders:0 written", "orders:1 written", "orders:2 unchanged", "payments:0 written")
	wantStored(t, w, "orders:0", 8800125)
	wantStored(t, w, "orders:1", 5900120)
	wantStored(t, w, "orders:2", 8785730)
	if e, err := r.Journal.Entry(t.Context(), 2); err != nil || e.Kind != KindUndo || e.Undoes != 1 {
		t.Errorf("%+v, %v", e, err)
	}

	p, err = undo(t, w, r, 1, UndoOptions{AlsoMoved: true})
	if err != nil {
		t.Fatal(err)
	}
	if it := row(t, p, "orders:0"); it.Action != Keep || it.Note != "is back already" {
		t.Errorf("%+v", it)
	}
	apply(t, r, p)
	wantStored(t, w, "orders:2", 8790001)
}

// An undo is journalled like any write, and taken back like any write.
func TestUndoOfAnUndo(t *testing.T) {
	w := external()
	partitions(w, "orders", 1)
	r := runner(t, w, nil)
	apply(t, r, mustPlan(t, report(t, w), toLatest))
	p, err := undo(t, w, r, 1, UndoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := row(t, p, "orders:0").Note; got != "back, replays 50" {
		t.Errorf("%q", got)
	}
	apply(t, r, p)
	wantStored(t, w, "orders:0", 50)
	p, err = undo(t, w, r, 2, UndoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := row(t, p, "orders:0").Note; got != "back skips 50" { // nobody has read them
		t.Errorf("%q", got)
	}
	apply(t, r, p)
	wantStored(t, w, "orders:0", 100)
	p, err = undo(t, w, r, 3, UndoOptions{})
	if err != nil || p.Totals().Changes != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

// Whatever was there comes back with everything that a reader of the store sees: metadata, epochs, raw bytes, values outside the
// log, values that are no position, and nothing at all.
func TestUndoRestoresEverything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := external()
		w.Log("orders:0", 10, 100)
		before := offset.Stored{State: rapid.SampledFrom([]offset.State{offset.Set, offset.Absent, offset.Invalid}).Draw(rt, "state")}
		switch before.State {
		case offset.Set:
			before.Next = rapid.Int64Range(0, 200).Draw(rt, "next")
			before.Metadata = rapid.SampledFrom([]string{"", "kgo-1"}).Draw(rt, "metadata")
			before.LeaderEpoch = offset.EpochOf(rapid.Int32Range(-1, 3).Draw(rt, "epoch"))
			if rapid.Bool().Draw(rt, "java") {
				before.Raw = []byte{0xac, 0xed, 0, 5}
			}
		case offset.Invalid:
			before.Raw = []byte(rapid.SampledFrom([]string{"", "-1", "abc"}).Draw(rt, "raw"))
		}
		if before.State != offset.Absent {
			w.Store("billing", "orders:0", offset.Result[offset.Stored]{Value: before})
		}
		r := runner(t, w, nil)
		p, err := Make(report(t, w, "orders"), Options{Target: offset.Target{Kind: offset.ToEarliest}, Origin: here})
		if err != nil {
			rt.Fatal(err)
		}
		if p.Empty() { // it stood there
			return
		}
		apply(t, r, p)
		q, err := undo(t, w, r, 1, UndoOptions{})
		if err != nil {
			rt.Fatal(err)
		}
		r.Allowed = Allowed{AllowStateful}
		apply(t, r, q)
		now := w.Stored("billing", "orders:0")
		if !restored(now, before) {
			rt.Fatalf("before %+v, after the undo %+v", before, now)
		}
		if !bytes.Equal(now.Raw, before.Raw) || (now.Raw == nil) != (before.Raw == nil) {
			rt.Fatalf("the bytes were %q and are %q", before.Raw, now.Raw)
		}
	})
}

func TestWhatCannotBeUndoneIsSaid(t *testing.T) {
	w := external()
	w.Log("orders:0", 0, 100)
	w.Log("orders:1", 0, 100)
	w.Commit("billing", "orders:1", 50)
	r := runner(t, w, nil)
	w.Caps.Delete = false
	apply(t, r, mustPlan(t, report(t, w, "orders"), to(20)))
	p, err := undo(t, w, r, 1, UndoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if it := row(t, p, "orders:0"); it.Action != Keep || it.Note != "CANNOT be undone: nothing was stored before, and this store cannot delete a position" {
		t.Errorf("%+v", it)
	}
	apply(t, r, p)
	wantStored(t, w, "orders:0", 20)
	wantStored(t, w, "orders:1", 50)
	_, err = undo(t, w, r, 1, UndoOptions{})
	wantRefused(t, err, CauseImpossible, "nothing of entry 1 can be undone")
}

func TestUndoElsewhere(t *testing.T) {
	w := external()
	partitions(w, "orders", 1)
	r := runner(t, w, nil)
	apply(t, r, mustPlan(t, report(t, w), to(20)))
	e, err := r.Journal.Entry(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	other := here
	other.Store = "sqlite:/elsewhere.db"
	_, err = MakeUndo(e, survey(t, w, inspect.Ask{}), UndoOptions{Origin: other})
	wantRefused(t, err, CauseCluster, "sqlite:/elsewhere.db")
	k := ownStore() // an entry of a table is not taken back in the broker's own store
	k.Log("orders:0", 0, 100)
	other.Broker, other.Store = "kafka://k2:9092", "kafka://k2:9092"
	_, err = MakeUndo(e, survey(t, k, inspect.Ask{}), UndoOptions{Origin: other})
	wantRefused(t, err, CauseCluster, "sqlite:/var/lib/jobs.db", "kafka://k2:9092")
	e.Store = e.Broker // but of one cluster any address will do
	k.Commit("billing", "orders:0", 20)
	if _, err = MakeUndo(e, survey(t, k, inspect.Ask{}), UndoOptions{Origin: other}); err != nil {
		t.Error(err)
	}
	w.Cluster = "c2"
	_, err = undo(t, w, r, 1, UndoOptions{})
	wantRefused(t, err, CauseCluster, "c1", "c2")
}

// What was not written is not undone, also where a consumer has moved since.
func TestUndoLeavesWhatWasNotWritten(t *testing.T) {
	w := external()
	w.Caps.Together = offset.EachAlone
	partitions(w, "orders", 2)
	w.WriteErr("orders:1", errors.New("out of memory"))
	r := runner(t, w, nil)
	if _, err := r.Apply(t.Context(), mustPlan(t, report(t, w), to(20))); !errors.Is(err, ErrIncomplete) {
		t.Fatal(err)
	}
	w.WriteErr("orders:1", nil)
	w.Commit("billing", "orders:1", 77)
	p, err := undo(t, w, r, 1, UndoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if it := row(t, p, "orders:1"); it.Action != Keep || it.Note != "was not written" {
		t.Errorf("%+v", it)
	}
	apply(t, r, p)
	wantStored(t, w, "orders:0", 50)
	wantStored(t, w, "orders:1", 77)
}

func TestInverseForRunnersThatVanish(t *testing.T) {
	w := external()
	partitions(w, "orders", 2)
	r := runner(t, w, nil)
	a := apply(t, r, mustPlan(t, report(t, w), to(20)))
	e, err := r.Journal.Entry(t.Context(), a.Journal)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Decode(encoded(t, Inverse(e, a.Outcomes)))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := runner(t, w, nil) // with a journal of its own
	apply(t, elsewhere, p)
	wantStored(t, w, "orders:0", 50)
	wantStored(t, w, "orders:1", 50)

	a = apply(t, r, mustPlan(t, report(t, w), to(20)))
	e, _ = r.Journal.Entry(t.Context(), a.Journal)
	w.Commit("billing", "orders:0", 21)
	_, err = elsewhere.Apply(t.Context(), Inverse(e, a.Outcomes))
	wantRefused(t, err, CauseMoved, "orders:0 changed from 20 to 21")
}

// keeper is a store that can only be put back as a whole.
type keeper struct {
	faulty
	world *inspecttest.World
	gone  bool
}

func (k *keeper) Keep(_ context.Context, group string, cs []offset.Change) ([]byte, error) {
	var kept []byte
	for _, c := range cs {
		kept = append(kept, byte(k.world.Stored(group, c.Partition.String()).Next))
	}
	return kept, nil
}

func (k *keeper) Restore(_ context.Context, group string, kept []byte) error {
	if k.gone {
		return offset.ErrMoved
	}
	for i, b := range kept {
		k.world.Commit(group, inspecttest.P("orders:0").Topic+":"+string(rune('0'+i)), int64(b))
	}
	return nil
}

func TestStoresThatAreRestoredAsAWhole(t *testing.T) {
	w := external()
	partitions(w, "orders", 2)
	k := &keeper{faulty: faulty{Store: w.Positions()}, world: w}
	r := runner(t, w, k)
	apply(t, r, mustPlan(t, report(t, w), to(20)))
	writes := w.Count("write")
	p, err := undo(t, w, r, 1, UndoOptions{})
	if err != nil || !bytes.Equal(p.Groups[0].Kept, []byte{50, 50}) {
		t.Fatalf("%+v, %v", p.Groups, err)
	}
	apply(t, r, p)
	wantStored(t, w, "orders:0", 50)
	if w.Count("write") != writes {
		t.Error("it was written instead of restored")
	}
	p, err = undo(t, w, r, 2, UndoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	k.gone = true
	_, err = r.Apply(t.Context(), p)
	wantRefused(t, err, CauseMoved)

	w.Commit("billing", "orders:0", 51)
	k.gone = false
	_, err = undo(t, w, r, 2, UndoOptions{AlsoMoved: true})
	wantRefused(t, err, CauseMoved, "only as a whole")
}

// A position of a topic that is gone is deleted and brought back, where the store can.
func TestUndoOfPruning(t *testing.T) {
	w := external()
	partitions(w, "orders", 1)
	w.Commit("billing", "gone:3", 7)
	r := runner(t, w, nil)
	p := mustPlan(t, report(t, w), Options{Mode: ToRepair, Prune: true})
	apply(t, r, p)
	if s := w.Stored("billing", "gone:3"); s.State != offset.Absent {
		t.Fatalf("still there: %+v", s)
	}
	if a := apply(t, r, p); a.Count(AlreadyThere) != 1 {
		t.Errorf("once more: %v", statuses(a))
	}
	q, err := undo(t, w, r, 1, UndoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	apply(t, r, q)
	wantStored(t, w, "gone:3", 7)
}
