package rocketmq

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/offset"
)

// Topology lists topics with the queues of every broker. nil asks for all topics, one route each.
func (c *Cluster) Topology(ctx context.Context, topics []string) (offset.Topology, error) {
	defer c.routing.begin()()
	t := offset.Topology{}
	all := topics == nil
	if all {
		var err error
		if topics, err = c.topicNames(ctx); err != nil {
			return t, err
		}
	}
	routes := make([]offset.Result[remoting.Route], len(topics))
	each(len(topics), func(i int) { routes[i].Value, routes[i].Err = c.route(ctx, topics[i]) })
	if err := unreachable(routes); err != nil {
		return t, err
	}
	for i, name := range topics {
		if all && isUnknown(routes[i].Err) {
			continue // deleted in between, or a name that only the name servers use
		}
		t.Topics = append(t.Topics, topicOf(name, routes[i]))
	}
	if err := c.brokers(ctx, &t, routes, all); err != nil {
		return t, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t.Cluster = strings.Join(slices.Sorted(maps.Keys(c.clusters)), ",")
	t.Product = c.product(t.Brokers)
	return t, nil
}

// unreachable is the error of all routes when no name server answered for any.
func unreachable(routes []offset.Result[remoting.Route]) error {
	for _, r := range routes {
		if r.Err == nil || isUnknown(r.Err) {
			return nil
		}
	}
	if len(routes) > 0 {
		return routes[0].Err
	}
	return nil
}

// topicNames are all topics but those that name servers make of brokers and clusters.
func (c *Cluster) topicNames(ctx context.Context) ([]string, error) {
	var names []string
	err := c.askNameServers(ctx, func(addr string) (err error) {
		names, err = c.client.TopicList(ctx, addr)
		return err
	})
	if err != nil {
		return nil, err
	}
	if _, _, err := c.allMasters(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	names = slices.DeleteFunc(names, func(n string) bool {
		_, broker := c.masters[n]
		return broker || c.clusters[n]
	})
	slices.Sort(names)
	return slices.Compact(names), nil
}

func topicOf(name string, route offset.Result[remoting.Route]) offset.Topic {
	t := offset.Topic{Name: name, Internal: isInternal(name), Err: route.Err}
	masters := map[string]string{}
	for _, b := range route.Value.Brokers {
		masters[b.Name] = b.Master()
	}
	for _, q := range route.Value.Queues {
		for _, id := range queueIDs(route.Value, q) {
			info := offset.LogInfo{Partition: offset.Partition{Topic: name, Broker: q.Broker, Index: id}}
			if info.Leader = masters[q.Broker]; info.Leader == "" {
				info.Err = noMaster(q.Broker)
			}
			t.Logs = append(t.Logs, info)
		}
	}
	slices.SortFunc(t.Logs, func(a, b offset.LogInfo) int { return a.Partition.Compare(b.Partition) })
	return t
}

// queueIDs are the numbers of a topic's queues on one broker. Those of a static topic are logical.
func queueIDs(r remoting.Route, q remoting.RouteQueues) []int32 {
	if r.Static() {
		return r.Logical[q.Broker]
	}
	ids := make([]int32, max(q.Read, q.Write))
	for i := range ids {
		ids[i] = int32(i)
	}
	return ids
}

// brokers lists the brokers that are there and those that should be: the expected ones, and those that were there before.
func (c *Cluster) brokers(ctx context.Context, t *offset.Topology, routes []offset.Result[remoting.Route], all bool) error {
	met := map[string]bool{}
	for _, r := range routes {
		for _, b := range r.Value.Brokers {
			met[b.Name] = true
		}
	}
	c.mu.Lock()
	should := slices.Concat(c.expected, slices.Collect(maps.Keys(c.seen)))
	c.mu.Unlock()
	if !all && slices.ContainsFunc(should, func(n string) bool { return !met[n] }) {
		// Dead, or none of these topics lies there.
		if _, _, err := c.allMasters(ctx); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.Sort(should)
	for _, name := range slices.Compact(should) {
		if _, there := c.masters[name]; !there {
			t.Brokers = append(t.Brokers, offset.Server{Name: name, Err: missing(name)})
		}
	}
	for name, addr := range c.masters {
		s := offset.Server{Name: name, Addr: addr}
		if addr == "" {
			s.Err = noMaster(name)
		}
		t.Brokers = append(t.Brokers, s)
	}
	slices.SortFunc(t.Brokers, func(a, b offset.Server) int { return strings.Compare(a.Name, b.Name) })
	t.Whole = true // name servers keep nothing back
	for _, s := range t.Brokers {
		if s.Err != nil {
			t.Whole = false
			t.Gaps = append(t.Gaps, s.Err)
		}
	}
	return nil
}

func missing(name string) error {
	return fmt.Errorf("%s should be there and is missing, so its queues are not known: %w", name, errNoMaster)
}

// product names the version of the brokers that were asked already, or else of the name server; c.mu is held.
func (c *Cluster) product(brokers []offset.Server) string {
	versions := map[string]bool{}
	for _, b := range brokers {
		if v := c.client.Version(b.Addr); v > 0 {
			versions[remoting.VersionName(v)] = true
		}
	}
	if len(versions) == 0 && c.version > 0 {
		versions[remoting.VersionName(c.version)] = true
	}
	if len(versions) == 0 {
		return "RocketMQ"
	}
	return "RocketMQ " + strings.Join(slices.Sorted(maps.Keys(versions)), ", ")
}
