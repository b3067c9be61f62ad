package hrpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/hbase/hbasetest"
	"github.com/offsetctl/offsetctl/stores/hbase/hrpc"
)

// A write whose answer does not come is not repeated: it may have been carried out.
func TestLostAnswer(t *testing.T) {
	for name, f := range map[string]hbasetest.Fault{
		"cut after it was carried out":  {CutAfter: true},
		"cut before it was carried out": {Cut: true},
		"never answered":                {Silent: true},
		"server stopped":                class("regionserver.RegionServerStoppedException"),
		"server aborted":                class("regionserver.RegionServerAbortedException"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := hbasetest.Start(t, hbasetest.Options{})
			client := open(t, c)
			once(c, f, writes)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			done, err := set(ctx, client, "a", "1")
			if done || !errors.Is(err, offset.ErrOutcome) {
				t.Fatal(done, err)
			}
			n := 0
			for _, call := range c.Calls() {
				if call.Write {
					n++
				}
			}
			if n != 1 {
				t.Errorf("it was sent %d times", n)
			}
			value(t, client, "a")
		})
	}
}

// The request never left, because there was no connection: that is no doubt about the outcome.
func TestNotSent(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{})
	cfg := config(c.Addr())
	var mu sync.Mutex
	refuse := false
	cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		if refuse {
			refuse = false
			return nil, errors.New("no way there")
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	client, err := hrpc.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	mu.Lock()
	refuse = true
	mu.Unlock()
	if done, err := set(t.Context(), client, "a", "1"); !done || err != nil {
		t.Error(done, err)
	}
}

// Two writers of two columns of one row: what was read decides, both or neither is written, and every success counts.
func TestTwoWriters(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{Servers: 2})
	c.Put("a", "0", "0", 0)
	c.Put("a", "1", "0", 0)
	var wg sync.WaitGroup
	won := make([]int, 4)
	for w := range won {
		client := open(t, c)
		wg.Go(func() {
			for range 50 {
				now := client.Get(context.Background(), rows("a"))[0].Row.Cells
				var n int
				_, _ = fmt.Sscan(string(now[0].Value), &n)
				m := hrpc.Mutation{Row: []byte("a"), Filter: true}
				for _, cell := range now {
					m.When = append(m.When, hrpc.Expect{Qualifier: cell.Qualifier, Value: cell.Value})
					m.Put = append(m.Put, hrpc.Cell{Qualifier: cell.Qualifier, Value: fmt.Append(nil, n+1), Time: cell.Time + 1})
				}
				done, err := client.Mutate(context.Background(), m)
				if err != nil {
					t.Error(err)
				}
				if done {
					won[w]++
				}
			}
		})
	}
	wg.Wait()
	sum := won[0] + won[1] + won[2] + won[3]
	a, _, _ := c.Value("a", "0")
	b, _, _ := c.Value("a", "1")
	if a != fmt.Sprint(sum) || b != a {
		t.Errorf("%v won, and %s and %s are there", won, a, b)
	}
}

func TestPutAndDeleteTogether(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{})
	c.Put("a", "0", "1", 5)
	client := open(t, c)
	m := hrpc.Mutation{
		Row: []byte("a"), Filter: true,
		Put:    []hrpc.Cell{{Qualifier: []byte("1"), Value: []byte("2")}},
		Delete: []hrpc.Cell{{Qualifier: []byte("0"), Time: 5}},
		When:   []hrpc.Expect{{Qualifier: []byte("0"), Value: []byte("1")}, {Qualifier: []byte("1"), Absent: true}},
	}
	for _, want := range []bool{true, false} {
		if done, err := client.Mutate(t.Context(), m); done != want || err != nil {
			t.Error(done, err)
		}
	}
	_, _, there := c.Value("a", "0")
	if v, _, _ := c.Value("a", "1"); v != "2" || there {
		t.Errorf("%q, %v", v, there)
	}
}

func TestOldServer(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{Version: "2.2.7"})
	c.Put("a", "0", "1", 0)
	client := open(t, c)
	if client.Filters() || client.Version() != "2.2.7" {
		t.Error(client.Version())
	}
	m := hrpc.Mutation{Row: []byte("a"), Filter: true, Put: []hrpc.Cell{{Qualifier: []byte("0"), Value: []byte("2")}},
		When: []hrpc.Expect{{Qualifier: []byte("0"), Value: []byte("1")}}}
	if done, err := client.Mutate(t.Context(), m); done || !errors.Is(err, hrpc.ErrNoFilter) {
		t.Error(done, err)
	}
	if v := value(t, client, "a"); v != "1" {
		t.Errorf("%q", v)
	}
}

func TestMutationWithoutCondition(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{})
	client := open(t, c)
	c.Calls()
	for _, when := range [][]hrpc.Expect{nil, {{Absent: true}, {Absent: true}}} {
		if _, err := client.Mutate(t.Context(), hrpc.Mutation{Row: []byte("a"), Put: []hrpc.Cell{{}}, When: when}); err == nil {
			t.Errorf("%d conditions: no error", len(when))
		}
	}
	if n := len(c.Calls()); n != 0 {
		t.Errorf("%d requests", n)
	}
}
