package hbase

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest"
	"github.com/offsetctl/offsetctl/stores/hbase/hbasetest"
	"github.com/offsetctl/offsetctl/stores/hbase/hrpc"
)

// TestConformance holds the store to the contract on HBase as it is from 2.4 on, and as it was before.
func TestConformance(t *testing.T) {
	for version, together := range map[string]offset.Extent{"2.6.3": offset.PerTopic, "2.2.7": offset.EachAlone} {
		t.Run(version, func(t *testing.T) {
			c := hbasetest.Start(t, hbasetest.Options{Version: version, Servers: 2, Splits: []string{"group-d", "group-r"}, Now: milliseconds})
			d := suite(t, c.URL(""), together)
			if together == offset.EachAlone {
				d.Topics = offsettest.Names[:12] // names are the same in both: once in full is enough
			}
			d.Open = func(t testing.TB, e offset.Env) offset.Store {
				e.Now = time.Now // the suite's own is far behind the servers', and they are too fast for one millisecond a write
				return open(t, e, c.URL(""))
			}
			d.Cut = func(t testing.TB, e offset.Env) (offset.Store, func(bool)) {
				return open(t, e, c.URL("")), func(sent bool) { cutNextWrite(c, sent) }
			}
			d.Down = func(t testing.TB, e offset.Env) (offset.Store, error) {
				away := hbasetest.Start(t, hbasetest.Options{})
				away.Stop()
				return Open(t.Context(), e, parse(t, away.URL("")))
			}
			offsettest.RunStore(t, d)
		})
	}
}

func milliseconds() int64 { return time.Now().UnixMilli() }

func cutNextWrite(c *hbasetest.Cluster, sent bool) {
	armed := true
	c.Fail(func(call hbasetest.Call) hbasetest.Fault {
		if !armed || !call.Write {
			return hbasetest.Fault{}
		}
		armed = false
		return hbasetest.Fault{Cut: !sent, CutAfter: sent}
	})
}

// suite describes the store at an address to the conformance suite.
func suite(t testing.TB, url string, together offset.Extent) offsettest.Store {
	foreign := foreignClient(t, url)
	return offsettest.Store{
		Open: func(t testing.TB, e offset.Env) offset.Store { return open(t, e, url) },
		Caps: offset.Caps{Atomic: true, Together: together, Delete: true, CommitTime: true, Queues: true},
		Raw:  func(n int64) []byte { return fmt.Appendf(nil, "%d|%d", n, n) },
		Poke: func(t testing.TB, group string, p offset.Partition, raw []byte) { poke(t, foreign, group, p, raw) },
		Bad: map[string][]byte{
			"empty": {}, "letters": []byte("abc"), "negative": []byte("-1|-1"), "point": []byte("12.0"), "exponent": []byte("1e6"),
			"too large": []byte("9223372036854775808"), "backwards": []byte("20|10"), "half a range": []byte("10|"),
			"negative long": bytes.Repeat([]byte{0xff}, 8), "negative int": bytes.Repeat([]byte{0xff}, 4), "binary": {1, 2, 3},
			"long text": []byte(strings.Repeat("x", 3000)),
		},
		Refuses: func(name string, topic bool) bool { return false },
	}
}

func environment() offset.Env {
	return offset.Env{Log: slog.New(slog.DiscardHandler), Now: time.Now}
}

func parse(t testing.TB, url string) address.Address {
	t.Helper()
	a, err := address.Parse(url, []address.Form{Form})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func open(t testing.TB, e offset.Env, url string) *Store {
	t.Helper()
	s, err := Open(t.Context(), e, parse(t, url))
	if err != nil {
		t.Fatal(err)
	}
	return s.(*Store)
}

// foreignClient is another program's own connection.
func foreignClient(t testing.TB, url string) *hrpc.Client {
	t.Helper()
	_, config, err := configure(environment(), parse(t, url))
	if err != nil {
		t.Fatal(err)
	}
	c, err := hrpc.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// poke writes one cell as a job does that compares and sets it.
func poke(t testing.TB, c *hrpc.Client, group string, p offset.Partition, raw []byte) {
	t.Helper()
	key, err := layout{}.row(group, p.Topic)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		got := c.Get(context.Background(), [][]byte{key})[0]
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		m, err := pokeMutation(got.Row, p, raw)
		if errors.Is(err, errNothing) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		m.Row = key
		done, err := c.Mutate(context.Background(), m)
		if err != nil {
			t.Fatal(err)
		}
		if done {
			return
		}
	}
	t.Fatalf("another program could not write %s", p)
}

var errNothing = errors.New("nothing to delete")

func pokeMutation(row hrpc.Row, p offset.Partition, raw []byte) (m hrpc.Mutation, err error) {
	q, err := column(p, textColumn)
	if err != nil {
		return m, err
	}
	now, err := view(row, p.Topic).find(p)
	if err != nil {
		return m, err
	}
	m.When = []hrpc.Expect{{Qualifier: q, Absent: now == nil}}
	if now != nil {
		m.When[0].Value = now.cell.Value
	}
	switch {
	case raw != nil:
		m.Put = []hrpc.Cell{{Qualifier: q, Value: raw}}
	case now == nil:
		return m, errNothing
	default:
		m.Delete = []hrpc.Cell{{Qualifier: q, Time: now.cell.Time}}
	}
	return m, nil
}

func timeLimit(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), 200*time.Millisecond)
}
