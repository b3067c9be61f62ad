package kafka

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/offset"
)

// calls counts requests by their name.
type calls struct {
	mu    sync.Mutex
	names []string
}

func (c *calls) trace(_, call string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names = append(c.names, call)
}

func testEnv(c *calls) offset.Env {
	e := offset.Env{Log: slog.New(slog.DiscardHandler), Now: time.Now}
	if c != nil {
		e.Trace = c.trace
	}
	return e
}

func fake(t testing.TB, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	f, err := kfake.NewCluster(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func parse(t testing.TB, s string) address.Address {
	t.Helper()
	a, err := address.Parse(s, []address.Form{Form})
	if err == nil {
		a, err = a.Reveal(address.Secrets{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func addressOf(hosts []string, options string) string {
	s := "kafka://" + strings.Join(hosts, ",")
	if options != "" {
		s += "?" + options
	}
	return s
}

// dialTo connects to hosts, or fails the test.
func dialTo(t testing.TB, hosts []string, options string, c *calls, extra ...kgo.Opt) *Cluster {
	t.Helper()
	b, err := open(t.Context(), testEnv(c), parse(t, addressOf(hosts, options)), extra...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// admin is a client of the library for setting things up.
func admin(t testing.TB, hosts []string, opts ...kgo.Opt) (*kadm.Client, *kgo.Client) {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(hosts...), kgo.MetadataMinAge(20 * time.Millisecond), kgo.RecordPartitioner(kgo.ManualPartitioner()),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return kadm.NewClient(cl), cl
}

func create(t testing.TB, adm *kadm.Client, parts int32, names ...string) {
	t.Helper()
	rs, err := adm.CreateTopics(t.Context(), parts, 1, nil, names...)
	if err == nil {
		err = rs.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		ds, err := adm.ListTopics(t.Context(), names...)
		if err != nil {
			t.Fatal(err)
		}
		ready := ds.Error() == nil && len(ds) == len(names)
		ds.EachPartition(func(p kadm.PartitionDetail) { ready = ready && p.Leader >= 0 })
		if ready {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("topics %v get no leaders", names)
		}
	}
}

// produce writes n records, a second apart from the given time on.
func produce(t testing.TB, cl *kgo.Client, topic string, part int32, n int, from time.Time) {
	t.Helper()
	rs := make([]*kgo.Record, n)
	for i := range rs {
		rs[i] = &kgo.Record{Topic: topic, Partition: part, Key: []byte("k"), Value: []byte("v"), Timestamp: from.Add(time.Duration(i) * time.Second)}
	}
	if err := cl.ProduceSync(context.Background(), rs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func commit(t testing.TB, adm *kadm.Client, group string, os ...kadm.Offset) {
	t.Helper()
	all := kadm.Offsets{}
	for _, o := range os {
		if o.LeaderEpoch == 0 {
			o.LeaderEpoch = -1
		}
		all.Add(o)
	}
	rs, err := adm.CommitOffsets(t.Context(), group, all)
	if err == nil {
		err = rs.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func partition(topic string, n int32) offset.Partition {
	return offset.Partition{Topic: topic, Index: n}
}

func partitions(topic string, n int32) (out []offset.Partition) {
	for i := range n {
		out = append(out, partition(topic, i))
	}
	return out
}

func readOne(t testing.TB, c *Cluster, group string, ps ...offset.Partition) []offset.Result[offset.Stored] {
	t.Helper()
	a := c.Offsets().Read(t.Context(), []offset.Query{{Group: group, Expect: ps}})
	if len(a) != 1 || len(a[0].Expected) != len(ps) {
		t.Fatalf("%d answers to one question: %+v", len(a), a)
	}
	if a[0].Err != nil {
		t.Fatal(a[0].Err)
	}
	return a[0].Expected
}
