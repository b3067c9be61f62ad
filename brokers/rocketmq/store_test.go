package rocketmq

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/brokers/remoting/remotingtest"
	"github.com/offsetctl/offsetctl/offset"
)

// What one look at a group and a topic costs: a route, and three requests a master, whatever the number of queues.
func TestRequests(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		look := func(group, topic string) map[remoting.Code]int {
			fake.Counts()
			c := connect(t, testEnv(), fake.NameServers())
			top, err := c.Topology(t.Context(), []string{topic})
			if err != nil {
				t.Fatal(err)
			}
			var ps []offset.Partition
			var qs []offset.LogQuery
			for _, l := range top.Topics[0].Logs {
				ps = append(ps, l.Partition)
				qs = append(qs, offset.LogQuery{Partition: l.Partition})
			}
			var wg sync.WaitGroup
			wg.Go(func() {
				for i, r := range c.Logs(t.Context(), qs) {
					if r.Err != nil {
						t.Error(ps[i], r.Err)
					}
				}
			})
			for i, r := range c.Offsets().Read(t.Context(), []offset.Query{{Group: group, Topics: []string{topic}, Expect: ps}})[0].Expected {
				if r.Err != nil {
					t.Error(ps[i], r.Err)
				}
			}
			if g := c.Describe(t.Context(), []string{group})[0]; g.Err != nil {
				t.Error(g.Err)
			}
			wg.Wait()
			return fake.Counts()
		}
		want := map[remoting.Code]int{remoting.CodeRoute: 1, remoting.CodeTopicStats: 2, remoting.CodeConsumeStats: 2, remoting.CodeConnections: 2}
		for topic, queues := range map[string]int{"few": 2, "many": 64} {
			for _, b := range []string{"broker-a", "broker-b"} {
				fake.Broker(b).Topic(topic, queues)
				for id := range int32(queues) {
					fake.Broker(b).Fill(topic, id, 0, 9, epoch)
					fake.Broker(b).SetOffset("g", topic, id, 5)
				}
			}
			if got := look("g", topic); !maps.Equal(got, want) {
				t.Errorf("%d queues: %v", queues, got)
			}
		}
		// A 0 may be none: one request more, before 5.0 one for the whole broker.
		fake.Broker("broker-a").SetOffset("g", "few", 0, 0)
		fake.Broker("broker-a").SetOffset("g", "few", 1, 0)
		doubt := maps.Clone(want)
		if strings.HasSuffix(t.Name(), "4.9.7") {
			doubt[remoting.CodeAllOffsets] = 1
		} else {
			doubt[remoting.CodeQueryOffset] = 2
		}
		if got := look("g", "few"); !maps.Equal(got, doubt) {
			t.Errorf("with two zeros: %v", got)
		}
		// Of a topic that a group has nothing of, no queue is asked for by itself; and whether the group exists is.
		none := maps.Clone(want)
		none[remoting.CodeGroups], none[remoting.CodeConsumeStats] = 2, 4
		none[remoting.CodeTopicsOfGroup] = 2
		if strings.HasSuffix(t.Name(), "4.9.7") {
			delete(none, remoting.CodeTopicsOfGroup)
			none[remoting.CodeAllOffsets] = 2
		}
		if got := look("other", "many"); !maps.Equal(got, none) {
			t.Errorf("with nothing stored: %v", got)
		}
		for _, b := range []string{"broker-a", "broker-b"} {
			fake.Broker(b).SetOffset("live", "few", 0, 5)
			fake.Broker(b).SetOffset("live", "few", 1, 5)
			fake.Broker(b).Connect("live", remotingtest.Client{ID: "c1", Filters: map[string]string{"few": "*"}}, remotingtest.Client{ID: "c2", Filters: map[string]string{"few": "*"}})
		}
		live := maps.Clone(want)
		live[remoting.CodeRunningInfo] = 2
		if got := look("live", "few"); !maps.Equal(got, live) {
			t.Errorf("two clients online: %v", got)
		}
	})
}

