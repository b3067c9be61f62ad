package kafka

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

// described are the groups in an answer of any kind.
func described(r kmsg.Response, t *table) (out []answer) {
	switch r := r.(type) {
	case *kmsg.DescribeGroupsResponse:
		for i := range r.Groups {
			g := &r.Groups[i]
			out = append(out, answer{g.Group, g.ErrorCode, g.ErrorMessage, g.State, func() offset.Group { return classicGroup(g) }})
		}
	case *kmsg.ConsumerGroupDescribeResponse:
		for i := range r.Groups {
			g := &r.Groups[i]
			out = append(out, answer{g.Group, g.ErrorCode, g.ErrorMessage, g.State, func() offset.Group { return consumerGroup(g, t) }})
		}
	case *kmsg.ShareGroupDescribeResponse:
		for i := range r.Groups {
			g := &r.Groups[i]
			out = append(out, answer{g.GroupID, g.ErrorCode, g.ErrorMessage, g.GroupState, func() offset.Group { return shareGroup(g) }})
		}
	case *kmsg.StreamsGroupDescribeResponse:
		for i := range r.Groups {
			g := &r.Groups[i]
			out = append(out, answer{g.Group, g.ErrorCode, g.ErrorMessage, g.State, func() offset.Group { return streamsGroup(g) }})
		}
	}
	return out
}

func classicGroup(g *kmsg.DescribeGroupsResponseGroup) offset.Group {
	out := offset.Group{Protocol: g.ProtocolType}
	for i := range g.Members {
		m := &g.Members[i]
		v := offset.Member{ID: m.MemberID, Client: m.ClientID, Host: host(m.ClientHost), Instance: deref(m.InstanceID)}
		// Only consumers write these two in a form that is known; what cannot be read is left out.
		if g.ProtocolType == "consumer" {
			var meta kmsg.ConsumerMemberMetadata
			if meta.ReadFrom(m.ProtocolMetadata) == nil {
				v.Subscribes = subscriptions(meta.Topics)
			}
			var owns kmsg.ConsumerMemberAssignment
			if owns.ReadFrom(m.MemberAssignment) == nil {
				for _, t := range owns.Topics {
					v.Owns = appendPartitions(v.Owns, t.Topic, t.Partitions)
				}
			}
		}
		out.Members = append(out.Members, sortOwns(v))
	}
	return out
}

func consumerGroup(g *kmsg.ConsumerGroupDescribeResponseGroup, known *table) offset.Group {
	out := offset.Group{Protocol: "consumer"}
	for i := range g.Members {
		m := &g.Members[i]
		v := offset.Member{ID: m.MemberID, Client: m.ClientID, Host: host(m.ClientHost), Instance: deref(m.InstanceID), Subscribes: subscriptions(m.SubscribedTopics)}
		if re := deref(m.SubscribedTopicRegex); re != "" {
			v.Subscribes = append(v.Subscribes, offset.Subscription{Filter: re})
		}
		for _, t := range m.Assignment.TopicPartitions {
			name := t.Topic
			if name == "" { // some servers give the id alone
				name = known.nameOf(t.TopicID)
			}
			v.Owns = appendPartitions(v.Owns, name, t.Partitions)
		}
		out.Members = append(out.Members, sortOwns(v))
	}
	return out
}

func shareGroup(g *kmsg.ShareGroupDescribeResponseGroup) offset.Group {
	out := offset.Group{Protocol: share}
	for i := range g.Members {
		m := &g.Members[i]
		v := offset.Member{ID: m.MemberID, Client: m.ClientID, Host: host(m.ClientHost), Subscribes: subscriptions(m.SubscribedTopicNames)}
		for _, t := range m.Assignment.TopicPartitions {
			v.Owns = appendPartitions(v.Owns, t.Topic, t.Partitions)
		}
		out.Members = append(out.Members, sortOwns(v))
	}
	return out
}

// streamsGroup: a task owns the same partition of each source topic of its part of the topology.
func streamsGroup(g *kmsg.StreamsGroupDescribeResponseGroup) offset.Group {
	out := offset.Group{Protocol: streams}
	sources := func(id string) []string {
		if g.Topology != nil {
			for i := range g.Topology.Subtopologies {
				if s := &g.Topology.Subtopologies[i]; s.SubtopologyID == id {
					return s.SourceTopics
				}
			}
		}
		return nil
	}
	var all []string
	if g.Topology != nil {
		for i := range g.Topology.Subtopologies {
			all = append(all, g.Topology.Subtopologies[i].SourceTopics...)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	for i := range g.Members {
		m := &g.Members[i]
		v := offset.Member{ID: m.MemberID, Client: m.ClientID, Host: host(m.ClientHost), Instance: deref(m.InstanceID), Subscribes: subscriptions(all)}
		for _, t := range m.Assignment.ActiveTasks {
			for _, topic := range sources(t.SubtopologyID) {
				v.Owns = appendPartitions(v.Owns, topic, t.Partitions)
			}
		}
		out.Members = append(out.Members, sortOwns(v))
	}
	return out
}

func subscriptions(topics []string) []offset.Subscription {
	out := make([]offset.Subscription, len(topics))
	for i, t := range topics {
		out[i].Topic = t
	}
	slices.SortFunc(out, func(a, b offset.Subscription) int { return strings.Compare(a.Topic, b.Topic) })
	return out
}

func appendPartitions(out []offset.Partition, topic string, ps []int32) []offset.Partition {
	for _, p := range ps {
		out = append(out, offset.Partition{Topic: topic, Index: p})
	}
	return out
}

func sortOwns(m offset.Member) offset.Member {
	slices.SortFunc(m.Owns, offset.Partition.Compare)
	return m
}

// host is an address as people write it: Java puts a slash before it.
func host(s string) string {
	if len(s) > 0 && s[0] == '/' {
		return s[1:]
	}
	return s
}
