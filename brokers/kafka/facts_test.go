package kafka

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
)

// Facts that the in-process broker shows as the real ones do: the same test on both.

func everywhere(t *testing.T, f func(t *testing.T, hosts []string)) {
	t.Run("in process", func(t *testing.T) { f(t, fake(t, kfake.NumBrokers(3)).ListenAddrs()) })
	t.Run("brokers", func(t *testing.T) { everyKafka(t, f) })
}

// BR-09: an open transaction holds the last stable offset back; its end is a marker that no record has.
func TestBR09OpenTransaction(t *testing.T) {
	everywhere(t, func(t *testing.T, hosts []string) {
		topic := unique("open")
		adm, _ := admin(t, hosts)
		create(t, adm, 1, topic)
		_, cl := admin(t, hosts, kgo.TransactionalID(unique("tx")), kgo.DefaultProduceTopic(topic))
		write := func() {
			t.Helper()
			if err := cl.ProduceSync(t.Context(), &kgo.Record{Value: []byte("v")}, &kgo.Record{Value: []byte("w")}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		write()
		c := dialTo(t, hosts, "", nil)
		l := c.Logs(t.Context(), []offset.LogQuery{{Partition: partition(topic, 0)}})[0]
		if l.Err != nil || l.Value.Bounds != (offset.Bounds{Start: 0, Stable: 0, End: 2}) {
			t.Errorf("while it is open: %+v", l)
		}
		if r := c.Peek(t.Context(), []offset.Position{{Partition: partition(topic, 0)}})[0]; r.Err != nil || r.Value != nil {
			t.Errorf("while it is open a reader is given %+v", r)
		}
		at := offset.Position{Partition: partition(topic, 0), Offset: 1}
		also := at
		also.Uncommitted = true
		if r := c.Peek(t.Context(), []offset.Position{at, also}); r[0].Err != nil || r[0].Value != nil || r[1].Err != nil || r[1].Value == nil || r[1].Value.Offset != 1 {
			t.Errorf("a reader of uncommitted records is given it: %+v", r)
		}
		if err := cl.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool {
			l = c.Logs(t.Context(), []offset.LogQuery{{Partition: partition(topic, 0)}})[0]
			return l.Err == nil && l.Value.Bounds == offset.Bounds{Start: 0, Stable: 3, End: 3}
		})
		r := c.Peek(t.Context(), []offset.Position{{Partition: partition(topic, 0)}, {Partition: partition(topic, 0), Offset: 1}, {Partition: partition(topic, 0), Offset: 2}})
		if r[0].Value == nil || r[0].Value.Offset != 0 || r[1].Value == nil || r[1].Value.Offset != 1 || r[2].Err != nil || r[2].Value != nil {
			t.Errorf("two records and a marker: %+v", r)
		}
	})
}

// eventually waits for what a broker does a little later.
func eventually(t testing.TB, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !f(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come about")
		}
	}
}

// A pending transactional commit stands beside the position in force; where nothing is in force the position is absent.
func TestPendingCommit(t *testing.T) {
	everywhere(t, func(t *testing.T, hosts []string) {
		topic, group := unique("pending"), unique("pending")
		adm, cl := admin(t, hosts)
		create(t, adm, 3, topic)
		commit(t, adm, group, kadm.Offset{Topic: topic, Partition: 0, At: 2})
		ps := partitions(topic, 3)
		end := pendingCommit(t, cl, group, topic, []int32{0, 1}, 6)
		c := dialTo(t, hosts, "", nil)
		r := readOne(t, c, group, ps...)
		if s := r[0].Value; r[0].Err != nil || s.State != offset.Set || s.Next != 2 || s.Pending == nil {
			t.Errorf("2 in force, another pending: %+v", r[0])
		}
		if s := r[1].Value; r[1].Err != nil || s.State != offset.Absent || s.Pending == nil {
			t.Errorf("none in force, one pending: %+v", r[1])
		}
		end()
		eventually(t, func() bool {
			r = readOne(t, c, group, ps...)
			return r[0].Value.Next == 6 && r[0].Value.Pending == nil && r[1].Value.Next == 6 && r[2].Value.State == offset.Absent
		})
	})
}

