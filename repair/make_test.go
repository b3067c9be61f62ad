package repair

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/inspect/inspecttest"
	"github.com/offsetctl/offsetctl/offset"
	"pgregory.net/rapid"
)

func TestPlanShowsEveryRowAndWhatWasNotSelected(t *testing.T) {
	w := external()
	for i, next := range []int64{8800125, 5900120, 8791310} {
		w.Log(fmt.Sprintf("orders:%d", i), 7100000, 8800431)
		w.Commit("billing", fmt.Sprintf("orders:%d", i), next)
	}
	w.Log("orders:3", 0, 10)
	w.Commit("billing", "orders:3", 10)
	w.Log("refunds:0", 0, 10)
	w.Commit("billing", "refunds:0", 1)
	rep := reportOf(t, w, inspect.Ask{Select: func(p offset.Partition) bool { return p.Topic == "orders" && p.Index < 3 }})
	p := mustPlan(t, rep, to(8791310))

	if got := row(t, p, "orders:0"); got.Action != Write || got.Effect.Replayed != 8815 || got.Effect.Skipped != 0 {
		t.Errorf("orders:0: %+v", got)
	}
	if got := row(t, p, "orders:1"); got.Effect.Lost != 1199880 || got.Effect.Skipped != 1691310 || got.Note != "FORWARD; 1,199,880 before it already lost" {
		t.Errorf("orders:1: %+v", got)
	}
	if got := row(t, p, "orders:2"); got.Action != Keep || got.Note != "unchanged" {
		t.Errorf("orders:2: %+v", got)
	}
	if got := fmt.Sprint(p.NotSelected); got != "[orders:3 refunds]" {
		t.Errorf("not selected: %s", got)
	}
	if n, k, ok := p.OneNumber(); n != 8791310 || k != 2 || !ok {
		t.Errorf("one number: %d for %d, %v", n, k, ok)
	}
	if _, _, ok := mustPlan(t, rep, toLatest).OneNumber(); ok {
		t.Error("latest is said to be one number for all")
	}
	if got := p.Totals(); got != (Totals{Changes: 2, Keeps: 1, Replays: 8815, Skips: 1691310, Lost: 1199880, Forward: 1}) {
		t.Errorf("totals: %+v", got)
	}
	if e, known := row(t, p, "orders:0").To.LeaderEpoch.Get(); known {
		t.Errorf("an own commit carries leader epoch %d", e)
	}
}

// BR-07: a partition without a leader refuses every reset as a whole; without it the reset works.
func TestBR07LeaderlessPartitionRefusesTheWhole(t *testing.T) {
	w := external()
	w.Log("orders:0", 0, 9)
	w.Log("orders:1", 0, 9).Err = fmt.Errorf("orders:1 %w", offset.ErrNoLeader)
	w.Commit("billing", "orders:0", 5)
	w.Commit("billing", "orders:1", 5)
	for name, o := range map[string]Options{"latest": toLatest, "to 5": to(5), "repair": {Mode: ToRepair}} {
		p, err := Make(report(t, w), o)
		wantRefused(t, err, CauseUnknown, "orders:1")
		if p == nil || row(t, p, "orders:1").Refused == "" {
			t.Errorf("%s: the refused row is not shown", name)
		}
		if _, err := p.Encode(); err == nil {
			t.Errorf("%s: a refused plan was saved", name)
		}
	}
	p := mustPlan(t, reportOf(t, w, inspect.Ask{Select: func(p offset.Partition) bool { return p.Index == 0 }}), toLatest)
	if got := row(t, p, "orders:0"); got.To.Next != 9 || got.Effect.Skipped != 4 {
		t.Errorf("orders:0: %+v", got)
	}
}

// BR-13: a time after the last record is the end, never -1 and never 0.
func TestBR13TimeAfterTheLastRecordIsTheEnd(t *testing.T) {
	w := external()
	at := noon.Add(-time.Hour)
	w.Log("orders:0", 0, 18).Fill(0, 18, at.Add(-time.Second))
	l := w.Log("orders:1", 0, 9).Fill(0, 4, at.Add(-time.Second))
	l.Fill(4, 9, at.Add(time.Second))
	w.Log("orders:2", 50, 50)
	for i := range 3 {
		w.Commit("billing", fmt.Sprintf("orders:%d", i), 0)
	}
	rep := reportOf(t, w, inspect.Ask{At: at})
	p := mustPlan(t, rep, Options{Target: offset.Target{Kind: offset.ToTime, Time: at}})
	for _, want := range []struct {
		p    string
		next int64
		note string
	}{{"orders:0", 18, "FORWARD over unread records; no record at or after the time: end"}, {"orders:1", 4, "FORWARD over unread records"}, {"orders:2", 50, "50 before it already lost; no record at or after the time: end"}} {
		if it := row(t, p, want.p); it.To.Next != want.next || it.Note != want.note {
			t.Errorf("%s: to %d, %q", want.p, it.To.Next, it.Note)
		}
	}
	if p.TimesBy != "CreateTime" || !p.Time.Equal(at) {
		t.Errorf("by %q at %s", p.TimesBy, p.Time)
	}
}

