package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest/storetest"
)

// victim is a group whose write is cut: three nodes with the position 10 and an ACL of their own, and one that is not there yet.
type victim struct {
	tree
	before []*zk.Stat
}

var ownACL = zk.WorldACL(zk.PermAll &^ zk.PermAdmin)

func newVictim(t *testing.T) victim {
	t.Helper()
	v := victim{tree: job(t)}
	for _, p := range storetest.Partitions(0, 1, 2) {
		v.put(v.path(p), []byte("10"))
		stat, err := v.SetACL(v.path(p), ownACL, -1)
		if err != nil {
			t.Fatal(err)
		}
		v.before = append(v.before, stat)
	}
	return v
}

func (v victim) path(p offset.Partition) string { return v.at("g", p.Topic, fmt.Sprint(p.Index)) }

// cut opens the store behind a proxy, lets arm prepare it, writes the position 5 to all four nodes, and judges what became of it.
func (v victim) cut(ctx context.Context, arm func(*storetest.Proxy)) (written bool, r []offset.Result[offset.Stored]) {
	v.t.Helper()
	p := storetest.NewProxy(v.t, v.addr)
	s := open(v.t, quietly(), v.address(p.Addr, ""))
	v.t.Cleanup(func() { _ = s.Close() })
	ch := storetest.Changes(v.t, s, "g", storetest.Partitions(0, 1, 2, 3), 5, 5, 5, 5)
	arm(p)
	r = s.Write(ctx, "g", ch)
	return v.judge(r), r
}

// judge holds the nodes against the answers: all are there, all are old or all are new, they were changed in place, and only
// what is new is called written.
func (v victim) judge(r []offset.Result[offset.Stored]) (written bool) {
	v.t.Helper()
	var now []string
	for i, p := range storetest.Partitions(0, 1, 2, 3) {
		raw, stat, err := v.Get(v.path(p))
		if i == len(v.before) {
			if errors.Is(err, zk.ErrNoNode) {
				raw, err = []byte("10"), nil // not there is what is old here
			}
		} else if err == nil {
			v.inPlace(p, v.before[i], stat)
		}
		if err != nil {
			v.t.Fatalf("%s: %v", p, err)
		}
		now = append(now, string(raw))
	}
	written = now[0] == "5"
	if all := slices.Compact(slices.Clone(now)); len(all) != 1 || !written && now[0] != "10" {
		v.t.Errorf("neither all old nor all new: %q", now)
	}
	for i, x := range r {
		switch {
		case x.Err == nil && (!written || x.Value.State != offset.Set || x.Value.Next != 5):
			v.t.Errorf("partition %d has %s, and is called written: %+v", i, now[i], x.Value)
		case x.Err != nil && written && !errors.Is(x.Err, offset.ErrOutcome):
			v.t.Errorf("partition %d is written, and it is said: %v", i, x.Err)
		}
	}
	return written
}

// inPlace: it is the node that it was, with its ACL, written once at most.
func (v victim) inPlace(p offset.Partition, was, is *zk.Stat) {
	v.t.Helper()
	acl, _, err := v.GetACL(v.path(p))
	if err != nil || !slices.Equal(acl, ownACL) {
		v.t.Errorf("%s has the ACL %v, %v", p, acl, err)
	}
	if is.Czxid != was.Czxid || is.Aversion != was.Aversion || is.Version > was.Version+1 {
		v.t.Errorf("%s was %+v and is %+v", p, was, is)
	}
}

// gone cuts the next multi (sent: after the server got it) and every connection that is tried from then on.
func gone(p *storetest.Proxy, sent bool) {
	begun := false
	p.Arm(func(b []byte) (now, deaf bool) {
		switch {
		case begun:
			return true, false
		case !isMulti(b):
			return false, false
		}
		begun = true
		return !sent, sent
	})
}

