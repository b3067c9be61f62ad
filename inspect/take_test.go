package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/inspect/inspecttest"
	"github.com/offsetctl/offsetctl/offset"
)

func TestUnknownTopic(t *testing.T) {
	w := groups()
	w.Log("orders:0", 0, 10)
	w.Commit("g", "gone:0", 3)
	_, err := inspect.Take(t.Context(), w.Broker(), w.Positions(), true, inspect.Ask{Groups: []string{"g"}, Topics: []string{"order"}, Now: now})
	if !errors.Is(err, offset.ErrUnknownName) || !strings.Contains(err.Error(), "did you mean orders?") {
		t.Error(err)
	}
	// A topic that is gone and has positions is an orphan, and no error.
	for name, w := range map[string]*inspecttest.World{"own": w, "elsewhere": table()} {
		t.Run(name, func(t *testing.T) {
			w.Log("orders:0", 0, 10)
			w.Commit("g", "gone:0", 3)
			r := judge(t, w, inspect.Ask{Topics: []string{"gone"}})
			check(t, r, want{p: "gone:0", verdict: inspect.Orphan, lag: -1})
		})
	}
}

func TestDenied(t *testing.T) {
	denied := fmt.Errorf("topic secret: DESCRIBE is %w", offset.ErrDenied)
	for _, c := range []struct {
		name   string
		ask    inspect.Ask
		commit bool
	}{
		{"stored", inspect.Ask{}, true},
		{"stored and named", inspect.Ask{Topics: []string{"orders", "secret"}}, true},
		{"named, nothing to be seen", inspect.Ask{Topics: []string{"orders", "secret"}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := groups()
			w.Partial = true
			w.Gaps = []error{errors.New("only what this user may see")}
			w.Log("orders:0", 0, 10)
			w.Topic("secret", "", denied)
			w.Commit("g", "orders:0", 4)
			if c.commit {
				w.Commit("g", "secret:2", 7)
			}
			r := judge(t, w, c.ask)
			check(t, r, want{p: "orders:0", verdict: inspect.OK, lag: 6})
			if c.commit {
				check(t, r, want{p: "secret:2", verdict: inspect.Unknown, lag: -1})
				if row(t, r, "secret:2").Stored.Value.Next != 7 {
					t.Error("what is stored is shown")
				}
			} else if f := r.Groups[0].Findings; len(f) != 1 || f[0].Verdict != inspect.Unknown || !strings.Contains(f[0].Text, "secret") {
				t.Errorf("%+v", f)
			}
			exits(t, r, 3)
		})
	}
}

// TestHiddenTopic: a topic that a partial list leaves out is asked for by name before anything is said of it.
func TestHiddenTopic(t *testing.T) {
	w := groups()
	w.Partial = true
	w.Log("hidden:0", 0, 10)
	w.Hide("hidden")
	w.Commit("g", "hidden:0", 4)
	w.Commit("g", "gone:0", 4)
	r := judge(t, w, inspect.Ask{})
	check(t, r, want{p: "hidden:0", verdict: inspect.OK, lag: 6}, want{p: "gone:0", verdict: inspect.Orphan, lag: -1})

	asked := 0
	w.OnCall = func(call string) {
		if call == "topology" {
			if asked++; asked == 2 {
				w.Broken["topology"] = offset.ErrUnreachable
			}
		}
	}
	r = judge(t, w, inspect.Ask{})
	check(t, r, want{p: "gone:0", verdict: inspect.Unknown, lag: -1})
}

func TestWholeListProves(t *testing.T) {
	w := groups()
	w.Log("orders:0", 0, 10)
	w.Commit("g", "gone:0", 4)
	judge(t, w, inspect.Ask{})
	if n := w.Count("topology"); n != 1 {
		t.Errorf("%d questions for topics", n)
	}
}

