package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest/storetest"
)

// A failover while replication is broken loses what was acknowledged. The next write, planned from what was there, is refused and
// says what is there now; with wait-replicas the writes that nobody else has were never called done.
func TestFailover(t *testing.T) {
	srv := testservers.NeedOwn(t, "redissentinel")
	master, pass := srv.Vars["master-name"], srv.Vars["password"]
	p := connect(t, &redis.UniversalOptions{Addrs: strings.Split(srv.Addr["sentinels"], ","), MasterName: master, Password: pass})
	options := "&master=" + master + "&password=" + pass
	careless, careful := p.open(options), p.open(options+"&wait-replicas=1")
	storetest.Write(t, careful, "g", storetest.Changes(t, careful, "g", storetest.Partitions(0), 500))

	replica := redis.NewClient(&redis.Options{Addr: srv.Addr["replica"], Password: pass, MaxRetries: -1})
	defer func() { _ = replica.Close() }()
	ctx := context.Background()
	if err := replica.ConfigSet(ctx, "masterauth", "wrong").Err(); err != nil {
		t.Fatal(err)
	}
	p.do("CLIENT", "KILL", "TYPE", "replica")

	storetest.Write(t, careless, "g", storetest.Changes(t, careless, "g", storetest.Partitions(0), 510))
	plan := storetest.Changes(t, careless, "g", storetest.Partitions(0), 511)
	r := careful.Write(ctx, "g", storetest.Changes(t, careful, "g", storetest.Partitions(0), 512))[0]
	if !errors.Is(r.Err, offset.ErrOutcome) || !strings.Contains(r.Err.Error(), "only 0 of 1") {
		t.Errorf("a write that no replica has: %v", r.Err)
	}
	srv.Kill("master")
	var now offset.Stored
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(200 * time.Millisecond) {
		wait, cancel := context.WithTimeout(ctx, 3*time.Second)
		a := careless.Read(wait, []offset.Query{{Group: "g", Topics: []string{}, Expect: storetest.Partitions(0)}})[0]
		cancel()
		if now = a.Expected[0].Value; a.Err == nil && a.Expected[0].Err == nil {
			break
		}
		if a.Err != nil && !errors.Is(a.Err, offset.ErrUnreachable) && !errors.Is(a.Err, context.DeadlineExceeded) {
			t.Fatalf("while there is no master: %v", a.Err)
		}
	}
	if now.Next != 500 {
		t.Fatalf("the new master has %+v", now)
	}
	if r = careless.Write(ctx, "g", plan)[0]; !errors.Is(r.Err, offset.ErrMoved) || r.Value.Next != 500 {
		t.Errorf("a write planned before the failover: %+v", r)
	}
	storetest.Write(t, careless, "g", storetest.Changes(t, careless, "g", storetest.Partitions(0), 511))
}

// Without an append-only file a restart forgets: the position is absent, which check and inspect warned of.
func TestRestartWithoutPersistence(t *testing.T) {
	srv := testservers.NeedOwn(t, "redis")
	p := connect(t, &redis.UniversalOptions{Addrs: []string{srv.Addr["plain"]}})
	s := p.open("")
	storetest.Write(t, s, "kept", storetest.Changes(t, s, "kept", storetest.Partitions(0), 10))
	srv.Kill("")
	srv.Start("")
	if v := storetest.Get(t, s, "kept", storetest.Partitions(0)...)[0]; v.Next != 10 {
		t.Errorf("with an append-only file: %+v", v)
	}
	p.do("CONFIG", "SET", "appendonly", "no")
	ch := storetest.Changes(t, s, "lost", storetest.Partitions(0), 20)
	storetest.Write(t, s, "lost", ch)
	srv.Kill("")
	srv.Start("")
	if v := storetest.Get(t, s, "lost", storetest.Partitions(0)...)[0]; v.State != offset.Absent {
		t.Errorf("without one: %+v", v)
	}
}

// A cluster that is down says nothing of any group: it is no answer about single positions.
func TestClusterDown(t *testing.T) {
	srv := testservers.NeedOwn(t, "rediscluster")
	p := connect(t, &redis.UniversalOptions{Addrs: strings.Split(srv.Addr["plain"], ","), IsClusterMode: true})
	s := p.open("")
	var qs []offset.Query // of groups on every server
	for g := range 12 {
		group := fmt.Sprint("g", g)
		storetest.Write(t, s, group, storetest.Changes(t, s, group, storetest.Partitions(0, 1), 10, 10))
		qs = append(qs, offset.Query{Group: group, Topics: []string{}, Expect: storetest.Partitions(0, 1)})
	}
	srv.Kill(srv.Nodes[0])
	srv.Kill(srv.Nodes[1])
	down := false
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until) && !down; time.Sleep(200 * time.Millisecond) {
		for _, q := range qs {
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			a := s.Read(ctx, []offset.Query{q})[0]
			cancel()
			if a.Err != nil && !errors.Is(a.Err, offset.ErrUnreachable) || a.Err == nil && a.Expected[0].Err != nil {
				t.Fatalf("group %s: %+v", q.Group, a)
			}
			down = down || a.Err != nil && strings.Contains(a.Err.Error(), "CLUSTERDOWN")
		}
	}
	if !down {
		t.Error("two of three masters are gone, and the third did not notice")
	}
	srv.Start(srv.Nodes[0])
	srv.Start(srv.Nodes[1])
}
