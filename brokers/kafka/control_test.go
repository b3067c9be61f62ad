package kafka

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

// answerAs replaces the answers to one kind of request; f answers nil for what goes on as usual.
func answerAs[Q kmsg.Request, A kmsg.Response](f *kfake.Cluster, key kmsg.Key, answer func(req Q) (A, bool)) {
	f.ControlKey(int16(key), func(req kmsg.Request) (kmsg.Response, error, bool) {
		f.KeepControl()
		q, ok := req.(Q)
		if !ok {
			return nil, nil, false
		}
		r, ok := answer(q)
		return r, nil, ok
	})
}

func seeded(t *testing.T, opts ...kfake.Opt) (*kfake.Cluster, *Cluster) {
	t.Helper()
	f := fake(t, append([]kfake.Opt{kfake.NumBrokers(3)}, opts...)...)
	adm, cl := admin(t, f.ListenAddrs())
	create(t, adm, 3, "orders")
	produce(t, cl, "orders", 0, 10, time.Now())
	commit(t, adm, "billing", kadm.Offset{Topic: "orders", Partition: 0, At: 8}, kadm.Offset{Topic: "orders", Partition: 1, At: 0})
	c := dialTo(t, f.ListenAddrs(), "", nil)
	if _, err := c.Topology(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return f, c
}

// BR-03: what is there by the topic's name and not by its id is proof of another topic, if it is so twice.
func TestBR03ContradictionOfNameAndID(t *testing.T) {
	for name, times := range map[string]int32{"it stays so": 99, "it was just deleted": 1} {
		t.Run(name, func(t *testing.T) {
			f, c := seeded(t)
			var n atomic.Int32
			answerAs(f, kmsg.OffsetFetch, func(q *kmsg.OffsetFetchRequest) (*kmsg.OffsetFetchResponse, bool) {
				if q.Version < fetchByID || n.Add(1) > times {
					return nil, false
				}
				r := q.ResponseKind().(*kmsg.OffsetFetchResponse)
				g := kmsg.OffsetFetchResponseGroup{Group: q.Groups[0].Group}
				for _, x := range q.Groups[0].Topics {
					rt := kmsg.OffsetFetchResponseGroupTopic{TopicID: x.TopicID}
					for _, p := range x.Partitions {
						rp := kmsg.OffsetFetchResponseGroupTopicPartition{Partition: p, Offset: -1, LeaderEpoch: -1}
						rt.Partitions = append(rt.Partitions, rp)
					}
					g.Topics = append(g.Topics, rt)
				}
				r.Groups = append(r.Groups, g)
				return r, true
			})
			r := readOne(t, c, "billing", partitions("orders", 3)...)
			e := r[0].Value.Evidence
			if want := times > 1; (e != nil) != want || want && !e.Proof {
				t.Errorf("%+v, evidence %+v", r[0], e)
			}
			if r[0].Value.Next != 8 || r[2].Value.State != offset.Absent || r[2].Value.Evidence != nil {
				t.Errorf("%+v", r)
			}
		})
	}
}

// Coordinators and leaders move while the client believes in the old ones.
func TestMovedBrokers(t *testing.T) {
	f, c := seeded(t)
	ps := partitions("orders", 3)
	from := readOne(t, c, "billing", ps...)
	for range 3 {
		f.RehashCoordinators()
		from = readOne(t, c, "billing", ps...)
		if from[0].Err != nil || from[0].Value.State != offset.Set {
			t.Fatalf("%+v", from)
		}
		f.RehashCoordinators()
		if g := c.Describe(t.Context(), []string{"billing"})[0]; g.Err != nil || g.Value.Phase != offset.Empty {
			t.Fatalf("%+v", g)
		}
	}
	f.RehashCoordinators()
	w := c.Offsets().Write(t.Context(), "billing", []offset.Change{{Partition: ps[0], From: from[0].Value, To: offset.Stored{State: offset.Set, Next: 5}}})
	if w[0].Err != nil || w[0].Value.Next != 5 {
		t.Fatalf("%+v", w)
	}
	for i := range int32(3) {
		if err := f.MoveTopicPartition("orders", i, (f.LeaderFor("orders", i)+1)%3); err != nil {
			t.Fatal(err)
		}
	}
	for i, l := range c.Logs(t.Context(), []offset.LogQuery{{Partition: ps[0]}, {Partition: ps[1]}, {Partition: ps[2]}}) {
		if want := []int64{10, 0, 0}[i]; l.Err != nil || l.Value.End != want {
			t.Errorf("%v: %+v", ps[i], l)
		}
	}
	for i := range int32(3) {
		if err := f.MoveTopicPartition("orders", i, (f.LeaderFor("orders", i)+1)%3); err != nil {
			t.Fatal(err)
		}
	}
	if r := c.Peek(t.Context(), []offset.Position{{Partition: ps[0], Offset: 4}})[0]; r.Err != nil || r.Value == nil || r.Value.Offset != 4 {
		t.Errorf("%+v", r)
	}
}

// A coordinator that is not there yet is waited for; one that never comes is said, soon.
func TestCoordinatorNotAvailable(t *testing.T) {
	for name, times := range map[string]int32{"a fresh cluster": 2, "for ever": 1 << 30} {
		t.Run(name, func(t *testing.T) {
			f, c := seeded(t)
			var n atomic.Int32
			answerAs(f, kmsg.FindCoordinator, func(q *kmsg.FindCoordinatorRequest) (*kmsg.FindCoordinatorResponse, bool) {
				if n.Add(1) > times {
					return nil, false
				}
				r := q.ResponseKind().(*kmsg.FindCoordinatorResponse)
				for _, k := range q.CoordinatorKeys {
					r.Coordinators = append(r.Coordinators, kmsg.FindCoordinatorResponseCoordinator{Key: k, NodeID: -1, ErrorCode: kerr.CoordinatorNotAvailable.Code})
				}
				return r, true
			})
			a := c.Offsets().Read(t.Context(), []offset.Query{{Group: "billing", Expect: partitions("orders", 1)}})[0]
			if times == 2 {
				if a.Err != nil || a.Expected[0].Value.Next != 8 {
					t.Errorf("%+v", a)
				}
				return
			}
			says(t, a.Err, offset.ErrUnreachable, "billing", "coordinator", "__consumer_offsets")
			says(t, c.Describe(t.Context(), []string{"billing"})[0].Err, offset.ErrUnreachable, "billing")
		})
	}
}

// BR-07: a partition without a leader fails alone and at once, naming who should lead it.
func TestBR07Leaderless(t *testing.T) {
	f, _ := seeded(t, kfake.ClusterID("fake"))
	answerAs(f, kmsg.Metadata, func(q *kmsg.MetadataRequest) (*kmsg.MetadataResponse, bool) {
		r, ok := rewrite(t, f, q, f.ListenAddrs()[2]).(*kmsg.MetadataResponse)
		for i := range r.Topics {
			for k := range r.Topics[i].Partitions {
				p := &r.Topics[i].Partitions[k]
				if p.Leader = f.LeaderFor("orders", p.Partition); p.Partition == 1 {
					p.Leader, p.ErrorCode, p.Replicas, p.OfflineReplicas = -1, kerr.LeaderNotAvailable.Code, []int32{2}, []int32{2}
				}
			}
		}
		return r, ok
	})
	c := dialTo(t, f.ListenAddrs(), "", nil)
	top, err := c.Topology(t.Context(), []string{"orders"})
	if err != nil {
		t.Fatal(err)
	}
	says(t, top.Topics[0].Logs[1].Err, offset.ErrNoLeader, "orders:1", "broker 2")
	l := c.Logs(t.Context(), []offset.LogQuery{{Partition: partition("orders", 0)}, {Partition: partition("orders", 1)}, {Partition: partition("orders", 2)}})
	if l[0].Err != nil || l[0].Value.End != 10 || l[2].Err != nil {
		t.Errorf("%+v", l)
	}
	says(t, l[1].Err, offset.ErrNoLeader, "orders:1", "broker 2")
	r := c.Peek(t.Context(), []offset.Position{{Partition: partition("orders", 0)}, {Partition: partition("orders", 1)}})
	if r[0].Err != nil || r[0].Value == nil {
		t.Errorf("%+v", r)
	}
	says(t, r[1].Err, offset.ErrNoLeader, "orders:1")
	if s := readOne(t, c, "billing", partition("orders", 1))[0]; s.Err != nil || s.Value.State != offset.Set {
		t.Errorf("what is stored needs no leader: %+v", s)
	}
}

// Every partition of a commit has its own outcome.
func TestCommitRefusedInPart(t *testing.T) {
	f, c := seeded(t)
	ps := partitions("orders", 3)
	from := readOne(t, c, "billing", ps...)
	answerAs(f, kmsg.OffsetCommit, func(q *kmsg.OffsetCommitRequest) (*kmsg.OffsetCommitResponse, bool) {
		r := q.ResponseKind().(*kmsg.OffsetCommitResponse)
		for _, x := range q.Topics {
			rt := kmsg.OffsetCommitResponseTopic{Topic: x.Topic, TopicID: x.TopicID}
			for _, p := range x.Partitions {
				code := kerr.UnknownMemberID.Code
				if p.Partition == 1 {
					code = kerr.OffsetMetadataTooLarge.Code
				}
				rt.Partitions = append(rt.Partitions, kmsg.OffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: code})
			}
			r.Topics = append(r.Topics, rt)
		}
		return r, true
	})
	w := c.Offsets().Write(t.Context(), "billing", []offset.Change{
		{Partition: ps[0], From: from[0].Value, To: offset.Stored{State: offset.Set, Next: 3}},
		{Partition: ps[1], From: from[1].Value, To: offset.Stored{State: offset.Set, Next: 3}},
	})
	says(t, w[0].Err, offset.ErrLive, "orders:0")
	says(t, w[1].Err, kerr.OffsetMetadataTooLarge, "orders:1")
}

