package hrpc_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/hbase/hbasetest"
	"github.com/offsetctl/offsetctl/stores/hbase/hrpc"
)

func config(addr string) hrpc.Config {
	return hrpc.Config{Hosts: []string{addr}, Masters: true, Table: "offsets", Family: hbasetest.Family, User: "tester",
		Log: slog.New(slog.DiscardHandler), Trace: func(string, string) {}}
}

func open(t testing.TB, c *hbasetest.Cluster) *hrpc.Client {
	t.Helper()
	client, err := hrpc.Open(t.Context(), config(c.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func rows(keys ...string) (out [][]byte) {
	for _, k := range keys {
		out = append(out, []byte(k))
	}
	return out
}

// value reads one cell; "" where there is none.
func value(t testing.TB, c *hrpc.Client, key string) string {
	t.Helper()
	r := c.Get(t.Context(), rows(key))[0]
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	if len(r.Row.Cells) == 0 {
		return ""
	}
	return string(r.Row.Cells[0].Value)
}

// set writes one cell that was not there.
func set(ctx context.Context, c *hrpc.Client, key, value string) (bool, error) {
	return c.Mutate(ctx, hrpc.Mutation{
		Row:  []byte(key),
		Put:  []hrpc.Cell{{Qualifier: []byte("0"), Value: []byte(value)}},
		When: []hrpc.Expect{{Qualifier: []byte("0"), Absent: true}},
	})
}

// once makes the first request that matches fail.
func once(c *hbasetest.Cluster, f hbasetest.Fault, match func(hbasetest.Call) bool) {
	var done sync.Once
	c.Fail(func(call hbasetest.Call) (out hbasetest.Fault) {
		if match(call) {
			done.Do(func() { out = f })
		}
		return out
	})
}

func every(hbasetest.Call) bool    { return true }
func writes(c hbasetest.Call) bool { return c.Write }
func class(name string) hbasetest.Fault {
	return hbasetest.Fault{Class: "org.apache.hadoop.hbase." + name, Text: "because"}
}

// Regions go elsewhere between two requests: reading, writing and scanning find them again.
func TestRegionsThatMove(t *testing.T) {
	for _, x := range []struct {
		name string
		move func(c *hbasetest.Cluster)
	}{
		{"moved", func(c *hbasetest.Cluster) { c.Move("b", 1) }},
		{"split", func(c *hbasetest.Cluster) { c.Split("b") }},
		{"closed for a moment", func(c *hbasetest.Cluster) {
			c.SetState("b", "CLOSING")
			time.AfterFunc(100*time.Millisecond, func() { c.Move("b", 1); c.SetState("b", "OPEN") })
		}},
		{"not serving, once", func(c *hbasetest.Cluster) { once(c, class("NotServingRegionException"), every) }},
		{"opening, once", func(c *hbasetest.Cluster) { once(c, class("exceptions.RegionOpeningException"), every) }},
		{"wrong region, once", func(c *hbasetest.Cluster) { once(c, class("regionserver.WrongRegionException"), every) }},
		{"queue full, once", func(c *hbasetest.Cluster) { once(c, class("CallQueueTooBigException"), every) }},
		{"too busy, once", func(c *hbasetest.Cluster) { once(c, class("RegionTooBusyException"), every) }},
		{"starting, once", func(c *hbasetest.Cluster) { once(c, class("ipc.ServerNotRunningYetException"), every) }},
		{"unknown error, once", func(c *hbasetest.Cluster) { once(c, hbasetest.Fault{Class: "java.io.IOException", Text: "?"}, every) }},
		{"cut before it was carried out", func(c *hbasetest.Cluster) {
			once(c, hbasetest.Fault{Cut: true}, func(c hbasetest.Call) bool { return !c.Write })
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			for _, step := range []string{"get", "mutate", "scan"} {
				c := hbasetest.Start(t, hbasetest.Options{Servers: 2})
				client := open(t, c)
				c.Put("a", "0", "1", 0)
				c.Put("c", "0", "3", 0)
				value(t, client, "a") // the region's place is known from here on
				x.move(c)
				switch step {
				case "get":
					for i, r := range client.Get(t.Context(), rows("a", "b", "c")) {
						if r.Err != nil || len(r.Row.Cells) == 1 != (i != 1) {
							t.Errorf("row %d: %+v", i, r)
						}
					}
				case "mutate":
					if done, err := set(t.Context(), client, "b", "2"); !done || err != nil {
						t.Error(done, err)
					}
				case "scan":
					var keys []string
					err := client.Scan(t.Context(), nil, nil, false, func(r hrpc.Row) error {
						keys = append(keys, string(r.Key))
						return nil
					})
					if err != nil || fmt.Sprint(keys) != "[a c]" {
						t.Error(keys, err)
					}
				}
			}
		})
	}
}

// HBase names its servers by names of its own, which need not be known here: that is said at once.
func TestServerNameUnknownHere(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{Servers: 2, Splits: []string{"m"}})
	cfg := config(c.Addr())
	tries := 0
	cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr != c.Addr() {
			tries++
			return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "rs-7.internal", IsNotFound: true}}
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	client, err := hrpc.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	r := client.Get(t.Context(), rows("a", "z"))
	if r[0].Err != nil || !errors.Is(r[1].Err, offset.ErrUnreachable) || !strings.Contains(r[1].Err.Error(), "no address") || tries != 1 {
		t.Errorf("%+v after %d tries", r, tries)
	}
}

// What no further try can mend is said at once, with its kind.
func TestFinalErrors(t *testing.T) {
	for _, x := range []struct {
		name  string
		fault hbasetest.Fault
		kind  error
	}{
		{"denied", class("security.AccessDeniedException"), offset.ErrDenied},
		{"no family", class("regionserver.NoSuchColumnFamilyException"), offset.ErrUnknownName},
		{"not understood", hbasetest.Fault{Class: "com.google.protobuf.InvalidProtocolBufferException", Text: "x"}, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := hbasetest.Start(t, hbasetest.Options{})
			client := open(t, c)
			c.Fail(func(hbasetest.Call) hbasetest.Fault { return x.fault })
			r := client.Get(t.Context(), rows("a"))[0]
			_, err := set(t.Context(), client, "a", "1")
			scan := client.Scan(t.Context(), nil, nil, true, func(hrpc.Row) error { return nil })
			for _, err := range []error{r.Err, err, scan} {
				if err == nil || x.kind != nil && !errors.Is(err, x.kind) || errors.Is(err, offset.ErrOutcome) {
					t.Errorf("%v", err)
				}
			}
			if n := len(c.Calls()); n != 3 {
				t.Errorf("%d requests for three", n)
			}
		})
	}
}