// pendingCommit leaves a commit in an open transaction; what it answers ends that.
func pendingCommit(t *testing.T, cl *kgo.Client, group, topic string, ps []int32, at int64) (end func()) {
	t.Helper()
	id, ctx := unique("tx"), context.Background()
	var coordinator int32
	eventually(t, func() bool {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorType, req.CoordinatorKey, req.CoordinatorKeys = 1, id, []string{id}
		r, err := req.RequestWith(ctx, cl)
		if err != nil || len(r.Coordinators) == 1 && r.Coordinators[0].ErrorCode != 0 || r.ErrorCode != 0 {
			return false
		}
		if coordinator = r.NodeID; len(r.Coordinators) == 1 {
			coordinator = r.Coordinators[0].NodeID
		}
		return true
	})
	b := cl.Broker(int(coordinator))
	var pid *kmsg.InitProducerIDResponse
	eventually(t, func() bool {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID, req.TransactionTimeoutMillis = &id, 60_000
		var err error
		pid, err = req.RequestWith(ctx, b)
		return err == nil && pid.ErrorCode == 0
	})
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = id, pid.ProducerID, pid.ProducerEpoch, group
	if r, err := add.RequestWith(ctx, b); err != nil || r.ErrorCode != 0 {
		t.Fatal(r, err)
	}
	tx := kmsg.NewPtrTxnOffsetCommitRequest()
	tx.TransactionalID, tx.ProducerID, tx.ProducerEpoch, tx.Group, tx.Generation = id, pid.ProducerID, pid.ProducerEpoch, group, -1
	rt := kmsg.TxnOffsetCommitRequestTopic{Topic: topic}
	for _, p := range ps {
		rt.Partitions = append(rt.Partitions, kmsg.TxnOffsetCommitRequestTopicPartition{Partition: p, Offset: at, LeaderEpoch: -1})
	}
	tx.Topics = append(tx.Topics, rt)
	r, err := cl.Broker(coordinatorOfGroup(t, cl, group)).Request(ctx, capped{tx, 4})
	if err != nil {
		t.Fatal(err)
	}
	if x, ok := r.(*kmsg.TxnOffsetCommitResponse); !ok || x.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("%+v", r)
	}
	return func() {
		done := kmsg.NewPtrEndTxnRequest()
		done.TransactionalID, done.ProducerID, done.ProducerEpoch, done.Commit = id, pid.ProducerID, pid.ProducerEpoch, true
		if r, err := b.Request(ctx, capped{done, 4}); err != nil || r.(*kmsg.EndTxnResponse).ErrorCode != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

func coordinatorOfGroup(t *testing.T, cl *kgo.Client, group string) int {
	t.Helper()
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey, req.CoordinatorKeys = group, []string{group}
	r, err := req.RequestWith(t.Context(), cl)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Coordinators) == 1 {
		return int(r.Coordinators[0].NodeID)
	}
	return int(r.NodeID)
}

// Groups of every kind: told apart, live while somebody is in, empty afterwards; written only while empty.
func TestKindsOfGroups(t *testing.T) {
	consume := func(hosts []string, group, topic string, opts ...kgo.Opt) func(t *testing.T) *kgo.Client {
		return func(t *testing.T) *kgo.Client { return live(t, hosts, group, topic, opts...) }
	}
	check := func(t *testing.T, hosts []string, kind string, start func(group, topic string) func(t *testing.T) *kgo.Client) {
		topic, group := unique("kind"), unique(kind)
		adm, cl := admin(t, hosts)
		create(t, adm, 2, topic)
		produce(t, cl, topic, 0, 5, time.Now())
		member := start(group, topic)(t)
		c := dialTo(t, hosts, "", nil)
		if _, err := c.Topology(t.Context(), []string{topic}); err != nil {
			t.Fatal(err)
		}
		g := c.Describe(t.Context(), []string{group})[0]
		if g.Err != nil || g.Value.Kind != kind || g.Value.Phase != offset.Live || len(g.Value.Members) != 1 || g.Value.Members[0].Host == "" {
			t.Fatalf("while it is live: %+v", g)
		}
		eventually(t, func() bool {
			g = c.Describe(t.Context(), []string{group})[0]
			return g.Err == nil && len(g.Value.Members) == 1 && slices.Equal(g.Value.Members[0].Owns, partitions(topic, 2))
		})
		all, _, err := c.Groups(t.Context())
		i := slices.IndexFunc(all, func(g offset.Group) bool { return g.Name == group })
		if err != nil || i < 0 || all[i].Phase != offset.Live || all[i].Kind != kind && all[i].Kind != "" {
			t.Errorf("listed as %+v, %v", all, err)
		}
		from := readOne(t, c, group, partition(topic, 0))[0].Value
		ch := []offset.Change{{Partition: partition(topic, 0), From: from, To: offset.Stored{State: offset.Set, Next: 3}}}
		says(t, c.Offsets().Write(t.Context(), group, ch)[0].Err, offset.ErrLive, "members")
		says(t, groupStore{c}.delete(t.Context(), group), offset.ErrLive, group)
		if kind != share {
			if err := member.LeaveGroupContext(t.Context()); err != nil {
				t.Error(err)
			}
		}
		member.Close()
		eventually(t, func() bool {
			g = c.Describe(t.Context(), []string{group})[0]
			return g.Err == nil && g.Value.Phase != offset.Live
		})
		if g.Value.Phase != offset.Empty || g.Value.Kind != kind {
			t.Errorf("when nobody is in it any more: %+v", g)
		}
		for _, b := range []*Cluster{c, dialTo(t, hosts, "", nil)} { // one that knows the kind, one that does not
			ch[0].From = readOne(t, b, group, partition(topic, 0))[0].Value
			w := b.Offsets().Write(t.Context(), group, ch)[0]
			if w.Err != nil || w.Value.Next != 3 || w.Value.State != offset.Set {
				t.Errorf("a reset of the empty group: %+v", w)
			}
			a := b.Offsets().Read(t.Context(), []offset.Query{{Group: group}})[0]
			if a.Err != nil || !slices.ContainsFunc(a.Others, func(e offset.Entry) bool { return e.Partition == partition(topic, 0) && e.Value.Next == 3 }) {
				t.Errorf("all positions: %+v", a)
			}
			ch[0].To.Next = 3
		}
		if err := (groupStore{c}).delete(t.Context(), group); err != nil {
			t.Error(err)
		}
	}
	t.Run("classic", func(t *testing.T) {
		everywhere(t, func(t *testing.T, hosts []string) {
			check(t, hosts, classic, func(g, topic string) func(*testing.T) *kgo.Client { return consume(hosts, g, topic) })
		})
	})
	newest := func(t *testing.T, f func(t *testing.T, hosts []string)) {
		t.Run("in process", func(t *testing.T) { f(t, fake(t, kfake.NumBrokers(3)).ListenAddrs()) })
		t.Run("kafka44", func(t *testing.T) { f(t, []string{testservers.Need(t, "kafka44").Addr["plain"]}) })
	}
	t.Run("consumer", func(t *testing.T) {
		newest(t, func(t *testing.T, hosts []string) {
			check(t, hosts, consumer, func(g, topic string) func(*testing.T) *kgo.Client {
				return consume(hosts, g, topic, kgo.ServerSideBalancer())
			})
		})
	})
	t.Run("share", func(t *testing.T) {
		newest(t, func(t *testing.T, hosts []string) {
			check(t, hosts, share, func(g, topic string) func(*testing.T) *kgo.Client {
				return func(t *testing.T) *kgo.Client { return sharing(t, hosts, g, topic) }
			})
		})
	})
}

