package rocketmq

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/brokers/remoting/remotingtest"
	"github.com/offsetctl/offsetctl/offset"
)

// one makes a topic with one queue 0..500 and group g at a position.
func one(t *testing.T, fake *remotingtest.Cluster, position int64) (*Cluster, *remotingtest.Broker, offset.Partition) {
	b := fake.Broker("broker-a")
	b.Topic("orders", 1)
	b.Fill("orders", 0, 0, 500, epoch)
	b.SetOffset("g", "orders", 0, position)
	return hurried(connect(t, testEnv(), fake.NameServers())), b, queue("orders", "broker-a", 0)
}

func put1(t *testing.T, c *Cluster, group string, p offset.Partition, to offset.Stored) offset.Result[offset.Stored] {
	t.Helper()
	return put(t, c, group, map[offset.Partition]offset.Stored{p: to})[p]
}

// BR-22, nobody online: forward and back, and what is answered is what is there.
func TestBR22Offline(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		c, b, q := one(t, fake, 100)
		for _, n := range []int64{400, 20} {
			r := put1(t, c, "g", q, at(n))
			if got, _ := b.Offset("g", "orders", 0); r.Err != nil || r.Value.Next != n || got != n {
				t.Error(n, r, got)
			}
		}
		if _, pending := b.Pending("g", "orders", 0); pending {
			t.Error("a reset is left pending, which swallows what the group stores next")
		}
	})
}

// BR-22, a client online: it stores its own position again, and that is what is answered.
func TestBR22Overwritten(t *testing.T) {
	fake := remotingtest.New(t, remotingtest.Options{Version: remotingtest.V4_9_7})
	c, b, q := one(t, fake, 100)
	b.Topic("orders", 2) // without a position in every queue the broker tells its clients nothing
	b.Connect("g", remotingtest.Client{ID: "c1", Filters: map[string]string{"orders": "*"}})
	fake.OnWrite(func(remotingtest.Write) {
		time.Sleep(20 * time.Millisecond)
		b.SetOffset("g", "orders", 0, 100)
	})
	if r := put1(t, c, "g", q, at(20)); r.Err != nil || r.Value.Next != 100 {
		t.Error("a success reply was taken for success:", show(r))
	}
}

// A reset that somebody left pending on the broker swallows what is stored, with a success for an answer.
func TestPendingReset(t *testing.T) {
	for what, to := range map[string]offset.Stored{"inside": at(30), "past the end": at(9999), "none": {State: offset.Absent}} {
		t.Run(what, func(t *testing.T) {
			fake := remotingtest.New(t, remotingtest.Options{})
			c, b, q := one(t, fake, 100)
			if err := c.client.ResetQueue(t.Context(), b.Remoting(), "g", "orders", 0, 7); err != nil {
				t.Fatal(err)
			}
			if swallowed, err := c.client.UpdateOffset(t.Context(), b.Remoting(), "g", "orders", 0, 8); err != nil || swallowed == "" {
				t.Fatal("nothing was pending:", swallowed, err)
			}
			r := put1(t, c, "g", q, to)
			if _, pending := b.Pending("g", "orders", 0); r.Err != nil || !r.Value.Same(to) || pending || !strings.Contains(r.Value.Note, "it was ended first") {
				t.Error(show(r), pending, r.Value.Note)
			}
			if r := put1(t, c, "g", q, at(3)); r.Value.Note != "" {
				t.Error("nothing is pending any more:", r.Value.Note)
			}
		})
	}
}

