package kafka

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

// Kinds of groups.
const (
	classic  = "classic"
	consumer = "consumer" // the newer protocol, KIP-848
	share    = "share"
	streams  = "streams"
)

// kindOfGroup is the kind that a listing tells; brokers before 3.8 do not tell the newer kinds from the classic one.
func kindOfGroup(g *kmsg.ListGroupsResponseGroup) string {
	switch {
	case g.GroupType != "":
		return strings.ToLower(g.GroupType)
	case g.ProtocolType == share, g.ProtocolType == streams:
		return g.ProtocolType
	}
	return ""
}

// phaseOf is the phase that a broker's word for a group's state means.
func phaseOf(state string) offset.Phase {
	switch state {
	case "":
		return offset.PhaseUnknown
	case "Empty":
		return offset.Empty
	case "Dead":
		return offset.Missing
	}
	return offset.Live
}

// Groups asks every broker for its groups. The list is sorted by name; a broker that does not answer is a gap.
func (c *Cluster) Groups(ctx context.Context) ([]offset.Group, []error, error) {
	t := c.table.Load()
	if c.env.Now().Sub(t.at) > knownFor {
		var err error
		if t, err = c.refresh(ctx, []string{}); err != nil {
			return nil, nil, err
		}
	}
	seen := c.visibility(ctx)
	answers := make([]*kmsg.ListGroupsResponse, len(t.nodes))
	errs := make([]error, len(t.nodes))
	each(len(t.nodes), func(i int) {
		r, err := request[*kmsg.ListGroupsResponse](ctx, c, t.nodes[i].id, kmsg.NewPtrListGroupsRequest())
		if err == nil {
			err = refused("the groups of broker "+t.nodes[i].name, "DESCRIBE on the cluster", r.ErrorCode, nil)
		}
		answers[i], errs[i] = r, err
	})
	// Brokers without a request for the newer kinds have the classic one alone, and need not say so.
	oneKind := !c.offers.Load().has(keyConsumerGroupDescribe, 0)
	var out []offset.Group
	var gaps []error
	for i, r := range answers {
		if errs[i] != nil {
			gaps = append(gaps, fmt.Errorf("groups that broker %s keeps are left out: %w", t.nodes[i].name, errs[i]))
			continue
		}
		c.listed(t.nodes[i].id, r.Groups)
		for k := range r.Groups {
			g := listed(&r.Groups[k])
			if g.Kind == "" && oneKind {
				g.Kind = classic
			}
			out = append(out, g)
		}
	}
	if len(gaps) == len(t.nodes) && len(gaps) > 0 {
		return nil, gaps, errs[0]
	}
	if v := <-seen; v.groups != nil {
		gaps = append(gaps, v.groups)
	}
	slices.SortFunc(out, func(a, b offset.Group) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), -cmp.Compare(a.Phase, b.Phase))
	})
	// While a group moves to another broker both may list it.
	return slices.CompactFunc(out, func(a, b offset.Group) bool { return a.Name == b.Name }), gaps, nil
}

func listed(g *kmsg.ListGroupsResponseGroup) offset.Group {
	return offset.Group{Name: g.Group, Kind: kindOfGroup(g), State: g.GroupState, Protocol: g.ProtocolType, Phase: phaseOf(g.GroupState)}
}

// knownFor is how long the list of brokers is taken as it is.
const knownFor = 10 * time.Second