// TestBusy: a group that moves on between the look at its position and the look at the end is not ahead of its log.
func TestBusy(t *testing.T) {
	for name, topics := range map[string][]string{"stored topics": nil, "named topics": {"orders"}} {
		t.Run(name, func(t *testing.T) {
			w := groups()
			l := w.Log("orders:0", 0, 100)
			w.Commit("g", "orders:0", 120)
			looks := 0
			w.OnCall = func(call string) {
				if call == "logs" {
					if looks++; looks == 2 {
						l.Stable, l.End = 130, 130
					}
				}
			}
			r := judge(t, w, inspect.Ask{Topics: topics})
			check(t, r, want{p: "orders:0", verdict: inspect.OK, lag: 10})
		})
	}
}

func TestEndCannotBeAskedAgain(t *testing.T) {
	w := groups()
	w.Log("orders:0", 0, 100)
	w.Commit("g", "orders:0", 120)
	looks := 0
	w.OnCall = func(call string) {
		if call == "logs" {
			if looks++; looks == 2 {
				w.Broken["logs"] = offset.ErrUnreachable
			}
		}
	}
	check(t, judge(t, w, inspect.Ask{}), want{p: "orders:0", verdict: inspect.Unknown, lag: -1})
}

func TestEpochEnds(t *testing.T) {
	for name, topics := range map[string][]string{"stored topics": nil, "named topics": {"orders"}} {
		t.Run(name, func(t *testing.T) {
			w := groups()
			l := w.Log("orders:0", 0, 100)
			l.Epoch, l.EpochEnds = offset.EpochOf(6), map[int32]int64{4: 20}
			l.Fill(0, 100, now.Add(-time.Hour))
			w.Store("g", "orders:0", value(epoch(50, 4)))
			r := judge(t, w, inspect.Ask{Topics: topics})
			if x := row(t, r, "orders:0"); x.Verdict != inspect.Diverged || x.EpochEnd != 20 || x.Before.IsZero() {
				t.Errorf("%v, epoch ends at %d, record before from %v", x.Verdict, x.EpochEnd, x.Before)
			}
			w.Calls = nil
			w.Store("g", "orders:0", value(epoch(50, 6)))
			check(t, judge(t, w, inspect.Ask{Topics: topics}), want{p: "orders:0", verdict: inspect.OK, lag: 50})
			if w.Count("logs") != 1 || w.Count("peek") != 0 {
				t.Errorf("the epoch of today raises no question: %v", w.Calls)
			}
		})
	}
}

// timed is a world whose store can find out when something was written.
type timed struct {
	offset.Store
	at time.Time
}

func (s timed) CommitTimes(_ context.Context, _ string, ps []offset.Partition) []offset.Result[time.Time] {
	return slices.Repeat([]offset.Result[time.Time]{{Value: s.at}}, len(ps))
}

