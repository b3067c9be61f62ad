package rocketmq

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/brokers/remoting/remotingtest"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest"
)

// suite describes the store to the conformance suite; poke, prepare and cut belong to the servers.
func suite() offsettest.Store {
	return offsettest.Store{
		Caps: offset.Caps{Delete: true, LastRead: true, Queues: true, Members: true, Settle: 6 * time.Second},
		Partitions: func(topic string) []offset.Partition {
			return []offset.Partition{queue(topic, "broker-a", 0), queue(topic, "broker-a", 2), queue(topic, "broker-a", 10), queue(topic, "broker-b", 0)}
		},
		Refuses: func(name string, topic bool) bool {
			if topic {
				return !isName(name, maxTopic)
			}
			return !isName(name, maxGroup)
		},
		Down: func(t testing.TB, env offset.Env) (offset.Store, error) {
			return connect(t, env, []string{nowhere(t), nowhere(t)}).Offsets(), nil
		},
	}
}

func TestStoreOnFake(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		s := suite()
		s.Open = func(t testing.TB, env offset.Env) offset.Store { return connect(t, env, fake.NameServers()).Offsets() }
		s.Prepare = func(_ testing.TB, group string, ps []offset.Partition) {
			for _, p := range ps {
				fake.Broker(p.Broker).Topic(p.Topic, int(max(p.Index+1, 11)))
				fake.Broker(p.Broker).Group(group)
			}
		}
		s.Poke = func(t testing.TB, group string, p offset.Partition, raw []byte) {
			n, err := strconv.ParseInt(string(raw), 10, 64)
			if raw == nil {
				n, err = noPosition, nil
			}
			if err != nil {
				t.Fatal(err)
			}
			fake.Broker(p.Broker).SetOffset(group, p.Topic, p.Index, n)
		}
		var armed atomic.Int32
		fake.Intercept(func(c *remotingtest.Call) bool {
			if c.Request.Code != int(remoting.CodeUpdateOffset) {
				return false
			}
			switch armed.Swap(0) {
			case 1:
				c.Hangup = true
			case 2:
				c.Conn.Close()
				return true
			}
			return false
		})
		s.Cut = func(t testing.TB, env offset.Env) (offset.Store, func(bool)) {
			return s.Open(t, env), func(sent bool) {
				armed.Store(2)
				if sent {
					armed.Store(1)
				}
			}
		}
		if t.Name() == "TestStoreOnFake/4.9.7" { // only its whole table shows such a value; later brokers call it none
			s.Bad = map[string][]byte{"negative": []byte("-5")}
		}
		offsettest.RunStore(t, s)
	})
}

// brokerSuite describes the broker to the conformance suite.
func brokerSuite() offsettest.Broker {
	return offsettest.Broker{
		Down: func(t testing.TB, env offset.Env) (offset.Broker, error) {
			return connect(t, env, []string{nowhere(t)}), nil
		},
		Kind:    "push",
		Cluster: true,
	}
}

func TestBrokerOnFake(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		s := brokerSuite()
		a, now := fake.Broker("broker-a"), epoch
		s.Open = func(t testing.TB, env offset.Env) offset.Broker { return connect(t, env, fake.NameServers()) }
		s.Create = func(_ testing.TB, topic string, n int) (ps []offset.Partition) {
			a.Topic(topic, n)
			for i := range n {
				ps = append(ps, queue(topic, "broker-a", int32(i)))
			}
			return ps
		}
		s.Append = func(_ testing.TB, p offset.Partition, values []string) (times []time.Time) {
			for _, v := range values {
				now = now.Add(7 * time.Millisecond)
				a.Append(p.Topic, p.Index, remotingtest.Message{Time: now, Body: v})
				times = append(times, now)
			}
			return times
		}
		s.Trim = func(_ testing.TB, p offset.Partition, n int64) { a.Expire(p.Topic, p.Index, n, true) }
		s.Commit = func(_ testing.TB, group string, p offset.Partition, n int64) { a.SetOffset(group, p.Topic, p.Index, n) }
		s.Live = func(_ testing.TB, group, topic string) func() {
			a.Connect(group, remotingtest.Client{ID: "c1", Addr: "127.0.0.1:1", Filters: map[string]string{topic: "*", "%RETRY%" + group: "*"},
				Owns: []remoting.Queue{{Topic: topic, Broker: "broker-a", ID: 0}, {Topic: topic, Broker: "broker-a", ID: 1}, {Topic: "%RETRY%" + group, Broker: "broker-a"}}})
			return func() { a.Connect(group) }
		}
		offsettest.RunBroker(t, s)
	})
}
