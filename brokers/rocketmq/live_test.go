package rocketmq

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/brokers/remoting/remotingtest"
	"github.com/offsetctl/offsetctl/offset"
)

// What was seen of real clients, and other orders that looks may come in.
func TestPhases(t *testing.T) {
	for _, x := range []struct {
		name     string
		how      way
		from, to int64
		seen     []int64
		want     phase
	}{
		{"kept: pulled, old position stored once more, replayed", byReset, 25, 5, []int64{5, 5, 25, 25, 5, 12, 25}, moved},
		{"kept: replayed between two looks after the bounce", byReset, 25, 5, []int64{5, 25, 18, 25}, moved},
		{"kept: a client without that pause goes on from the target", byReset, 25, 5, []int64{5, 9, 25}, moved},
		{"kept: nothing happens, the broker has it", byReset, 25, 5, []int64{5, 5, 5}, arrived},
		{"kept: the client died in its pause", byReset, 25, 5, []int64{5, 25, 25, 25}, bounced},
		{"kept: it went on from its old position", byReset, 25, 5, []int64{5, 26, 30}, bounced},
		{"kept, forward: skipped", byReset, 25, 100, []int64{100, 25, 100, 103}, moved},
		{"kept, forward: to the end, quiet", byReset, 25, 100, []int64{100, 100}, arrived},
		{"kept, never seen", byReset, 25, 5, []int64{25, 25}, waiting},
		{"told: ten seconds of nothing, then a client stores it", byTelling, 25, 0, []int64{25, 25, 0, 25}, moved},
		{"told: replayed beyond the target between two looks", byTelling, 25, 0, []int64{25, 7}, moved},
		{"told: not obeyed", byTelling, 25, 0, []int64{25, 26, 30}, waiting},
		{"stored: overwritten", byStoring, 100, 20, []int64{20, 100}, bounced},
		{"stored: left alone", byStoring, 100, 20, []int64{20, 20}, arrived},
		{"stored, forward: overwritten", byStoring, 100, 200, []int64{200, 101}, bounced},
	} {
		r := row{Change: offset.Change{From: stored(x.from), To: at(x.to)}, send: x.to, way: x.how, sent: true}
		for _, n := range x.seen {
			r.see(stored(n))
		}
		if r.phase != x.want {
			t.Errorf("%s: %d, want %d", x.name, r.phase, x.want)
		}
		if want := x.seen[len(x.seen)-1]; r.phase != moved && r.now.Next != want || r.phase == moved && r.now.Next != x.to {
			t.Errorf("%s: answers %d", x.name, r.now.Next)
		}
	}
}

// A broker that keeps resets: the group's client takes the reset with its next pull and stores its old position once more.
func TestLiveReset(t *testing.T) {
	fake := remotingtest.New(t, remotingtest.Options{})
	c, b, q := one(t, fake, 100)
	b.Connect("g", remotingtest.Client{ID: "c1", Filters: map[string]string{"orders": "*"}})
	fake.OnWrite(func(w remotingtest.Write) {
		if !w.Reset {
			return
		}
		for _, n := range []int64{100, 20, 60} {
			time.Sleep(30 * time.Millisecond)
			b.SetOffset("g", "orders", 0, n)
		}
	})
	if r := put1(t, c, "g", q, at(20)); show(r) != "20" {
		t.Error(show(r))
	}
	counts := fake.Counts()
	if counts[remoting.CodeResetOffset] != 1 || counts[remoting.CodeUpdateOffset] != 0 {
		t.Error(counts)
	}
	if r := put1(t, c, "g", q, offset.Stored{State: offset.Absent}); !errors.Is(r.Err, offset.ErrUnsupported) {
		t.Error("none, while clients are connected:", r)
	}
}

