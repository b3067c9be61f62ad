package rocketmq

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/offset"
)

// A live group's clients hold their positions in memory and store them every few seconds, whatever the broker was told. Two
// things can move them: a broker of 5.1 or later that keeps resets itself gives a client its new position with the next pull;
// an older one tells all clients a time, and each moves all its queues of the topic there. Any other write is soon overwritten.

// pace is how long live groups are watched, and how often.
type pace struct {
	poll   time.Duration
	kept   time.Duration // after a reset that the broker keeps: a long poll of 20 s, 10 s of pause, 5 s until it is stored
	told   time.Duration // after clients were told a time: 10 s of pause, 5 s until it is stored
	stored time.Duration // after a position was only stored: four times the 5 s after which clients store theirs
	silent time.Duration // after which a client that cannot tell what it does is not asked again
	hidden time.Duration // between two looks at a group that no broker calls live
}

var usualPace = pace{poll: 500 * time.Millisecond, kept: time.Minute, told: 30 * time.Second, stored: 20 * time.Second, silent: 15 * time.Second, hidden: time.Second}

// live writes into a group with members and watches until they have moved or have put their own positions back.
func (w *writing) live(ctx context.Context) {
	at := w.open()
	if w.who.kinds[kindBroadcast] {
		for _, i := range at {
			w.rows[i].err = offset.As(offset.ErrUnsupported, fmt.Errorf("%s: group %s is broadcasting, its positions live on its clients", w.rows[i].Partition, w.group))
		}
		return
	}
	w.consumed, _ = w.lastConsumed(ctx)
	w.began = w.env.Now()
	for _, b := range w.brokers(at) {
		w.liveOn(ctx, b, w.on(at, b))
	}
	w.watch(ctx)
}

// liveOn sends what one broker is sent.
func (w *writing) liveOn(ctx context.Context, b remoting.Broker, at []int) {
	keeps, err := w.keepsResets(ctx, b)
	if err != nil {
		for _, i := range at {
			w.rows[i].err = fmt.Errorf("%s: %w", w.rows[i].Partition, err)
		}
		return
	}
	if keeps {
		each(len(at), func(k int) { w.reset(ctx, &w.rows[at[k]]) })
		return
	}
	for _, of := range w.byTopic(at) {
		if ms, ok := w.timeFor(ctx, b, of); ok {
			w.tell(ctx, b, ms, of)
			continue
		}
		each(len(of), func(k int) {
			w.update(ctx, &w.rows[of[k]])
			w.rows[of[k]].way = byStoring
		})
	}
}

// keepsResets tells whether a broker keeps resets itself. Only then may it be given a queue and an offset: any other broker
// ignores them and moves the whole topic.
func (s store) keepsResets(ctx context.Context, b remoting.Broker) (bool, error) {
	conf, err := s.config(ctx, b)
	if err != nil {
		return false, err
	}
	return s.client.Version(b.Addr) >= remoting.Version5_1_0 && conf["useServerSideResetOffset"] == "true", nil
}

// reset has the broker keep a reset of one queue.
func (w *writing) reset(ctx context.Context, r *row) {
	p := r.Partition
	if r.To.State != offset.Set {
		r.err = offset.As(offset.ErrUnsupported, fmt.Errorf("%s: clients that are connected can be moved to a position only, not to none", p))
		return
	}
	err := w.client.ResetQueue(ctx, r.broker, w.group, p.Topic, p.Index, r.send)
	switch {
	case err == nil:
		r.sent, r.said, r.way = true, true, byReset
	case remoting.MayHaveArrived(err):
		r.sent, r.way = true, byReset
	default:
		r.err = w.refused(r, err)
	}
}

// timeFor finds a time that moves every queue of a topic on this broker to where it shall go: the broker moves all of them,
// to what its own search answers.
func (w *writing) timeFor(ctx context.Context, b remoting.Broker, at []int) (ms int64, ok bool) {
	stats, err := w.client.TopicStats(ctx, b, w.rows[at[0]].Partition.Topic)
	if err != nil || len(stats) != len(at) {
		return 0, false
	}
	latest, times := true, candidates{}
	for _, i := range at {
		r := &w.rows[i]
		s, there := stats[r.Partition.Index]
		if !there || r.From.State != offset.Set || r.To.State != offset.Set {
			return 0, false // a queue without a position makes the broker refuse them all
		}
		latest = latest && r.send == s.Max
		if r.send < s.Max {
			if found, err := w.messages(ctx, b, r.Partition, max(r.send-1, s.Min), 2); err == nil {
				times.add(r.send, found)
			}
		}
	}
	if latest {
		return -1, true
	}
	for _, ms := range times.all() {
		if w.reaches(ctx, b, ms, at) {
			return ms, true
		}
	}
	return 0, false
}

// candidates are the times that may reach a position in every queue. Where any does, one of them does: for brokers that search
// the nearest message the earliest time from which on each queue's message is nearer than the one before it, for those that
// search the first message at or after a time that of the earliest of them.
type candidates struct{ nearest, earliest int64 }

// add takes a queue into account, of whose messages those at the position and before it were found.
func (c *candidates) add(position int64, found []remoting.Message) {
	before := int64(-1)
	for _, m := range found {
		ms := m.Stored.UnixMilli()
		switch {
		case m.Offset < position:
			before = ms
		case m.Offset == position:
			if before >= 0 {
				c.nearest = max(c.nearest, (before+ms)/2+1)
			}
			if c.earliest == 0 || ms < c.earliest {
				c.earliest = ms
			}
		}
	}
}

// all begins with the time before all messages.
func (c *candidates) all() []int64 {
	return slices.Compact(slices.Sorted(slices.Values([]int64{0, c.nearest, c.earliest})))
}

// reaches tells whether the broker's search answers the wanted position for every queue.
func (w *writing) reaches(ctx context.Context, b remoting.Broker, ms int64, at []int) bool {
	hits := make([]bool, len(at))
	each(len(at), func(k int) {
		r := &w.rows[at[k]]
		n, err := w.client.SearchOffset(ctx, b, r.Partition.Topic, r.Partition.Index, time.UnixMilli(ms))
		hits[k] = err == nil && n == r.send
	})
	return !slices.Contains(hits, false)
}

// tell has the broker tell all clients the time.
func (w *writing) tell(ctx context.Context, b remoting.Broker, ms int64, at []int) {
	topic := w.rows[at[0]].Partition.Topic
	told, err := w.client.ResetByTime(ctx, b, w.group, topic, ms)
	for _, i := range at {
		r := &w.rows[i]
		p := r.Partition
		n, known := told[remoting.Queue{Topic: topic, Broker: b.Name, ID: p.Index}]
		switch {
		case err != nil && !remoting.MayHaveArrived(err):
			r.err = fmt.Errorf("%s: %w", p, asked(b, err))
		case err == nil && known && n != r.send: // messages came in between
			r.err = fmt.Errorf("%s: its clients were told to go to %d instead of %d, because messages were written meanwhile: %w", p, n, r.send, offset.ErrOutcome)
		default:
			r.sent, r.said, r.way = true, err == nil, byTelling
		}
	}
}
