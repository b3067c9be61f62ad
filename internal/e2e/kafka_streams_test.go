package e2e

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// streamsMember is a Streams application as the broker sees it: the only member of a streams group (KIP-1071).
type streamsMember struct {
	c    *cluster
	home *kgo.Broker // the coordinator: the library does not know where these requests go
	at   kmsg.StreamsGroupHeartbeatRequest
}

// joinStreams joins with one subtopology over the topic, and beats until the group has given it tasks.
func (c *cluster) joinStreams(group, topic, member string) *streamsMember {
	c.t.Helper()
	cl := c.dial(kgo.ClientID("e2e-streams"))
	c.t.Cleanup(cl.Close)
	found := c.adm.FindGroupCoordinators(c.ctx, group)
	c.must(found.Error())
	m := &streamsMember{c: c, home: cl.Broker(int(found[group].NodeID)), at: kmsg.NewStreamsGroupHeartbeatRequest()}
	process := "process"
	m.at.Group, m.at.MemberID, m.at.ProcessID, m.at.RebalanceTimeoutMillis = group, member, &process, 60_000
	m.at.Topology = &kmsg.StreamsGroupHeartbeatRequestTopology{Subtopologies: []kmsg.StreamsGroupHeartbeatRequestTopologySubtopology{
		{SubtopologyID: "0", SourceTopics: []string{topic}},
	}}
	m.at.ActiveTasks, m.at.StandbyTasks, m.at.WarmupTasks = []kmsg.TaskIDs{}, []kmsg.TaskIDs{}, []kmsg.TaskIDs{}
	c.until("the streams group gives tasks", func() bool {
		r := m.beat()
		m.at.Topology, m.at.MemberEpoch = nil, r.MemberEpoch // the topology is told once
		if len(r.ActiveTasks) > 0 {
			m.at.ActiveTasks = r.ActiveTasks
		}
		return len(r.ActiveTasks) > 0
	})
	m.beat()
	m.at.ActiveTasks, m.at.StandbyTasks, m.at.WarmupTasks = nil, nil, nil // as before
	return m
}

// beat keeps the member alive.
func (m *streamsMember) beat() *kmsg.StreamsGroupHeartbeatResponse {
	m.c.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		resp, err := m.home.Request(m.c.ctx, &m.at)
		m.c.must(err)
		r := resp.(*kmsg.StreamsGroupHeartbeatResponse)
		if err = kerr.ErrorForCode(r.ErrorCode); err == nil {
			return r
		}
		if !kerr.IsRetriable(err) || time.Now().After(end) {
			m.c.t.Fatalf("%v: %+v", err, r)
		}
	}
}

func (m *streamsMember) leave() {
	m.c.t.Helper()
	m.at.MemberEpoch = -1
	m.beat()
}

// TestStreamsGroup: a streams group is live while it has a member, refused then, and written and undone when it is empty, after
// it was said that its state stores stay.
func TestStreamsGroup(t *testing.T) {
	c := kafkaCluster(t, "kafka44")
	topic, group := c.topic("t", 2, "retention.ms", "-1"), c.name
	c.produce(topic, 0, 30, 0)
	c.produce(topic, 1, 30, 0)
	c.commit(group, topic, 0, 10, -1, "")
	c.commit(group, topic, 1, 30, -1, "")
	m := c.joinStreams(group, topic, c.name+"-member")
	o := c.operator()
	o.exits(0, "inspect", "-g", group).says("^"+group+"  live, 1 member", "Kafka Streams", `\.t +0 +10 `)
	o.exits(0, "inspect", "-g", group, "-o", "wide").says("e2e-streams")
	o.exits(0, "groups").says("^"+group+" +streams +live", "!(?i)dead")
	reset := []string{"reset", "-g", group, "-t", topic, "--to-earliest", "--yes"}
	for _, more := range [][]string{nil, {"--dry-run"}, {"--allow-stateful"}, {"--allow-stateful", "--wait-empty", "1s"}} {
		o.exits(4, append(reset, more...)...).says("is live, streams, Stable, 1 member", "e2e-streams 127.0.0.1 "+topic+":0-1", "nothing can force it", "refused, nothing written", "!written [0-9]")
	}
	m.beat()
	m.leave()
	o.exits(0, "inspect", "-g", group).says("^"+group+"  empty", "!live")
	o.exits(0, "groups").says("^" + group + " +streams +empty")
	o.exits(4, reset...).says("Kafka Streams", "state stores", "--allow-stateful", "!live")
	o.verdict(o.inspect(group), topic+":0", "ok", 10)
	o.exits(0, append(reset, "--allow-stateful")...).says("written 2 of 2")
	o.verdict(o.inspect(group), topic+":1", "ok", 0)
	o.exits(0, "undo", "--yes", "--allow-stateful")
	rows := o.inspect(group)
	o.verdict(rows, topic+":0", "ok", 10)
	o.verdict(rows, topic+":1", "ok", 30)
}