// A client that is seen at its old position again has put it back, or has read up to it between two looks: what it says of its
// last consumption tells, and where it says nothing, nothing is claimed.
func TestLiveResetBackAtTheOldPosition(t *testing.T) {
	own := []remoting.Queue{{Topic: "orders", Broker: "broker-a", ID: 0}}
	told := func(began, consumed int64) remotingtest.Client {
		return remotingtest.Client{ID: "c1", Owns: own, Began: began, Consumed: consumed}
	}
	silent := remotingtest.Client{ID: "c1", Silent: true}
	for what, x := range map[string]struct {
		before, after remotingtest.Client
		later         time.Duration // after the write, when it last consumed, by the clock
		late          int32         // how many questions after the write it cannot answer yet
		want          string
	}{
		"put back":                 {told(1, 99), told(1, 99), 0, 0, "are at 100, and have not gone to 20 yet"},
		"read again":               {told(1, 99), told(200, 300), 0, 0, "20"},
		"begun anew, nothing read": {told(1, 99), told(200, 200), 0, 0, "have not gone to 20 yet"},
		"read again at once":       {told(1, 99), told(200, 201), 0, 0, "20"},
		"does not tell":            {told(1, 99), silent, 0, 0, "did not tell which"},
		"tells when asked again":   {told(1, 99), told(200, 300), 0, 3, "20"},
		"put back, told only then": {silent, told(1, 0), time.Second, 0, "have not gone to 20 yet"},
		"read again, told only then, and when asked again": {silent, told(1, 0), 11 * time.Second, 3, "20"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			fake := remotingtest.New(t, remotingtest.Options{})
			c, b, q := one(t, fake, 100)
			b.Connect("g", x.before)
			fake.OnWrite(func(remotingtest.Write) {
				if x.later > 0 {
					x.after.Consumed = time.Now().Add(x.later).UnixMilli()
				}
				b.Connect("g", x.after)
				var asked atomic.Int32
				fake.Intercept(func(call *remotingtest.Call) bool {
					if call.Request.Code != int(remoting.CodeRunningInfo) || asked.Add(1) > x.late {
						return false
					}
					a := &remoting.Command{Opaque: call.Request.Opaque, Flag: remoting.FlagAnswer, Remark: "json marshal error: json: unsupported value: NaN"}
					frame, _ := a.Append(nil)
					call.Conn.Write(frame)
					return true
				})
				time.Sleep(30 * time.Millisecond)
				b.SetOffset("g", "orders", 0, 100)
			})
			r := put1(t, c, "g", q, at(20))
			if got := show(r); !strings.Contains(got, x.want) || (x.want != "20") != errors.Is(r.Err, offset.ErrOutcome) {
				t.Error(got)
			}
		})
	}
}

