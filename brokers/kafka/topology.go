package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

// Topology asks for the named topics, sorted, or for all of them; every topic that was named is in the answer.
func (c *Cluster) Topology(ctx context.Context, names []string) (offset.Topology, error) {
	var seen <-chan visibility
	if names == nil {
		seen = c.visibility(ctx)
	}
	r, err := request[*kmsg.MetadataResponse](ctx, c, bootNode, metadataRequest(names))
	if err != nil {
		return offset.Topology{}, err
	}
	t := c.learn(r, names)
	out := offset.Topology{Cluster: t.cluster, Product: c.offers.Load().product, Whole: true}
	for _, n := range t.nodes {
		out.Brokers = append(out.Brokers, offset.Server{Name: n.name, Addr: n.addr})
	}
	out.Topics = t.describe(names)
	if seen != nil {
		if v := <-seen; v.topics != nil {
			out.Whole, out.Gaps = false, []error{v.topics}
		}
	}
	return out, nil
}

// describe is the table's answer to a question for these topics; nil: all.
func (t *table) describe(names []string) []offset.Topic {
	logs := 0
	if names == nil {
		for i := range t.topics {
			logs += len(t.topics[i].parts)
		}
		out := make([]offset.Topic, len(t.topics))
		all := make([]offset.LogInfo, 0, logs)
		for i := range t.topics {
			out[i], all = t.infos(&t.topics[i], all)
		}
		return out
	}
	out := make([]offset.Topic, len(names))
	for i, n := range names {
		if x := t.topic(n); x != nil {
			out[i], _ = t.infos(x, make([]offset.LogInfo, 0, len(x.parts)))
		} else {
			out[i] = offset.Topic{Name: n, Err: leftOut("topic " + n)}
		}
	}
	return out
}

// infos appends what is known of the topic's logs to a common slice.
func (t *table) infos(x *topic, all []offset.LogInfo) (offset.Topic, []offset.LogInfo) {
	from := len(all)
	name := "" // of the last leader: neighbours often share it
	last := noLeader
	for i := range x.parts {
		p := &x.parts[i]
		if p.leader == noPartition {
			continue
		}
		info := offset.LogInfo{Partition: offset.Partition{Topic: x.name, Index: int32(i)}, Epoch: offset.EpochOf(p.epoch), Err: p.err}
		if p.leader != noLeader {
			if p.leader != last {
				last, name = p.leader, nodeName(p.leader)
			}
			info.Leader = name
		}
		all = append(all, info)
	}
	return offset.Topic{Name: x.name, ID: x.id.String(), Internal: x.internal, Logs: all[from:len(all):len(all)], Err: x.err}, all
}

// Probe tries every broker at the address that it advertises, all side by side: Server.Err says which cannot be reached.
func (c *Cluster) Probe(ctx context.Context) []offset.Server {
	t := c.table.Load()
	out := make([]offset.Server, len(t.nodes))
	done := make(chan struct{})
	for i, n := range t.nodes {
		out[i] = offset.Server{Name: n.name, Addr: n.addr}
		go func() {
			_, out[i].Err = request[*kmsg.ApiVersionsResponse](ctx, c, n.id, versionsRequest())
			done <- struct{}{}
		}()
	}
	for range out {
		<-done
	}
	return out
}
