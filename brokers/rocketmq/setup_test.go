package rocketmq

import (
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/brokers/remoting/remotingtest"
	"github.com/offsetctl/offsetctl/offset"
)

var versions = map[string]int{"4.9.7": remotingtest.V4_9_7, "5.5.0": remotingtest.V5_5_0}

// onBoth runs a test on a fake cluster of each version.
func onBoth(t *testing.T, f func(t *testing.T, fake *remotingtest.Cluster)) {
	for name, v := range versions {
		t.Run(name, func(t *testing.T) { f(t, remotingtest.New(t, remotingtest.Options{Version: v})) })
	}
}

func testEnv() offset.Env { return offset.Env{Log: slog.New(slog.DiscardHandler), Now: time.Now} }

// connect opens a cluster by its address, with options such as "brokers=a,b".
func connect(t testing.TB, env offset.Env, servers []string, options ...string) *Cluster {
	t.Helper()
	text := "rocketmq://" + strings.Join(servers, ",")
	if len(options) > 0 {
		text += "?" + strings.Join(options, "&")
	}
	b, err := Open(t.Context(), env, parsed(t, text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b.(*Cluster)
}

func parsed(t testing.TB, text string) address.Address {
	t.Helper()
	a, err := address.Parse(text, []address.Form{Form})
	if err == nil {
		a, err = a.Reveal(address.Secrets{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// hurried watches live groups at a quicker pace.
func hurried(c *Cluster) *Cluster {
	c.pace = pace{poll: 2 * time.Millisecond, kept: 2 * time.Second, told: time.Second, stored: time.Second, silent: 2 * time.Second, hidden: 50 * time.Millisecond}
	return c
}

func queue(topic, broker string, index int32) offset.Partition {
	return offset.Partition{Topic: topic, Broker: broker, Index: index}
}

// nowhere is an address on which nothing listens.
func nowhere(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// read asks for positions by name.
func read(t testing.TB, c *Cluster, group string, ps ...offset.Partition) []offset.Result[offset.Stored] {
	t.Helper()
	a := c.Offsets().Read(t.Context(), []offset.Query{{Group: group, Topics: []string{}, Expect: ps}})
	if len(a) != 1 || a[0].Err != nil || len(a[0].Expected) != len(ps) {
		t.Fatalf("%+v", a)
	}
	return a[0].Expected
}

// show is a result in few words.
func show(r offset.Result[offset.Stored]) string {
	switch {
	case r.Err != nil:
		return "error: " + r.Err.Error()
	case r.Value.State == offset.Set:
		return fmt.Sprint(r.Value.Next)
	}
	return r.Value.State.String()
}

// put writes positions over whatever is there.
func put(t testing.TB, c *Cluster, group string, to map[offset.Partition]offset.Stored) map[offset.Partition]offset.Result[offset.Stored] {
	t.Helper()
	var ps []offset.Partition
	for p := range to {
		ps = append(ps, p)
	}
	sortPartitions(ps)
	var changes []offset.Change
	for i, r := range read(t, c, group, ps...) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		changes = append(changes, offset.Change{Partition: ps[i], From: r.Value, To: to[ps[i]]})
	}
	out := map[offset.Partition]offset.Result[offset.Stored]{}
	for i, r := range c.Offsets().Write(t.Context(), group, changes) {
		out[ps[i]] = r
	}
	return out
}

func at(n int64) offset.Stored { return offset.Stored{State: offset.Set, Next: n} }

func sortPartitions(ps []offset.Partition) { slices.SortFunc(ps, offset.Partition.Compare) }
