package repair

import (
	"testing"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

// line is a measured line of a log of 100 to 200.
func line(s offset.Stored) inspect.Line {
	return inspect.Line{Group: "billing", Partition: offset.Partition{Topic: "orders"}, Exists: true, Selected: true, Beside: true,
		Stored: offset.Result[offset.Stored]{Value: s}, Log: offset.Result[offset.Log]{Value: offset.Log{Bounds: offset.Bounds{Start: 100, Stable: 190, End: 200}, Current: offset.EpochOf(5)}}, EpochEnd: -1}
}

func set(n int64) offset.Stored { return offset.Stored{State: offset.Set, Next: n} }

// TestRepair is the whole policy of --repair, a row for each verdict.
func TestRepair(t *testing.T) {
	epoch := func(n int64, e int32) offset.Stored {
		s := set(n)
		s.LeaderEpoch = offset.EpochOf(e)
		s.Metadata = "kgo-1234" // its writer stores right epochs
		return s
	}
	again := func(n int64) offset.Stored {
		s := set(n)
		s.TopicID = "old"
		return s
	}
	invalid := offset.Stored{State: offset.Invalid, Raw: []byte("abc")}
	for _, c := range []struct {
		name  string
		l     inspect.Line
		o     Options
		next  int64 // -1: kept; -2: refused
		is    inspect.Verdict
		words []string
	}{
		{name: "head overflow", l: line(set(7)), next: 100, is: inspect.HeadOverflow},
		{name: "absent beside", l: line(offset.Stored{State: offset.Absent}), next: 100, is: inspect.Absent},
		{name: "tail overflow", l: line(set(250)), next: -2, is: inspect.TailOverflow, words: []string{"50 past the log end 200", "--on-tail-overflow"}},
		{name: "tail overflow, earliest", l: line(set(250)), o: Options{OnTail: Earliest}, next: 100, is: inspect.TailOverflow},
		{name: "tail overflow, latest is the reach", l: line(set(250)), o: Options{OnTail: Latest}, next: 190, is: inspect.TailOverflow},
		{name: "invalid", l: line(invalid), next: -2, is: inspect.Invalid, words: []string{`stored "abc" is no position`, "--on-invalid"}},
		{name: "invalid, the other choice", l: line(invalid), o: Options{OnTail: Earliest}, next: -2, is: inspect.Invalid, words: []string{"--on-invalid"}},
		{name: "invalid, latest", l: line(invalid), o: Options{OnInvalid: Latest}, next: 190, is: inspect.Invalid},
		{name: "cut log, proven", l: withEnd(line(epoch(180, 3)), 150), next: 150, is: inspect.Diverged},
		{name: "cut log, proven, its end is gone", l: withEnd(line(epoch(180, 3)), 50), next: 100, is: inspect.Diverged},
		{name: "epoch in doubt", l: withEnd(line(without(epoch(180, 3))), 150), next: -2, is: inspect.Diverged, words: []string{"in doubt"}},
		{name: "epoch above the current one", l: line(epoch(180, 9)), next: -2, is: inspect.Diverged, words: []string{"in doubt"}},
		{name: "topic made again", l: withTopic(line(again(150)), "new"), next: -2, is: inspect.Diverged, words: []string{"made again", "--on-tail-overflow"}},
		{name: "topic made again, its old epoch means nothing", l: withEnd(withTopic(line(withID(epoch(180, 3), "old")), "new"), 150), o: Options{OnTail: Earliest}, next: 100, is: inspect.Diverged},
		{name: "ok", l: line(set(150)), next: -1, is: inspect.OK},
	} {
		sv := &inspect.Survey{Ask: inspect.Ask{Groups: []string{"billing"}}, Taken: noon, Lines: []inspect.Line{c.l}, Groups: []inspect.GroupLine{{Name: "billing"}}}
		rep := inspect.Classify(sv, inspect.Policy{})
		if got := rep.Groups[0].Rows[0].Verdict; got != c.is {
			t.Errorf("%s: the verdict is %s", c.name, got)
		}
		c.o.Mode, c.o.Origin = ToRepair, here
		p, err := Make(rep, c.o)
		it := row(t, p, "orders:0")
		switch {
		case c.next == -2:
			wantRefused(t, err, CauseChoice, c.words...)
			if it.Action != Keep {
				t.Errorf("%s: a refused row is %s", c.name, it.Action)
			}
			if rs := reasons(err); len(rs[0].Repairs) < 2 {
				t.Errorf("%s: offers %v", c.name, rs[0].Repairs)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.next == -1:
			if it.Action != Keep {
				t.Errorf("%s: %+v", c.name, it)
			}
		case it.Action != Write || it.To.Next != c.next:
			t.Errorf("%s: %s to %d, want %d", c.name, it.Action, it.To.Next, c.next)
		}
	}
}

func withEnd(l inspect.Line, end int64) inspect.Line { l.EpochEnd = end; return l }

func withTopic(l inspect.Line, id string) inspect.Line { l.TopicID = id; return l }

func without(s offset.Stored) offset.Stored { s.Metadata = ""; return s }

func withID(s offset.Stored, id string) offset.Stored { s.TopicID = id; return s }

func TestRepairLeavesATopicWithoutAnyPosition(t *testing.T) {
	w := external()
	w.Log("orders:0", 0, 10)
	w.Log("other:0", 5, 10)
	w.Commit("billing", "other:0", 1)
	p := mustPlan(t, report(t, w, "orders", "other"), Options{Mode: ToRepair})
	if it := row(t, p, "orders:0"); it.Action != Keep {
		t.Errorf("%+v", it)
	}
	if it := row(t, p, "other:0"); it.To.Next != 5 {
		t.Errorf("%+v", it)
	}
}

// Whether a partition without a position is broken depends on the others of its topic.
func TestRepairOfAbsentBesideWhatCannotBeRead(t *testing.T) {
	l := line(offset.Stored{State: offset.Absent})
	l.Beside, l.Unsure = false, true
	sv := &inspect.Survey{Ask: inspect.Ask{Groups: []string{"billing"}}, Taken: noon, Lines: []inspect.Line{l}, Groups: []inspect.GroupLine{{Name: "billing"}}}
	_, err := Make(inspect.Classify(sv, inspect.Policy{}), Options{Mode: ToRepair, Origin: here})
	wantRefused(t, err, CauseUnknown, "orders:0: nothing is stored, and whether other partitions of the topic are could not be read")
}

// The same number is written again where it was asked for: it drops a leader epoch that does harm.
func TestToCurrentWritesTheSameNumberWithoutItsEpoch(t *testing.T) {
	w := external()
	w.Log("orders:0", 0, 10)
	w.Store("billing", "orders:0", offset.Result[offset.Stored]{Value: offset.Stored{State: offset.Set, Next: 5, LeaderEpoch: offset.EpochOf(9)}})
	p := mustPlan(t, report(t, w), Options{Target: offset.Target{Kind: offset.ToCurrent}})
	it := row(t, p, "orders:0")
	if _, known := it.To.LeaderEpoch.Get(); it.Action != Write || it.To.Next != 5 || known {
		t.Fatalf("%+v", it)
	}
	r := runner(t, w, nil)
	if _, err := r.Apply(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if _, known := w.Stored("billing", "orders:0").LeaderEpoch.Get(); known {
		t.Error("the epoch is still there")
	}
	again, err := r.Apply(t.Context(), p)
	if err != nil || again.Count(AlreadyThere) != 1 {
		t.Errorf("once more: %+v, %v", again, err)
	}
	back, err := undo(t, w, r, 1, UndoOptions{}) // the number never changed, and there is something to take back
	if err != nil {
		t.Fatal(err)
	}
	apply(t, r, back)
	if e, _ := w.Stored("billing", "orders:0").LeaderEpoch.Get(); e != 9 {
		t.Errorf("the epoch that is back is %d", e)
	}
}
