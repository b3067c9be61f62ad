package hrpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
)

var tables atomic.Int64

// realConfig names a table of the test's own, which does not exist yet.
func realConfig(s testservers.Server) Config {
	table := fmt.Sprintf("hrpc_%d_%d", time.Now().UnixNano(), tables.Add(1))
	return Config{Hosts: []string{s.Addr["zookeeper"]}, Parent: s.Vars["znode"], Table: table, Family: "t", User: "tester",
		Log: slog.New(slog.DiscardHandler), Trace: func(string, string) {}}
}

func realOpen(t testing.TB, cfg Config) *Client {
	t.Helper()
	c, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func realTable(t testing.TB, s testservers.Server) (*Client, Config) {
	t.Helper()
	cfg := realConfig(s)
	c := realOpen(t, cfg)
	if made, err := c.Create(t.Context()); err != nil || len(made) != 2 {
		t.Fatal(made, err)
	}
	return c, cfg
}

// step adds one to both columns of row a, if they are still as they were read. unknown: it may have been done.
func step(ctx context.Context, c *Client) (done, unknown bool, err error) {
	got := c.Get(ctx, [][]byte{[]byte("a")})[0]
	if got.Err != nil {
		return false, false, got.Err
	}
	m := Mutation{Row: []byte("a"), Filter: true}
	for _, cell := range got.Row.Cells {
		n, err := strconv.Atoi(string(cell.Value))
		if err != nil {
			return false, false, err
		}
		m.When = append(m.When, Expect{Qualifier: cell.Qualifier, Value: cell.Value})
		m.Put = append(m.Put, Cell{Qualifier: cell.Qualifier, Value: strconv.AppendInt(nil, int64(n+1), 10)})
	}
	done, err = c.Mutate(ctx, m)
	if errors.Is(err, offset.ErrOutcome) {
		return false, true, nil
	}
	return done, false, err
}

func begin(t testing.TB, c *Client) {
	t.Helper()
	for _, q := range []string{"0", "1"} {
		done, err := c.Mutate(t.Context(), Mutation{Row: []byte("a"), Put: []Cell{{Qualifier: []byte(q), Value: []byte("0")}}, When: []Expect{{Qualifier: []byte(q), Absent: true}}})
		if !done || err != nil {
			t.Fatal(done, err)
		}
	}
}

// admin sends a request to the master and waits until it is through.
func admin(t testing.TB, c *Client, method string, param []byte) {
	t.Helper()
	if err := c.procedure(context.Background(), method, param); err != nil {
		t.Fatal(err)
	}
}

// servers are the region servers as the master wants them named.
func servers(t testing.TB, c *Client) (names [][]byte) {
	t.Helper()
	r := c.registry.(*zkRegistry)
	list, _, err := r.conn.Children(path.Join(r.parent, "rs"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		part := strings.Split(s, ",")
		port, _ := strconv.ParseUint(part[1], 10, 16)
		code, _ := strconv.ParseUint(part[2], 10, 64)
		names = append(names, message(2, text(1, part[0]), number(2, port), number(3, code)))
	}
	return names
}

// A region that moves under four writers, back and forth: no step is lost, none is torn.
func TestRegionMovesUnderWriters(t *testing.T) {
	c, cfg := realTable(t, testservers.Need(t, "hbase26procs"))
	begin(t, c)
	all := servers(t, c)
	if len(all) < 2 {
		t.Fatalf("%d region servers", len(all))
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	end := sync.OnceFunc(func() { close(stop); wg.Wait() })
	defer end()
	var done, unknown atomic.Int64
	for range 4 {
		writer := realOpen(t, cfg)
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				d, u, err := step(context.Background(), writer)
				switch {
				case err != nil:
					t.Error(err)
					return
				case d:
					done.Add(1)
				case u:
					unknown.Add(1)
				}
			}
		})
	}
	for i := range 4 {
		r, err := c.lookUp(t.Context(), []byte("a"))
		if err != nil {
			t.Fatal(err)
		}
		encoded := r.name[len(r.name)-33 : len(r.name)-1]
		admin(t, c, "MoveRegion", join(message(1, number(1, 2), text(2, encoded)), all[i%2]))
	}
	end()
	cells := c.Get(t.Context(), [][]byte{[]byte("a")})[0].Row.Cells
	n, _ := strconv.ParseInt(string(cells[0].Value), 10, 64)
	if string(cells[1].Value) != string(cells[0].Value) || n < done.Load() || n > done.Load()+unknown.Load() || done.Load() == 0 {
		t.Errorf("%d steps succeeded, %d may have; %s and %s are there", done.Load(), unknown.Load(), cells[0].Value, cells[1].Value)
	}
}