// BR-26: a queue number says nothing without its broker.
func TestBR26SameQueueOnTwoBrokers(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		for b, x := range map[string][3]int64{"broker-a": {0, 20, 10}, "broker-b": {400, 600, 500}} {
			fake.Broker(b).Topic("orders", 1)
			fake.Broker(b).Fill("orders", 0, x[0], x[1], epoch)
			fake.Broker(b).SetOffset("g", "orders", 0, x[2])
		}
		c := connect(t, testEnv(), fake.NameServers())
		a, b := queue("orders", "broker-a", 0), queue("orders", "broker-b", 0)
		if r := read(t, c, "g", a, b); show(r[0]) != "10" || show(r[1]) != "500" {
			t.Fatal(show(r[0]), show(r[1]))
		}
		for p, r := range put(t, c, "g", map[offset.Partition]offset.Stored{a: at(0), b: at(400)}) {
			if r.Err != nil {
				t.Error(p, r.Err)
			}
		}
		for name, want := range map[string]int64{"broker-a": 0, "broker-b": 400} {
			if n, _ := fake.Broker(name).Offset("g", "orders", 0); n != want {
				t.Error(name, n)
			}
		}
		if r := read(t, c, "g", offset.Partition{Topic: "orders"}); !errors.Is(r[0].Err, offset.ErrUnsupported) {
			t.Error("a queue without a broker:", show(r[0]))
		}
	})
}

// BR-27: brokers answer 0 for a group that never consumed; a stored 0 is a position.
func TestBR27ZeroIsNotNone(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		b := fake.Broker("broker-a")
		b.Topic("orders", 4)
		b.Fill("orders", 0, 0, 50, epoch)
		b.Fill("orders", 1, 30, 80, epoch)
		b.Fill("orders", 2, 0, 50, epoch)
		b.SetOffset("g", "orders", 2, 0)
		b.SetOffset("g", "orders", 3, -1) // clients and brokers take it for none
		c := connect(t, testEnv(), fake.NameServers())
		var ps []offset.Partition
		for i := range int32(4) {
			ps = append(ps, queue("orders", "broker-a", i))
		}
		for _, topics := range [][]string{{}, {"orders"}, nil} { // the ways to ask
			a := c.Offsets().Read(t.Context(), []offset.Query{{Group: "g", Topics: topics, Expect: ps}})[0]
			var got []string
			for _, r := range a.Expected {
				got = append(got, show(r))
			}
			if s := fmt.Sprint(got); s != "[absent absent 0 absent]" || a.Err != nil || len(a.Others) > 0 {
				t.Errorf("%v: %s %+v", topics, s, a)
			}
			none := c.Offsets().Read(t.Context(), []offset.Query{{Group: "never", Topics: topics, Expect: ps}})[0]
			for i, r := range none.Expected {
				if show(r) != "absent" {
					t.Error(ps[i], show(r))
				}
			}
		}
	})
}

// BR-02: a topic that was made again is shorter than the position; before 5.0 the position outlives the topic.
func TestBR02RecreatedTopic(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		b := fake.Broker("broker-a")
		b.Topic("orders", 1)
		b.SetOffset("g", "orders", 0, 2020)
		b.DeleteTopic("orders")
		b.Topic("orders", 1)
		b.Fill("orders", 0, 0, 1600, epoch)
		c := connect(t, testEnv(), fake.NameServers())
		q := queue("orders", "broker-a", 0)
		want := "2020"
		if strings.HasSuffix(t.Name(), "5.5.0") {
			want = "absent"
		}
		if r := read(t, c, "g", q)[0]; show(r) != want {
			t.Error(show(r))
		}
		for _, n := range []int64{0, 1600} {
			if r := put(t, c, "g", map[offset.Partition]offset.Stored{q: at(n)})[q]; r.Err != nil || r.Value.Next != n {
				t.Error(n, r)
			}
		}
	})
}

// BR-12: numbers of 64 bits come through digit for digit.
func TestBR12LargeNumbers(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		fake.Broker("broker-a").Topic("orders", 1)
		fake.Broker("broker-a").Group("g")
		c := connect(t, testEnv(), fake.NameServers())
		q := queue("orders", "broker-a", 0)
		for _, n := range []int64{2623027957, 9007199254740993, 9223372036854775807} {
			if r := put(t, c, "g", map[offset.Partition]offset.Stored{q: at(n)})[q]; r.Err != nil || r.Value.Next != n {
				t.Error(n, r)
			}
			if stored, _ := fake.Broker("broker-a").Offset("g", "orders", 0); stored != n {
				t.Error(n, stored)
			}
		}
	})
}