// An error that nobody knows is tried three times.
func TestDoubtfulError(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{})
	client := open(t, c)
	c.Fail(func(hbasetest.Call) hbasetest.Fault {
		return hbasetest.Fault{Class: "java.io.IOException", Text: "disk on fire\n\tat x"}
	})
	r := client.Get(t.Context(), rows("a"))[0]
	if r.Err == nil || !strings.Contains(r.Err.Error(), "disk on fire") || strings.Contains(r.Err.Error(), "\tat") || len(c.Calls()) != 3 {
		t.Error(r.Err)
	}
}

func TestTableThatIsNotThere(t *testing.T) {
	client := open(t, hbasetest.Start(t, hbasetest.Options{Table: "other"}))
	if r := client.Get(t.Context(), rows("a"))[0]; !errors.Is(r.Err, offset.ErrUnknownName) {
		t.Error(r.Err)
	}
}

func TestTableThatIsDisabled(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{})
	client := open(t, c)
	c.Disable()
	r := client.Get(t.Context(), rows("a"))[0]
	_, err := set(t.Context(), client, "a", "1")
	for _, err := range []error{r.Err, err} {
		if !errors.Is(err, offset.ErrUnreachable) || !strings.Contains(err.Error(), "disabled") {
			t.Error(err)
		}
	}
}

