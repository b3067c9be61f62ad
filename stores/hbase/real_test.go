package hbase

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest"
)

// newTable makes a table of the test's own on a real server and answers its address.
func newTable(t testing.TB, s testservers.Server) string {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	url := fmt.Sprintf("hbase://%s/%s_%d?parent=%s", s.Addr["zookeeper"], name, time.Now().UnixNano(), s.Vars["znode"])
	made, err := Init(t.Context(), environment(), parse(t, url))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(made, "table ") {
		t.Fatalf("a new table, and it says %q", made)
	}
	return url
}

// A region server dies under a write, and comes back: the operator's resets go on when the region has a server again, and what
// each of them answered is what is there.
func TestRegionServerDies(t *testing.T) {
	server := testservers.NeedOwn(t, "hbase26procs")
	s := open(t, environment(), newTable(t, server))
	t.Cleanup(func() { _ = s.Close() })
	ps := partitions("orders", 3)
	last := read(t, s, "g", ps...)
	reset := func(next int64) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		var ch []offset.Change
		for i, p := range ps {
			ch = append(ch, change(p, last[i], next))
		}
		for i, r := range s.Write(ctx, "g", ch) {
			if r.Err != nil {
				t.Fatalf("reset to %d: %v", next, r.Err)
			}
			last[i] = r.Value
		}
		for i, now := range read(t, s, "g", ps...) {
			if now.Next != next || now.Version != last[i].Version {
				t.Fatalf("reset to %d: %s is %+v", next, ps[i], now)
			}
		}
	}
	reset(1)
	for n, node := range []string{"rs1", "rs2"} {
		server.Kill(node)
		short, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		for _, r := range s.Read(short, []offset.Query{{Group: "g", Expect: ps}})[0].Expected {
			if r.Err == nil && r.Value.Next != last[0].Next || r.Err != nil && !errors.Is(r.Err, offset.ErrUnreachable) {
				t.Errorf("just after %s died: %+v", node, r)
			}
		}
		cancel()
		reset(int64(10 * (n + 1)))
		server.Start(node)
	}
	reset(99)
}

// TestConformanceReal holds the store to the contract on every version of HBase that it knows.
func TestConformanceReal(t *testing.T) {
	for _, v := range []struct {
		server   string
		together offset.Extent
		rounds   int
	}{
		{"hbase26", offset.PerTopic, 1000},
		{"hbase24", offset.PerTopic, 200},
		{"hbase22", offset.EachAlone, 200},
		{"hbase17", offset.EachAlone, 200},
	} {
		t.Run(v.server, func(t *testing.T) {
			server := testservers.Need(t, v.server)
			url := newTable(t, server)
			d := suite(t, url, v.together)
			d.Rounds = v.rounds
			d.Cut = func(t testing.TB, e offset.Env) (offset.Store, func(bool)) { return cuttable(t, e, url) }
			d.Down = func(t testing.TB, e offset.Env) (offset.Store, error) {
				return Open(context.Background(), e, parse(t, "hbase://127.0.0.1:1/nowhere"))
			}
			offsettest.RunStore(t, d)
		})
	}
}