func TestTableSwitchedOff(t *testing.T) {
	for _, server := range []string{"hbase26", "hbase17"} {
		t.Run(server, func(t *testing.T) {
			c, cfg := realTable(t, testservers.Need(t, server))
			begin(t, c)
			admin(t, c, "DisableTable", tableName(1, cfg.Table))
			err := c.Get(t.Context(), [][]byte{[]byte("a")})[0].Err
			if !errors.Is(err, offset.ErrUnreachable) || !strings.Contains(err.Error(), "disabled") {
				t.Error(err)
			}
			admin(t, c, "EnableTable", tableName(1, cfg.Table))
			if r := c.Get(t.Context(), [][]byte{[]byte("a")})[0]; r.Err != nil || len(r.Row.Cells) != 2 {
				t.Errorf("%+v", r)
			}
			admin(t, c, "DisableTable", tableName(1, cfg.Table))
			admin(t, c, "DeleteTable", tableName(1, cfg.Table))
			if err := c.Get(t.Context(), [][]byte{[]byte("a")})[0].Err; !errors.Is(err, offset.ErrUnknownName) {
				t.Errorf("after it was dropped: %v", err)
			}
		})
	}
}

func TestRegionSplits(t *testing.T) {
	c, cfg := realTable(t, testservers.Need(t, "hbase26"))
	begin(t, c)
	r, err := c.lookUp(t.Context(), []byte("a"))
	if err != nil {
		t.Fatal(err)
	}
	id, _ := strconv.ParseUint(strings.Split(strings.Split(r.name, ",")[2], ".")[0], 10, 64)
	admin(t, c, "SplitRegion", join(message(1, number(1, id), tableName(2, cfg.Table)), text(2, "a5")))
	for row, cells := range map[string]int{"a": 2, "b": 0} {
		if r := c.Get(t.Context(), [][]byte{[]byte(row)})[0]; r.Err != nil || len(r.Row.Cells) != cells {
			t.Errorf("row %s: %+v", row, r)
		}
	}
	if done, _, err := step(t.Context(), c); !done || err != nil {
		t.Error(done, err)
	}
}

func TestNamesThatAreMissing(t *testing.T) {
	for _, server := range []string{"hbase26", "hbase22", "hbase17"} {
		t.Run(server, func(t *testing.T) {
			s := testservers.Need(t, server)
			missing := realOpen(t, realConfig(s))
			if err := missing.Get(t.Context(), [][]byte{[]byte("a")})[0].Err; !errors.Is(err, offset.ErrUnknownName) {
				t.Errorf("no table: %v", err)
			}
			_, cfg := realTable(t, s)
			cfg.Family = "other"
			c := realOpen(t, cfg)
			_, err := c.Mutate(t.Context(), Mutation{Row: []byte("a"), Put: []Cell{{Qualifier: []byte("0")}}, When: []Expect{{Qualifier: []byte("0"), Absent: true}}})
			for _, err := range []error{err, c.Get(t.Context(), [][]byte{[]byte("a")})[0].Err, c.Scan(t.Context(), nil, nil, false, func(Row) error { return nil })} {
				if !errors.Is(err, offset.ErrUnknownName) || !strings.Contains(err.Error(), "other") {
					t.Errorf("no family: %v", err)
				}
			}
			for _, want := range []string{"[family other]", "[]"} {
				if made, err := c.Create(t.Context()); err != nil || fmt.Sprint(made) != want {
					t.Errorf("%v, %v; want %s", made, err, want)
				}
			}
			if r := c.Get(t.Context(), [][]byte{[]byte("a")})[0]; r.Err != nil || len(r.Row.Cells) != 0 {
				t.Errorf("with the family: %+v", r)
			}
			cfg.Table = fmt.Sprintf("ns%d:offsets", time.Now().UnixNano())
			c = realOpen(t, cfg)
			if made, err := c.Create(t.Context()); err != nil || len(made) != 3 {
				t.Errorf("with a namespace: %v, %v", made, err)
			}
			begin(t, c)
			schema, found, err := c.Describe(t.Context())
			if err != nil || !found || schema.Families["other"]["VERSIONS"] != "1" {
				t.Errorf("%+v %v %v", schema, found, err)
			}
			cfg.Parent = "/nothing"
			if _, err := Open(t.Context(), cfg); !errors.Is(err, offset.ErrConfig) || !strings.Contains(err.Error(), "parent=") {
				t.Errorf("wrong parent: %v", err)
			}
		})
	}
}

