package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest"
)

func TestStoreContract(t *testing.T) {
	f := fake(t, kfake.NumBrokers(3))
	offsettest.RunStore(t, contract(f.ListenAddrs(), "c."))
}

// contract describes the store of the cluster at hosts to the suite.
func contract(hosts []string, prefix string) offsettest.Store {
	refuses := func(name string, topic bool) bool {
		if topic {
			return badPartition(partition(prefix+name, 0)) != nil
		}
		return badGroup(prefix+name) != nil
	}
	return offsettest.Store{
		Open: func(t testing.TB, env offset.Env) offset.Store { return &owned{opened(t, hosts, env)} },
		Caps: offset.Caps{Together: offset.EachAlone, Delete: true, Metadata: true, Members: true},
		Poke: func(t testing.TB, group string, p offset.Partition, raw []byte) { poke(t, hosts, group, p, raw) },
		Bad:  map[string][]byte{"-1": []byte("-1"), "-2": []byte("-2"), "very negative": []byte("-9223372036854775808")},
		Down: func(t testing.TB, env offset.Env) (offset.Store, error) {
			b, err := Open(t.Context(), env, parse(t, "kafka://"+closedPort(t)))
			if err != nil {
				return nil, err
			}
			return &owned{b}, nil
		},
		Cut:    func(t testing.TB, env offset.Env) (offset.Store, func(bool)) { return cuttable(t, hosts, env) },
		Prefix: prefix,
		Prepare: func(t testing.TB, _ string, ps []offset.Partition) {
			for len(ps) > 0 {
				n := 0
				for n < len(ps) && ps[n].Topic == ps[0].Topic {
					n++
				}
				if badPartition(ps[0]) == nil {
					grow(t, hosts, ps[0].Topic, int(ps[n-1].Index)+1)
				}
				ps = ps[n:]
			}
		},
		Refuses: refuses,
		Live:    func(t testing.TB, group string, ps []offset.Partition) { live(t, hosts, group, ps[0].Topic) },
	}
}

// owned is a store that closes its broker's connections.
type owned struct{ b offset.Broker }

func (o *owned) Caps() offset.Caps { return o.b.Offsets().Caps() }
func (o *owned) Groups(ctx context.Context) ([]string, []error, error) {
	return o.b.Offsets().Groups(ctx)
}
func (o *owned) Read(ctx context.Context, qs []offset.Query) []offset.Answer {
	return o.b.Offsets().Read(ctx, qs)
}
func (o *owned) Write(ctx context.Context, group string, ch []offset.Change) []offset.Result[offset.Stored] {
	return o.b.Offsets().Write(ctx, group, ch)
}
func (o *owned) Close() error { return o.b.Close() }

func opened(t testing.TB, hosts []string, env offset.Env) offset.Broker {
	t.Helper()
	b, err := Open(t.Context(), env, parse(t, addressOf(hosts, "")))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// poke commits as any other program does.
func poke(t testing.TB, hosts []string, group string, p offset.Partition, raw []byte) {
	t.Helper()
	adm, cl := admin(t, hosts)
	defer cl.Close()
	ctx := context.Background()
	if raw == nil {
		var s kadm.TopicsSet
		s.Add(p.Topic, p.Index)
		if _, err := adm.DeleteOffsets(ctx, group, s); err != nil {
			t.Error(err)
		}
		return
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		t.Error(err)
		return
	}
	var os kadm.Offsets
	os.Add(kadm.Offset{Topic: p.Topic, Partition: p.Index, At: n, LeaderEpoch: -1})
	rs, err := adm.CommitOffsets(ctx, group, os)
	if err == nil {
		err = rs.Error()
	}
	if err != nil {
		t.Error(err)
	}
}

// grow makes a topic of at least n partitions.
func grow(t testing.TB, hosts []string, topic string, n int) {
	t.Helper()
	adm, cl := admin(t, hosts)
	defer cl.Close()
	ds, err := adm.ListTopics(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	switch d := ds[topic]; {
	case d.Err != nil:
		create(t, adm, int32(n), topic)
	case len(d.Partitions) < n:
		if rs, err := adm.UpdatePartitions(t.Context(), n, topic); err != nil || rs.Error() != nil {
			t.Fatal(err, rs.Error())
		}
		for deadline := time.Now().Add(10 * time.Second); len(d.Partitions) < n && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if ds, err := adm.ListTopics(t.Context(), topic); err == nil {
				d = ds[topic]
			}
		}
	}
}

// live puts a running consumer into the group and waits until it owns its partitions.
func live(t testing.TB, hosts []string, group, topic string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	assigned := make(chan struct{}, 9)
	_, cl := admin(t, hosts, append([]kgo.Opt{
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { assigned <- struct{}{} }),
	}, opts...)...)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	go func() {
		for ctx.Err() == nil && !cl.PollFetches(ctx).IsClientClosed() {
			continue
		}
	}()
	select {
	case <-assigned:
	case <-ctx.Done():
		t.Fatalf("no consumer of group %s came to life", group)
	}
	return cl
}

func closedPort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// cutter loses a connection around a commit.
type cutter struct{ armed atomic.Int32 }

const (
	cutBefore = 1 + iota
	cutAfter
)

func (c *cutter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	nc, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &cutConn{Conn: nc, c: c}, nil
}

type cutConn struct {
	net.Conn
	c    *cutter
	lose atomic.Bool // the next answer
}

var errCut = errors.New("the line was cut")

func (c *cutConn) Write(p []byte) (int, error) {
	if len(p) >= 6 && binary.BigEndian.Uint16(p[4:]) == keyOffsetCommit {
		switch c.c.armed.Swap(0) {
		case cutBefore:
			_ = c.Conn.Close()
			return 0, errCut
		case cutAfter:
			c.lose.Store(true)
		}
	}
	return c.Conn.Write(p)
}

func (c *cutConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.lose.Load() && n > 0 {
		_ = c.Conn.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

func cuttable(t testing.TB, hosts []string, env offset.Env) (offset.Store, func(bool)) {
	t.Helper()
	c := &cutter{}
	b, err := open(t.Context(), env, parse(t, addressOf(hosts[:1], "")), kgo.Dialer(c.dial))
	if err != nil {
		t.Fatal(err)
	}
	return &owned{b}, func(sent bool) {
		if sent {
			c.armed.Store(cutAfter)
		} else {
			c.armed.Store(cutBefore)
		}
	}
}
