package inspect_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/inspect/inspecttest"
	"github.com/offsetctl/offsetctl/offset"
)

var errTest = errors.New("no answer")

// draw makes a world with a few topics and anything stored.
func draw(t *rapid.T) *inspecttest.World {
	w := inspecttest.New()
	w.Caps.Members = rapid.Bool().Draw(t, "own")
	w.Partial = rapid.Bool().Draw(t, "partial")
	numbers := rapid.OneOf(rapid.Int64Range(0, 300), rapid.SampledFrom([]int64{-1, 0, 1 << 31, 1 << 53, 1<<63 - 1}))
	for i := range rapid.IntRange(1, 3).Draw(t, "topics") {
		topic := fmt.Sprint("t", i)
		for k := range rapid.IntRange(0, 5).Draw(t, "partitions") {
			ns := rapid.SliceOfN(rapid.Int64Range(0, 200), 3, 3).Draw(t, "bounds")
			slices.Sort(ns)
			l := w.Log(fmt.Sprint(topic, ":", k), ns[0], ns[2])
			l.Stable, l.Epoch = ns[1], offset.EpochOf(rapid.Int32Range(-1, 3).Draw(t, "epoch"))
			l.EpochEnds[0], l.EpochEnds[1] = ns[0], ns[1]
			if rapid.IntRange(0, 9).Draw(t, "leader") == 0 {
				l.Err = offset.ErrNoLeader
			}
			l.Fill(ns[0], ns[2], now.Add(-time.Duration(rapid.IntRange(0, 100).Draw(t, "hours"))*time.Hour))
		}
		for k := range rapid.IntRange(0, 7).Draw(t, "stored") {
			r := offset.Result[offset.Stored]{Value: offset.Stored{State: offset.Set, Next: numbers.Draw(t, "next"), LeaderEpoch: offset.EpochOf(rapid.Int32Range(-1, 4).Draw(t, "epoch"))}}
			switch rapid.IntRange(0, 9).Draw(t, "kind") {
			case 0:
				r = offset.Result[offset.Stored]{Err: errTest}
			case 1:
				r.Value = offset.Stored{State: offset.Invalid, Raw: []byte("x")}
			}
			w.Store("g", fmt.Sprint(topic, ":", k), r)
		}
	}
	return w
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := draw(t)
		a := inspect.Ask{Groups: []string{"g"}, AllTopics: rapid.Bool().Draw(t, "all"), Now: now, Stale: 24 * time.Hour, TimeLag: rapid.Bool().Draw(t, "time lag"),
			Isolation: offset.Isolation(rapid.IntRange(0, 1).Draw(t, "isolation"))}
		sv, err := inspect.Take(t.Context(), w.Broker(), w.Positions(), w.Caps.Members, a)
		if err != nil {
			t.Fatal(err)
		}
		r := inspect.Classify(sv, inspect.Policy{StaleAfter: a.Stale, MaxLag: 50})
		sums(t, r)
		for i := range r.Groups[0].Rows {
			x := &r.Groups[0].Rows[i]
			numbers(t, x)
			if i > 0 && r.Groups[0].Rows[i-1].Partition.Compare(x.Partition) >= 0 {
				t.Fatalf("%s is out of order", x.Partition)
			}
		}
		again := inspect.Classify(sv, inspect.Policy{StaleAfter: a.Stale, MaxLag: 50})
		if fmt.Sprintf("%+v", again.Groups[0].Counts) != fmt.Sprintf("%+v", r.Groups[0].Counts) {
			t.Fatal("the same survey was judged in two ways")
		}
	})
}

// numbers: what is said of one row agrees with itself.
func numbers(t *rapid.T, x *inspect.Row) {
	measured := x.Stored.Err == nil && x.Stored.Value.State != offset.Unknown && x.Log.Err == nil
	switch s := x.Stored.Value; {
	case x.Lag < 0 || x.Lost < 0 || x.Ahead < 0 || x.Held < 0:
		t.Fatalf("a negative number: %+v", x)
	case x.Stored.Err != nil && x.Verdict != inspect.Unknown:
		t.Fatalf("what could not be read is %v", x.Verdict)
	case x.Verdict == inspect.OK && (!measured || !x.LagKnown || s.State != offset.Set || !x.Log.Value.Inside(s.Next)):
		t.Fatalf("ok without proof: %+v", x)
	case x.Verdict == inspect.Unknown && (x.LagKnown || x.Consume.Err == nil):
		t.Fatalf("unknown, and yet a number: %+v", x)
	case x.LagKnown && x.Lag > x.Log.Value.End-x.Log.Value.Start:
		t.Fatalf("more unread than there is: %+v", x)
	case x.Lost > 0 && x.Ahead > 0:
		t.Fatalf("before the start and past the end: %+v", x)
	case x.Consume.Err == nil && !x.Log.Value.Inside(x.Consume.Value.Next):
		t.Fatalf("consume would go outside: %+v", x)
	case (x.Verdict == inspect.OK) != (len(x.Findings) == 0):
		t.Fatalf("verdict and findings differ: %+v", x)
	}
	for i, f := range x.Findings {
		if i > 0 && f.Verdict < x.Findings[i-1].Verdict || f.Text == "" || f.Proof && f.Verdict != inspect.Diverged {
			t.Fatalf("%+v", x.Findings)
		}
		for _, rep := range f.Repairs {
			if rep.Count < 0 || rep.Args[0] != "reset" || !slices.Contains(rep.Args, x.Partition.String()) {
				t.Fatalf("%+v", rep)
			}
		}
	}
}

// sums: a group's numbers are those of its rows, and every line that was asked for is a row.
func sums(t *rapid.T, r *inspect.Report) {
	g := &r.Groups[0]
	rows, lag, unknown := 0, int64(0), 0
	for _, n := range g.Counts {
		rows += n
	}
	for i := range g.Rows {
		if g.Rows[i].LagKnown {
			lag += g.Rows[i].Lag
		}
		if g.Rows[i].Verdict == inspect.Unknown {
			unknown++
		}
		if g.Rows[i].Verdict < g.Verdict {
			t.Fatalf("a row is worse than its group")
		}
	}
	if len(g.Rows) > 0 && rows != len(g.Rows) || lag != g.Lag || unknown != g.Unmeasured || len(r.Survey.Lines) != len(g.Rows) {
		t.Fatalf("%d rows counted as %v, lag %d of %d, %d unknown of %d", len(g.Rows), g.Counts, g.Lag, lag, g.Unmeasured, unknown)
	}
	if code := inspect.ExitCode(r, nil); (code == 3) != (unknown > 0) {
		t.Fatalf("exit code %d with %d unknown", code, unknown)
	}
	if code := inspect.ExitCode(r, inspect.AnyFinding()); code == 0 && g.Verdict != inspect.OK {
		t.Fatalf("exit code 0 with %v", g.Verdict)
	}
}