// Wherever a write is cut or interrupted, its nodes stay, as a whole old or new, and the answer says which.
func TestBR33(t *testing.T) {
	t.Run("connection", cutConnections)
	t.Run("interrupted", interrupted)
	t.Run("interrupted under way", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		written, r := newVictim(t).cut(ctx, func(p *storetest.Proxy) {
			p.Arm(func(b []byte) (bool, bool) {
				if isMulti(b) {
					cancel()
				}
				return false, false
			})
		})
		if !written || r[0].Err != nil {
			t.Errorf("what was sent is not waited for: written %v, %v", written, r[0].Err)
		}
	})
	for _, sent := range []bool{false, true} {
		t.Run(fmt.Sprint("server gone, sent ", sent), func(t *testing.T) {
			written, r := newVictim(t).cut(context.Background(), func(p *storetest.Proxy) { gone(p, sent) })
			if written != sent {
				t.Errorf("written: %v", written)
			}
			for i, x := range r {
				if !errors.Is(x.Err, offset.ErrOutcome) {
					t.Errorf("partition %d: %v; it should be: %v", i, x.Err, offset.ErrOutcome)
				}
			}
		})
	}
	t.Run("two transactions", cutBetween)
}

// cutConnections cuts before each packet of a write in turn. Only of the transaction does it matter whether the server got it.
func cutConnections(t *testing.T) {
	var packets atomic.Int64
	at := func(k int64) func(*storetest.Proxy) {
		return func(p *storetest.Proxy) {
			var n int64
			p.Arm(func([]byte) (bool, bool) {
				packets.Add(1)
				n++
				return n == k, false
			})
		}
	}
	if written, r := newVictim(t).cut(context.Background(), at(0)); !written || r[0].Err != nil {
		t.Fatalf("without a cut: written %v, %v", written, r[0].Err)
	}
	for k := range packets.Load() {
		t.Run(fmt.Sprint("packet ", k+1), func(t *testing.T) {
			t.Parallel()
			newVictim(t).cut(context.Background(), at(k+1))
		})
	}
	t.Run("answer", func(t *testing.T) {
		t.Parallel()
		if written, _ := newVictim(t).cut(context.Background(), func(p *storetest.Proxy) { cutMulti(p)(true) }); !written {
			t.Error("the server got it, and did nothing")
		}
	})
}

// interrupted gives up at each request of a write in turn: before the transaction is sent nothing is written.
func interrupted(t *testing.T) {
	for k := int64(1); ; k++ {
		v := newVictim(t)
		ctx, cancel := context.WithCancel(context.Background())
		var calls atomic.Int64
		env := quietly()
		env.Trace = func(_, _ string) {
			if calls.Add(1) == k {
				cancel()
			}
		}
		s := open(t, env, v.address(v.addr, ""))
		ch := storetest.Changes(t, s, "g", storetest.Partitions(0, 1, 2, 3), 5, 5, 5, 5)
		calls.Store(0)
		r := s.Write(ctx, "g", ch)
		written, stopped := v.judge(r), ctx.Err() != nil
		cancel()
		_ = s.Close()
		if written == stopped {
			t.Errorf("request %d: interrupted %v, written %v", k, stopped, written)
		}
		if !stopped {
			if k < 3 {
				t.Errorf("a write of %d requests", k-1)
			}
			return
		}
	}
}

// cutBetween: what is too much for one transaction is refused as a whole; of two, the second of which is cut, the answers tell
// which partitions were written.
func cutBetween(t *testing.T) {
	x := job(t)
	topic := strings.Repeat("t", 60_000) // ten of these paths are as long as those of thousands of usual partitions
	var all []offset.Partition
	for i := range int32(10) {
		all = append(all, offset.Partition{Topic: topic, Index: i})
		x.put(x.at("g", topic, fmt.Sprint(i)), []byte("10"))
	}
	p := storetest.NewProxy(t, x.addr)
	s := open(t, quietly(), x.address(p.Addr, ""))
	t.Cleanup(func() { _ = s.Close() })
	ch := storetest.Changes(t, s, "g", all, slices.Repeat([]int64{5}, len(all))...)
	for i, r := range s.Write(context.Background(), "g", ch) {
		if now := x.read(x.at("g", topic, fmt.Sprint(i))); !errors.Is(r.Err, offset.ErrTooLarge) || now != "10" {
			t.Errorf("partition %d is %s, %v", i, now, r.Err)
		}
	}
	r := s.Write(context.Background(), "g", ch[:5])
	gone(p, false)
	r = append(r, s.Write(context.Background(), "g", ch[5:])...)
	for i := range r {
		now, want, kind := x.read(x.at("g", topic, fmt.Sprint(i))), "5", error(nil)
		if i >= 5 {
			want, kind = "10", offset.ErrOutcome
		}
		if now != want || !errors.Is(r[i].Err, kind) {
			t.Errorf("partition %d is %s, %v; it should be %s, %v", i, now, r[i].Err, want, kind)
		}
	}
}