// BR-13: a time after the last message is no offset, never -1 or 0 of an empty queue.
func TestBR13TimeAfterTheLastMessage(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		b := fake.Broker("broker-a")
		b.Topic("orders", 3)
		b.Fill("orders", 0, 0, 18, epoch)
		b.Fill("orders", 1, 0, 9, epoch.Add(6*time.Second)) // its fifth message is the first one at or after epoch + 2 s
		b.Fill("orders", 2, 50, 50, epoch)
		c := connect(t, testEnv(), fake.NameServers())
		for i, want := range []int64{offset.NoRecord, 4, offset.NoRecord} {
			l := log1(t, c, offset.LogQuery{Partition: queue("orders", "broker-a", int32(i)), Times: []time.Time{epoch.Add(2 * time.Second)}})
			if l.Times[0] != want {
				t.Errorf("queue %d: %d", i, l.Times[0])
			}
		}
	})
}

// Positions of partitions that nobody asked for by name: removed queues, deleted topics, broadcast clients.
func TestReadsAllOfAGroup(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		a := fake.Broker("broker-a")
		a.Topic("orders", 2)
		a.SetOffset("g", "orders", 0, 5)
		a.SetOffset("g", "orders", 3, 7) // the queue is gone
		a.SetOffset("g", "gone", 0, 9)
		a.SetOffset("g@broadcast", "orders", 1, 3)
		fake.Broker("broker-b").SetOffset("g", "%RETRY%g", 0, 1)
		c := connect(t, testEnv(), fake.NameServers())
		list := func(group string, topics []string) string {
			ans := c.Offsets().Read(t.Context(), []offset.Query{{Group: group, Topics: topics}})[0]
			var out []string
			for _, e := range ans.Others {
				out = append(out, e.Partition.String()+"="+show(e.Result))
			}
			return fmt.Sprint(out, ans.Err, ans.Gaps)
		}
		for _, x := range []struct {
			group  string
			topics []string
			want   string
		}{
			{"g", nil, "[%RETRY%g@broker-b:0=1 gone@broker-a:0=9 orders@broker-a:0=5 orders@broker-a:3=7] <nil> []"},
			{"g@broadcast", nil, "[orders@broker-a:1=3] <nil> []"},
			{"x", nil, "[] <nil> []"},
			{"g", []string{"orders"}, "[orders@broker-a:0=5] <nil> []"},
		} {
			if got := list(x.group, x.topics); got != x.want {
				t.Errorf("%s %v: %s", x.group, x.topics, got)
			}
		}
		groups, gaps, err := c.Offsets().Groups(t.Context())
		if fmt.Sprint(groups, gaps, err) != "[g g@broadcast] [] <nil>" {
			t.Error(groups, gaps, err)
		}
		// One broker that does not answer is a gap, and its own queues are not known.
		fake.Intercept(func(x *remotingtest.Call) bool {
			if x.Server == "broker-b" {
				x.Conn.Close()
			}
			return x.Server == "broker-b"
		})
		ans := c.Offsets().Read(t.Context(), []offset.Query{{Group: "g", Expect: []offset.Partition{queue("orders", "broker-a", 0), queue("orders", "broker-b", 0)}}})[0]
		if show(ans.Expected[0]) != "5" || !errors.Is(ans.Expected[1].Err, offset.ErrUnreachable) || len(ans.Gaps) != 1 || ans.Err != nil {
			t.Errorf("%+v", ans)
		}
	})
}

// The timestamp of the record before a position comes with it.
func TestLastRead(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		b := fake.Broker("broker-a")
		b.Topic("orders", 2)
		b.Fill("orders", 0, 0, 10, epoch)
		b.Fill("orders", 1, 8, 10, epoch)
		b.SetOffset("g", "orders", 0, 10)
		b.SetOffset("g", "orders", 1, 3)
		c := connect(t, testEnv(), fake.NameServers())
		for _, topics := range [][]string{{"orders"}, nil} {
			a := c.Offsets().Read(t.Context(), []offset.Query{{Group: "g", Topics: topics, Expect: []offset.Partition{queue("orders", "broker-a", 0)}}})[0]
			if !a.Expected[0].Value.LastRead.Equal(epoch) || len(a.Others) != 1 || !a.Others[0].Value.LastRead.IsZero() {
				t.Errorf("%+v", a)
			}
		}
	})
}