func TestFirstRecordsOfLogsThatStartAfterTheTime(t *testing.T) {
	w := external()
	first := noon.Add(-30 * time.Minute)
	w.Log("orders:0", 40, 50).Fill(40, 50, first)
	w.Commit("billing", "orders:0", 50)
	asked := noon.Add(-2 * time.Hour)
	p := mustPlan(t, reportOf(t, w, inspect.Ask{At: asked}), Options{Target: offset.Target{Kind: offset.ToTime, Time: asked}})
	ask := p.FirstRecords()
	if len(ask) != 1 || ask[0].Offset != 40 {
		t.Fatalf("asks for %v", ask)
	}
	p.NoteFirst(w.Broker().Peek(t.Context(), ask), time.UTC)
	if got := row(t, p, "orders:0").Note; got != "asked 10:00, first record 11:30" {
		t.Errorf("noted %q", got)
	}
}

// BR-25: an explicit number outside the log refuses the whole and prints the range; clamp takes the nearer bound and says so.
func TestBR25ExplicitNumberOutsideTheLog(t *testing.T) {
	w := external()
	w.Log("orders:0", 100, 900)
	w.Log("orders:1", 0, 50)
	w.Commit("billing", "orders:0", 500)
	w.Commit("billing", "orders:1", 20)
	only0 := reportOf(t, w, inspect.Ask{Select: func(p offset.Partition) bool { return p.Index == 0 }})
	if it := row(t, mustPlan(t, only0, to(900)), "orders:0"); it.To.Next != 900 {
		t.Errorf("to 900: %+v", it)
	}
	for _, n := range []int64{99, 901} {
		_, err := Make(only0, to(n))
		wantRefused(t, err, CauseOutside, "orders:0", fmt.Sprint(n), "100 to 900", "--clamp")
	}
	_, err := Make(report(t, w), to(60))
	wantRefused(t, err, CauseOutside, "orders:0", "100 to 900")
	if len(reasons(err)) != 2 {
		t.Errorf("both partitions are outside, refused are %v", reasons(err))
	}
	o := to(60)
	o.Clamp = true
	p := mustPlan(t, report(t, w), o)
	if a, b := row(t, p, "orders:0"), row(t, p, "orders:1"); a.To.Next != 100 || b.To.Next != 50 {
		t.Errorf("clamped to %d and %d", a.To.Next, b.To.Next)
	}
	if n, _, ok := p.OneNumber(); n != 60 || !ok || row(t, p, "orders:0").Effect.Wanted != 60 {
		t.Errorf("%d was given for all, %v", n, ok)
	}
	if got := row(t, p, "orders:1").Note; got != "FORWARD over unread records; 60 is past the log end" {
		t.Errorf("noted %q", got)
	}
}

