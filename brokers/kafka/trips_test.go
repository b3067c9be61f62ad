package kafka

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/offsetctl/offsetctl/offset"
)

// gate counts round trips: it holds all answers back until nothing more is sent for a while, and then lets them in together.
// So a trip is what it is on a slow line: everything that is on its way at the same time.
type gate struct {
	mu    sync.Mutex
	open  bool
	last  time.Time // something was sent, or an answer came
	conns []*gated
	trips int
}

const quiet = 60 * time.Millisecond

func newGate(t testing.TB) *gate {
	g := &gate{open: true}
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop); g.set(true) })
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(quiet / 6):
				g.mu.Lock()
				if time.Since(g.last) >= quiet {
					g.release()
				}
				g.mu.Unlock()
			}
		}
	}()
	return g
}

// release lets in what has arrived; g.mu is held.
func (g *gate) release() {
	came := false
	for _, c := range g.conns {
		if len(c.arrived) == 0 && c.err == nil {
			continue
		}
		came = came || len(c.arrived) > 0
		c.ready, c.arrived = append(c.ready, c.arrived...), nil
		c.more.Broadcast()
	}
	if came && !g.open {
		g.trips++
	}
}

func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.release()
	g.open, g.trips = open, 0
}

// count is how many trips f takes.
func (g *gate) count(f func()) int {
	g.set(false)
	f()
	g.mu.Lock()
	n := g.trips
	g.mu.Unlock()
	g.set(true)
	return n
}

func (g *gate) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	x := &gated{Conn: c, g: g, more: sync.NewCond(&g.mu)}
	g.mu.Lock()
	g.conns = append(g.conns, x)
	g.mu.Unlock()
	go x.pump()
	return x, nil
}

type gated struct {
	net.Conn
	g              *gate
	more           *sync.Cond
	arrived, ready []byte
	err            error
}

// pump reads all that comes, whoever waits for it.
func (c *gated) pump() {
	buf := make([]byte, 64<<10)
	for {
		n, err := c.Conn.Read(buf)
		c.g.mu.Lock()
		c.g.last = time.Now()
		c.arrived, c.err = append(c.arrived, buf[:n]...), err
		if c.g.open || err != nil {
			c.g.release()
		}
		c.g.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (c *gated) Write(p []byte) (int, error) {
	c.g.mu.Lock()
	c.g.last = time.Now()
	c.g.mu.Unlock()
	return c.Conn.Write(p)
}

func (c *gated) Read(p []byte) (int, error) {
	c.g.mu.Lock()
	defer c.g.mu.Unlock()
	for len(c.ready) == 0 {
		if c.err != nil {
			return 0, c.err
		}
		c.more.Wait()
	}
	n := copy(p, c.ready)
	c.ready = c.ready[n:]
	return n, nil
}

// forgetAll makes the next calls ask for everything anew.
func (c *Cluster) forgetAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.coords, c.visible = nil, visible{}
}

// survey asks what an inspection of these groups asks; nil: of all.
func survey(t *testing.T, c *Cluster, groups, topics []string) {
	t.Helper()
	ctx := t.Context()
	var wg sync.WaitGroup
	defer wg.Wait()
	var top offset.Topology
	topology := func() {
		var err error
		if top, err = c.Topology(ctx, topics); err != nil {
			t.Error(err)
		}
	}
	named := func() (ps []offset.Partition) {
		for _, x := range top.Topics {
			for _, l := range x.Logs {
				ps = append(ps, l.Partition)
			}
		}
		return ps
	}
	queries := func(topics []string, expect []offset.Partition) []offset.Query {
		qs := make([]offset.Query, len(groups))
		for i, g := range groups {
			qs[i] = offset.Query{Group: g, Topics: topics, Expect: expect}
		}
		return qs
	}
	read := func(qs []offset.Query) {
		for _, a := range c.Offsets().Read(ctx, qs) {
			if a.Err != nil {
				t.Error(a.Err)
			}
			for _, e := range a.Expected {
				if e.Err != nil {
					t.Error(e.Err)
				}
			}
		}
	}
	logs := func() {
		var qs []offset.LogQuery
		for _, p := range named() {
			qs = append(qs, offset.LogQuery{Partition: p, Times: []time.Time{time.Now().Add(-24 * time.Hour)}, Epochs: []int32{0}})
		}
		for _, l := range c.Logs(ctx, qs) {
			if l.Err != nil {
				t.Error(l.Err)
			}
		}
	}
	describe := func() {
		for _, g := range c.Describe(ctx, groups) {
			if g.Err != nil {
				t.Error(g.Err)
			}
		}
	}
	if groups == nil {
		gs, _, err := c.Groups(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range gs {
			groups = append(groups, g.Name)
		}
	}
	wg.Go(describe)
	if topics != nil {
		// Who coordinates is asked beside the metadata; then everything else at once.
		topology()
		wg.Go(logs)
		read(queries(topics, named()))
		return
	}
	wg.Go(topology)
	read(queries(nil, nil))
	wg.Wait()
	wg.Go(logs)
	read(queries([]string{}, named()))
}

func TestRoundTrips(t *testing.T) {
	groups := make([]string, 30)
	for i := range groups {
		groups[i] = "group-" + string(rune('a'+i))
	}
	old := kversion.V2_8_0()
	for _, x := range []struct {
		name   string
		groups []string
		topics []string
		opts   []kgo.Opt
		want   int
	}{
		{"one group", groups[:1], nil, nil, 3},
		{"one group, topics named", groups[:1], []string{"orders"}, nil, 2},
		{"all groups", nil, nil, nil, 3},
		{"many groups by name", groups, nil, nil, 3},
		{"2.8, one group", groups[:1], nil, []kgo.Opt{kgo.MaxVersions(old)}, 3},
		{"2.8, all groups", nil, nil, []kgo.Opt{kgo.MaxVersions(old)}, 3},
	} {
		t.Run(x.name, func(t *testing.T) {
			opts := []kfake.Opt{kfake.NumBrokers(3)}
			if x.opts != nil {
				opts = append(opts, kfake.MaxVersions(old))
			}
			f := fake(t, opts...)
			adm, _ := admin(t, f.ListenAddrs())
			create(t, adm, 3, "orders", "payments")
			for _, g := range groups {
				commit(t, adm, g, kadm.Offset{Topic: "orders", Partition: 0}, kadm.Offset{Topic: "payments", Partition: 2})
			}
			g := newGate(t)
			c := dialTo(t, f.ListenAddrs()[:1], "", nil, append(x.opts, kgo.Dialer(g.dial))...)
			survey(t, c, x.groups, x.topics) // connects to every broker
			c.forgetAll()
			if n := g.count(func() { survey(t, c, x.groups, x.topics) }); n != x.want {
				t.Errorf("%d round trips, want %d", n, x.want)
			}
		})
	}
}
