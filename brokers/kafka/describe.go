package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

// Describe asks for groups of any kind. Kafka has a request for each kind, and each says of the other kinds that there is no such
// group (older ones: that it is dead), so a group is missing only when none of them knows it. Where a listing told the kind
// only its own request is sent.
func (c *Cluster) Describe(ctx context.Context, groups []string) []offset.Result[offset.Group] {
	d := &describing{c: c, groups: groups, out: make([]offset.Result[offset.Group], len(groups)), said: make([]said, len(groups))}
	which := make([]int, len(groups))
	for i := range which {
		which[i] = i
	}
	again := d.ask(ctx, which, true)
	if len(again) > 0 && ctx.Err() == nil {
		for _, i := range again {
			d.said[i] = said{}
		}
		d.ask(ctx, again, false)
	}
	for i := range d.out {
		d.settle(ctx, i)
	}
	return d.out
}

type describing struct {
	c      *Cluster
	groups []string
	out    []offset.Result[offset.Group]
	said   []said
}

// said is what the answers about one group say together.
type said struct {
	node    int32
	found   bool  // one kind of request knows it
	other   bool  // one says that it is of another kind
	missing int   // how many do not know it
	err     error // why one could not tell
	hidden  bool  // it reads topics that the user may not see, which makes the broker keep its members back
	moved   bool  // another broker keeps it by now
}

// ask sends the describing requests and answers which groups must be asked again: another broker keeps them, or they are not of
// the kind that was known.
func (d *describing) ask(ctx context.Context, which []int, byKind bool) (again []int) {
	names := make([]string, len(which))
	for k, i := range which {
		names[k] = d.groups[i]
	}
	fs := d.c.find(ctx, names)
	for k, i := range which {
		if fs[k].err != nil {
			d.out[i].Err = fs[k].err
		} else {
			d.said[i].node = fs[k].node
		}
	}
	asks := d.asks(fs, which, byKind)
	each(len(asks), func(k int) {
		a := &asks[k]
		a.resp, a.err = request[kmsg.Response](ctx, d.c, a.node, a.req)
	})
	for k := range asks {
		d.read(&asks[k])
	}
	for k, i := range which {
		s := &d.said[i]
		if fs[k].err != nil || s.found || s.hidden {
			continue
		}
		if s.moved {
			d.c.forget(d.groups[i], fs[k])
			again = append(again, i)
		} else if byKind && s.err == nil && d.c.kindOf(d.groups[i]) != "" {
			again = append(again, i)
		}
	}
	return again
}

// kindAsk is one request about groups of one kind to one broker.
type kindAsk struct {
	node  int32
	kind  string
	names []string
	which []int
	req   kmsg.Request
	resp  kmsg.Response
	err   error
}

func (d *describing) asks(fs []*coordinator, which []int, byKind bool) (asks []kindAsk) {
	offers := d.c.offers.Load()
	nodes, members := byNode(fs)
	for n, node := range nodes {
		for _, kind := range []string{classic, consumer, share, streams} {
			if !offers.describes(kind) {
				continue
			}
			a := kindAsk{node: node, kind: kind}
			for _, k := range members[n] {
				known := d.c.kindOf(d.groups[which[k]])
				// The request for the newer groups refuses an empty name, which a classic group may have.
				if byKind && known != "" && known != kind || d.groups[which[k]] == "" && kind != classic {
					continue
				}
				a.names, a.which = append(a.names, d.groups[which[k]]), append(a.which, which[k])
			}
			if len(a.names) > 0 {
				a.req = describeRequest(kind, a.names)
				asks = append(asks, a)
			}
		}
	}
	return asks
}

// describes tells whether the brokers know the kind.
func (o *offers) describes(kind string) bool {
	switch kind {
	case consumer:
		return o.has(keyConsumerGroupDescribe, 0)
	case share:
		return o.has(keyShareGroupDescribe, 0)
	case streams:
		return o.has(keyStreamsGroupDescribe, 0)
	}
	return true
}