// Brokers keep 4096 bytes of metadata; one partition's that is longer does not stop the others.
func TestMetadataTooLarge(t *testing.T) {
	everyKafka(t, func(t *testing.T, hosts []string) {
		topic, group := unique("meta"), unique("meta")
		adm, _ := admin(t, hosts)
		create(t, adm, 3, topic)
		c := dialTo(t, hosts, "", nil)
		ps := partitions(topic, 3)
		from := readOne(t, c, group, ps...)
		var ch []offset.Change
		for i, p := range ps {
			ch = append(ch, offset.Change{Partition: p, From: from[i].Value, To: offset.Stored{State: offset.Set, Next: 3, Metadata: strings.Repeat("m", 4095+i)}})
		}
		w := c.Offsets().Write(t.Context(), group, ch)
		if w[0].Err != nil || w[0].Value.Next != 3 || w[1].Err != nil || len(w[1].Value.Metadata) != 4096 {
			t.Errorf("%+v", w[:2])
		}
		says(t, w[2].Err, kerr.OffsetMetadataTooLarge, topic+":2")
	})
}

// What brokers say of groups of another kind, or keep back, is never "missing".
func TestDescribeOddAnswers(t *testing.T) {
	describeAs := func(f *kfake.Cluster, code int16) {
		answerAs(f, kmsg.ConsumerGroupDescribe, func(q *kmsg.ConsumerGroupDescribeRequest) (*kmsg.ConsumerGroupDescribeResponse, bool) {
			r := q.ResponseKind().(*kmsg.ConsumerGroupDescribeResponse)
			for _, g := range q.Groups {
				r.Groups = append(r.Groups, kmsg.ConsumerGroupDescribeResponseGroup{Group: g, ErrorCode: code})
			}
			return r, true
		})
	}
	t.Run("offered, and switched off", func(t *testing.T) {
		f, c := seeded(t)
		describeAs(f, kerr.UnsupportedVersion.Code)
		g := c.Describe(t.Context(), []string{"billing", "nobody"})
		if g[0].Err != nil || g[0].Value.Phase != offset.Empty || g[1].Err != nil || g[1].Value.Phase != offset.Missing {
			t.Errorf("%+v", g)
		}
	})
	t.Run("hidden topics", func(t *testing.T) {
		f, _ := seeded(t)
		describeAs(f, kerr.TopicAuthorizationFailed.Code)
		answerAs(f, kmsg.DescribeGroups, func(q *kmsg.DescribeGroupsRequest) (*kmsg.DescribeGroupsResponse, bool) {
			r := q.ResponseKind().(*kmsg.DescribeGroupsResponse)
			for _, g := range q.Groups {
				r.Groups = append(r.Groups, kmsg.DescribeGroupsResponseGroup{Group: g, State: "Dead", ErrorCode: kerr.GroupIDNotFound.Code})
			}
			return r, true
		})
		c := dialTo(t, f.ListenAddrs(), "", nil)
		g := c.Describe(t.Context(), []string{"billing"})[0]
		if g.Err != nil || g.Value.Phase != offset.Empty || g.Value.Name != "billing" {
			t.Errorf("its state is told by the list: %+v", g)
		}
		says(t, c.Describe(t.Context(), []string{"nobody"})[0].Err, offset.ErrDenied, "nobody")
	})
	t.Run("a kind that is not known", func(t *testing.T) {
		f, _ := seeded(t)
		text := "Group billing is not a classic group."
		answerAs(f, kmsg.DescribeGroups, func(q *kmsg.DescribeGroupsRequest) (*kmsg.DescribeGroupsResponse, bool) {
			r := q.ResponseKind().(*kmsg.DescribeGroupsResponse)
			r.Groups = append(r.Groups, kmsg.DescribeGroupsResponseGroup{Group: q.Groups[0], State: "Dead", ErrorCode: kerr.GroupIDNotFound.Code, ErrorMessage: &text})
			return r, true
		})
		c := dialTo(t, f.ListenAddrs(), "", nil)
		says(t, c.Describe(t.Context(), []string{"billing"})[0].Err, offset.ErrUnsupported, "billing")
	})
	t.Run("before 3.8", func(t *testing.T) {
		f, c := seeded(t)
		answerAs(f, kmsg.DescribeGroups, func(q *kmsg.DescribeGroupsRequest) (*kmsg.DescribeGroupsResponse, bool) {
			r := q.ResponseKind().(*kmsg.DescribeGroupsResponse)
			r.Groups = append(r.Groups, kmsg.DescribeGroupsResponseGroup{Group: q.Groups[0], State: "Dead"})
			return r, true
		})
		if g := c.Describe(t.Context(), []string{"nobody"})[0]; g.Err != nil || g.Value.Phase != offset.Missing {
			t.Errorf("%+v", g)
		}
	})
}
