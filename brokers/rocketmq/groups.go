package rocketmq

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/offset"
)

// Groups lists the groups that brokers have settings or positions of, and asks each broker who consumes for each of them.
func (c *Cluster) Groups(ctx context.Context) ([]offset.Group, []error, error) {
	masters, gaps, err := c.allMasters(ctx)
	if err != nil {
		return nil, nil, err
	}
	found := make([]map[string]bool, len(masters))
	errs := make([]error, len(masters))
	each(len(masters), func(i int) { found[i], errs[i] = c.groupsOn(ctx, masters[i]) })
	if err := joined(errs...); err != nil && !slices.Contains(errs, nil) {
		return nil, gaps, err
	}
	names := map[string]bool{}
	for i := range masters {
		maps.Copy(names, found[i])
		if errs[i] != nil {
			gaps = append(gaps, fmt.Errorf("groups of %s: %w", masters[i].Name, errs[i]))
		}
	}
	groups := make([]offset.Group, 0, len(names))
	for _, n := range slices.Sorted(maps.Keys(names)) {
		groups = append(groups, offset.Group{Name: n})
	}
	failed := make([]error, len(groups))
	each(len(groups), func(i int) {
		var on online
		if on, failed[i] = c.online(ctx, masters, groups[i].Name); failed[i] == nil || on.clients != nil {
			on.fill(&groups[i])
		}
	})
	for i, err := range failed {
		if err != nil {
			gaps = append(gaps, fmt.Errorf("group %s: %w", groups[i].Name, err))
		}
	}
	return groups, gaps, nil
}

func (c *Cluster) groupsOn(ctx context.Context, b remoting.Broker) (map[string]bool, error) {
	configured, err := c.client.Groups(ctx, b)
	if err != nil {
		return nil, asked(b, err)
	}
	stored, err := c.client.AllOffsets(ctx, b)
	if err != nil {
		return nil, asked(b, err)
	}
	names := map[string]bool{}
	for _, g := range configured {
		names[g] = !isInternalGroup(g)
	}
	for _, o := range stored {
		names[o.Group] = !isInternalGroup(o.Group)
	}
	maps.DeleteFunc(names, func(_ string, business bool) bool { return !business })
	return names, nil
}

// online is who consumes for a group, over all brokers that were asked.
type online struct {
	clients []connected // sorted by id
	kinds   map[string]bool
}

// connected is a client and a broker that knows it.
type connected struct {
	remoting.ClientConnection
	at remoting.Broker
}

// online asks every master: a client is known to some of them only. An error says who could not be asked.
func (c *Cluster) online(ctx context.Context, masters []remoting.Broker, group string) (online, error) {
	answers := make([]remoting.Connections, len(masters))
	errs := make([]error, len(masters))
	each(len(masters), func(i int) { answers[i], errs[i] = c.client.Connections(ctx, masters[i], group) })
	on := online{kinds: map[string]bool{}}
	for i, a := range answers {
		switch {
		case remoting.IsCode(errs[i], remoting.NotOnline):
			errs[i] = nil
			continue
		case errs[i] != nil:
			errs[i] = fmt.Errorf("who consumes through %s is not known: %w", masters[i].Name, asked(masters[i], errs[i]))
			continue
		}
		on.kinds[kindOf(a)] = true
		for _, cl := range a.Clients {
			if !slices.ContainsFunc(on.clients, func(o connected) bool { return o.ID == cl.ID }) {
				on.clients = append(on.clients, connected{cl, masters[i]})
			}
		}
	}
	slices.SortFunc(on.clients, func(a, b connected) int { return strings.Compare(a.ID, b.ID) })
	return on, joined(errs...)
}

// kindOf is how the client of the latest heartbeat consumes.
func kindOf(a remoting.Connections) string {
	switch {
	case a.MessageModel == "BROADCASTING":
		return kindBroadcast
	case a.ConsumeType == "CONSUME_ACTIVELY":
		return "pull"
	case a.ConsumeType == "CONSUME_POP":
		return "pop"
	}
	return "push"
}

// kindBroadcast is a group whose clients each read everything and keep their positions themselves.
const kindBroadcast = "broadcast"

// fill sets what brokers tell of a group.
func (on online) fill(g *offset.Group) {
	g.Phase = offset.Empty
	if len(on.clients) == 0 {
		return
	}
	g.Phase = offset.Live
	kinds := slices.Sorted(maps.Keys(on.kinds))
	g.Kind = kinds[0] // broadcast before the others: it decides
	if len(kinds) > 1 {
		g.State = "clients differ: " + strings.Join(kinds, " and ")
	}
	for _, cl := range on.clients {
		g.Members = append(g.Members, offset.Member{
			ID: cl.ID, Client: cl.ID, Host: host(cl.Addr), Version: remoting.VersionName(cl.Version) + " " + cl.Language,
		})
	}
}

