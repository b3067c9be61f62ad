package kafka

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
)

// on makes a topic whose partitions have one replica each, on these nodes.
func on(t *testing.T, cl *kgo.Client, topic string, nodes ...int32) {
	t.Helper()
	eventually(t, func() bool {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.TimeoutMillis = 10_000
		rt := kmsg.NewCreateTopicsRequestTopic()
		rt.Topic, rt.NumPartitions, rt.ReplicationFactor = topic, -1, -1
		for i, n := range nodes {
			rt.ReplicaAssignment = append(rt.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: int32(i), Replicas: []int32{n}})
		}
		req.Topics = append(req.Topics, rt)
		r, err := req.RequestWith(t.Context(), cl)
		if err == nil && r.Topics[0].ErrorCode != 0 {
			t.Logf("%s: %d %s", topic, r.Topics[0].ErrorCode, deref(r.Topics[0].ErrorMessage))
		}
		return err == nil && r.Topics[0].ErrorCode == 0
	})
}

// A broker dies, topics are deleted and made again meanwhile, the broker comes back: what has no leader is said alone and at once,
// and the commits that the dead coordinator kept are told from those of today's topics.
func TestBrokerDiesAndComesBack(t *testing.T) {
	s := testservers.NeedOwn(t, "kafka44x3")
	hosts := strings.Split(s.Addr["plain"], ",")
	adm, cl := admin(t, hosts)
	on(t, cl, offsetsTopic, 1, 2, 3)
	on(t, cl, "again", 1)
	on(t, cl, "stay", 1)
	on(t, cl, "lone", 1, 2)
	mine, others := groupAt(t, cl, 2), groupAt(t, cl, 1)
	for _, g := range []string{mine, others} {
		eventually(t, func() bool {
			all := kadm.Offsets{}
			for _, o := range []kadm.Offset{{Topic: "again", At: 80}, {Topic: "stay"}, {Topic: "lone", Partition: 1, At: 5}} {
				o.LeaderEpoch = -1
				all.Add(o)
			}
			rs, err := adm.CommitOffsets(t.Context(), g, all)
			return err == nil && rs.Error() == nil
		})
	}
	c := dialTo(t, hosts, "", nil)
	s.Kill("2")
	eventually(t, func() bool {
		top, err := c.Topology(t.Context(), []string{"lone"})
		return err == nil && len(top.Topics[0].Logs) == 2 && top.Topics[0].Logs[1].Leader == ""
	})
	began := time.Now()
	l := c.Logs(t.Context(), []offset.LogQuery{{Partition: partition("lone", 0)}, {Partition: partition("lone", 1)}})
	if l[0].Err != nil {
		t.Error(l[0].Err)
	}
	says(t, l[1].Err, offset.ErrNoLeader, "lone:1", "broker 2")
	t.Logf("said after %v", time.Since(began))
	a := c.Offsets().Read(t.Context(), []offset.Query{{Group: mine}, {Group: others, Expect: []offset.Partition{partition("lone", 1)}}})
	says(t, a[0].Err, offset.ErrUnreachable, mine)
	if a[1].Err != nil || a[1].Expected[0].Value.Next != 5 {
		t.Errorf("a group of another coordinator: %+v", a[1])
	}
	w := c.Offsets().Write(t.Context(), others, []offset.Change{{Partition: partition("lone", 1), From: a[1].Expected[0].Value, To: offset.Stored{State: offset.Set, Next: 6}}})
	if w[0].Err != nil || w[0].Value.Next != 6 {
		t.Errorf("a commit needs no leader of its partition: %+v", w)
	}

	if _, err := adm.DeleteTopics(t.Context(), "again", "stay"); err != nil {
		t.Fatal(err)
	}
	on(t, cl, "again", 1)
	s.Start("2")
	ps := []offset.Partition{partition("again", 0)}
	eventually(t, func() bool {
		if _, err := c.Topology(t.Context(), nil); err != nil {
			return false
		}
		a = c.Offsets().Read(context.Background(), []offset.Query{{Group: mine, Expect: ps}})
		return a[0].Err == nil && a[0].Expected[0].Err == nil
	})
	made := a[0].Expected[0].Value
	if made.Next != 80 || made.Evidence == nil || !made.Evidence.Proof {
		t.Fatalf("the topic was made again, and its old commit is there: %+v", made)
	}
	orphan := slices.IndexFunc(a[0].Others, func(e offset.Entry) bool { return e.Partition == partition("stay", 0) })
	if orphan < 0 {
		t.Fatalf("the commit of the topic that is no more is not listed: %+v", a[0].Others)
	}
	gone := c.Offsets().Write(t.Context(), mine, []offset.Change{{Partition: partition("stay", 0), From: a[0].Others[orphan].Value, To: offset.Stored{State: offset.Absent}}})
	says(t, gone[0].Err, offset.ErrUnknownName, "stay:0", "whole group")
	w = c.Offsets().Write(t.Context(), mine, []offset.Change{{Partition: ps[0], From: made, To: offset.Stored{State: offset.Set, Next: 0}}})
	if w[0].Err != nil || w[0].Value.Next != 0 || w[0].Value.Evidence != nil {
		t.Errorf("a reset makes it a position of today's topic: %+v", w)
	}
}

// groupAt is the name of a group that the node keeps.
func groupAt(t *testing.T, cl *kgo.Client, node int32) (name string) {
	t.Helper()
	eventually(t, func() bool {
		name = unique("group")
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKey, req.CoordinatorKeys = name, []string{name}
		r, err := req.RequestWith(t.Context(), cl)
		return err == nil && len(r.Coordinators) == 1 && r.Coordinators[0].ErrorCode == 0 && r.Coordinators[0].NodeID == node
	})
	return name
}