// BR-10 and BR-08: whatever is stored, no reset of any kind writes a negative number or a symbol, or a place outside the log.
func TestBR08NoResetWritesANegativeNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := external()
		start := rapid.Int64Range(0, 50).Draw(t, "start")
		end := start + rapid.Int64Range(0, 50).Draw(t, "length")
		w.Log("orders:0", start, end)
		switch state := rapid.SampledFrom([]offset.State{offset.Absent, offset.Set, offset.Invalid}).Draw(t, "state"); state {
		case offset.Set:
			w.Commit("billing", "orders:0", rapid.Int64Range(0, 120).Draw(t, "stored"))
		case offset.Invalid:
			w.Store("billing", "orders:0", offset.Result[offset.Stored]{Value: offset.Stored{State: offset.Invalid, Raw: []byte("-1")}})
		}
		o := Options{Origin: here, Mode: rapid.SampledFrom([]Mode{ToTarget, ToRepair}).Draw(t, "mode"),
			Target: offset.Target{Kind: rapid.SampledFrom([]offset.Kind{offset.ToEarliest, offset.ToLatest, offset.ToOffset, offset.ToShift, offset.ToCurrent}).Draw(t, "kind"),
				Offset: rapid.Int64Range(-200, 200).Draw(t, "offset")},
			Clamp: rapid.Bool().Draw(t, "clamp"), RewindOnly: rapid.Bool().Draw(t, "rewind"),
			OnTail: Choice(rapid.IntRange(0, 2).Draw(t, "tail")), OnInvalid: Choice(rapid.IntRange(0, 2).Draw(t, "invalid"))}
		sv, err := inspect.Take(t.Context(), w.Broker(), w.Positions(), false, inspect.Ask{Groups: []string{"billing"}, Topics: []string{"orders"}, Now: noon})
		if err != nil {
			t.Fatal(err)
		}
		p, err := Make(inspect.Classify(sv, inspect.Policy{}), o)
		for it := range p.items() {
			if it.Action != Write {
				continue
			}
			if err != nil && it.Refused != "" {
				t.Fatalf("a refused row writes: %+v", it)
			}
			if n := it.To.Next; it.To.State != offset.Set || n < start || n > end || it.To.Raw != nil {
				t.Fatalf("writes %+v in a log of %d to %d", it.To, start, end)
			}
			if e := it.Effect; o.RewindOnly && o.Mode == ToTarget && e.Skipped > 0 {
				t.Fatalf("rewind-only skips %d", e.Skipped)
			}
			if s, e := it.From, it.Effect; s.State == offset.Set && s.Next <= end && s.Next+e.Lost+e.Skipped-e.Replayed != e.Next {
				t.Fatalf("%d + %d lost + %d skipped - %d replayed is not %d", s.Next, e.Lost, e.Skipped, e.Replayed, e.Next)
			}
		}
	})
}

// TestNothingIsKnownToHaveBeenRead: where the stored position is past the log end or none at all, going anywhere but to the log
// start may skip all before it, and --rewind-only goes there.
func TestNothingIsKnownToHaveBeenRead(t *testing.T) {
	w := external()
	w.Log("orders:0", 10, 100)
	w.Log("orders:1", 10, 100)
	w.Commit("billing", "orders:0", 150)
	w.Store("billing", "orders:1", offset.Result[offset.Stored]{Value: offset.Stored{State: offset.Invalid, Raw: []byte("n/a")}})
	rep := report(t, w)
	o := to(60)
	o.RewindOnly = true
	for _, p := range []string{"orders:0", "orders:1"} {
		if it := row(t, mustPlan(t, rep, to(60)), p); it.Effect.Skipped != 50 || it.Effect.Replayed != 40 || !strings.Contains(it.Note, "what has been read") {
			t.Errorf("%+v", it)
		}
		if it := row(t, mustPlan(t, rep, o), p); it.To.Next != 10 || it.Effect.Skipped != 0 {
			t.Errorf("rewind only: %+v", it)
		}
	}
}

func TestEffectAgreesWithResolve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := offset.Bounds{Start: rapid.Int64Range(0, 40).Draw(t, "start")}
		b.End = b.Start + rapid.Int64Range(0, 40).Draw(t, "length")
		b.Stable = b.End
		s := offset.Stored{State: offset.Set, Next: rapid.Int64Range(0, b.End).Draw(t, "stored")}
		n := rapid.Int64Range(b.Start, b.End).Draw(t, "next")
		want, err := offset.Resolve(offset.Rule{Target: offset.Target{Kind: offset.ToOffset, Offset: n}, Reset: true}, offset.View{Bounds: b, Stored: s})
		if err != nil {
			t.Fatal(err)
		}
		want.Why = ""
		if got := effect(b, s, false, n); got != want {
			t.Fatalf("effect %+v, resolve %+v", got, want)
		}
	})
}

