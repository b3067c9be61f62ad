package inspect_test

import (
	"context"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/inspect/inspecttest"
	"github.com/offsetctl/offsetctl/offset"
)

var now = time.Date(2026, 11, 30, 2, 14, 7, 0, time.UTC)

// groups is a world whose store is the broker's own.
func groups() *inspecttest.World {
	w := inspecttest.New()
	w.Caps.Members = true
	w.Caps.Queues = false
	return w
}

// table is a world whose store is a table beside the broker.
func table() *inspecttest.World { return inspecttest.New() }

func take(t testing.TB, w *inspecttest.World, a inspect.Ask) *inspect.Survey {
	t.Helper()
	if a.Now.IsZero() {
		a.Now = now
	}
	sv, err := inspect.Take(context.Background(), w.Broker(), w.Positions(), w.Caps.Members, a)
	if err != nil {
		t.Fatal(err)
	}
	return sv
}

// judge takes and classifies group g.
func judge(t testing.TB, w *inspecttest.World, a inspect.Ask) *inspect.Report {
	t.Helper()
	if a.Groups == nil {
		a.Groups = []string{"g"}
	}
	return inspect.Classify(take(t, w, a), inspect.Policy{StaleAfter: a.Stale})
}

// row finds a row of the only group.
func row(t testing.TB, r *inspect.Report, p string) *inspect.Row {
	t.Helper()
	for i := range r.Groups[0].Rows {
		if r.Groups[0].Rows[i].Partition.String() == p {
			return &r.Groups[0].Rows[i]
		}
	}
	t.Fatalf("no row %s", p)
	return nil
}

func set(next int64) offset.Stored { return offset.Stored{State: offset.Set, Next: next} }

func invalid(raw string) offset.Result[offset.Stored] {
	return offset.Result[offset.Stored]{Value: offset.Stored{State: offset.Invalid, Raw: []byte(raw)}}
}

func value(s offset.Stored) offset.Result[offset.Stored] {
	return offset.Result[offset.Stored]{Value: s}
}