// The masters' own registry, where there is one.
func TestMasters(t *testing.T) {
	for server, known := range map[string]bool{"hbase26": true, "hbase24": true, "hbase22": false} {
		t.Run(server, func(t *testing.T) {
			s := testservers.Need(t, server)
			c, cfg := realTable(t, s)
			master, err := c.registry.master(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			cfg.Masters, cfg.Hosts = true, []string{"127.0.0.1:1", master}
			c, err = Open(t.Context(), cfg)
			if !known {
				if !errors.Is(err, offset.ErrConfig) {
					t.Error(err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if c.Version() != s.Version {
				t.Errorf("version %q, %q runs", c.Version(), s.Version)
			}
			begin(t, c)
		})
	}
}

// Servers before 2.4 refuse a condition by filter, in a mutation as in a multi, and write nothing.
func TestOldServersRefuseFilters(t *testing.T) {
	for _, server := range []string{"hbase22", "hbase17"} {
		t.Run(server, func(t *testing.T) {
			c, _ := realTable(t, testservers.Need(t, server))
			if c.Filters() {
				t.Errorf("HBase %s", c.Version())
			}
			begin(t, c)
			if _, _, err := step(t.Context(), c); !errors.Is(err, ErrNoFilter) {
				t.Error(err)
			}
			both := Mutation{Row: []byte("a"), Filter: true, Put: []Cell{{Qualifier: []byte("0"), Value: []byte("9")}}, Delete: []Cell{{Qualifier: []byte("1"), Time: 1 << 60}},
				When: []Expect{{Qualifier: []byte("0"), Value: []byte("0")}, {Qualifier: []byte("1"), Value: []byte("0")}}}
			if done, err := c.Mutate(t.Context(), both); done || !errors.Is(err, ErrNoFilter) {
				t.Error(done, err)
			}
			for _, cell := range c.Get(t.Context(), [][]byte{[]byte("a")})[0].Row.Cells {
				if string(cell.Value) != "0" {
					t.Errorf("column %s is %s", cell.Qualifier, cell.Value)
				}
			}
		})
	}
}

// Put and delete in one step, under a condition of either form.
func TestPutAndDeleteInOneStep(t *testing.T) {
	for _, x := range []struct {
		server string
		filter bool
	}{{"hbase26", true}, {"hbase26", false}, {"hbase24", true}, {"hbase22", false}, {"hbase17", false}} {
		t.Run(fmt.Sprint(x.server, " ", x.filter), func(t *testing.T) {
			c, _ := realTable(t, testservers.Need(t, x.server))
			begin(t, c)
			cells := c.Get(t.Context(), [][]byte{[]byte("a")})[0].Row.Cells
			m := Mutation{Row: []byte("a"), Filter: x.filter, Put: []Cell{{Qualifier: []byte("0"), Value: []byte("9")}}, Delete: []Cell{{Qualifier: []byte("1"), Time: cells[1].Time}},
				When: []Expect{{Qualifier: []byte("0"), Value: []byte("0")}}}
			for _, want := range []bool{true, false} {
				if done, err := c.Mutate(t.Context(), m); done != want || err != nil {
					t.Fatal(done, err)
				}
			}
			if now := c.Get(t.Context(), [][]byte{[]byte("a")})[0].Row.Cells; len(now) != 1 || string(now[0].Value) != "9" {
				t.Errorf("%+v", now)
			}
		})
	}
}
