package hbase

import (
	"context"
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