// A broker that keeps none tells all clients one time: only what a time reaches can be had, for all queues of the topic.
func TestLiveBeforeResetsWereKept(t *testing.T) {
	for _, o := range []remotingtest.Options{{Version: remotingtest.V4_9_7}, {Version: remotingtest.V5_5_0, NoReset: true}} {
		t.Run(fmt.Sprint(o.Version), func(t *testing.T) {
			fake := remotingtest.New(t, o)
			b := fake.Broker("broker-a")
			b.Topic("orders", 2)
			b.Fill("orders", 0, 0, 500, epoch)
			b.Fill("orders", 1, 10, 100, epoch)
			ps := []offset.Partition{queue("orders", "broker-a", 0), queue("orders", "broker-a", 1)}
			c := hurried(connect(t, testEnv(), fake.NameServers()))
			b.Connect("g", remotingtest.Client{ID: "c1", Filters: map[string]string{"orders": "*"}})
			fake.OnWrite(func(w remotingtest.Write) {
				if w.Reset { // a client obeys after a while
					time.Sleep(30 * time.Millisecond)
					b.SetOffset("g", "orders", w.Queue, w.Next)
					return
				}
				time.Sleep(30 * time.Millisecond)
				b.SetOffset("g", "orders", w.Queue, 50)
			})
			for what, x := range map[string]struct {
				to       [2]int64
				reset    bool
				reported [2]int64
			}{
				"earliest":             {[2]int64{0, 10}, true, [2]int64{0, 10}},
				"latest":               {[2]int64{500, 100}, true, [2]int64{500, 100}},
				"one time":             {[2]int64{479, 79}, true, [2]int64{479, 79}}, // both a queue's 21st message from the end
				"explicit":             {[2]int64{20, 90}, false, [2]int64{50, 50}},
				"explicit in one only": {[2]int64{0, 90}, false, [2]int64{50, 50}},
			} {
				b.SetOffset("g", "orders", 0, 50)
				b.SetOffset("g", "orders", 1, 50)
				fake.Counts()
				got := put(t, c, "g", map[offset.Partition]offset.Stored{ps[0]: at(x.to[0]), ps[1]: at(x.to[1])})
				counts := fake.Counts()
				if resets := counts[remoting.CodeResetOffset]; (resets == 1) != x.reset || x.reset == (counts[remoting.CodeUpdateOffset] > 0) {
					t.Errorf("%s: %v", what, counts)
				}
				for i, p := range ps {
					if r := got[p]; r.Err != nil || r.Value.Next != x.reported[i] {
						t.Errorf("%s: %s: %s", what, p, show(r))
					}
				}
			}
			// One queue of two cannot be moved alone.
			b.SetOffset("g", "orders", 0, 50)
			fake.Counts()
			if r := put1(t, c, "g", ps[0], at(0)); r.Err != nil || r.Value.Next != 50 || fake.Counts()[remoting.CodeResetOffset] != 0 {
				t.Error("one queue alone:", show(r))
			}
		})
	}
}

// A time may lie between all messages: for brokers that search the nearest one, 250 ms is nearer to 100 than to 500, and nearer to
// 400 than to 0.
func TestLiveTimeBetweenMessages(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		b := fake.Broker("broker-a")
		b.Config("useServerSideResetOffset", "false")
		b.Topic("orders", 2)
		to := map[offset.Partition]offset.Stored{}
		for id, times := range [][]int64{{0, 100, 500}, {0, 400, 450}} {
			for _, ms := range times {
				b.Append("orders", int32(id), remotingtest.Message{Time: time.UnixMilli(epoch.UnixMilli() + ms)})
			}
			b.SetOffset("g", "orders", int32(id), 3)
			to[queue("orders", "broker-a", int32(id))] = at(1)
		}
		c := hurried(connect(t, testEnv(), fake.NameServers()))
		b.Connect("g", remotingtest.Client{ID: "c1", Filters: map[string]string{"orders": "*"}})
		fake.OnWrite(func(w remotingtest.Write) {
			if w.Reset {
				b.SetOffset("g", "orders", w.Queue, w.Next)
			}
		})
		for p, r := range put(t, c, "g", to) {
			if r.Err != nil || r.Value.Next != to[p].Next {
				t.Errorf("%s: %s", p, show(r))
			}
		}
		if n := fake.Counts(); n[remoting.CodeResetOffset] != 1 || n[remoting.CodeUpdateOffset] != 0 {
			t.Error(n)
		}
	})
}

func TestLiveNobodyObeys(t *testing.T) {
	fake := remotingtest.New(t, remotingtest.Options{Version: remotingtest.V4_9_7})
	c, b, q := one(t, fake, 100)
	b.Connect("g", remotingtest.Client{ID: "c1", Type: "CONSUME_ACTIVELY", Filters: map[string]string{"orders": "*"}})
	if r := put1(t, c, "g", q, at(0)); !errors.Is(r.Err, offset.ErrOutcome) || !strings.Contains(r.Err.Error(), "have not gone to 0") {
		t.Error(r)
	}
}

