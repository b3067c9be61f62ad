package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/inspect/inspecttest"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/repair"
)

// morning is a group that is to go back to a time, which is ahead of it in two partitions.
func morning(t testing.TB) *repair.Plan {
	at := time.Date(2026, 11, 29, 13, 5, 0, 0, time.UTC)
	w := inspecttest.New()
	w.Cluster, w.Caps.Members = "5L6g3nShT", true
	for _, c := range []struct {
		p                    string
		start, end, next, at int64
	}{
		{"orders:0", 7100204, 8800431, 8800125, 8791310},
		{"orders:1", 7104331, 7400731, 5900120, 7398000},
		{"orders:2", 7099871, 8790001, 8790001, 8781100},
		{"orders:3", 7101002, 8911002, 8123456, 8899120},
		{"orders:4", 7100000, 7488020, 7100000, 7200000},
		{"payments:0", 1100000, 1200410, 1200400, 1199002},
	} {
		w.Log(c.p, c.start, c.end).Records = []offset.Record{{Offset: c.at, Time: at}}
		w.Commit("billing", c.p, c.next)
	}
	w.Keep("orders", offset.Retention{Time: 168 * time.Hour})
	only := func(p offset.Partition) bool { return p.Topic == "payments" || p.Index < 4 }
	r := look(t, w, inspect.Ask{Groups: []string{"billing"}, At: at, Select: only})
	p, err := repair.Make(r, repair.Options{Mode: repair.ToTarget, Target: offset.Target{Kind: offset.ToTime, Time: at}, Replay: true, To: "2026-11-29T13:05:00Z"})
	if p == nil {
		t.Fatal(err)
	}
	return p
}

func planOptions() PlanOptions {
	return PlanOptions{Format: "table", Header: Header{Context: "prod-eu", Store: "Kafka group (default)"}, Now: now, Zone: time.FixedZone("", 3600)}
}