func describeRequest(kind string, names []string) kmsg.Request {
	switch kind {
	case consumer:
		req := kmsg.NewPtrConsumerGroupDescribeRequest()
		req.Groups = names
		return req
	case share:
		req := kmsg.NewPtrShareGroupDescribeRequest()
		req.GroupIDs = names
		return req
	case streams:
		req := kmsg.NewPtrStreamsGroupDescribeRequest()
		req.Groups = names
		return req
	}
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = names
	return req
}

// read takes one answer in.
func (d *describing) read(a *kindAsk) {
	if a.err != nil {
		for _, i := range a.which {
			d.said[i].err = fmt.Errorf("group %s: its coordinator: %w", d.groups[i], a.err)
		}
		return
	}
	next := 0
	for _, g := range described(a.resp, d.c.table.Load()) {
		k := indexOf(a.names, g.name, next)
		if k < 0 {
			continue
		}
		next = k + 1
		d.take(a.which[k], a.kind, g)
	}
}

// answer is one group as one kind of request describes it.
type answer struct {
	name    string
	code    int16
	message *string
	state   string
	group   func() offset.Group // only read where it is the right kind
}

// take notes what one answer says of group i.
func (d *describing) take(i int, kind string, g answer) {
	s := &d.said[i]
	switch {
	case g.code == 0 && (kind != classic || g.state != "Dead"):
		s.found = true
		v := g.group()
		v.Name, v.Kind, v.State, v.Phase = d.groups[i], kind, g.state, phaseOf(g.state)
		if len(v.Members) > 0 {
			v.Phase = offset.Live
		}
		d.out[i] = offset.Result[offset.Group]{Value: v}
	case g.code == 0 || g.code == kerr.GroupIDNotFound.Code:
		s.missing++
		s.other = s.other || strings.Contains(deref(g.message), "is not a ")
	case moved(g.code):
		s.moved = true
	case kind != classic && g.code == kerr.UnsupportedVersion.Code: // offered, and switched off
		s.missing++
	case g.code == kerr.TopicAuthorizationFailed.Code:
		s.hidden = true
		d.out[i].Value.Kind = kind
	default:
		s.err = refused("group "+d.groups[i], "DESCRIBE", g.code, g.message)
	}
}

// settle puts together what was said of group i.
func (d *describing) settle(ctx context.Context, i int) {
	s, r := &d.said[i], &d.out[i]
	name := d.groups[i]
	switch {
	case s.found:
		d.c.learnKind(name, r.Value.Kind)
	case r.Err != nil:
	case s.hidden:
		*r = d.hidden(ctx, i)
	case s.err != nil:
		r.Err = s.err
	case s.moved:
		r.Err = fmt.Errorf("group %s: its coordinator %w: it is moving to another broker", name, offset.ErrUnreachable)
	case s.other:
		r.Err = offset.As(offset.ErrUnsupported, fmt.Errorf("group %s is of a kind that cannot be described", name))
	case s.missing == 0:
		r.Err = leftOut("group " + name)
	default:
		r.Value = offset.Group{Name: name, State: "Dead", Phase: offset.Missing}
	}
}

// hidden is a group whose members the broker keeps back because it reads topics that the user may not see: its state alone is told,
// by the listing.
func (d *describing) hidden(ctx context.Context, i int) offset.Result[offset.Group] {
	r, err := request[*kmsg.ListGroupsResponse](ctx, d.c, d.said[i].node, kmsg.NewPtrListGroupsRequest())
	if err == nil {
		for k := range r.Groups {
			if r.Groups[k].Group == d.groups[i] {
				return offset.Result[offset.Group]{Value: listed(&r.Groups[k])}
			}
		}
		err = errors.New("the broker does not list it")
	}
	return offset.Result[offset.Group]{Err: fmt.Errorf("group %s reads topics that this user may not describe (%w), and its state could not be told: %w",
		d.groups[i], offset.ErrDenied, err)}
}

// learnKind keeps the kind of a group beside its coordinator.
func (c *Cluster) learnKind(group, kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.coords[group]; f != nil {
		f.kind = kind
	}
}

// indexOf finds a name: answers come in the question's order or grouped by the coordinator's own partitions, and the question is
// usually sorted.
func indexOf(names []string, name string, hint int) int {
	if hint < len(names) && names[hint] == name {
		return hint
	}
	if i, ok := slices.BinarySearch(names, name); ok {
		return i
	}
	return slices.Index(names, name)
}