// sharing puts a consumer into a share group that begins at the earliest record, and waits until it was given some.
func sharing(t *testing.T, hosts []string, group, topic string) *kgo.Client {
	t.Helper()
	_, setup := admin(t, hosts)
	value := "earliest"
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeGroupConfig, ResourceName: group,
		Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "share.auto.offset.reset", Value: &value}},
	}}
	if r, err := req.RequestWith(t.Context(), setup); err != nil || r.Resources[0].ErrorCode != 0 {
		t.Fatal(r, err)
	}
	_, cl := admin(t, hosts, kgo.ShareGroup(group), kgo.ConsumeTopics(topic))
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	t.Cleanup(cancel)
	if fs := cl.PollFetches(ctx); fs.NumRecords() == 0 {
		t.Fatalf("the share group is given nothing: %v", fs.Errors())
	}
	return cl
}

// When a position was committed stands in the offsets topic alone.
func TestCommitTimes(t *testing.T) {
	everyKafka(t, func(t *testing.T, hosts []string) {
		topic, group := unique("when"), unique("when ü")
		adm, _ := admin(t, hosts)
		create(t, adm, 3, topic)
		before := time.Now().Add(-5 * time.Second)
		commit(t, adm, group, kadm.Offset{Topic: topic, Partition: 0, At: 1}, kadm.Offset{Topic: topic, Partition: 2, At: 1})
		poke(t, hosts, group, partition(topic, 2), nil)
		c := dialTo(t, hosts, "", nil)
		r := groupStore{c}.CommitTimes(t.Context(), group, partitions(topic, 3))
		if r[0].Err != nil || r[0].Value.Before(before) || r[0].Value.After(time.Now().Add(5*time.Second)) {
			t.Errorf("committed just now: %+v", r[0])
		}
		for _, x := range r[1:] {
			if x.Err != nil || !x.Value.IsZero() {
				t.Errorf("never committed, or deleted: %+v", x)
			}
		}
	})
}

// A commit goes no further than the topic it was meant for: one that was made again meanwhile is refused where brokers know ids.
func TestTopicMadeAgain(t *testing.T) {
	hosts := strings.Split(testservers.Need(t, "kafka44").Addr["plain"], ",")
	topic, group := unique("again"), unique("again")
	adm, _ := admin(t, hosts)
	create(t, adm, 1, topic)
	c := dialTo(t, hosts, "", nil)
	if _, err := c.Topology(t.Context(), []string{topic}); err != nil {
		t.Fatal(err)
	}
	from := readOne(t, c, group, partition(topic, 0))[0].Value
	if _, err := adm.DeleteTopics(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	create(t, adm, 1, topic)
	ch := []offset.Change{{Partition: partition(topic, 0), From: from, To: offset.Stored{State: offset.Set, Next: 3}}}
	says(t, c.Offsets().Write(t.Context(), group, ch)[0].Err, offset.ErrUnknownName, "made again")
	if _, err := c.Topology(t.Context(), []string{topic}); err != nil {
		t.Fatal(err)
	}
	if w := c.Offsets().Write(t.Context(), group, ch)[0]; w.Err != nil || w.Value.Next != 3 {
		t.Errorf("%+v", w)
	}
}
