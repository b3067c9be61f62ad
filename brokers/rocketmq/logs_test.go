package rocketmq

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/brokers/remoting/remotingtest"
	"github.com/offsetctl/offsetctl/offset"
)

var epoch = time.UnixMilli(1_767_225_600_000)

func log1(t testing.TB, c *Cluster, q offset.LogQuery) offset.Log {
	t.Helper()
	r := c.Logs(t.Context(), []offset.LogQuery{q})
	if len(r) != 1 || r[0].Err != nil {
		t.Fatalf("%+v", r)
	}
	return r[0].Value
}

func TestLogs(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		a, b := fake.Broker("broker-a"), fake.Broker("broker-b")
		a.Topic("orders", 3)
		b.Topic("orders", 1)
		a.Fill("orders", 0, 0, 20, epoch)
		a.Fill("orders", 1, 30, 80, epoch)
		b.Fill("orders", 0, 400, 600, epoch)
		c := connect(t, testEnv(), fake.NameServers())
		ps := []offset.Partition{queue("nope", "broker-a", 0), queue("orders", "broker-a", 0), queue("orders", "broker-a", 1), queue("orders", "broker-a", 2),
			queue("orders", "broker-a", 9), queue("orders", "broker-b", 0), queue("orders", "broker-x", 0)}
		var qs []offset.LogQuery
		for _, p := range ps {
			qs = append(qs, offset.LogQuery{Partition: p, Epochs: []int32{1}})
		}
		r := c.Logs(t.Context(), qs)
		for i, want := range map[int][2]int64{1: {0, 20}, 2: {30, 80}, 3: {0, 0}, 5: {400, 600}} {
			if r[i].Err != nil || r[i].Value.Start != want[0] || r[i].Value.End != want[1] || r[i].Value.Stable != want[1] || len(r[i].Value.EpochEnds) != 1 || r[i].Value.EpochEnds[0] != -1 {
				t.Errorf("%s: %+v", ps[i], r[i])
			}
		}
		if !errors.Is(r[0].Err, offset.ErrUnknownName) || !errors.Is(r[4].Err, offset.ErrUnknownName) || !errors.Is(r[6].Err, offset.ErrNoLeader) {
			t.Error(r[0].Err, r[4].Err, r[6].Err)
		}
		if !strings.Contains(r[4].Err.Error(), "orders@broker-a:9") {
			t.Error(r[4].Err)
		}
		if r[3].Value.Unproven || !r[1].Value.Unproven {
			t.Error("an empty queue has nothing to prove, any other has")
		}
	})
}

// A broker goes on telling a lowest offset whose message was deleted with its file.
func TestStaleMinimum(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		b := fake.Broker("broker-a")
		b.Topic("orders", 2)
		b.Fill("orders", 0, 0, 10, epoch)
		b.Expire("orders", 0, 10, true) // nothing left
		b.Fill("orders", 1, 0, 12, epoch)
		b.Expire("orders", 1, 10, true) // 10 and 11 are left
		c := connect(t, testEnv(), fake.NameServers())
		for _, prove := range []bool{false, true} {
			if l := log1(t, c, offset.LogQuery{Partition: queue("orders", "broker-a", 0), Prove: prove}); l.Bounds != (offset.Bounds{Start: 10, Stable: 10, End: 10}) || l.Unproven {
				t.Errorf("%v: %+v", prove, l)
			}
		}
		q := offset.LogQuery{Partition: queue("orders", "broker-a", 1)}
		if l := log1(t, c, q); l.Start != 0 || !l.Unproven {
			t.Errorf("%+v", l)
		}
		q.Prove = true
		if l := log1(t, c, q); l.Bounds != (offset.Bounds{Start: 10, Stable: 12, End: 12}) || l.Unproven {
			t.Errorf("%+v", l)
		}
	})
}

// The answer is exact whatever rule the broker searches by: compared with going through all messages, bursts of one time included.
func TestTimeSearch(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		rnd := rand.New(rand.NewPCG(1, 2))
		b := fake.Broker("broker-a")
		c := connect(t, testEnv(), fake.NameServers())
		b.Topic("orders", 20)
		for id := range int32(20) {
			n, now := rnd.IntN(400), epoch
			var times []time.Time
			for range n {
				if rnd.IntN(3) == 0 {
					now = now.Add(time.Duration(rnd.IntN(50)) * time.Millisecond)
				}
				times = append(times, now)
				b.Append("orders", id, remotingtest.Message{Time: now, Body: "x"})
			}
			first := int64(0)
			if n > 0 && id%2 == 0 {
				first = rnd.Int64N(int64(n) + 1)
				b.Expire("orders", id, first, id%4 == 0 && first < int64(n))
			}
			q := offset.LogQuery{Partition: queue("orders", "broker-a", id), Prove: id%3 == 0}
			for _, ms := range []int64{-3_600_000, 0, 1, 5, 20, 77, 200, 500, 3_600_000} {
				q.Times = append(q.Times, time.UnixMilli(epoch.UnixMilli()+ms))
			}
			if n > 0 {
				q.Times = append(q.Times, times[n-1], times[n-1].Add(time.Millisecond))
			}
			got := log1(t, c, q).Times
			for i, at := range q.Times {
				want := offset.NoRecord
				for o := int64(n) - 1; o >= first && !times[o].Before(at); o-- {
					want = o
				}
				if got[i] != want {
					t.Errorf("queue %d (%d..%d), %v: %d, want %d", id, first, n, at.Sub(epoch), got[i], want)
				}
			}
		}
	})
}

