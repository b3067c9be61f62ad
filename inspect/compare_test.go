package inspect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/inspect/inspecttest"
	"github.com/offsetctl/offsetctl/offset"
)

// twice looks, lets change happen for half a minute, and looks again.
func twice(t *testing.T, w *inspecttest.World, a inspect.Ask, change func()) *inspect.Report {
	t.Helper()
	first := judge(t, w, a)
	change()
	a.Now = now.Add(30 * time.Second)
	a.Since = first.Sample()
	return inspect.Compare(first, judge(t, w, a))
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*inspecttest.World, *inspecttest.Log)
		stored  int64
		verdict inspect.Verdict
		detail  string
		repairs string
		in, out float64
		catchUp time.Duration
	}{
		{name: "keeps pace", stored: 90, change: func(w *inspecttest.World, l *inspecttest.Log) { move(l, 160); w.Commit("g", "orders:0", 150) }, verdict: inspect.OK, in: 2, out: 2},
		{name: "catches up", stored: 0, change: func(w *inspecttest.World, l *inspecttest.Log) { w.Commit("g", "orders:0", 60) }, verdict: inspect.OK, out: 2, catchUp: 20 * time.Second},
		{name: "falls behind", stored: 90, change: func(w *inspecttest.World, l *inspecttest.Log) { move(l, 400); w.Commit("g", "orders:0", 120) }, verdict: inspect.OK, in: 10, out: 1, catchUp: inspect.Never},
		{name: "stalled", stored: 60, change: func(*inspecttest.World, *inspecttest.Log) {}, verdict: inspect.Stalled, detail: "unmoved for 30 s", catchUp: inspect.Never},
		{name: "had nothing to do before", stored: 100, change: func(_ *inspecttest.World, l *inspecttest.Log) { move(l, 160) }, verdict: inspect.OK, in: 2, catchUp: inspect.Never},
		{name: "has nothing to do now", stored: 100, change: func(*inspecttest.World, *inspecttest.Log) {}, verdict: inspect.OK},
		{name: "rewound", stored: 90, change: func(w *inspecttest.World, _ *inspecttest.Log) { w.Commit("g", "orders:0", 30) }, verdict: inspect.Rewound, detail: "was 90",
			repairs: "skips 60", out: -2, catchUp: inspect.Never},
		{name: "vanished", stored: 60, change: func(w *inspecttest.World, _ *inspecttest.Log) {
			w.Store("g", "orders:0", value(offset.Stored{State: offset.Absent}))
		},
			verdict: inspect.Absent, detail: "was 60", repairs: "keeps 40"},
		{name: "the log became shorter", stored: 20, change: func(w *inspecttest.World, l *inspecttest.Log) {
			l.Stable, l.End = 50, 50
			w.Commit("g", "orders:0", 25)
		},
			verdict: inspect.Diverged, detail: "log end was 100", repairs: "reads 50, keeps 25", in: -50.0 / 30, out: 5.0 / 30, catchUp: 25 * 30 * time.Second / 55},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := groups()
			l := w.Log("orders:0", 0, 100).Fill(0, 500, now)
			w.Log("orders:1", 0, 0)
			w.Commit("g", "orders:0", c.stored)
			w.Commit("g", "orders:1", 0)
			r := twice(t, w, inspect.Ask{Topics: []string{"orders"}}, func() { c.change(w, l) })
			x := row(t, r, "orders:0")
			if x.Verdict != c.verdict || x.Detail != c.detail && c.detail != "" {
				t.Fatalf("%v %q: %+v", x.Verdict, x.Detail, x.Findings)
			}
			if len(x.Findings) > 0 && effects(x.Findings[0]) != c.repairs {
				t.Errorf("repairs %q, want %q", effects(x.Findings[0]), c.repairs)
			}
			if m := x.Move; c.name != "vanished" && (m == nil || !near(m.In, c.in) || !near(m.Out, c.out) || !near(m.CatchUp.Seconds(), c.catchUp.Seconds())) {
				t.Errorf("%+v, want %v in, %v out, %v", m, c.in, c.out, c.catchUp)
			}
			if r.Groups[0].Counts[c.verdict] == 0 {
				t.Errorf("counted as %v", r.Groups[0].Counts)
			}
		})
	}
}

func move(l *inspecttest.Log, end int64) { l.Stable, l.End = end, end }

func near(a, b float64) bool { return a-b < 0.01 && b-a < 0.01 }

// TestUnmovedMarkers: a position before a marker has a lag, does not move, and is not stalled.
func TestUnmovedMarkers(t *testing.T) {
	w := groups()
	w.Log("orders:0", 0, 100).Fill(0, 99, now)
	w.Commit("g", "orders:0", 99)
	r := twice(t, w, inspect.Ask{}, func() {})
	check(t, r, want{p: "orders:0", verdict: inspect.OK, lag: 1})
}

func TestCompareChangesNeither(t *testing.T) {
	w := groups()
	w.Log("orders:0", 0, 100).Fill(0, 100, now)
	w.Commit("g", "orders:0", 50)
	first := judge(t, w, inspect.Ask{})
	second := judge(t, w, inspect.Ask{Now: now.Add(time.Minute)})
	inspect.Compare(first, second)
	if row(t, second, "orders:0").Verdict != inspect.OK || second.Groups[0].Verdict != inspect.OK || row(t, second, "orders:0").Move != nil {
		t.Errorf("%+v", second.Groups[0])
	}
}

func TestVanishedTopicsAndGroups(t *testing.T) {
	w := groups()
	w.Log("orders:0", 0, 100)
	w.Log("refunds:0", 0, 100)
	w.Commit("g", "orders:0", 100)
	w.Commit("g", "refunds:0", 100)
	w.Commit("other", "orders:0", 100)
	look := func(at time.Time) *inspect.Report {
		return inspect.Classify(take(t, w, inspect.Ask{Now: at}), inspect.Policy{})
	}
	first := look(now)
	for _, c := range []struct{ group, p string }{{"g", "refunds:0"}, {"other", "orders:0"}} {
		w.Store(c.group, c.p, value(offset.Stored{State: offset.Absent}))
	}
	w.Forget("other")
	r := inspect.Compare(first, look(now.Add(time.Hour)))
	if len(r.Groups) != 2 {
		t.Fatalf("%d groups", len(r.Groups))
	}
	for i, words := range []string{"refunds:0 had positions", "orders:0 had positions"} {
		g := r.Groups[i]
		if g.Verdict != inspect.Absent || len(g.Findings) != 1 || !strings.Contains(g.Findings[0].Text, words) {
			t.Errorf("%s: %+v", g.Name, g.Findings)
		}
	}
	exits(t, r, 1)
}

func TestMoved(t *testing.T) {
	w := groups()
	w.Log("orders:0", 0, 100)
	w.Commit("g", "orders:0", 50)
	first := judge(t, w, inspect.Ask{})
	if inspect.Moved(first, judge(t, w, inspect.Ask{})) {
		t.Error("nothing moved")
	}
	w.Commit("g", "orders:0", 51)
	if !inspect.Moved(first, judge(t, w, inspect.Ask{})) {
		t.Error("it moved")
	}
}
