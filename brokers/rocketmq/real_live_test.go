package rocketmq

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	rockettest "github.com/offsetctl/offsetctl/internal/testservers/rocketmq"
	"github.com/offsetctl/offsetctl/offset"
)

// BR-22 on real brokers, with a push consumer of rocketmq-client-go: an explicit position moves it on 5.5 and is overwritten on
// 4.9, where a time moves it; and "moved" means that it reads the messages again.
func TestRealLiveGroup(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, r *realCluster) {
		t.Parallel()
		topic, group := r.Topic("live", 2, "broker-a"), r.Group("live")
		ps := []offset.Partition{queue(topic, "broker-a", 0), queue(topic, "broker-a", 1)}
		for _, p := range ps {
			r.Produce(p, 20, "x", "")
		}
		var seen atomic.Int64
		stop := r.Consume(group, topic, "*", &seen)
		caughtUp := func() string {
			for i, x := range read(t, r.c, group, ps...) {
				if x.Err != nil || x.Value.State != offset.Set || x.Value.Next != 20 {
					return fmt.Sprintf("%s is at %s", ps[i], show(x))
				}
			}
			return ""
		}
		rockettest.Eventually(t, time.Minute, caughtUp)
		rockettest.Eventually(t, time.Minute, func() string { // just after a burst a Go client cannot tell anything
			if g := r.c.Describe(t.Context(), []string{group})[0]; g.Err != nil || len(g.Value.Members) != 1 || g.Value.Members[0].Err != nil {
				return fmt.Sprintf("%+v", g)
			}
			return ""
		})

		from := read(t, r.c, group, ps[0])[0]
		o := (store{r.c}).Guard(t.Context(), group, []offset.Change{{Partition: ps[0], From: from.Value, To: at(7)}})
		if len(o) != 1 || o[0].Allow != allowLive || strings.Contains(o[0].Text, "overwritten") != r.Old() {
			t.Errorf("%+v", o)
		}
		// On a busy machine a client may take longer than anybody watches; then a reset is repeated.
		moves := func(to offset.Stored, ps ...offset.Partition) (before int64) {
			for n := 1; ; n++ {
				before = seen.Load()
				changes, not := map[offset.Partition]offset.Stored{}, ""
				for _, p := range ps {
					changes[p] = to
				}
				for p, w := range put(t, r.c, group, changes) {
					if show(w) != show(offset.Result[offset.Stored]{Value: to}) {
						not += fmt.Sprintf("%s: %s\n", p, show(w))
					}
				}
				switch {
				case not == "":
					return before
				case n == 3:
					t.Errorf("to %d, three times: %s", to.Next, not)
					return before
				}
				t.Log(not)
			}
		}
		if r.Old() {
			before := seen.Load()
			if w := put1(t, r.c, group, ps[0], at(7)); show(w) != "20" || seen.Load() != before {
				t.Errorf("explicit: %s, %d messages more", show(w), seen.Load()-before)
			}
		} else {
			before := moves(at(7), ps[0])
			rockettest.Eventually(t, time.Minute, func() string {
				if n := seen.Load() - before; n < 13 {
					return fmt.Sprintf("moved to 7, and %d messages were read again", n)
				}
				return caughtUp()
			})
		}
		before := moves(at(0), ps...)
		rockettest.Eventually(t, time.Minute, func() string {
			if n := seen.Load() - before; n < 40 {
				return fmt.Sprintf("moved to 0, and %d messages were read again", n)
			}
			return ""
		})
		stop()
		rockettest.Eventually(t, time.Minute, func() string {
			g := r.c.Describe(t.Context(), []string{group})[0]
			if g.Err != nil || g.Value.Phase != offset.Empty {
				return fmt.Sprintf("%+v", g)
			}
			return ""
		})
		// On 5.5 a reset may be pending that the last client did not take: a write gets through all the same.
		for _, n := range []int64{3, 99} {
			if w := put1(t, r.c, group, ps[0], at(n)); show(w) != fmt.Sprint(n) {
				t.Error(show(w))
			}
		}
	})
}

// BR-31 on real brokers: what two clients of one group subscribe to is told by each of them.
func TestRealDifferentTags(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, r *realCluster) {
		topic, group := r.Topic("tags", 2, "broker-a", "broker-b"), r.Group("tags")
		var seen atomic.Int64
		r.Consume(group, topic, "A", &seen)
		r.Consume(group, topic, "C||B", &seen)
		if _, err := r.c.Topology(t.Context(), []string{topic}); err != nil {
			t.Fatal(err)
		}
		rockettest.Eventually(t, time.Minute, func() string {
			g := r.c.Describe(t.Context(), []string{group})[0]
			if g.Err != nil || g.Value.Phase != offset.Live || g.Value.Kind != "push" || len(g.Value.Members) != 2 {
				return fmt.Sprintf("%+v", g)
			}
			filters, owns := map[string]bool{}, 0
			for _, m := range g.Value.Members {
				if m.Err != nil || len(m.Subscribes) != 1 || m.Subscribes[0].Topic != topic || m.Host == "" || !strings.HasSuffix(m.Version, " GO") {
					return fmt.Sprintf("%+v", m)
				}
				filters[m.Subscribes[0].Filter] = true
				for _, p := range m.Owns {
					if p.Topic == topic {
						owns++
					}
				}
			}
			if !filters["A"] || !filters["B || C"] || owns != 4 {
				return fmt.Sprint(filters, owns)
			}
			return ""
		})
	})
}

// BR-30 on real brokers.
func TestRealBroadcast(t *testing.T) {
	onReal(t, func(t *testing.T, r *realCluster) {
		topic, group := r.Topic("radio", 1, "broker-a"), r.Group("radio")
		q := queue(topic, "broker-a", 0)
		var seen atomic.Int64
		r.Broadcast(group, topic, &seen)
		rockettest.Eventually(t, time.Minute, func() string {
			g := r.c.Describe(t.Context(), []string{group})[0]
			if g.Err != nil || g.Value.Kind != kindBroadcast {
				return fmt.Sprintf("%+v", g)
			}
			return ""
		})
		now := read(t, r.c, group, q)[0]
		if show(now) != "absent" {
			t.Error(show(now))
		}
		change := []offset.Change{{Partition: q, From: now.Value, To: at(0)}}
		if w := r.c.Offsets().Write(t.Context(), group, change)[0]; !errors.Is(w.Err, offset.ErrUnsupported) {
			t.Error(show(w))
		}
		if o := (store{r.c}).Guard(t.Context(), group, change); len(o) != 1 || o[0].Allow != "" {
			t.Errorf("%+v", o)
		}
	})
}
