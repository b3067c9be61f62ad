package render

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/inspect/inspecttest"
	"github.com/offsetctl/offsetctl/offset"
)

var update = flag.Bool("update", false, "write the golden files anew")

var now = time.Date(2026, 11, 30, 2, 14, 7, 0, time.UTC)

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test -update writes it anew); got:\n%s", path, got)
	}
}

// faults is a group with most of what can go wrong.
func faults() *inspecttest.World {
	w := inspecttest.New()
	w.Cluster, w.Caps.Members = "5L6g3nShT", true
	old := now.Add(-41 * time.Hour)
	w.Log("orders:0", 7100204, 8800431).Fill(8800125, 8800130, now.Add(-2*time.Second))
	w.Log("orders:1", 7104331, 7400731).Records = []offset.Record{{Offset: 7104331, Time: now.Add(-167 * time.Hour)}}
	w.Log("orders:2", 7099871, 8791461).Stable = 8790001
	w.Log("orders:3", 7101002, 8911002).Records = []offset.Record{{Offset: 8123456, Time: old}, {Offset: 8900000, Time: now}}
	w.Log("orders:4", 7100000, 7488020).Records = []offset.Record{{Offset: 7100000, Time: now.Add(14*time.Minute - 168*time.Hour)}}
	w.Log("orders:5", 0, 0).Err = fmt.Errorf("broker 2 is down: it %w", offset.ErrNoLeader)
	w.Log("payments:0", 1100000, 1200410).Fill(1200400, 1200410, now.Add(-time.Second))
	w.Log("refunds:0", 0, 16021)
	for _, c := range []struct {
		p string
		n int64
	}{{"orders:0", 8800125}, {"orders:1", 5900120}, {"orders:2", 8790001}, {"orders:3", 8123456}, {"orders:5", 8801777}, {"payments:0", 1200400}} {
		w.Commit("billing", c.p, c.n)
	}
	w.Topic("refunds", "new", nil)
	w.Store("billing", "refunds:0", offset.Result[offset.Stored]{Value: offset.Stored{State: offset.Set, Next: 220145, TopicID: "old"}})
	w.Keep("orders", offset.Retention{Time: 168 * time.Hour})
	var ms []offset.Member
	for i, host := range []string{"10.2.0.7", "10.2.0.7", "10.2.0.9"} {
		ms = append(ms, offset.Member{ID: fmt.Sprint("m", i), Client: fmt.Sprintf("pod-%d", 7+i), Host: host})
	}
	ms[0].Owns = []offset.Partition{inspecttest.P("orders:0"), inspecttest.P("orders:1"), inspecttest.P("orders:2")}
	ms[1].Owns = []offset.Partition{inspecttest.P("orders:3"), inspecttest.P("orders:5")}
	ms[2].Owns = []offset.Partition{inspecttest.P("payments:0")}
	w.Group(offset.Group{Name: "billing", Kind: "classic", State: "Stable", Protocol: "consumer", Phase: offset.Live, Members: ms})
	return w
}

func look(t testing.TB, w *inspecttest.World, a inspect.Ask) *inspect.Report {
	t.Helper()
	if a.Now.IsZero() {
		a.Now = now
	}
	sv, err := inspect.Take(context.Background(), w.Broker(), w.Positions(), w.Caps.Members, a)
	if err != nil {
		t.Fatal(err)
	}
	return inspect.Classify(sv, inspect.Policy{StaleAfter: a.Stale, Now: a.Now})
}

func billing(t testing.TB) *inspect.Report {
	return look(t, faults(), inspect.Ask{Groups: []string{"billing"}, Stale: 24 * time.Hour, TimeLag: true})
}

func options(format string) InspectOptions {
	return InspectOptions{Format: format, FailOn: inspect.AnyFinding(), Header: Header{Context: "prod-eu", Store: "Kafka group (default)"},
		Command: "offsetctl --context prod-eu", Took: 200 * time.Millisecond}
}

func shown(t *testing.T, r *inspect.Report, o InspectOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Inspect(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