func planned(t testing.TB, p *repair.Plan, o PlanOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Plan(&b, p, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPlan(t *testing.T) {
	for _, format := range []string{"table", "json", "yaml"} {
		o := planOptions()
		o.Format = format
		golden(t, "plan."+format, planned(t, morning(t), o))
	}
}

func TestPlanRefused(t *testing.T) {
	w := inspecttest.New()
	w.Caps.Members = true
	w.Log("refunds:0", 0, 160)
	w.Log("refunds:1", 0, 160)
	w.Commit("billing", "refunds:0", 220)
	w.Commit("billing", "refunds:1", 160)
	p, refusal := repair.Make(look(t, w, inspect.Ask{Groups: []string{"billing"}}), repair.Options{Mode: repair.ToRepair, To: "the nearest sound position"})
	if refusal == nil {
		t.Fatal("not refused")
	}
	o := planOptions()
	o.Refusal = refusal
	golden(t, "plan-refused.table", planned(t, p, o))
	o.Format = "json"
	var d struct {
		Refused []repair.Reason `json:"refused"`
	}
	if err := json.Unmarshal(planned(t, p, o), &d); err != nil || len(d.Refused) != 1 || len(d.Refused[0].Repairs) != 2 {
		t.Errorf("%+v, %v", d, err)
	}
	var no *repair.Refused
	var said bytes.Buffer
	if errors.As(refusal, &no) {
		Refused(&said, no, 4, "offsetctl --store sqlite:job.db")
	}
	if !strings.Contains(said.String(), "  offsetctl --store sqlite:job.db reset -g billing -t refunds:0 --to-earliest\n") {
		t.Errorf("a command that means another store: %s", &said)
	}
}

func TestPlanWithManyRows(t *testing.T) {
	p := &repair.Plan{Kind: repair.KindReset, To: "the log start"}
	g := repair.Group{Name: "g"}
	for i := range 1000 {
		it := repair.Item{Change: offset.Change{Partition: offset.Partition{Topic: "orders", Index: int32(i)}, From: offset.Stored{State: offset.Set, Next: 9}, To: offset.Stored{State: offset.Set}}, Action: repair.Write}
		if it.Effect.Replayed = 9; i == 777 {
			it.Effect = offset.Resolution{Skipped: 5}
		}
		g.Items = append(g.Items, it)
	}
	p.Groups = []repair.Group{g}
	out := string(planned(t, p, planOptions()))
	if n := strings.Count(out, "\n"); n > showAll+10 {
		t.Errorf("%d lines", n)
	}
	if !strings.Contains(out, "   777  ") || !strings.Contains(out, "and 899 rows that skip nothing") || !strings.Contains(out, "SKIPS 5") {
		t.Errorf("what skips is never hidden:\n%s", out[len(out)-400:])
	}
	o := planOptions()
	o.Format = "wide"
	if out := string(planned(t, p, o)); strings.Count(out, "\n") < 1000 {
		t.Error("wide has all")
	}
}

// entry is a write of the plan as the journal has it.
func entry(p *repair.Plan, outcomes []repair.Outcome) *repair.Entry {
	e := &repair.Entry{ID: 17, At: now.Add(-8 * time.Minute), Ended: now.Add(-8 * time.Minute), Kind: repair.KindReset, Done: outcomes,
		Origin: repair.Origin{User: "anna", Host: "bastion-2", Reason: "INC-4711", Command: "reset --to-time 2026-11-29T13:05:00Z", Store: "kafka://k1:9092", Cluster: "5L6g3nShT"}}
	for _, g := range p.Groups {
		eg := repair.EntryGroup{Group: g.Name}
		for _, it := range g.Items {
			if it.Action != repair.Keep {
				eg.Changes = append(eg.Changes, it.Change)
			}
		}
		e.Groups = append(e.Groups, eg)
	}
	return e
}

func outcomesOf(p *repair.Plan, status func(i int) (repair.Status, string)) (out []repair.Outcome) {
	for _, g := range p.Groups {
		for i, it := range g.Items {
			s, text := status(i)
			to := it.To
			out = append(out, repair.Outcome{Group: g.Name, Partition: it.Partition, Status: s, Text: text, Now: &to})
		}
	}
	return out
}

func TestUndoPlan(t *testing.T) {
	p := &repair.Plan{Kind: repair.KindUndo, To: "what was there before 17", Undoes: 17}
	row := func(at string, before, wrote, now int64, action repair.Action, note string) repair.Item {
		w := set(wrote)
		return repair.Item{Change: offset.Change{Partition: inspecttest.P(at), From: set(now), To: set(before)}, Written: &w, Action: action, Note: note}
	}
	p.Groups = []repair.Group{{Name: "billing", Items: []repair.Item{
		row("orders:0", 8800125, 8791310, 8791310, repair.Write, "back, skips 8,815 read before"),
		row("orders:1", 5900120, 7104331, 7104331, repair.Write, "back, below the log start again (head-overflow)"),
		row("orders:2", 8790001, 8781100, 8785730, repair.Write, "MOVED: a consumer read 4,630 since; back skips 4,271"),
	}}}
	golden(t, "undo.table", planned(t, p, planOptions()))
	items := p.Groups[0].Items
	items[0].Effect.Skipped = 8815
	before := set(8790001)
	items[2].Action, items[2].To, items[2].Before = repair.Keep, items[2].From, &before
	says := func(want string) {
		t.Helper()
		if out := string(planned(t, p, planOptions())); !strings.Contains(out, want) || !strings.Contains(out, "orders     2  8790001  8781100  8785730") {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
	says("SKIPS 8,815 read before on 1 of 3")
	items[2].Action, items[2].To, items[2].Before, items[2].Effect.Skipped = repair.Write, before, nil, 4271
	says("SKIPS 13,086 on 2 of 3")
}

// TestRewindHint: what --rewind-only would make of a plan is what it makes.
func TestRewindHint(t *testing.T) {
	at := time.Date(2026, 11, 29, 13, 5, 0, 0, time.UTC)
	w := inspecttest.New()
	for i, stored := range []offset.Stored{set(50), set(5), set(150), {State: offset.Invalid, Raw: []byte("n/a")}, {State: offset.Absent}} {
		p := fmt.Sprint("orders:", i)
		w.Log(p, 10, 100).Records = []offset.Record{{Offset: 70, Time: at}}
		if stored.State != offset.Absent {
			w.Store("billing", p, offset.Result[offset.Stored]{Value: stored})
		}
	}
	r := look(t, w, inspect.Ask{Groups: []string{"billing"}, Topics: []string{"orders"}, At: at})
	o := repair.Options{Target: offset.Target{Kind: offset.ToTime, Time: at}}
	p, err := repair.Make(r, o)
	if err != nil {
		t.Fatal(err)
	}
	const want = "With --rewind-only: orders:1-4 to the log start, orders:0 unchanged, SKIPS 0."
	if out := string(planned(t, p, planOptions())); !strings.Contains(out, want) {
		t.Errorf("want %q in\n%s", want, out)
	}
	o.RewindOnly = true
	if p, err = repair.Make(r, o); err != nil || p.Totals().Skips != 0 {
		t.Errorf("%+v, %v", p.Totals(), err)
	}
	for _, it := range p.Groups[0].Items {
		if stays := it.Action == repair.Keep; stays != (it.Partition.Index == 0) || !stays && it.To.Next != 10 {
			t.Errorf("%+v", it)
		}
	}
}

func set(n int64) offset.Stored { return offset.Stored{State: offset.Set, Next: n} }

func TestApplied(t *testing.T) {
	p := morning(t)
	show := func(a *repair.Applied, err error, format string) []byte {
		var b bytes.Buffer
		if e := Applied(&b, p, a, AppliedOptions{Format: format, Program: "offsetctl --context prod-eu", Err: err}); e != nil {
			t.Fatal(e)
		}
		return b.Bytes()
	}
	good := &repair.Applied{Journal: 17, Outcomes: outcomesOf(p, func(i int) (repair.Status, string) {
		if i == 3 {
			return repair.Unchanged, ""
		}
		return repair.Written, ""
	})}
	golden(t, "applied.table", show(good, nil, "table"))
	half := &repair.Applied{Journal: 18, Outcomes: outcomesOf(p, func(i int) (repair.Status, string) {
		switch {
		case i < 3:
			return repair.Written, ""
		case i == 3:
			return repair.NotKnown, "orders:3: region moved after the request was sent, cannot be read back yet"
		}
		return repair.NotTried, ""
	})}
	golden(t, "applied-half.table", show(half, half.Err(), "table"))
	golden(t, "applied-half.json", show(half, half.Err(), "json"))
	half.Once = true
	if out := string(show(half, half.Err(), "table")); strings.Contains(out, "repeat the command (") || !strings.Contains(out, "shift again") {
		t.Errorf("a shift must not be repeated:\n%s", out)
	}
	unseen := &repair.Applied{Journal: 19, Idle: true, Outcomes: good.Outcomes}
	if out := string(show(unseen, nil, "table")); !strings.Contains(out, "nobody looked whether the job is running") {
		t.Errorf("\n%s", out)
	}
	over := &repair.Applied{Journal: 19, Idle: true, Looked: time.Second, Outcomes: outcomesOf(p, func(i int) (repair.Status, string) {
		return []repair.Status{repair.Written, repair.Overwritten}[i%2], ""
	})}
	if out := string(show(over, over.Err(), "table")); !strings.Contains(out, "first    stop who else writes there") || !strings.Contains(out, "(restores 3, with --also-moved the 2 overwritten too)") || strings.Contains(out, "nobody") {
		t.Errorf("\n%s", out)
	}
	idle := &repair.Applied{Journal: 19, Idle: true, Looked: time.Second, Outcomes: good.Outcomes}
	if out := string(show(idle, nil, "table")); !strings.Contains(out, "no proof that the job is stopped") {
		t.Errorf("\n%s", out)
	}
	lost := &repair.Applied{Journal: 20, Outcomes: good.Outcomes, JournalErr: errors.New("no space left on device")}
	if out := string(show(lost, lost.Err(), "table")); !strings.Contains(out, "no space left on device") || !strings.Contains(out, "undo 20") {
		t.Errorf("\n%s", out)
	}
}

func TestHistory(t *testing.T) {
	p := morning(t)
	done := entry(p, outcomesOf(p, func(int) (repair.Status, string) { return repair.Written, "" }))
	open := entry(p, nil)
	open.ID, open.Ended, open.Reason = 18, time.Time{}, ""
	busy := entry(p, nil)
	busy.ID, busy.Busy, busy.Ended = 19, true, time.Time{}
	o := HistoryOptions{Format: "table", Now: now, Journal: "/home/anna/.local/state/offsetctl/journal"}
	var b bytes.Buffer
	if err := History(&b, []*repair.Entry{busy, open, done}, o); err != nil {
		t.Fatal(err)
	}
	if err := Entry(&b, done, done.Done, o); err != nil {
		t.Fatal(err)
	}
	if err := Entry(&b, open, outcomesOf(p, func(i int) (repair.Status, string) { return repair.NotTried, fmt.Sprint("row ", i, " is as it was") }), o); err != nil {
		t.Fatal(err)
	}
	if err := History(&b, nil, o); err != nil {
		t.Fatal(err)
	}
	golden(t, "history.table", b.Bytes())
	o.Format = "json"
	b.Reset()
	if err := History(&b, nil, o); err != nil || !strings.Contains(b.String(), `"entries": []`) {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// TestHistoryResults: what went wrong with some rows is in the list already, also what was found overwritten later.
func TestHistoryResults(t *testing.T) {
	p := morning(t)
	for want, how := range map[string][]repair.Status{
		"written":                          {repair.Written, repair.Unchanged, repair.AlreadyThere, repair.Written, repair.Unchanged},
		"1 of 2, 1 overwritten":            {repair.Overwritten, repair.Written, repair.Unchanged, repair.AlreadyThere, repair.Unchanged},
		"0 of 3, 1 not tried, 2 NOT KNOWN": {repair.NotKnown, repair.NotTried, repair.NotKnown, repair.Unchanged, repair.Unchanged},
	} {
		if got := result(entry(p, outcomesOf(p, func(i int) (repair.Status, string) { return how[i], "" }))); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