func TestLiveNobodyWaits(t *testing.T) {
	fake := remotingtest.New(t, remotingtest.Options{})
	c, b, q := one(t, fake, 100)
	c.pace.kept = time.Hour
	b.Connect("g", remotingtest.Client{ID: "c1", Filters: map[string]string{"orders": "*"}})
	now := read(t, c, "g", q)[0]
	ctx, cancel := context.WithCancel(t.Context())
	fake.OnWrite(func(remotingtest.Write) { time.AfterFunc(50*time.Millisecond, cancel) })
	r := c.Offsets().Write(ctx, "g", []offset.Change{{Partition: q, From: now.Value, To: at(20)}})[0]
	if !errors.Is(r.Err, offset.ErrOutcome) {
		t.Error(r)
	}
}

// What is true of all brokers is said once.
func TestGuardNamesBrokersTogether(t *testing.T) {
	fake := remotingtest.New(t, remotingtest.Options{Version: remotingtest.V4_9_7})
	var changes []offset.Change
	for _, name := range []string{"broker-a", "broker-b"} {
		b := fake.Broker(name)
		b.Topic("orders", 1)
		b.Fill("orders", 0, 0, 10, epoch)
		b.SetOffset("g", "orders", 0, 5)
		b.Connect("g", remotingtest.Client{ID: "c1", Filters: map[string]string{"orders": "*"}})
		changes = append(changes, offset.Change{Partition: queue("orders", name, 0), From: stored(5), To: at(0)})
	}
	s := store{connect(t, testEnv(), fake.NameServers())}
	o := s.Guard(t.Context(), "g", changes)
	if len(o) != 1 || !strings.HasSuffix(o[0].Text, "memory (1: c1); broker-a and broker-b can only tell them a time, which push consumers obey after some ten seconds") {
		t.Errorf("%+v", o)
	}
}

func TestGuard(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		c, b, q := one(t, fake, 100)
		s := store{c}
		guard := func(to offset.Stored) []offset.Objection {
			return s.Guard(t.Context(), "g", []offset.Change{{Partition: q, From: read(t, c, "g", q)[0].Value, To: to}})
		}
		if o := guard(at(20)); len(o) != 0 {
			t.Errorf("nobody is there: %+v", o)
		}
		old := strings.HasSuffix(t.Name(), "4.9.7")
		b.Connect("g", remotingtest.Client{ID: "c1", Filters: map[string]string{"orders": "*"}})
		o := guard(at(20))
		if len(o) != 1 || o[0].Allow != allowLive || !strings.Contains(o[0].Text, "in memory (1: c1)") {
			t.Fatalf("%+v", o)
		}
		if says := strings.Contains(o[0].Text, "overwritten"); says {
			t.Error("20 is what a time reaches:", o[0].Text)
		}
		if told := strings.Contains(o[0].Text, "can only tell them a time"); told != old {
			t.Error(o[0].Text)
		}
		b.Topic("orders", 2)
		b.Fill("orders", 1, 0, 5, epoch)
		if says := strings.Contains(guard(at(20))[0].Text, "overwritten by them within seconds"); says != old {
			t.Error(guard(at(20)))
		}
		b.Connect("g", remotingtest.Client{ID: "c1", Broadcast: true})
		if o := guard(at(20)); len(o) != 1 || o[0].Allow != "" || !strings.Contains(o[0].Text, "broadcasting") {
			t.Errorf("%+v", o)
		}
		b.Connect("g")
		if old {
			return
		}
		b.SetOffset("g", "%RETRY%g_orders", 0, 4)
		if o := guard(at(20)); len(o) != 1 || o[0].Allow != allowLive || !strings.Contains(o[0].Text, "popping") {
			t.Errorf("%+v", o)
		}
		b.DeleteTopic("%RETRY%g_orders")
		stop := make(chan struct{})
		go func() {
			for n := int64(101); ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
					b.SetOffset("g", "orders", 0, n)
				}
			}
		}()
		defer close(stop)
		if o := guard(at(20)); len(o) != 1 || o[0].Allow != allowLive || !strings.Contains(o[0].Text, "no broker lists a client") {
			t.Errorf("%+v", o)
		}
	})
}
