package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest/storetest"
)

// retired is a group of two topics, one of them with a queue, beside a neighbour whose name its own could be a pattern for.
func (p place) retired(strings bool) (all []offset.Partition) {
	put := p.poke(strings)
	all = append(storetest.Partitions(0, 1), offset.Partition{Topic: "u", Broker: "broker-a"})
	for _, q := range all {
		put(p.t, "g*", q, []byte("10"))
		put(p.t, "g2", q, []byte("20"))
	}
	return all
}

func deleteGroup(s *Store, group string, had []offset.Change) error {
	r, err := s.DeleteGroup(context.Background(), group, had)
	for i := range r {
		err = errors.Join(err, r[i].Err)
	}
	return err
}

func kinds(t *testing.T, f func(t *testing.T, p place, options string)) {
	for _, options := range []string{"&type=hash", "&type=string"} {
		t.Run(options[6:], func(t *testing.T) { f(t, shared(t), options) })
	}
}

// A group goes with its keys, and with nothing of its neighbour's; an undo brings the positions back.
func TestDeleteGroup(t *testing.T) {
	kinds(t, func(t *testing.T, p place, options string) {
		all := p.retired(options == "&type=string")
		s := p.open(options)
		had := storetest.Had(t, s, "g*")
		if err := deleteGroup(s, "g*", had); err != nil || len(had) != len(all) {
			t.Fatalf("%d positions, %v", len(had), err)
		}
		if keys := fmt.Sprint(p.do("KEYS", "*"+p.prefix+"{g[*]}*")); keys != "[]" {
			t.Errorf("%s is left", keys)
		}
		for i, v := range storetest.Get(t, s, "g2", all...) {
			if v.Next != 20 {
				t.Errorf("the neighbour's %s is %+v", all[i], v)
			}
		}
		if err := deleteGroup(s, "g*", nil); !errors.Is(err, offset.ErrUnknownName) {
			t.Errorf("a group that is not there: %v", err)
		}
		for i := range had {
			had[i] = had[i].Undo(offset.Stored{State: offset.Absent, Version: absent})
		}
		storetest.Write(t, s, "g*", had)
		for i, v := range storetest.Get(t, s, "g*", all...) {
			if v.Next != 10 {
				t.Errorf("undo left %s at %+v", all[i], v)
			}
		}
	})
	s := open(t, quiet(), "redis://"+shared(t).addr+"?key=off:{topic}")
	defer func() { _ = s.Close() }()
	if !errors.Is(s.DeletesGroups(), offset.ErrUnsupported) || !errors.Is(deleteGroup(s, "g", nil), offset.ErrUnsupported) {
		t.Error("keys that name no groups are one group's")
	}
}

// Whatever is written just before any request of a deletion stays, and then nothing goes.
func TestDeleteGroupBetween(t *testing.T) {
	kinds(t, func(t *testing.T, p place, options string) {
		put := p.poke(options == "&type=string")
		for _, other := range []offset.Partition{{Topic: "t", Index: 1}, {Topic: "t", Index: 7}, {Topic: "v"}} {
			for k := int64(1); ; k++ {
				all := p.retired(options == "&type=string")
				put(t, "g*", other, nil)
				if other == all[1] {
					put(t, "g*", other, []byte("10"))
				}
				var calls atomic.Int64
				calls.Store(-1000) // until the deletion begins
				env := quiet()
				env.Trace = func(_, _ string) {
					if calls.Add(1) == k {
						put(t, "g*", other, []byte("11"))
					}
				}
				s := open(t, env, p.address(p.addr, options))
				had := storetest.Had(t, s, "g*")
				calls.Store(0)
				err := deleteGroup(s, "g*", had)
				n := calls.Load()
				got := storetest.Get(t, s, "g*", all[0], other)
				_ = s.Close()
				if n < k {
					break
				}
				if err == nil && got[0].State == offset.Absent && n-k < 2 { // it came when the others were gone, and the last look was over
					continue
				}
				if got[1].Next != 11 || err == nil {
					t.Errorf("%s before request %d of %d: %v; it is %+v", other, k, n, err, got[1])
				}
				if late := errors.Is(err, offset.ErrOutcome); !late && (got[0].Next != 10 || !errors.Is(err, offset.ErrMoved)) {
					t.Errorf("%s before request %d of %d: %v; and yet a neighbour is %+v", other, k, n, err, got[0])
				}
			}
		}
	})
}

func TestDeleteGroupRefused(t *testing.T) {
	p := shared(t)
	s := p.open("")
	for node, kind := range map[string]string{"notes": "no partition", "": "WRONGTYPE"} {
		p.retired(false)
		had := storetest.Had(t, s, "g*")
		if node != "" {
			p.do("HSET", p.key("g*", "t"), node, "x")
		} else {
			p.do("DEL", p.key("g*", "t"))
			p.do("SET", p.key("g*", "t"), "x")
		}
		if err := deleteGroup(s, "g*", had); !errors.Is(err, offset.ErrUnsupported) || !strings.Contains(err.Error(), kind) {
			t.Errorf("%v", err)
		}
		if v := p.do("HGET", p.key("g*", "u"), "broker-a-0"); v != "10" {
			t.Errorf("a neighbour of what is no position is %v", v)
		}
		p.do("DEL", p.key("g*", "t"))
	}
}

// An answer that is lost is looked for.
func TestDeleteGroupCut(t *testing.T) {
	kinds(t, func(t *testing.T, p place, options string) {
		for _, sent := range []bool{true, false} {
			p.retired(options == "&type=string")
			x := storetest.NewProxy(t, p.addr)
			s := open(t, quiet(), p.address(x.Addr, options))
			had := storetest.Had(t, s, "g*")
			cutEval(x)(sent)
			if err := deleteGroup(s, "g*", had); err != nil || len(storetest.Had(t, s, "g*")) > 0 {
				t.Errorf("sent %v: %v", sent, err)
			}
			_ = s.Close()
		}
	})
}

// Where each position has a slot of its own, the answers tell which are gone.
func TestDeleteGroupInSlots(t *testing.T) {
	addrs := strings.Split(testservers.Need(t, "rediscluster").Addr["plain"], ",")
	p := connect(t, &redis.UniversalOptions{Addrs: addrs, IsClusterMode: true})
	s := open(t, quiet(), "redis://"+p.addr+"?key="+p.prefix+"{group}/{topic}/{partition}&type=string")
	defer func() { _ = s.Close() }()
	all := storetest.Partitions(0, 1, 2)
	storetest.Write(t, s, "g", storetest.Changes(t, s, "g", all, 10, 11, 12))
	had := storetest.Had(t, s, "g")
	p.do("SET", p.prefix+"g/t/1", "5")
	r, err := s.DeleteGroup(context.Background(), "g", had)
	if err != nil || len(r) != 3 || r[0].Err != nil || !errors.Is(r[1].Err, offset.ErrMoved) || r[2].Err != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if v := storetest.Get(t, s, "g", all...); v[0].State != offset.Absent || v[1].Next != 5 || v[2].State != offset.Absent {
		t.Errorf("%+v", v)
	}
	if err := deleteGroup(s, "g", storetest.Had(t, s, "g")); err != nil {
		t.Error(err)
	}
}
