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
		Caps: offset.Caps{Delete: true, Queues: true, Members: true, Settle: 6 * time.Second},
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