func TestCommitTimesSettleADoubt(t *testing.T) {
	for name, c := range map[string]struct {
		wrote time.Time
		proof bool
		text  string
	}{
		"the log was cut":    {now.Add(-2 * time.Hour), true, "written again"},
		"the client's epoch": {now.Add(-time.Minute), false, "wrong epoch"},
	} {
		t.Run(name, func(t *testing.T) {
			w := groups()
			l := w.Log("orders:0", 0, 100)
			l.Epoch, l.EpochEnds = offset.EpochOf(6), map[int32]int64{4: 20}
			l.Fill(0, 100, now.Add(-time.Hour))
			w.Store("g", "orders:0", value(epoch(50, 4)))
			sv, err := inspect.Take(t.Context(), w.Broker(), timed{w.Positions(), c.wrote}, true, inspect.Ask{Groups: []string{"g"}, Now: now})
			if err != nil {
				t.Fatal(err)
			}
			f := inspect.Classify(sv, inspect.Policy{}).Groups[0].Rows[0].Findings[0]
			if f.Proof != c.proof || !strings.Contains(f.Text, c.text) {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestStaleLooksAtTheRecord(t *testing.T) {
	old := now.Add(-41 * time.Hour)
	for _, c := range []struct {
		name    string
		records func(*inspecttest.Log)
		verdict inspect.Verdict
		detail  string
	}{
		{"old", func(l *inspecttest.Log) { l.Fill(50, 60, old).Fill(60, 100, now) }, inspect.Stale, "oldest unread record is 1 d 17 h old"},
		{"young", func(l *inspecttest.Log) { l.Fill(0, 50, old).Fill(50, 100, now) }, inspect.OK, ""},
		{"a hole, then young ones", func(l *inspecttest.Log) { l.Fill(0, 50, old).Fill(70, 100, now) }, inspect.OK, ""},
		{"nothing but a marker", func(l *inspecttest.Log) { l.Fill(0, 50, old) }, inspect.OK, "markers and holes only"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := groups()
			c.records(w.Log("orders:0", 0, 100))
			w.Commit("g", "orders:0", 50)
			r := judge(t, w, inspect.Ask{Stale: 24 * time.Hour})
			check(t, r, want{p: "orders:0", verdict: c.verdict, lag: 50})
			if d := row(t, r, "orders:0").Detail; d != c.detail {
				t.Errorf("%q", d)
			}
		})
	}
}

func TestTimeLag(t *testing.T) {
	w := groups()
	w.Log("orders:0", 10, 100).Fill(10, 100, now.Add(-160*time.Hour))
	w.Log("orders:1", 10, 100).Fill(10, 100, now)
	w.Keep("orders", offset.Retention{Time: 168 * time.Hour, LogAppend: true})
	w.Commit("g", "orders:0", 5)
	w.Commit("g", "orders:1", 100)
	r := judge(t, w, inspect.Ask{TimeLag: true})
	if x := row(t, r, "orders:0"); !x.GoneKnown || x.GoneIn != 8*time.Hour || !x.LogAppend {
		t.Errorf("gone in %v, %v", x.GoneIn, x.LogAppend)
	}
	if x := row(t, r, "orders:1"); x.GoneKnown || !x.Oldest.IsZero() {
		t.Error("what is read has no oldest unread record")
	}
}

func TestSelect(t *testing.T) {
	w := groups()
	for i := range 4 {
		w.Log(fmt.Sprint("orders:", i), 0, 10)
	}
	w.Commit("g", "orders:0", 4)
	only := func(p offset.Partition) bool { return p.Index == 3 }
	for name, topics := range map[string][]string{"stored topics": nil, "named topics": {"orders"}} {
		t.Run(name, func(t *testing.T) {
			r := judge(t, w, inspect.Ask{Topics: topics, Select: only})
			if len(r.Groups[0].Rows) != 1 || len(r.Survey.Lines) != 4 {
				t.Fatalf("%d rows of %d lines", len(r.Groups[0].Rows), len(r.Survey.Lines))
			}
			check(t, r, want{p: "orders:3", verdict: inspect.Absent, lag: 10})
			if !row(t, r, "orders:3").Beside {
				t.Error("the others of a topic decide too")
			}
			if l := r.Survey.Lines[0]; !errors.Is(l.Log.Err, inspect.ErrNotAsked) {
				t.Error("bounds that nobody asked for are no bounds")
			}
		})
	}
}

func TestAllGroups(t *testing.T) {
	w := groups()
	w.Log("orders:0", 0, 10)
	w.Log("refunds:0", 0, 10)
	w.Commit("a", "orders:0", 10)
	w.Commit("b", "refunds:0", 10)
	w.Group(offset.Group{Name: "idle", Phase: offset.Empty})
	names := func(r *inspect.Report) (out []string) {
		for _, g := range r.Groups {
			out = append(out, fmt.Sprint(g.Name, ":", len(g.Rows)))
		}
		return out
	}
	if got := fmt.Sprint(names(inspect.Classify(take(t, w, inspect.Ask{}), inspect.Policy{}))); got != "[a:1 b:1 idle:0]" {
		t.Error(got)
	}
	if got := fmt.Sprint(names(inspect.Classify(take(t, w, inspect.Ask{Topics: []string{"orders"}}), inspect.Policy{}))); got != "[a:1]" {
		t.Errorf("groups that have nothing to do with the topic: %s", got)
	}
	if got := fmt.Sprint(names(inspect.Classify(take(t, w, inspect.Ask{Groups: []string{"a"}, AllTopics: true}), inspect.Policy{}))); got != "[a:2]" {
		t.Error(got)
	}
}

func TestUnreachable(t *testing.T) {
	for _, call := range []string{"topology", "groups"} {
		w := groups()
		w.Broken[call] = offset.ErrUnreachable
		if _, err := inspect.Take(t.Context(), w.Broker(), w.Positions(), true, inspect.Ask{Now: now}); !errors.Is(err, offset.ErrUnreachable) {
			t.Errorf("%s: %v", call, err)
		}
	}
	w := table()
	w.Log("orders:0", 0, 10)
	w.Broken["read"] = offset.ErrDenied
	if _, err := inspect.Take(t.Context(), w.Broker(), w.Positions(), false, inspect.Ask{Groups: []string{"g"}, Now: now}); !errors.Is(err, offset.ErrDenied) {
		t.Errorf("a store that answers for no group: %v", err)
	}
}

// TestOneGroupUnknown: a coordinator that is gone takes its own groups only.
func TestOneGroupUnknown(t *testing.T) {
	w := groups()
	w.Log("orders:0", 0, 10)
	w.Commit("a", "orders:0", 10)
	w.ReadErr("b", offset.ErrUnreachable)
	for name, topics := range map[string][]string{"stored topics": nil, "named topics": {"orders"}} {
		t.Run(name, func(t *testing.T) {
			r := judge(t, w, inspect.Ask{Groups: []string{"a", "b"}, Topics: topics})
			if r.Groups[0].Verdict != inspect.OK || r.Groups[1].Verdict != inspect.Unknown {
				t.Errorf("%v, %v", r.Groups[0].Verdict, r.Groups[1].Verdict)
			}
			exits(t, r, 3)
		})
	}
}

// TestDeadline: after the time is up everything that was asked about has an answer, and none of it is a number.
func TestDeadline(t *testing.T) {
	for name, topics := range map[string][]string{"stored topics": nil, "named topics": {"orders"}} {
		t.Run(name, func(t *testing.T) {
			w := groups()
			w.Log("orders:0", 0, 10)
			w.Commit("g", "orders:0", 4)
			ctx, cancel := context.WithCancel(t.Context())
			w.OnCall = func(call string) {
				if call == "logs" {
					cancel()
				}
			}
			sv, err := inspect.Take(ctx, w.Broker(), w.Positions(), true, inspect.Ask{Groups: []string{"g"}, Topics: topics, Now: now})
			if err != nil {
				t.Fatal(err)
			}
			r := inspect.Classify(sv, inspect.Policy{})
			check(t, r, want{p: "orders:0", verdict: inspect.Unknown, lag: -1})
		})
	}
}

func TestDescribeFails(t *testing.T) {
	w := groups()
	w.Log("orders:0", 0, 10)
	w.Commit("g", "orders:0", 4)
	w.GroupErr("g", offset.ErrDenied)
	r := judge(t, w, inspect.Ask{})
	if g := r.Groups[0]; g.Verdict != inspect.OK || len(g.Notes) != 1 || !strings.Contains(g.Notes[0], "members could not be looked at") {
		t.Errorf("%+v", g.Notes)
	}
}

func TestQueues(t *testing.T) {
	w := table()
	w.Product = "RocketMQ 5.5.0"
	w.Brokers = []offset.Server{{Name: "broker-a"}, {Name: "broker-b"}}
	w.Log("orders@broker-a:0", 0, 10)
	w.Log("orders@broker-b:0", 0, 10)
	w.Log("alone@broker-a:0", 0, 10)
	w.Commit("g", "orders@broker-a:0", 4)
	w.Commit("g", "orders:0", 5)          // which one?
	w.Commit("g", "alone:0", 6)           // there is only one
	w.Commit("g", "orders@broker-c:0", 7) // not there: neither gone nor zero
	w.Commit("g", "orders@broker-a:9", 8) // an orphan
	r := judge(t, w, inspect.Ask{})
	check(t, r, want{p: "orders@broker-a:0", verdict: inspect.OK, lag: 6}, want{p: "orders@broker-b:0", verdict: inspect.Absent, lag: 10},
		want{p: "orders:0", verdict: inspect.Invalid, lag: -1}, want{p: "alone@broker-a:0", verdict: inspect.OK, lag: 4},
		want{p: "orders@broker-c:0", verdict: inspect.Unknown, lag: -1}, want{p: "orders@broker-a:9", verdict: inspect.Orphan, lag: -1})
	if f := row(t, r, "orders:0").Findings[0]; !strings.Contains(f.Text, "broker-a, broker-b") {
		t.Errorf("%+v", f)
	}
}

// TestNoQueues: a store that keeps no broker can say nothing of a topic on several.
func TestNoQueues(t *testing.T) {
	w := table()
	w.Caps.Queues = false
	w.Brokers = []offset.Server{{Name: "broker-a"}, {Name: "broker-b"}}
	w.Log("orders@broker-a:0", 0, 10)
	w.Log("orders@broker-b:0", 0, 10)
	w.Log("alone@broker-a:0", 0, 10)
	w.Log("alone@broker-a:1", 0, 10)
	w.Commit("g", "orders:0", 5)
	w.Commit("g", "alone:0", 6)
	r := judge(t, w, inspect.Ask{})
	check(t, r, want{p: "orders:0", verdict: inspect.Invalid, lag: -1}, want{p: "orders@broker-a:0", verdict: inspect.Unknown, lag: -1},
		want{p: "alone@broker-a:0", verdict: inspect.OK, lag: 4}, want{p: "alone@broker-a:1", verdict: inspect.Absent, lag: 10})
}

// TestEvidenceOfTheSecondRead: the answer by name tells that the topic is another one by now.
func TestEvidenceOfTheSecondRead(t *testing.T) {
	w := groups()
	w.Log("orders:0", 0, 10)
	w.Topic("orders", "new-id", nil)
	w.Commit("g", "orders:0", 4)
	reads := 0
	w.OnCall = func(call string) {
		if call == "read" {
			if reads++; reads == 2 {
				w.Store("g", "orders:0", value(offset.Stored{State: offset.Set, Next: 4, Evidence: &offset.Evidence{Proof: true, Text: "not under its id"}}))
			}
		}
	}
	r := judge(t, w, inspect.Ask{})
	check(t, r, want{p: "orders:0", verdict: inspect.Diverged, lag: 6})
}

// TestUnprovenStart: where the server's word for the log start may be stale, it is proven before anything is called unread.
func TestUnprovenStart(t *testing.T) {
	w := groups()
	start := int64(70)
	w.Log("orders:0", 0, 100).Proven = &start
	w.Log("orders:1", 0, 100).Proven = &start
	w.Commit("g", "orders:0", 50)
	w.Commit("g", "orders:1", 100)
	r := judge(t, w, inspect.Ask{})
	check(t, r, want{p: "orders:0", verdict: inspect.HeadOverflow, lag: 30, lost: 20}, want{p: "orders:1", verdict: inspect.OK})
	if w.Count("logs") != 2 {
		t.Errorf("%v", w.Calls)
	}
}

// A look-up that failed beside a partition without a position is not "nothing of the topic is stored".
func TestAbsentBesideWhatCannotBeRead(t *testing.T) {
	w := table()
	for _, p := range []string{"orders:0", "orders:1", "orders:2", "other:0"} {
		w.Log(p, 0, 10)
	}
	w.Store("g", "orders:0", offset.Result[offset.Stored]{Err: errors.New("no answer")})
	w.Commit("g", "other:0", 10)
	r := judge(t, w, inspect.Ask{Topics: []string{"orders", "other"}})
	if l := row(t, r, "orders:1"); l.Beside || !l.Unsure || l.Verdict != inspect.Absent || len(l.Findings[0].Repairs) > 0 ||
		l.Detail != "whether others of it are stored is not known" {
		t.Errorf("%+v", l)
	}
	if l := row(t, r, "other:0"); l.Unsure || l.Verdict != inspect.OK {
		t.Errorf("another topic: %+v", l)
	}
	w.Commit("g", "orders:2", 10)
	if l := row(t, judge(t, w, inspect.Ask{Topics: []string{"orders"}}), "orders:1"); !l.Beside || l.Unsure || l.Consume.Value.Next != 0 || len(l.Findings[0].Repairs) != 1 {
		t.Errorf("beside a stored one: %+v", l)
	}
}
