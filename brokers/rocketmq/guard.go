package rocketmq

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/offset"
)

// Flags that overrule objections.
const (
	allowLive   = "allow-live"
	createGroup = "create-group"
)

// Guard tells what speaks against a write: members, and members that brokers do not list; a group that a broker would not store
// anything for; static topics.
func (s store) Guard(ctx context.Context, group string, changes []offset.Change) []offset.Objection {
	w := s.writing(ctx, group, changes)
	var out []offset.Objection
	for _, r := range w.rows {
		if r.err != nil {
			out = append(out, offset.Objection{Text: r.err.Error()})
		}
	}
	at := w.open()
	masters := w.brokers(at)
	on, err := s.online(ctx, masters, group)
	switch {
	case err != nil:
		out = append(out, offset.Objection{Text: err.Error()})
	case on.kinds[kindBroadcast]:
		out = append(out, offset.Objection{Text: fmt.Sprintf("group %s is broadcasting: its positions live on its clients (%s), not on the brokers", group, on.names())})
	case len(on.clients) > 0:
		out = append(out, w.objectLive(ctx, on, masters, at))
	default:
		out = append(out, w.objectHidden(ctx, masters, at)...)
	}
	return append(out, w.objectUnknownGroup(ctx, masters)...)
}

// Refuses says what is wrong with a change itself: names that do not fit, a number that no broker keeps, a static topic.
func (s store) Refuses(group string, c offset.Change) error {
	_, err := s.number(group, c)
	return err
}

// names lists clients for a sentence, the first of them where they are many.
func (on online) names() string {
	const few = 5
	var names []string
	for _, cl := range on.clients {
		names = append(names, cl.ID)
	}
	if n := len(names); n > few {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), n-few)
	}
	return strings.Join(names, ", ")
}

// objectLive says what a write could do to connected clients.
func (w *writing) objectLive(ctx context.Context, on online, masters []remoting.Broker, at []int) offset.Objection {
	o := offset.Objection{Allow: allowLive}
	o.Text = fmt.Sprintf("group %s is being consumed by its clients, which hold their positions in memory (%d: %s)", w.group, len(on.clients), on.names())
	var telling []string
	for _, b := range masters {
		keeps, err := w.keepsResets(ctx, b)
		if err != nil {
			return offset.Objection{Text: err.Error()}
		}
		if keeps {
			continue
		}
		if !w.allByTime(ctx, b, w.on(at, b)) {
			o.Text += fmt.Sprintf("; %s (%s) cannot give them these positions, only earliest, latest or one time for all queues of a topic: "+
				"what is stored is overwritten by them within seconds", b.Name, remoting.VersionName(w.client.Version(b.Addr)))
			return o
		}
		telling = append(telling, b.Name)
	}
	if telling != nil {
		o.Text += fmt.Sprintf("; %s can only tell them a time, which push consumers obey after some ten seconds", strings.Join(telling, " and "))
	}
	return o
}

// allByTime tells whether a time exists for each topic on the broker.
func (w *writing) allByTime(ctx context.Context, b remoting.Broker, at []int) bool {
	for _, of := range w.byTopic(at) {
		if _, ok := w.timeFor(ctx, b, of); !ok {
			return false
		}
	}
	return true
}

// objectHidden looks for clients that brokers do not list, which gRPC clients behind a proxy are: their positions move, and
// what they did not acknowledge waits in a retry topic of its own kind.
func (w *writing) objectHidden(ctx context.Context, masters []remoting.Broker, at []int) []offset.Objection {
	if len(at) == 0 || !slices.ContainsFunc(masters, func(b remoting.Broker) bool { return w.client.Version(b.Addr) >= remoting.Version5_0_0 }) {
		return nil
	}
	if o := w.objectPop(ctx, masters); o != nil {
		return o
	}
	first := w.read(ctx, at)
	select {
	case <-time.After(w.pace.hidden):
	case <-ctx.Done():
	}
	second := w.read(ctx, at)
	for k, i := range at {
		if first[k].Err == nil && second[k].Err == nil && first[k].Value.Version != second[k].Value.Version {
			return []offset.Objection{{Allow: allowLive, Text: fmt.Sprintf("group %s is being consumed although no broker lists a client: %s moved from %s to %s meanwhile; "+
				"clients that come through a proxy are not listed", w.group, w.rows[i].Partition, first[k].Value.Version, second[k].Value.Version)}}
		}
	}
	return nil
}

// objectPop: who pops through a proxy is in no broker's list, so nobody can tell whether such a group is live.
func (w *writing) objectPop(ctx context.Context, masters []remoting.Broker) []offset.Objection {
	for _, b := range masters {
		topics, err := w.client.TopicsOfGroup(ctx, b, w.group)
		if err != nil {
			continue // before 5.0 nobody pops
		}
		if i := slices.IndexFunc(topics, func(t string) bool { return isPopRetry(w.group, t) }); i >= 0 {
			return []offset.Objection{{Allow: allowLive, Text: fmt.Sprintf("group %s consumes by popping (it has positions of %s), and brokers do not list such clients when they come "+
				"through a proxy: whether it is live cannot be told; stop its clients first", w.group, topics[i])}}
		}
	}
	return nil
}

// objectUnknownGroup: from 5.1 on a broker stores nothing for a group that it has no settings of.
func (w *writing) objectUnknownGroup(ctx context.Context, masters []remoting.Broker) []offset.Objection {
	var without []string
	for _, b := range masters {
		if w.client.Version(b.Addr) < remoting.Version5_1_0 {
			continue
		}
		groups, err := w.client.Groups(ctx, b)
		if err != nil {
			return []offset.Objection{{Text: fmt.Sprintf("whether %s knows group %s could not be told: %v", b.Name, w.group, err)}}
		}
		if !slices.Contains(groups, w.group) {
			without = append(without, b.Name)
		}
	}
	if without == nil {
		return nil
	}
	return []offset.Objection{{Allow: createGroup, Text: fmt.Sprintf("group %s does not exist on %s, and a broker stores nothing for a group that it does not know",
		w.group, strings.Join(without, ", "))}}
}
