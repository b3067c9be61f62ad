package repair

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/inspect/inspecttest"
	"github.com/offsetctl/offsetctl/offset"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

var here = Origin{User: "anna", Host: "bastion-2", Broker: "kafka://k1:9092", Store: "sqlite:/var/lib/jobs.db", Cluster: "c1", Program: "offsetctl test"}

// external is a world whose store knows nothing of members.
func external() *inspecttest.World { return inspecttest.New() }

// ownStore is a world whose store is the broker's own.
func ownStore() *inspecttest.World {
	w := inspecttest.New()
	w.Caps.Members = true
	return w
}

func survey(t testing.TB, w *inspecttest.World, a inspect.Ask) *inspect.Survey {
	t.Helper()
	if a.Now.IsZero() {
		a.Now = noon
	}
	if a.Groups == nil {
		a.Groups = []string{"billing"}
	}
	sv, err := inspect.Take(context.Background(), w.Broker(), w.Positions(), w.Caps.Members, a)
	if err != nil {
		t.Fatal(err)
	}
	return sv
}

func report(t testing.TB, w *inspecttest.World, topics ...string) *inspect.Report {
	t.Helper()
	return classified(survey(t, w, inspect.Ask{Topics: topics}))
}

func reportOf(t testing.TB, w *inspecttest.World, a inspect.Ask) *inspect.Report {
	t.Helper()
	return classified(survey(t, w, a))
}

// clock stands until somebody waits.
type clock struct{ now time.Time }

func (c *clock) wait(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.now = c.now.Add(d)
	return nil
}

func runner(t testing.TB, w *inspecttest.World, s offset.Store) *Run {
	c := &clock{noon}
	if s == nil {
		s = w.Positions()
	}
	return &Run{
		Broker: w.Broker(), Own: w.Caps.Members, Store: s, Journal: NewJournal(OpenDir(filepath.Join(t.TempDir(), "journal"))), Origin: here,
		Now: func() time.Time { return c.now }, Wait: c.wait, Settle: 10 * time.Second,
	}
}

// mustPlan plans without a refusal.
func mustPlan(t testing.TB, rep *inspect.Report, o Options) *Plan {
	t.Helper()
	o.Origin = here
	p, err := Make(rep, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func to(n int64) Options {
	return Options{Target: offset.Target{Kind: offset.ToOffset, Offset: n}}
}

var toEarliest = Options{Target: offset.Target{Kind: offset.ToEarliest}}
var toLatest = Options{Target: offset.Target{Kind: offset.ToLatest}}

// reasons are what a refusal says, one line each.
func reasons(err error) []Reason {
	var r *Refused
	if errors.As(err, &r) {
		return r.Reasons
	}
	return nil
}

func wantRefused(t testing.TB, err error, c Cause, words ...string) {
	t.Helper()
	if !errors.Is(err, ErrRefused) {
		t.Fatalf("got %v, want a refusal", err)
	}
	i := slices.IndexFunc(reasons(err), func(r Reason) bool { return r.Cause == c })
	if i < 0 {
		t.Fatalf("refused with %v, want the cause %s", err, c)
	}
	r := reasons(err)[i]
	all := r.Text + "; " + r.Next + "; " + strings.Join(r.Details, "; ")
	for _, w := range words {
		if !strings.Contains(all, w) {
			t.Errorf("%q does not say %q", all, w)
		}
	}
}

// row finds one row of a plan.
func row(t testing.TB, p *Plan, partition string) *Item {
	t.Helper()
	for it := range p.items() {
		if it.Partition.String() == partition {
			return it
		}
	}
	t.Fatalf("the plan has no row %s", partition)
	return nil
}

func wantStored(t testing.TB, w *inspecttest.World, p string, next int64) {
	t.Helper()
	if s := w.Stored("billing", p); s.State != offset.Set || s.Next != next {
		t.Errorf("%s: stored %s, want %d", p, at(s), next)
	}
}

func classified(sv *inspect.Survey) *inspect.Report { return inspect.Classify(sv, inspect.Policy{}) }