// BR-05: what was added beside stored partitions would be read from its start, so going elsewhere skips.
func TestBR05AddedPartitionIsNotSkippedSilently(t *testing.T) {
	w := external()
	w.Log("orders:0", 0, 10)
	w.Log("orders:1", 25, 60)
	w.Commit("billing", "orders:0", 10)
	rep := report(t, w, "orders")
	if it := row(t, mustPlan(t, rep, toLatest), "orders:1"); it.Effect.Skipped != 35 {
		t.Errorf("to latest: %+v", it.Effect)
	}
	o := toLatest
	o.RewindOnly = true
	if it := row(t, mustPlan(t, rep, o), "orders:1"); it.To.Next != 25 || it.Effect.Skipped != 0 {
		t.Errorf("rewind only: %+v", it)
	}
	if it := row(t, mustPlan(t, rep, Options{Mode: ToRepair}), "orders:1"); it.To.Next != 25 || it.Note != "nothing was stored; log start: added or expired" && it.Note != "log start: added or expired" {
		t.Errorf("repair: to %d, %q", it.To.Next, it.Note)
	}
}

// BR-19: without the group's name right nothing is touched that was not named, and a new group is said to be new.
func TestBR19NewGroup(t *testing.T) {
	for name, w := range map[string]*inspecttest.World{"broker": ownStore(), "external": external()} {
		for _, topic := range []string{"t1", "t2", "t3"} {
			w.Log(topic+":0", 0, 10)
		}
		p := mustPlan(t, reportOf(t, w, inspect.Ask{Groups: []string{"gx"}, Topics: []string{"t1"}}), toEarliest)
		if !p.NewGroups || !p.Groups[0].New || len(p.Groups) != 1 || len(p.Groups[0].Items) != 1 {
			t.Errorf("%s: %+v", name, p.Groups)
		}
		c, err := Ask(p, Limits{MaxSkip: 1e6}, Given{Yes: true})
		if err != nil || !c.Needed || len(c.Why) != 1 || c.Why[0] != "NEW GROUP: nothing is known of gx" {
			t.Errorf("%s: consent %+v, %v", name, c, err)
		}
		wantRefused(t, c.Refused(), CauseNewGroup, "NEW GROUP", "--new-group")
		if c, _ := Ask(p, Limits{MaxSkip: 1e6}, Given{Yes: true, Allowed: Allowed{AllowNewGroup}}); c.Needed {
			t.Errorf("%s: still needs %+v", name, c)
		}
		none, err := Make(reportOf(t, w, inspect.Ask{Groups: []string{"gx"}}), toEarliest)
		if err != nil || !none.Empty() || len(none.Groups) != 0 {
			t.Errorf("%s: without a topic it plans %+v, %v", name, none, err)
		}
	}
}

func TestNamesThatAreNotThere(t *testing.T) {
	w := external()
	w.Log("orders:0", 0, 10)
	w.Commit("billing", "orders:0", 1)
	o := Options{Target: offset.Target{Kind: offset.ToOffsets, Offsets: map[offset.Partition]int64{inspecttest.P("orders:0"): 2, inspecttest.P("orders:9"): 3}}}
	_, err := Make(report(t, w), o)
	wantRefused(t, err, CauseNames, "orders:9")
	if !errors.Is(err, offset.ErrUnknownName) {
		t.Errorf("%v is not of its kind", err)
	}
	o.Target.Offsets = map[offset.Partition]int64{inspecttest.P("other:0"): 3, inspecttest.P("orders:0"): 2}
	o.Replay = true // a file may have more than was selected
	if p := mustPlan(t, report(t, w), o); row(t, p, "orders:0").To.Next != 2 {
		t.Errorf("%+v", p.Groups)
	}
	delete(o.Target.Offsets, inspecttest.P("orders:0"))
	_, err = Make(report(t, w), o)
	wantRefused(t, err, CauseNames, "orders:0", "given")
}

func TestIfStored(t *testing.T) {
	w := external()
	w.Log("orders:0", 0, 10)
	w.Commit("billing", "orders:0", 7)
	o := toEarliest
	seven, eight := int64(7), int64(8)
	o.IfStored = &seven
	mustPlan(t, report(t, w), o)
	o.IfStored = &eight
	_, err := Make(report(t, w), o)
	wantRefused(t, err, CauseMoved, "orders:0 has 7 stored, not 8")
}

func TestOnlyNarrowsToVerdicts(t *testing.T) {
	w := external()
	w.Log("orders:0", 5, 10)
	w.Log("orders:1", 5, 10)
	w.Commit("billing", "orders:0", 1)
	w.Commit("billing", "orders:1", 7)
	o := toLatest
	o.Only = []inspect.Verdict{inspect.HeadOverflow}
	p := mustPlan(t, report(t, w), o)
	if got := p.Totals(); got.Changes != 1 || got.Keeps != 0 || fmt.Sprint(p.NotSelected) != "[orders:1]" {
		t.Errorf("%+v, not selected %v", got, p.NotSelected)
	}
}

