// Package hbasetest is a small HBase inside the test's own process: one table on a few region servers, which speak the native
// protocol, keep versions and delete markers as HBase does, count requests and fail on demand. It is as strict as the real
// ones are lax: a request that could lose a write fails the test.
package hbasetest

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Options describe the cluster.
type Options struct {
	Version string   // 2.6.3 where it is not given; what the servers understand depends on it
	Servers int      // 1 where it is not given
	Splits  []string // start keys of all regions but the first
	Table   string   // offsets where it is not given; "-": none exists
	Now     func() int64
}

// Family is the table's only family.
const Family = "t"

// Cluster is a running cluster. It ends with the test.
type Cluster struct {
	t       testing.TB
	opts    Options
	servers []net.Listener
	done    chan struct{}

	mu       sync.Mutex
	regions  []*region
	rows     map[string]row
	families map[string]bool
	settings map[string]string
	disabled bool
	sequence int
	calls    []Call
	fault    func(Call) Fault
	starting int // requests to the master's services that it is not ready for
	conns    map[net.Conn]bool

	deciding sync.Mutex // held while a fault is decided on
}

// Call is one request that a server got.
type Call struct {
	Server int
	Method string
	Rows   []string // of Get, Mutate, Multi
	Write  bool
}

// Fault is what happens instead of an answer; the zero value is nothing.
type Fault struct {
	Class, Text string // an exception, with the package in Class
	Cut         bool   // the connection ends before the request is carried out
	CutAfter    bool   // the connection ends after it was carried out
	Silent      bool   // it is carried out, and never answered
}

type region struct {
	name, start, end string
	server           int
	state            string
}

// Start makes a cluster.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	if o.Version == "" {
		o.Version = "2.6.3"
	}
	if o.Table == "" {
		o.Table = "offsets"
	}
	c := &Cluster{t: t, opts: o, done: make(chan struct{}), rows: map[string]row{}, families: map[string]bool{}, settings: map[string]string{}, conns: map[net.Conn]bool{}}
	if o.Table != "-" {
		c.create(o.Table, Family)
	}
	for i := range max(o.Servers, 1) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c.servers = append(c.servers, l)
		go c.accept(i, l)
	}
	t.Cleanup(c.Stop)
	return c
}

// create makes the table's regions, spread over the servers.
func (c *Cluster) create(table, family string) {
	c.opts.Table = table
	c.families[family] = true
	starts := append([]string{""}, c.opts.Splits...)
	for i, start := range starts {
		end := ""
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		c.regions = append(c.regions, &region{name: regionName(table, start, i), start: start, end: end, server: i % max(c.opts.Servers, 1), state: "OPEN"})
	}
}

func regionName(table, start string, id int) string {
	return fmt.Sprintf("%s,%s,%d.%032x.", table, start, 1796039870276+id, id)
}

// Stop closes all servers and connections: the cluster is down.
func (c *Cluster) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.done:
		return
	default:
		close(c.done)
	}
	for _, l := range c.servers {
		_ = l.Close()
	}
	for nc := range c.conns {
		_ = nc.Close()
	}
}

// Addr is where the cluster's master is, host:port.
func (c *Cluster) Addr() string { return c.servers[0].Addr().String() }

// URL is the table's address, with more options such as "&app=x".
func (c *Cluster) URL(more string) string {
	return "hbase://" + c.Addr() + "/" + c.opts.Table + "?registry=rpc" + more
}

// Fail lets f decide on every request from here on, before it is carried out and one at a time; nil ends it. f may change rows and
// regions itself: that is what another program does in between.
func (c *Cluster) Fail(f func(Call) Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = f
}

// Starting lets the master refuse so many requests from here on, to itself and to the registry, like one that is not ready yet.
func (c *Cluster) Starting(requests int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starting = requests
}

// Calls answers the requests since the last Calls, without those of the registry.
func (c *Cluster) Calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.calls
	c.calls = nil
	return out
}

// Move brings the region that holds a row to another server. The client is not told.
func (c *Cluster) Move(key string, server int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.regionOf(key).server = server
}

// SetState makes a region OPEN, CLOSING, OPENING: hbase:meta says so, and only an open one is served.
func (c *Cluster) SetState(key, state string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.regionOf(key).state = state
}

// Split cuts the region that holds a row in two at the row.
func (c *Cluster) Split(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.regionOf(key)
	c.regions = slices.DeleteFunc(c.regions, func(o *region) bool { return o == r })
	n := len(c.regions)
	for i, part := range [][2]string{{r.start, key}, {key, r.end}} {
		c.regions = append(c.regions, &region{name: regionName(c.opts.Table, part[0], 100+2*n+i), start: part[0], end: part[1], server: (r.server + i) % len(c.servers), state: "OPEN"})
	}
	slices.SortFunc(c.regions, func(a, b *region) int { return strings.Compare(a.start, b.start) })
}

// Disable switches the table off.
func (c *Cluster) Disable() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.disabled = true
	for _, r := range c.regions {
		r.state = "CLOSED"
	}
}

// Set changes a setting of the table, such as DURABILITY, or of its family, such as TTL.
func (c *Cluster) Set(name, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settings[name] = value
}

func (c *Cluster) regionOf(key string) *region {
	for _, r := range c.regions {
		if r.holds(key) {
			return r
		}
	}
	return nil
}

func (r *region) holds(key string) bool { return r.start <= key && (r.end == "" || key < r.end) }

// old tells whether the servers are of before 2.4.
func (c *Cluster) old() bool {
	return !strings.HasPrefix(c.opts.Version, "2.6") && !strings.HasPrefix(c.opts.Version, "2.4")
}

func (c *Cluster) now() int64 {
	if c.opts.Now != nil {
		return c.opts.Now()
	}
	return 1_796_000_000_000 + 10*int64(c.sequence)
}
