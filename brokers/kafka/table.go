package kafka

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

// table is what the last metadata said: where requests go. It is never changed, only replaced.
type table struct {
	at      time.Time
	cluster string
	nodes   []node  // sorted by id
	topics  []topic // sorted by name
}

type node struct {
	id         int32
	name, addr string
}

type topic struct {
	name     string
	id       topicID
	at       time.Time
	internal bool
	parts    []part // by number
	err      error
}

type topicID [16]byte

func (t topicID) String() string {
	if t == (topicID{}) {
		return ""
	}
	return hex.EncodeToString(t[:])
}

type part struct {
	leader int32 // noLeader, noPartition
	epoch  int32
	err    error // of noLeader
}

const (
	noLeader    int32 = -1
	noPartition int32 = -2
)

// metadataRequest asks for the named topics; nil: all.
func metadataRequest(names []string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = false
	if names == nil {
		return req
	}
	req.Topics = make([]kmsg.MetadataRequestTopic, len(names))
	for i := range names {
		req.Topics[i].Topic = &names[i]
	}
	return req
}

// with is the table after another answer to a question for these topics; nil: all.
func (t *table) with(r *kmsg.MetadataResponse, names []string, now time.Time) *table {
	n := &table{at: now, nodes: make([]node, len(r.Brokers))}
	if r.ClusterID != nil {
		n.cluster = *r.ClusterID
	}
	for i, b := range r.Brokers {
		n.nodes[i] = node{b.NodeID, nodeName(b.NodeID), net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))}
	}
	slices.SortFunc(n.nodes, func(a, b node) int { return cmp.Compare(a.id, b.id) })
	n.topics = make([]topic, 0, len(r.Topics))
	for i := range r.Topics {
		if r.Topics[i].Topic != nil {
			n.topics = append(n.topics, newTopic(&r.Topics[i], now))
		}
	}
	slices.SortFunc(n.topics, func(a, b topic) int { return strings.Compare(a.name, b.name) })
	if t != nil && names != nil && len(t.topics) > 0 {
		n.topics = merge(t.topics, n.topics)
	}
	return n
}

// merge puts newer topics over older ones; both are sorted.
func merge(old, fresh []topic) []topic {
	if len(fresh) == 0 {
		return old
	}
	out := make([]topic, 0, len(old)+len(fresh))
	for len(old) > 0 && len(fresh) > 0 {
		switch c := strings.Compare(old[0].name, fresh[0].name); {
		case c < 0:
			out, old = append(out, old[0]), old[1:]
		case c == 0:
			old = old[1:]
		default:
			out, fresh = append(out, fresh[0]), fresh[1:]
		}
	}
	return append(append(out, old...), fresh...)
}

func newTopic(r *kmsg.MetadataResponseTopic, now time.Time) topic {
	t := topic{name: *r.Topic, id: r.TopicID, at: now, internal: r.IsInternal}
	if t.err = refused("topic "+t.name, "DESCRIBE", r.ErrorCode, nil); t.err != nil && r.ErrorCode != kerr.LeaderNotAvailable.Code {
		return t
	}
	t.err = nil
	most := int32(-1)
	for i := range r.Partitions {
		most = max(most, r.Partitions[i].Partition)
	}
	t.parts = make([]part, most+1)
	if len(r.Partitions) != len(t.parts) {
		for i := range t.parts {
			t.parts[i].leader = noPartition
		}
	}
	for i := range r.Partitions {
		p := &r.Partitions[i]
		if p.Partition < 0 {
			continue
		}
		at := &t.parts[p.Partition]
		at.leader, at.epoch = p.Leader, p.LeaderEpoch
		if p.Leader < 0 || p.ErrorCode == kerr.LeaderNotAvailable.Code {
			at.leader = noLeader
			at.err = leaderless(offset.Partition{Topic: t.name, Index: p.Partition}, p)
		}
	}
	return t
}

// leaderless says of whom nobody leads.
func leaderless(p offset.Partition, r *kmsg.MetadataResponseTopicPartition) error {
	who := "its replicas are on brokers "
	switch len(r.Replicas) {
	case 0:
		return fmt.Errorf("%v %w", p, offset.ErrNoLeader)
	case 1:
		who = "its only replica is on broker "
	}
	text := who + idList(r.Replicas)
	if len(r.OfflineReplicas) > 0 {
		text += "; not there: " + idList(r.OfflineReplicas)
	}
	return fmt.Errorf("%v %w: %s", p, offset.ErrNoLeader, text)
}

func idList(ids []int32) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = nodeName(id)
	}
	return strings.Join(names, ", ")
}

// topic finds a topic; nil: the table does not have it.
func (t *table) topic(name string) *topic {
	if t == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(t.topics, name, func(x topic, n string) int { return strings.Compare(x.name, n) })
	if !ok {
		return nil
	}
	return &t.topics[i]
}

// nameOf is the name of the topic with this id, "" where the table does not have it.
func (t *table) nameOf(id topicID) string {
	for i := range t.topics {
		if t.topics[i].id == id {
			return t.topics[i].name
		}
	}
	return ""
}

// part is what is known of one partition.
func (t *topic) part(index int32) part {
	if index < 0 || int(index) >= len(t.parts) {
		return part{leader: noPartition}
	}
	return t.parts[index]
}

// learn puts an answer into the cluster's table.
func (c *Cluster) learn(r *kmsg.MetadataResponse, names []string) *table {
	for {
		old := c.table.Load()
		t := old.with(r, names, c.env.Now())
		if c.table.CompareAndSwap(old, t) {
			return t
		}
	}
}

// refresh asks for the topics anew, a broker after another until one answers. The client learns the addresses from the same answer.
func (c *Cluster) refresh(ctx context.Context, names []string) (*table, error) {
	var err error
	for range 1 + len(c.table.Load().nodes) {
		var r *kmsg.MetadataResponse
		if r, err = request[*kmsg.MetadataResponse](ctx, c, anyNode, metadataRequest(names)); err == nil {
			return c.learn(r, names), nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, err
}
