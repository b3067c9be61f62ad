package rocketmq

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/internal/testservers"
	rockettest "github.com/offsetctl/offsetctl/internal/testservers/rocketmq"
	"github.com/offsetctl/offsetctl/offset"
)

// BR-01 on real brokers: files expire, the log start moves, and where a broker goes on telling an old start it is not believed.
func TestRealExpiredFiles(t *testing.T) {
	for _, name := range []string{"rocketmq49", "rocketmq55"} {
		t.Run(name, func(t *testing.T) {
			r := needReal(t, testservers.Exclusive(t, name))
			topic, group := r.Topic("old", 3, "broker-a"), r.Group("old")
			ps := []offset.Partition{queue(topic, "broker-a", 0), queue(topic, "broker-a", 1), queue(topic, "broker-a", 2)}
			r.Produce(ps[0], 10, "small", "")
			r.Produce(ps[2], 15, "small", "")
			r.Produce(ps[1], 1103, strings.Repeat("x", 4000), "") // more than four files of 1 MiB
			for i, n := range []int64{3, 5, 7} {
				r.Store(group, ps[i], n)
			}
			if l := r.bounds(ps[1], true); l.Start != 0 || l.End != 1103 {
				t.Fatalf("%+v", l)
			}
			r.Expire(ps[1])
			var l offset.Log
			rockettest.Eventually(t, 30*time.Second, func() string { // more files may go between two requests
				l = r.bounds(ps[1], true)
				first := r.c.Peek(t.Context(), []offset.Position{{Partition: ps[1], Offset: 5}})[0]
				if first.Err != nil || first.Value == nil || first.Value.Offset != l.Start {
					return fmt.Sprintf("the first message is %+v, the start %d", first.Value, l.Start)
				}
				return ""
			})
			if l.Start <= 5 || l.Start >= 1103 || l.End != 1103 {
				t.Errorf("%+v", l)
			}
			// Queue 0 has lost all its messages; 4.9 goes on telling 0..10.
			if l := r.bounds(ps[0], false); l.Start != 10 || l.End != 10 {
				t.Errorf("nothing can be read: %+v", l)
			}
			r.Produce(ps[2], 2, "new", "") // until the next tick a queue has a stale start and readable messages
			if l := r.bounds(ps[2], true); l.Start != 15 || l.End != 17 {
				t.Errorf("two of seventeen can be read: %+v", l)
			}
			for i, x := range r.c.Offsets().Read(t.Context(), []offset.Query{{Group: group, Topics: []string{topic}, Expect: ps}})[0].Expected {
				if x.Err != nil || x.Value.Next != []int64{3, 5, 7}[i] || !x.Value.LastRead.IsZero() {
					t.Errorf("%s: %+v", ps[i], x)
				}
			}
			at := l.Start
			got := log1(t, r.c, offset.LogQuery{Partition: ps[1], Times: []time.Time{time.UnixMilli(1), time.Now().Add(time.Hour)}}).Times
			if got[0] < at || got[1] != offset.NoRecord {
				t.Error(got, at)
			}
		})
	}
}

// BR-29 on real brokers, and what a write survives: a broker is killed, is missing, comes back, and hangs.
func TestRealBrokerDown(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"rocketmq49", "rocketmq55"} {
		t.Run(name, func(t *testing.T) {
			s := testservers.NeedOwn(t, name)
			r := needReal(t, s, "brokers=broker-a,broker-b", "timeout=3s")
			topic, group := r.Topic("down", 1, "broker-a", "broker-b"), r.Group("down")
			a, b := queue(topic, "broker-a", 0), queue(topic, "broker-b", 0)
			for _, p := range []offset.Partition{a, b} {
				r.Produce(p, 5, "x", "")
				if w := put1(t, r.c, group, p, at(3)); show(w) != "3" {
					t.Fatal(show(w))
				}
			}
			time.Sleep(r.c.Offsets().Caps().Settle + 10*time.Second) // the first flush comes ten seconds after the boot
			s.Kill("broker-b")
			rockettest.Eventually(t, time.Minute, func() string { // the name server takes a moment to notice
				if top, err := r.c.Topology(t.Context(), []string{topic}); err != nil || len(top.Gaps) == 0 {
					return fmt.Sprintf("%+v %v", top, err)
				}
				return ""
			})
			top, err := r.c.Topology(t.Context(), []string{topic})
			if err != nil || len(top.Gaps) != 1 || !errors.Is(top.Gaps[0], offset.ErrNoLeader) || top.Whole || len(top.Topics[0].Logs) != 1 {
				t.Errorf("%+v %v", top, err)
			}
			x := read(t, r.c, group, a, b)
			if show(x[0]) != "3" || !errors.Is(x[1].Err, offset.ErrNoLeader) {
				t.Error(show(x[0]), show(x[1]))
			}
			w := r.c.Offsets().Write(t.Context(), group, []offset.Change{{Partition: b, From: stored(3), To: at(1)}})[0]
			if w.Err == nil {
				t.Error("written to a broker that is not there")
			}
			s.Start("broker-b")
			rockettest.Eventually(t, time.Minute, func() string {
				if top, err := r.c.Topology(t.Context(), []string{topic}); err != nil || len(top.Gaps) > 0 {
					return fmt.Sprint(top.Gaps, err)
				}
				return ""
			})
			if x := read(t, r.c, group, b)[0]; show(x) != "3" {
				t.Error("after a kill, longer than the flush after the write:", show(x))
			}
			s.Pause("broker-b") // stays in the route, and does not answer
			logs := r.c.Logs(t.Context(), []offset.LogQuery{{Partition: a}, {Partition: b}})
			if logs[0].Err != nil || !errors.Is(logs[1].Err, offset.ErrUnreachable) || !strings.Contains(logs[1].Err.Error(), "no answer within 3s") {
				t.Error(logs)
			}
			s.Resume("broker-b")
		})
	}
}
