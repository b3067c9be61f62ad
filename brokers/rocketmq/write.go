package rocketmq

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/offset"
)

// afterwards bounds the look at what is there after a write; it is taken also when the caller has given up.
const afterwards = 10 * time.Second

// Write stores the positions of a group without members one by one and reads them back. Brokers compare nothing, so that is
// looked at just before and just after. A group with members keeps its positions in its clients: what Write does there, and how
// long it watches whether they take them over, is in live.go.
func (s store) Write(ctx context.Context, group string, changes []offset.Change) []offset.Result[offset.Stored] {
	w := s.writing(ctx, group, changes)
	w.before(ctx)
	if w.who.clients != nil {
		w.live(ctx)
	} else {
		w.offline(ctx)
	}
	out := make([]offset.Result[offset.Stored], len(changes))
	for i, r := range w.rows {
		r.now.Note = r.note
		out[i] = offset.Result[offset.Stored]{Value: r.now, Err: r.err}
	}
	return out
}

// writing is one Write under way.
type writing struct {
	store
	group string
	rows  []row
	who   online // who consumed just before

	consumed map[offset.Partition]remoting.ClientQueue // of a live group, before anything was sent: see lastConsumed
	began    time.Time                                 // when sending to a live group began
}

// writing begins with what can be told of the changes themselves.
func (s store) writing(ctx context.Context, group string, changes []offset.Change) *writing {
	w := &writing{store: s, group: group, rows: make([]row, len(changes))}
	for i, c := range changes {
		w.rows[i].Change = c
		w.rows[i].send, w.rows[i].err = s.number(group, c)
	}
	w.queues(ctx)
	return w
}

// row is one change. With err set it is settled.
type row struct {
	offset.Change
	broker remoting.Broker
	send   int64 // the number that is stored
	sent   bool
	said   bool // the broker answered success
	way    way  // of a live group
	phase  phase
	now    offset.Stored
	note   string // see offset.Stored
	err    error
}

// number is what is sent for a change.
func (s store) number(group string, c offset.Change) (int64, error) {
	p := c.Partition
	fail := func(why string) (int64, error) {
		return 0, fmt.Errorf("%s: a write %w: %s", p, offset.ErrUnsupported, why)
	}
	switch {
	case p.Broker == "":
		return fail("a RocketMQ position belongs to a queue of one broker, and none is named")
	case !isName(p.Topic, maxTopic):
		return fail("no RocketMQ topic can be called that")
	case !isName(group, maxGroup):
		return fail(fmt.Sprintf("no RocketMQ group can be called %q", group))
	case s.isStatic(p.Topic):
		return fail("it is a queue of a static topic, whose positions are translated by several brokers: they are read, never written")
	}
	switch c.To.State {
	case offset.Set:
		if c.To.Next < 0 {
			return fail(fmt.Sprintf("%d is no position", c.To.Next))
		}
		return c.To.Next, nil
	case offset.Absent:
		return noPosition, nil
	case offset.Invalid:
		n, err := strconv.ParseInt(string(c.To.Raw), 10, 64)
		if err != nil || n >= noPosition {
			return fail(fmt.Sprintf("%q cannot be stored in a broker", c.To.Raw))
		}
		return n, nil
	}
	return fail("it is not known what shall be there")
}

// queues finds the queues' masters. Brokers store positions of queues that do not exist without a word.
func (w *writing) queues(ctx context.Context) {
	routes := map[string]*offset.Result[remoting.Route]{}
	for i := range w.rows {
		r := &w.rows[i]
		if r.err != nil {
			continue
		}
		p := r.Partition
		route := routes[p.Topic]
		if route == nil {
			route = w.routeFor(ctx, p.Topic)
			routes[p.Topic] = route
		}
		switch {
		case route.Err != nil:
			r.err = fmt.Errorf("%s: %w", p, route.Err)
		case route.Value.Static():
			_, r.err = w.number(w.group, r.Change)
		case !hasQueue(route.Value, p):
			r.err = fmt.Errorf("queue %s %w: the route of the topic does not have it", p, offset.ErrUnknownName)
		default:
			if r.broker, r.err = w.master(ctx, p.Broker); r.err != nil {
				r.err = fmt.Errorf("%s: %w", p, r.err)
			}
		}
	}
}

// routeFor is the topic's route as it was, or as it is now where that one lacks a queue: it may have been added since.
func (w *writing) routeFor(ctx context.Context, topic string) *offset.Result[remoting.Route] {
	var route offset.Result[remoting.Route]
	route.Value, route.Err = w.knownRoute(ctx, topic)
	lacking := slices.ContainsFunc(w.rows, func(r row) bool { return r.Partition.Topic == topic && !hasQueue(route.Value, r.Partition) })
	if route.Err == nil && lacking {
		route.Value, route.Err = w.route(ctx, topic)
	}
	return &route
}

func hasQueue(r remoting.Route, p offset.Partition) bool {
	return slices.ContainsFunc(r.Queues, func(q remoting.RouteQueues) bool {
		return q.Broker == p.Broker && p.Index >= 0 && p.Index < max(q.Read, q.Write)
	})
}

// open are the rows that are not settled.
func (w *writing) open() (at []int) {
	for i := range w.rows {
		if w.rows[i].err == nil {
			at = append(at, i)
		}
	}
	return at
}

// brokers are the masters of some rows, sorted.
func (w *writing) brokers(at []int) (masters []remoting.Broker) {
	for _, i := range at {
		if b := w.rows[i].broker; !slices.Contains(masters, b) {
			masters = append(masters, b)
		}
	}
	slices.SortFunc(masters, func(a, b remoting.Broker) int { return strings.Compare(a.Name, b.Name) })
	return masters
}

// on are those of some rows that are a broker's.
func (w *writing) on(at []int, b remoting.Broker) []int {
	return slices.DeleteFunc(slices.Clone(at), func(i int) bool { return w.rows[i].broker != b })
}

// byTopic parts rows, which are sorted.
func (w *writing) byTopic(at []int) (parts [][]int) {
	for k, i := range at {
		if k == 0 || w.rows[at[k-1]].Partition.Topic != w.rows[i].Partition.Topic {
			parts = append(parts, nil)
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], i)
	}
	return parts
}

// before reads what is there and who consumes, side by side, and settles the rows that have moved.
func (w *writing) before(ctx context.Context) {
	at := w.open()
	if len(at) == 0 {
		return
	}
	var now []offset.Result[offset.Stored]
	var members error
	each(2, func(k int) {
		if k == 0 {
			now = w.read(ctx, at)
		} else {
			w.who, members = w.online(ctx, w.brokers(at), w.group)
		}
	})
	for k, i := range at {
		r := &w.rows[i]
		r.now = now[k].Value
		switch {
		case now[k].Err != nil:
			r.err = now[k].Err
		case members != nil:
			r.err = fmt.Errorf("%s: nothing is written while it is not known who consumes: %w", r.Partition, members)
		case r.now.Version != r.From.Version:
			r.err = fmt.Errorf("%s %w", r.Partition, offset.ErrMoved)
		}
	}
}

// read asks for the positions of some rows.
func (w *writing) read(ctx context.Context, at []int) []offset.Result[offset.Stored] {
	q := offset.Query{Group: w.group, Topics: []string{}}
	for _, i := range at {
		q.Expect = append(q.Expect, w.rows[i].Partition)
	}
	return w.Read(ctx, []offset.Query{q})[0].Expected
}
