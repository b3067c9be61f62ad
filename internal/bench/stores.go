package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/internal/testservers/wire"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores"
	"github.com/offsetctl/offsetctl/stores/hbase/hrpc"
)

// storeGround is a store on a real server, and the cheapest question that its server answers.
type storeGround struct {
	title, server string
	aim           float64 // round trips that a read may take; 0: none is set
	each          bool    // a position is a request of its own: so many bare ones at once are the floor
	url           func(s *wire.Server, name string) string
	trip          func(s *wire.Server, name string) (ask func() error, end func(), err error)
}

var storeGrounds = []storeGround{
	{"ZooKeeper", "zookeeper", 3, true,
		func(s *wire.Server, name string) string { return "zk://" + s.Addr["plain"] + "/" + name }, zookeeperTrip},
	{"HBase 2.6", "hbase26", 0, false,
		func(s *wire.Server, name string) string {
			return "hbase://" + s.Addr["zookeeper"] + "/" + name + "?parent=" + s.Vars["znode"]
		}, hbaseTrip},
	{"Redis", "redis", 0, false,
		func(s *wire.Server, name string) string { return "redis://" + s.Addr["plain"] + "/0" }, redisTrip},
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func zookeeperTrip(s *wire.Server, _ string) (func() error, func(), error) {
	conn, _, err := zk.Connect([]string{s.Addr["plain"]}, 10*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		return nil, nil, err
	}
	return func() error { _, _, err := conn.Exists("/"); return err }, conn.Close, nil
}

func redisTrip(s *wire.Server, _ string) (func() error, func(), error) {
	client := redis.NewClient(&redis.Options{Addr: s.Addr["plain"]})
	return func() error { return client.Ping(context.Background()).Err() }, func() { _ = client.Close() }, nil
}

func hbaseTrip(s *wire.Server, name string) (func() error, func(), error) {
	c, err := hrpc.Open(context.Background(), hrpc.Config{Hosts: []string{s.Addr["zookeeper"]}, Parent: s.Vars["znode"], Table: name, Family: "t", User: "bench",
		Log: slog.New(slog.DiscardHandler), Trace: func(string, string) {}})
	if err != nil {
		return nil, nil, err
	}
	return func() error { return c.Get(context.Background(), [][]byte{[]byte("none")})[0].Err }, func() { _ = c.Close() }, nil
}

// stores reads and writes one group of 10 topics of 100 partitions in each store, and prints it in round trips.
func (b *bench) stores(w io.Writer, words []string) error {
	const title = "stores: one group, 10 topics of 100 partitions"
	if !matches(title, words) || b.servers.classPath == "" { // no supervisor, as has been said
		return nil
	}
	fmt.Fprintf(w, "%-68s %10s %16s\n", title, "WALL", "OF A ROUND TRIP")
	for _, g := range storeGrounds {
		if err := b.store(w, g); err != nil {
			return fmt.Errorf("%s: %w", g.title, err)
		}
	}
	return nil
}

func (b *bench) store(w io.Writer, g storeGround) error {
	socket := os.Getenv(wire.EnvSocket)
	if socket == "" {
		socket = wire.DefaultSocket()
	}
	var held io.Closer
	reply, err := ask(socket, wire.Request{Op: wire.Need, Name: g.server, Test: "bench"}, &held)
	if err != nil {
		return err
	}
	defer func() { _ = held.Close() }()
	name := fmt.Sprintf("bench_%d", time.Now().UnixNano())
	s, err := openStore(g.url(reply.Server, name))
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	trip, end, err := g.trip(reply.Server, name)
	if err != nil {
		return err
	}
	defer end()
	m := &measured{store: s, group: name}
	for t := range 10 {
		for p := range int32(100) {
			m.at = append(m.at, offset.Partition{Topic: fmt.Sprintf("topic-%d", t), Index: p})
		}
	}
	jobs := []job{{"one bare round trip", trip}, {"read", m.read}, {"written, read back", m.write}}
	if g.each {
		jobs = append(jobs, job{fmt.Sprintf("%d bare round trips, all under way together", len(m.at)), func() error { return together(len(m.at), trip) }})
	}
	took := make([][]time.Duration, len(jobs))
	for round := range b.rounds.quick + 1 {
		for i, j := range jobs {
			start := time.Now()
			if err := j.do(); err != nil {
				return err
			}
			if round > 0 { // the first one connects and makes the rows
				took[i] = append(took[i], time.Since(start))
			}
		}
	}
	base := medianOf(took[0])
	for i, j := range jobs {
		ratio := medianOf(took[i]).Seconds() / base.Seconds()
		late := ""
		if i == 1 && g.aim > 0 {
			late = fmt.Sprintf("  aim %gx%s", g.aim, missed(ratio, g.aim))
		}
		fmt.Fprintf(w, "  %-66s %10s %16s%s\n", g.title+": "+j.what, millis(medianOf(took[i])), times(ratio), late)
	}
	return nil
}

// job is something whose time is taken.
type job struct {
	what string
	do   func() error
}

// together does the same n times at once.
func together(n int, do func() error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = do() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func medianOf(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// measured is a group in a store that is read and moved to and fro.
type measured struct {
	store offset.Store
	group string
	at    []offset.Partition
	now   []offset.Stored
	to    int64
}

func (m *measured) read() error {
	a := m.store.Read(context.Background(), []offset.Query{{Group: m.group, Topics: []string{}, Expect: m.at}})[0]
	if a.Err != nil {
		return a.Err
	}
	m.now = m.now[:0]
	for _, r := range a.Expected {
		if r.Err != nil {
			return r.Err
		}
		m.now = append(m.now, r.Value)
	}
	return nil
}

func (m *measured) write() error {
	m.to++
	changes := make([]offset.Change, len(m.at))
	for i, p := range m.at {
		changes[i] = offset.Change{Partition: p, From: m.now[i], To: offset.Stored{State: offset.Set, Next: m.to}}
	}
	for _, r := range m.store.Write(context.Background(), m.group, changes) {
		if r.Err != nil {
			return r.Err
		}
	}
	return nil
}

// openStore opens a store, and creates first what it needs.
func openStore(url string) (offset.Store, error) {
	scheme, _, _ := strings.Cut(url, ":")
	i := slices.IndexFunc(stores.Drivers, func(d stores.Driver) bool { return d.Schemes[0] == scheme })
	d := stores.Drivers[i]
	a, err := address.Parse(url, []address.Form{d.Form})
	if err != nil {
		return nil, err
	}
	env := offset.Env{Log: slog.New(slog.DiscardHandler), Now: time.Now}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if d.Init != nil {
		if _, err := d.Init(ctx, env, a); err != nil {
			return nil, err
		}
	}
	return d.Open(ctx, env, a)
}
