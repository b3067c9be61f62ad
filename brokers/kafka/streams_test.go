package kafka

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
)

// streamsMember is a Streams application as the broker sees it: one member of a streams group (KIP-1071) with its topology.
type streamsMember struct {
	t    *testing.T
	home *kgo.Broker // the coordinator: the library does not know where these requests go
	at   kmsg.StreamsGroupHeartbeatRequest
}

// joinStreams joins with one subtopology over the topic, and beats until the group has given it tasks.
func joinStreams(t *testing.T, adm *kadm.Client, cl *kgo.Client, group, topic string) *streamsMember {
	t.Helper()
	found := adm.FindGroupCoordinators(t.Context(), group)
	if err := found.Error(); err != nil {
		t.Fatal(err)
	}
	m := &streamsMember{t: t, home: cl.Broker(int(found[group].NodeID)), at: kmsg.NewStreamsGroupHeartbeatRequest()}
	process := "process-1"
	m.at.Group, m.at.MemberID, m.at.ProcessID, m.at.RebalanceTimeoutMillis = group, unique("member"), &process, 60_000
	m.at.Topology = &kmsg.StreamsGroupHeartbeatRequestTopology{Subtopologies: []kmsg.StreamsGroupHeartbeatRequestTopologySubtopology{
		{SubtopologyID: "0", SourceTopics: []string{topic}},
	}}
	m.at.ActiveTasks, m.at.StandbyTasks, m.at.WarmupTasks = []kmsg.TaskIDs{}, []kmsg.TaskIDs{}, []kmsg.TaskIDs{}
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		r := m.beat()
		m.at.Topology = nil // told once
		if m.at.MemberEpoch = r.MemberEpoch; len(r.ActiveTasks) > 0 {
			m.at.ActiveTasks = r.ActiveTasks
			m.beat()
			m.at.ActiveTasks, m.at.StandbyTasks, m.at.WarmupTasks = nil, nil, nil // as before
			return m
		}
		if time.Now().After(end) {
			t.Fatalf("the streams group gives no tasks: %+v", r)
		}
	}
}

// beat keeps the member alive.
func (m *streamsMember) beat() *kmsg.StreamsGroupHeartbeatResponse {
	m.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		resp, err := m.home.Request(m.t.Context(), &m.at)
		if err != nil {
			m.t.Fatal(err)
		}
		r := resp.(*kmsg.StreamsGroupHeartbeatResponse)
		err = kerr.ErrorForCode(r.ErrorCode)
		if err == nil {
			return r
		}
		if !kerr.IsRetriable(err) || time.Now().After(end) {
			m.t.Fatalf("%v: %s", err, deref(r.ErrorMessage))
		}
	}
}

func (m *streamsMember) leave() {
	m.t.Helper()
	m.at.MemberEpoch = -1
	m.beat()
}

// A streams group is of its own kind to every other request, which calls it dead; it is live while it has a member, takes no
// commit from outside then, and does when it is empty.
func TestStreamsGroupOnBroker(t *testing.T) {
	hosts := strings.Split(testservers.Need(t, "kafka44").Addr["plain"], ",")
	adm, cl := admin(t, hosts)
	topic, group := unique("streams"), unique("streams")
	create(t, adm, 2, topic)
	produce(t, cl, topic, 0, 10, time.Now())
	commit(t, adm, group, kadm.Offset{Topic: topic, Partition: 0, At: 8})
	m := joinStreams(t, adm, cl, group, topic)
	c := dialTo(t, hosts, "", nil)
	ps := partitions(topic, 2)

	g := c.Describe(t.Context(), []string{group})[0]
	if v := g.Value; g.Err != nil || v.Kind != streams || v.Phase != offset.Live || v.State != "Stable" || len(v.Members) != 1 {
		t.Fatalf("%+v", g)
	}
	if got := g.Value.Members[0]; got.ID != m.at.MemberID || !slices.Equal(got.Owns, ps) || len(got.Subscribes) != 1 || got.Subscribes[0].Topic != topic {
		t.Errorf("%+v", got)
	}
	if l := listedAs(t, c, group); l.Kind != streams || l.Phase != offset.Live {
		t.Errorf("listed as %+v", l)
	}
	to := func(n int64) offset.Result[offset.Stored] {
		from := readOne(t, c, group, ps...)
		return c.Offsets().Write(t.Context(), group, []offset.Change{{Partition: ps[0], From: from[0].Value, To: offset.Stored{State: offset.Set, Next: n}}})[0]
	}
	if r := readOne(t, c, group, ps...); r[0].Value.Next != 8 || r[1].Value.State != offset.Absent {
		t.Errorf("%+v", r)
	}
	says(t, to(3).Err, offset.ErrLive, topic+":0")
	m.beat()

	m.leave()
	g = c.Describe(t.Context(), []string{group})[0]
	if v := g.Value; g.Err != nil || v.Kind != streams || v.Phase != offset.Empty || len(v.Members) != 0 {
		t.Errorf("%+v", g)
	}
	if l := listedAs(t, dialTo(t, hosts, "", nil), group); l.Kind != streams || l.Phase != offset.Empty {
		t.Errorf("listed as %+v", l)
	}
	if w := to(3); w.Err != nil || w.Value.Next != 3 {
		t.Errorf("%+v", w)
	}
}

func listedAs(t *testing.T, c *Cluster, group string) offset.Group {
	t.Helper()
	all, _, err := c.Groups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(g offset.Group) bool { return g.Name == group })
	if i < 0 {
		t.Fatalf("group %s is not listed", group)
	}
	return all[i]
}
