package rocketmq

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	rockettest "github.com/offsetctl/offsetctl/internal/testservers/rocketmq"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest"
)

func TestStoreOnReal(t *testing.T) {
	onReal(t, func(t *testing.T, r *realCluster) {
		s := suite()
		s.Prefix = r.Name + "-"
		s.Open = func(t testing.TB, env offset.Env) offset.Store {
			return connect(t, env, []string{r.Addr["namesrv"]}).Offsets()
		}
		s.Refuses = func(name string, topic bool) bool {
			if topic {
				return !isName(s.Prefix+name, maxTopic)
			}
			return !isName(s.Prefix+name, maxGroup)
		}
		made := map[string]bool{}
		s.Prepare = func(t testing.TB, group string, ps []offset.Partition) {
			for _, b := range []string{"broker-a", "broker-b"} {
				if !made[b+group] {
					made[b+group] = true
					if err := r.Admin.CreateGroup(t.Context(), r.On(b), group); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, p := range ps {
				queues := max(int(p.Index)+1, 11)
				if key := p.Broker + " " + p.Topic + strconv.Itoa(queues); !made[key] {
					made[key] = true
					if err := r.Admin.CreateTopic(t.Context(), r.On(p.Broker), p.Topic, queues); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		s.Poke = func(t testing.TB, group string, p offset.Partition, raw []byte) {
			n, err := strconv.ParseInt(string(raw), 10, 64)
			if raw == nil {
				n, err = noPosition, nil
			}
			if err == nil {
				_, err = r.Admin.UpdateOffset(t.Context(), r.On(p.Broker), group, p.Topic, p.Index, n)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if r.Old() {
			s.Bad = map[string][]byte{"negative": []byte("-5")}
		}
		offsettest.RunStore(t, s)
	})
}

func TestBrokerOnReal(t *testing.T) {
	onReal(t, func(t *testing.T, r *realCluster) {
		s := brokerSuite()
		s.Prefix = r.Name + "-"
		s.Open = func(t testing.TB, env offset.Env) offset.Broker { return connect(t, env, []string{r.Addr["namesrv"]}) }
		s.Create = func(t testing.TB, topic string, n int) (ps []offset.Partition) {
			if err := r.Admin.CreateTopic(t.Context(), r.On("broker-a"), topic, n); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				ps = append(ps, queue(topic, "broker-a", int32(i)))
			}
			return ps
		}
		s.Append = func(t testing.TB, p offset.Partition, values []string) (times []time.Time) {
			begin := r.bounds(p, false).End
			for i, v := range values {
				time.Sleep(3 * time.Millisecond)
				r.Produce(p, 1, v, "")
				x := r.c.Peek(t.Context(), []offset.Position{{Partition: p, Offset: begin + int64(i)}})[0]
				if x.Err != nil || x.Value == nil {
					t.Fatal(v, x)
				}
				times = append(times, x.Value.Time)
			}
			return times
		}
		s.Commit = func(t testing.TB, group string, p offset.Partition, n int64) {
			if !r.Old() {
				if err := r.Admin.CreateGroup(t.Context(), r.On(p.Broker), group); err != nil {
					t.Fatal(err)
				}
			}
			r.Store(group, p, n)
		}
		s.Live = func(t testing.TB, group, topic string) func() {
			var seen atomic.Int64
			stop := r.Consume(group, topic, "*", &seen)
			describe := func(want offset.Phase, owns int) {
				rockettest.Eventually(t, time.Minute, func() string {
					g := r.c.Describe(t.Context(), []string{group})[0]
					if g.Err != nil || g.Value.Phase != want || owns > 0 && (len(g.Value.Members) != 1 || len(g.Value.Members[0].Owns) != owns) {
						return fmt.Sprintf("%+v", g)
					}
					return ""
				})
			}
			describe(offset.Live, 2)
			return func() {
				stop()
				describe(offset.Empty, 0)
			}
		}
		offsettest.RunBroker(t, s)
	})
}