// host cuts the port off: two clients on one machine are on one host.
func host(addr string) string {
	if h, _, err := net.SplitHostPort(addr); err == nil {
		return h
	}
	return addr
}

// Describe asks every broker that is known who consumes, and each client that is connected what it subscribes to. Brokers do
// not tell a group without clients from one that does not exist: where no position of it was read, they are asked for both.
func (c *Cluster) Describe(ctx context.Context, groups []string) []offset.Result[offset.Group] {
	out := make([]offset.Result[offset.Group], len(groups))
	c.startTogether(ctx)
	masters, gaps, err := c.knownMasters(ctx)
	if err == nil {
		err = joined(gaps...)
	}
	each(len(groups), func(i int) {
		g := &out[i].Value
		g.Name = groups[i]
		on, failed := c.online(ctx, masters, groups[i])
		if failed = joined(err, failed); failed != nil && len(on.clients) == 0 {
			out[i].Err = fmt.Errorf("group %s: %w", groups[i], failed)
			return
		}
		on.fill(g)
		if g.Phase == offset.Empty {
			if g.Phase, failed = c.emptyOrMissing(ctx, masters, groups[i]); failed != nil {
				out[i].Err = fmt.Errorf("group %s: whether it exists could not be told: %w", groups[i], failed)
			}
		}
		each(len(on.clients), func(k int) { c.describeMember(ctx, groups[i], on.clients[k], &g.Members[k]) })
	})
	return out
}

// startTogether waits for the routes that somebody asks for at this moment: they tell which brokers there are, and save the
// question. Who looks at groups and topics side by side may come here a moment before the topics are asked for.
func (c *Cluster) startTogether(ctx context.Context) {
	c.mu.Lock()
	known := len(c.masters) > 0
	c.mu.Unlock()
	if known {
		return
	}
	select {
	case <-time.After(10 * time.Millisecond):
	case <-ctx.Done():
	}
	c.routing.wait(ctx)
}

// emptyOrMissing tells whether a group without clients exists: it has settings or positions somewhere.
func (c *Cluster) emptyOrMissing(ctx context.Context, masters []remoting.Broker, group string) (offset.Phase, error) {
	if c.met.has(ctx, group) {
		return offset.Empty, nil
	}
	there, errs := make([]bool, len(masters)), make([]error, len(masters))
	each(len(masters), func(i int) {
		var groups []string
		if groups, errs[i] = c.client.Groups(ctx, masters[i]); errs[i] != nil || slices.Contains(groups, group) {
			there[i] = errs[i] == nil
			return
		}
		var stats map[remoting.Queue]remoting.ConsumeStats
		stats, errs[i] = c.client.ConsumeStats(ctx, masters[i], group, "")
		there[i] = len(stats) > 0
	})
	switch {
	case slices.Contains(there, true):
		return offset.Empty, nil
	case joined(errs...) != nil:
		return offset.PhaseUnknown, joined(errs...)
	}
	return offset.Missing, nil
}

// describeMember asks the client itself: brokers keep only the latest subscription of the whole group.
func (c *Cluster) describeMember(ctx context.Context, group string, cl connected, m *offset.Member) {
	info, err := c.client.RunningInfo(ctx, cl.at, group, cl.ID)
	if err != nil {
		m.Err = fmt.Errorf("client %s did not tell what it subscribes to: %w", cl.ID, err)
		if errors.Is(err, remoting.ErrNotTold) {
			m.Err = fmt.Errorf("%w; a Go client cannot for some 10 s after a burst: ask again then", m.Err)
		}
		return
	}
	for _, s := range info.Subscriptions {
		if !strings.HasPrefix(s.Topic, retryPrefix) {
			m.Subscribes = append(m.Subscribes, offset.Subscription{Topic: s.Topic, Filter: filter(s)})
		}
	}
	for q := range info.Queues {
		if strings.HasPrefix(q.Topic, retryPrefix) {
			continue
		}
		m.Owns = append(m.Owns, offset.Partition{Topic: q.Topic, Broker: q.Broker, Index: q.ID})
	}
	slices.SortFunc(m.Owns, offset.Partition.Compare)
}

// filter writes one subscription in one way only: tags sorted, "*" for all.
func filter(s remoting.Subscription) string {
	if s.ExpressionType != "" && s.ExpressionType != "TAG" {
		return s.ExpressionType + ": " + s.SubString
	}
	var tags []string
	for t := range strings.SplitSeq(s.SubString, "||") {
		if t = strings.TrimSpace(t); t != "" {
			tags = append(tags, t)
		}
	}
	slices.Sort(tags)
	tags = slices.Compact(tags)
	if len(tags) == 0 || slices.Contains(tags, "*") {
		return "*"
	}
	return strings.Join(tags, " || ")
}