func TestShiftStandsStillWhereNothingIsStored(t *testing.T) {
	w := external()
	w.Log("orders:0", 0, 10)
	w.Log("orders:1", 0, 10)
	w.Commit("billing", "orders:0", 5)
	o := Options{Target: offset.Target{Kind: offset.ToShift, Offset: 1}}
	_, err := Make(report(t, w, "orders"), o)
	wantRefused(t, err, CauseChoice, "orders:1")
	p := mustPlan(t, reportOf(t, w, inspect.Ask{Select: func(p offset.Partition) bool { return p.Index == 0 }}), o)
	if !p.Once || row(t, p, "orders:0").To.Next != 6 {
		t.Errorf("%+v", p)
	}
}

func TestSeveralGroupsNeedAPlanFile(t *testing.T) {
	w := external()
	w.Log("orders:0", 0, 10)
	w.Commit("audit", "orders:0", 5)
	w.Commit("billing", "orders:0", 5)
	rep := reportOf(t, w, inspect.Ask{Groups: []string{"audit", "billing"}})
	_, err := Make(rep, toEarliest)
	wantRefused(t, err, CauseSeveral, "2 groups", "--plan-out")
	o := toEarliest
	o.Several = true
	if p := mustPlan(t, rep, o); len(p.Groups) != 2 {
		t.Errorf("%+v", p.Groups)
	}
}

func TestToAbsentAndPrune(t *testing.T) {
	w := external()
	w.Log("orders:0", 0, 10)
	w.Commit("billing", "orders:0", 5)
	w.Commit("billing", "orders:7", 5)
	p := mustPlan(t, report(t, w), toEarliest)
	if it := row(t, p, "orders:7"); it.Action != Keep || it.Note != "orphan: there is no such partition; left alone" {
		t.Errorf("orphan: %+v", it)
	}
	o := toEarliest
	o.Prune = true
	if it := row(t, mustPlan(t, report(t, w), o), "orders:7"); it.Action != Delete || it.To.State != offset.Absent {
		t.Errorf("pruned: %+v", it)
	}
	if it := row(t, mustPlan(t, report(t, w), Options{Mode: ToAbsent}), "orders:0"); it.Action != Delete {
		t.Errorf("to absent: %+v", it)
	}
	w.Caps.Delete = false
	_, err := Make(report(t, w), o)
	wantRefused(t, err, CauseImpossible, "orders:7")
	_, err = Make(report(t, w), Options{Mode: ToAbsent})
	wantRefused(t, err, CauseImpossible, "orders:0")

	k := ownStore()
	k.Log("orders:0", 0, 10)
	k.Commit("billing", "orders:7", 5)
	_, err = Make(report(t, k), o)
	wantRefused(t, err, CauseImpossible, "orders:7", "with the whole group")
}

// A store that keeps a topic only as a whole is handed every partition of it.
func TestWholeTopicsGoTogether(t *testing.T) {
	w := external()
	w.Caps.Whole = true
	for i := range 3 {
		w.Log(fmt.Sprintf("orders:%d", i), 0, 10)
		w.Commit("billing", fmt.Sprintf("orders:%d", i), 5)
	}
	p := mustPlan(t, reportOf(t, w, inspect.Ask{Select: func(p offset.Partition) bool { return p.Index == 1 }}), toEarliest)
	if got := p.Groups[0].changes(true); len(got) != 3 || got[0].To.Next != 5 || got[1].To.Next != 0 {
		t.Errorf("%+v", got)
	}
	if got := p.Totals(); got.Changes != 1 || got.Keeps != 2 {
		t.Errorf("%+v", got)
	}
}

func TestALogStartThatNobodyProved(t *testing.T) {
	l := line(set(150))
	l.Log.Value.Unproven = true
	sv := &inspect.Survey{Ask: inspect.Ask{Groups: []string{"billing"}}, Taken: noon, Lines: []inspect.Line{l}, Groups: []inspect.GroupLine{{Name: "billing"}}}
	if it := row(t, mustPlan(t, classified(sv), toEarliest), "orders:0"); it.Note != "the log start is the server's word alone: its first records may be gone" {
		t.Errorf("%q", it.Note)
	}
	if it := row(t, mustPlan(t, classified(sv), to(101)), "orders:0"); it.Note != "" {
		t.Errorf("%q", it.Note)
	}
}
