package kafka

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest"
)

func TestBrokerContract(t *testing.T) {
	f := fake(t, kfake.NumBrokers(3))
	offsettest.RunBroker(t, brokerContract(f.ListenAddrs(), "c."))
}

func TestBrokerContractOnBrokers(t *testing.T) {
	everyKafka(t, func(t *testing.T, hosts []string) {
		offsettest.RunBroker(t, brokerContract(hosts, unique("broker")+"."))
	})
}

// brokerContract describes the cluster at hosts to the suite.
func brokerContract(hosts []string, prefix string) offsettest.Broker {
	return offsettest.Broker{
		Open: func(t testing.TB, env offset.Env) offset.Broker { return opened(t, hosts, env) },
		Create: func(t testing.TB, topic string, n int) []offset.Partition {
			adm, _ := admin(t, hosts)
			create(t, adm, int32(n), topic)
			return partitions(topic, int32(n))
		},
		Append: func(t testing.TB, p offset.Partition, values []string) (at []time.Time) {
			_, cl := admin(t, hosts)
			from := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
			for i, v := range values {
				at = append(at, from.Add(time.Duration(i)*time.Second))
				r := &kgo.Record{Topic: p.Topic, Partition: p.Index, Value: []byte(v), Timestamp: at[i]}
				if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
					t.Fatal(err)
				}
			}
			return at
		},
		Trim: func(t testing.TB, p offset.Partition, n int64) { trim(t, hosts, p, n) },
		Commit: func(t testing.TB, group string, p offset.Partition, n int64) {
			adm, _ := admin(t, hosts)
			commit(t, adm, group, kadm.Offset{Topic: p.Topic, Partition: p.Index, At: n})
		},
		Live: func(t testing.TB, group, topic string) func() {
			cl := live(t, hosts, group, topic)
			return func() {
				if err := cl.LeaveGroupContext(context.Background()); err != nil {
					t.Error(err)
				}
				cl.Close()
			}
		},
		Down: func(t testing.TB, env offset.Env) (offset.Broker, error) {
			return Open(t.Context(), env, parse(t, "kafka://"+closedPort(t)))
		},
		Kind: classic, Prefix: prefix, Cluster: true,
	}
}

func trim(t testing.TB, hosts []string, p offset.Partition, n int64) {
	t.Helper()
	adm, _ := admin(t, hosts)
	var os kadm.Offsets
	os.Add(kadm.Offset{Topic: p.Topic, Partition: p.Index, At: n})
	rs, err := adm.DeleteRecords(t.Context(), os)
	if err == nil {
		err = rs.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
}