// A region that has no server is waited for as long as the caller allows, and then named.
func TestRegionWithoutServer(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{})
	client := open(t, c)
	c.SetState("a", "OPENING")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	r := client.Get(ctx, rows("a"))[0]
	if !errors.Is(r.Err, offset.ErrUnreachable) || !strings.Contains(r.Err.Error(), "no server yet") {
		t.Error(r.Err)
	}
	// What is asked when the time is up blames nobody else.
	late := client.Get(ctx, rows("b"))[0].Err
	if !errors.Is(late, offset.ErrUnreachable) || !errors.Is(late, context.DeadlineExceeded) || !strings.Contains(late.Error(), "no time was left") || !strings.Contains(late.Error(), "no server yet") {
		t.Error(late)
	}
}

// One region fails for good, the other's rows are answered all the same.
func TestOneRegionFails(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{Servers: 2, Splits: []string{"m"}})
	client := open(t, c)
	c.Put("a", "0", "1", 0)
	c.Put("z", "0", "2", 0)
	c.Fail(func(call hbasetest.Call) hbasetest.Fault {
		if call.Server == 1 {
			return class("security.AccessDeniedException")
		}
		return hbasetest.Fault{}
	})
	r := client.Get(t.Context(), rows("z", "a"))
	if !errors.Is(r[0].Err, offset.ErrDenied) || r[1].Err != nil || string(r[1].Row.Cells[0].Value) != "1" {
		t.Errorf("%+v", r)
	}
}

func TestScanOverRegionsAndPages(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{Servers: 3, Splits: []string{"k0500", "k1700", "x"}})
	for i := range 3000 {
		c.Put(fmt.Sprintf("k%04d", i), "0", "1", 0)
		c.Put(fmt.Sprintf("k%04d", i), "1", "1", 0)
	}
	client := open(t, c)
	n := 100
	err := client.Scan(t.Context(), []byte("k0100"), []byte("k2900"), true, func(r hrpc.Row) error {
		if string(r.Key) != fmt.Sprintf("k%04d", n) || len(r.Cells) != 1 {
			t.Fatalf("row %q with %d cells after %d", r.Key, len(r.Cells), n)
		}
		n++
		return nil
	})
	if err != nil || n != 2900 {
		t.Error(n, err)
	}
	stop := errors.New("enough")
	if err := client.Scan(t.Context(), nil, nil, false, func(hrpc.Row) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
}

// A port where something else listens: the error says so, and quickly.
func TestNotHBase(t *testing.T) {
	for name, greet := range map[string]func(net.Conn){
		"closes at once": func(nc net.Conn) {},
		"speaks HTTP":    func(nc net.Conn) { _, _ = nc.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) },
		"half a frame":   func(nc net.Conn) { _, _ = nc.Write([]byte{0, 0, 1, 0, 1, 2, 3}) },
		"rubbish":        func(nc net.Conn) { _, _ = nc.Write([]byte{0, 0, 0, 3, 0xff, 0xff, 0xff}) },
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			go func() {
				for {
					nc, err := l.Accept()
					if err != nil {
						return
					}
					buf := make([]byte, 256)
					_, _ = nc.Read(buf)
					greet(nc)
					_ = nc.Close()
				}
			}()
			c, err := hrpc.Open(t.Context(), config(l.Addr().String()))
			if err == nil {
				_ = c.Close()
			}
			if !errors.Is(err, offset.ErrUnreachable) && !errors.Is(err, offset.ErrConfig) {
				t.Error(err)
			}
		})
	}
}

func TestZooKeeperThatIsNotThere(t *testing.T) {
	cfg := config("127.0.0.1:1")
	cfg.Masters, cfg.Parent = false, "/hbase"
	cfg.Hosts = []string{"127.0.0.1:1", "no.such.host.invalid:2181"}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := hrpc.Open(ctx, cfg)
	if !errors.Is(err, offset.ErrUnreachable) || !strings.Contains(err.Error(), "127.0.0.1:1") || !strings.Contains(err.Error(), "no.such.host.invalid") {
		t.Error(err)
	}
}