func TestWriteRefuses(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		c, b, q := one(t, fake, 100)
		b.Connect("radio", remotingtest.Client{ID: "c1", Broadcast: true, Filters: map[string]string{"orders": "*"}})
		for what, x := range map[string]struct {
			group string
			p     offset.Partition
			to    offset.Stored
			is    error
			text  string
		}{
			"no such queue":   {"g", queue("orders", "broker-a", 9), at(1), offset.ErrUnknownName, "orders@broker-a:9"},
			"no such topic":   {"g", queue("nope", "broker-a", 0), at(1), offset.ErrUnknownName, "nope"},
			"no broker":       {"g", queue("orders", "", 0), at(1), offset.ErrUnsupported, "orders:0"},
			"other broker":    {"g", queue("orders", "broker-b", 0), at(1), offset.ErrUnknownName, "orders@broker-b:0"},
			"negative":        {"g", q, at(-1), offset.ErrUnsupported, "-1"},
			"no group's name": {"a b", q, at(1), offset.ErrUnsupported, "a b"},
			"broadcast":       {"radio", q, at(1), offset.ErrUnsupported, "broadcasting"},
		} {
			r := c.Offsets().Write(t.Context(), x.group, []offset.Change{{Partition: x.p, From: absent(), To: x.to}})[0]
			if x.group == "g" && x.p == q {
				r = put1(t, c, "g", q, x.to)
			}
			if !errors.Is(r.Err, x.is) || !strings.Contains(r.Err.Error(), x.text) {
				t.Errorf("%s: %v", what, r.Err)
			}
		}
		if n, _ := b.Offset("g", "orders", 0); n != 100 {
			t.Error("something was written:", n)
		}
		if _, stored := b.Offset("g", "orders", 9); stored {
			t.Error("a position of a queue that does not exist was stored")
		}
	})
}

// Brokers of 5.x store nothing for a group that they do not know; making it is another decision.
func TestUnknownGroup(t *testing.T) {
	fake := remotingtest.New(t, remotingtest.Options{})
	c, b, q := one(t, fake, 100)
	r := put1(t, c, "new", q, at(5))
	if !errors.Is(r.Err, offset.ErrUnknownName) || !strings.Contains(r.Err.Error(), "--create-group") || b.HasGroup("new") {
		t.Fatal(r.Err)
	}
	s := store{c}
	change := []offset.Change{{Partition: q, From: absent(), To: at(5)}}
	if o := s.Guard(t.Context(), "new", change); len(o) != 1 || o[0].Allow != createGroup {
		t.Errorf("%+v", o)
	}
	if err := s.CreateGroup(t.Context(), "new"); err != nil {
		t.Fatal(err)
	}
	if o := s.Guard(t.Context(), "new", change); len(o) != 0 {
		t.Errorf("%+v", o)
	}
	if r := put1(t, c, "new", q, at(5)); show(r) != "5" {
		t.Error(show(r))
	}
	b.Connect("new", remotingtest.Client{ID: "c1"})
	if err := s.delete(t.Context(), "new"); !errors.Is(err, offset.ErrLive) {
		t.Error(err)
	}
	b.Connect("new")
	if err := s.delete(t.Context(), "new"); err != nil || b.HasGroup("new") {
		t.Error(err)
	}
	if r := read(t, c, "new", q)[0]; show(r) != "absent" {
		t.Error(show(r))
	}
}

// A consumer that starts between the look and the write may have loaded the old position.
func TestConsumerComesMeanwhile(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		c, b, q := one(t, fake, 100)
		fake.Intercept(func(x *remotingtest.Call) bool {
			if x.Request.Code == int(remoting.CodeUpdateOffset) {
				b.Connect("g", remotingtest.Client{ID: "early-bird"})
			}
			return false
		})
		if r := put1(t, c, "g", q, at(20)); !errors.Is(r.Err, offset.ErrOutcome) || !strings.Contains(r.Err.Error(), "early-bird") {
			t.Error(r)
		}
	})
}

// Who consumes must be known before anything is written.
func TestNothingIsWrittenBlindly(t *testing.T) {
	fake := remotingtest.New(t, remotingtest.Options{})
	c, b, q := one(t, fake, 100)
	fake.Intercept(func(x *remotingtest.Call) bool {
		if x.Request.Code == int(remoting.CodeConnections) {
			x.Conn.Close()
			return true
		}
		return false
	})
	r := put1(t, c, "g", q, at(20))
	if n, _ := b.Offset("g", "orders", 0); r.Err == nil || n != 100 {
		t.Error(r, n)
	}
}