func TestInconsistentBounds(t *testing.T) {
	for _, bounds := range []string{`"maxOffset":0,"minOffset":10`, `"maxOffset":5,"minOffset":-3`} {
		fake := remotingtest.New(t, remotingtest.Options{})
		fake.Broker("broker-a").Topic("orders", 1)
		fake.Intercept(func(x *remotingtest.Call) bool {
			if x.Request.Code != int(remoting.CodeTopicStats) {
				return false
			}
			a := &remoting.Command{Opaque: x.Request.Opaque, Flag: remoting.FlagAnswer,
				Body: []byte(`{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"orders"}:{"lastUpdateTimestamp":5,` + bounds + `}}}`)}
			frame, _ := a.Append(nil)
			x.Conn.Write(frame)
			return true
		})
		c := connect(t, testEnv(), fake.NameServers())
		if r := c.Logs(t.Context(), []offset.LogQuery{{Partition: queue("orders", "broker-a", 0)}})[0]; r.Err == nil || !strings.Contains(r.Err.Error(), "inconsistent") {
			t.Error(bounds, r)
		}
	}
}

func TestPeek(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		b := fake.Broker("broker-a")
		b.Topic("orders", 1)
		b.Topic("empty", 1)
		b.Fill("orders", 0, 5, 10, epoch)
		b.Expire("orders", 0, 7, true)
		b.SetOffset("billing", "orders", 0, 8)
		c := connect(t, testEnv(), fake.NameServers())
		q := queue("orders", "broker-a", 0)
		for from, want := range map[int64]int64{0: 7, 5: 7, 7: 7, 9: 9, 10: -1, 99: -1} {
			r := c.Peek(t.Context(), []offset.Position{{Partition: q, Offset: from}})[0]
			switch {
			case r.Err != nil:
				t.Error(from, r.Err)
			case r.Value == nil:
				if want != -1 {
					t.Errorf("nothing at or after %d", from)
				}
			case r.Value.Offset != want || string(r.Value.Value) != string(rune('0'+want)) || !r.Value.LogAppend:
				t.Errorf("at %d: %+v", from, r.Value)
			}
		}
		if r := c.Peek(t.Context(), []offset.Position{{Partition: queue("empty", "broker-a", 0)}})[0]; r.Err != nil || r.Value != nil {
			t.Error(r)
		}
		b.Append("orders", 0, remotingtest.Message{Time: epoch, Tag: "A"})
		r := c.Peek(t.Context(), []offset.Position{{Partition: q, Offset: 10}})[0].Value
		if r == nil || r.Tag != "A" || r.Value == nil || len(r.Value) != 0 || r.Key != nil || !r.Time.Equal(epoch) {
			t.Errorf("%+v", r)
		}
	})
}

func TestRetention(t *testing.T) {
	fake := remotingtest.New(t, remotingtest.Options{})
	for _, b := range []string{"broker-a", "broker-b"} {
		fake.Broker(b).Topic("orders", 1)
	}
	fake.Broker("broker-b").Config("fileReservedTime", "48")
	c := connect(t, testEnv(), fake.NameServers())
	r := c.Retention(t.Context(), []string{"nope", "orders"})
	if !errors.Is(r[0].Err, offset.ErrUnknownName) || r[1].Err != nil || r[1].Value.Time != 48*time.Hour || !r[1].Value.LogAppend {
		t.Error(r)
	}
}

func TestStaticTopic(t *testing.T) {
	fake := remotingtest.New(t, remotingtest.Options{})
	b := fake.Broker("broker-a")
	b.Topic("orders", 2)
	b.Fill("orders", 1, 3, 9, epoch)
	b.Static("orders")
	b.SetOffset("billing", "orders", 1, 4)
	c := connect(t, testEnv(), fake.NameServers())
	if _, err := c.Topology(t.Context(), []string{"orders"}); err != nil {
		t.Fatal(err)
	}
	q := queue("orders", "broker-a", 1)
	if l := log1(t, c, offset.LogQuery{Partition: q}); l.Bounds != (offset.Bounds{Start: 3, Stable: 9, End: 9}) {
		t.Errorf("%+v", l)
	}
	now := read(t, c, "billing", q)[0]
	if show(now) != "4" {
		t.Error(show(now))
	}
	change := []offset.Change{{Partition: q, From: now.Value, To: at(5)}}
	if w := c.Offsets().Write(t.Context(), "billing", change)[0]; !errors.Is(w.Err, offset.ErrUnsupported) {
		t.Error(w)
	}
	if o := (store{c}).Guard(t.Context(), "billing", change); len(o) != 1 || o[0].Allow != "" || !strings.Contains(o[0].Text, "static topic") {
		t.Errorf("%+v", o)
	}
	if n, _ := b.Offset("billing", "orders", 1); n != 4 {
		t.Error("it was written")
	}
}
