package inspect_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/brokers/kafka"
	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

// line is a slow line to a fake cluster: while it is counted, answers wait until nothing has been asked for a while and then go
// out together, so that everything that is under way at the same time is one trip.
type line struct {
	mu      sync.Mutex
	slow    bool
	last    time.Time
	waiting []func()
	trips   int
}

const quiet = 200 * time.Millisecond // far longer than a busy machine needs to send what is ready

func newLine(t testing.TB) *line {
	l := &line{}
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(quiet / 5):
				l.tick()
			}
		}
	}()
	return l
}

func (l *line) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.slow && (len(l.waiting) == 0 || time.Since(l.last) < quiet) {
		return
	}
	if l.slow {
		l.trips++
	}
	for _, send := range l.waiting {
		send()
	}
	l.waiting = nil
}

// count is how many trips f takes.
func (l *line) count(f func()) int {
	l.mu.Lock()
	l.slow, l.trips = true, 0
	l.mu.Unlock()
	f()
	l.mu.Lock()
	n := l.trips
	l.slow = false
	l.mu.Unlock()
	l.tick()
	return n
}

func (l *line) listen(network, addr string) (net.Listener, error) {
	n, err := net.Listen(network, addr)
	return &slowListener{n, l}, err
}

type slowListener struct {
	net.Listener
	line *line
}

func (s *slowListener) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &slowConn{c, s.line}, nil
}

type slowConn struct {
	net.Conn
	line *line
}

func (c *slowConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.line.mu.Lock()
	c.line.last = time.Now()
	c.line.mu.Unlock()
	return n, err
}

func (c *slowConn) Write(p []byte) (int, error) {
	c.line.mu.Lock()
	defer c.line.mu.Unlock()
	c.line.last = time.Now()
	if !c.line.slow && len(c.line.waiting) == 0 {
		return c.Conn.Write(p)
	}
	held := append([]byte(nil), p...)
	c.line.waiting = append(c.line.waiting, func() { _, _ = c.Conn.Write(held) })
	return len(p), nil
}

// cluster is kfake with topics and groups, and a broker connected to it.
type cluster struct {
	*kfake.Cluster
	adm    *kadm.Client
	cl     *kgo.Client
	groups []string
	topics []string
}

func newCluster(t testing.TB, l *line, brokers, topics, partitions, groups int) *cluster {
	t.Helper()
	opts := []kfake.Opt{kfake.NumBrokers(brokers)}
	if l != nil {
		opts = append(opts, kfake.ListenFn(l.listen))
	}
	f, err := kfake.NewCluster(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	cl, err := kgo.NewClient(kgo.SeedBrokers(f.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	c := &cluster{Cluster: f, adm: kadm.NewClient(cl), cl: cl}
	for i := range topics {
		c.topics = append(c.topics, fmt.Sprintf("team-a.payments.orders.v1.%04d", i))
	}
	if _, err := c.adm.CreateTopics(context.Background(), int32(partitions), 1, nil, c.topics...); err != nil {
		t.Fatal(err)
	}
	for i := range groups {
		c.groups = append(c.groups, fmt.Sprintf("group-%04d", i))
		for k, topic := range c.topics {
			if groups == 1 || k == i%topics {
				c.commit(t, c.groups[i], topic, partitions)
			}
		}
	}
	return c
}

func (c *cluster) commit(t testing.TB, group, topic string, partitions int) {
	t.Helper()
	var os kadm.Offsets
	for p := range partitions {
		os.Add(kadm.Offset{Topic: topic, Partition: int32(p), At: 0, LeaderEpoch: -1})
	}
	if err := c.adm.CommitAllOffsets(context.Background(), group, os); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) connect(t testing.TB) offset.Broker {
	t.Helper()
	a, err := address.Parse("kafka://"+strings.Join(c.ListenAddrs(), ","), []address.Form{kafka.Form})
	if err != nil {
		t.Fatal(err)
	}
	b, err := kafka.Open(context.Background(), offset.Env{Log: slog.New(slog.DiscardHandler), Now: time.Now}, a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func look(t testing.TB, b offset.Broker, a inspect.Ask) *inspect.Report {
	t.Helper()
	a.Now = time.Now()
	sv, err := inspect.Take(context.Background(), b, b.Offsets(), true, a)
	if err != nil {
		t.Fatal(err)
	}
	return inspect.Classify(sv, inspect.Policy{StaleAfter: a.Stale})
}

// warm are groups besides the ones that are looked at: asking for them connects to every broker and teaches nothing of the others.
var warm = []string{"warm-a", "warm-b", "warm-c", "warm-d", "warm-e", "warm-f", "warm-g", "warm-h"}

func TestRoundTrips(t *testing.T) {
	l := newLine(t)
	one, many := newCluster(t, l, 3, 4, 6, 1), newCluster(t, l, 3, 4, 6, 30)
	ahead := newCluster(t, l, 3, 1, 1, 1)
	for _, c := range []*cluster{one, many, ahead} {
		for _, g := range warm {
			c.commit(t, g, c.topics[0], 1)
		}
	}
	if err := ahead.adm.CommitAllOffsets(t.Context(), "group-0000", kadm.OffsetsFromRecords(kgo.Record{Topic: ahead.topics[0], Offset: 70, LeaderEpoch: -1})); err != nil {
		t.Fatal(err)
	}
	day := 24 * time.Hour
	for _, x := range []struct {
		name string
		c    *cluster
		ask  inspect.Ask
		want int
		rows int
	}{
		{"one group", one, inspect.Ask{Groups: one.groups, Stale: day}, 3, 24},
		{"one group, topics named", one, inspect.Ask{Groups: one.groups, Topics: one.topics[:2], Stale: day}, 2, 12},
		{"all groups", many, inspect.Ask{Stale: day}, 3, 180},
		{"many groups by name", many, inspect.Ask{Groups: many.groups, Stale: day}, 3, 180},
		{"past the end", ahead, inspect.Ask{Groups: ahead.groups, Stale: day}, 4, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			var r *inspect.Report
			n := 0
			for try := 0; try < 3 && n != x.want; try++ { // on a busy machine one trip may look like two
				b := x.c.connect(t)
				look(t, b, inspect.Ask{Groups: warm, Topics: x.c.topics}) // connects to every broker, and says nothing of the groups
				n = l.count(func() { r = look(t, b, x.ask) })
			}
			rows := 0
			for _, g := range r.Groups {
				if strings.HasPrefix(g.Name, "group") {
					rows += len(g.Rows)
				}
			}
			if rows != x.rows {
				t.Errorf("%d rows, want %d", rows, x.rows)
			}
			if n != x.want {
				t.Errorf("%d round trips, want %d", n, x.want)
			}
		})
	}
}
