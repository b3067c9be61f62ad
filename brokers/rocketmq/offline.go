package rocketmq

import (
	"context"
	"fmt"
	"slices"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/offset"
)

// offline stores, reads back, and looks whether somebody came to consume meanwhile.
func (w *writing) offline(ctx context.Context) {
	at := w.open()
	if len(at) == 0 {
		return
	}
	w.updateAll(ctx, at)
	at = slices.DeleteFunc(at, func(i int) bool { return !w.rows[i].sent })
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwards)
	defer cancel()
	var came online
	each(2, func(k int) {
		if k == 0 {
			w.lookAfter(ctx, after, at)
		} else {
			came, _ = w.online(after, w.brokers(at), w.group)
		}
	})
	if len(came.clients) == 0 {
		return
	}
	for _, i := range at {
		if r := &w.rows[i]; r.err == nil {
			r.err = fmt.Errorf("%s: it was stored, but client %s began to consume meanwhile and may put back what it had loaded before; look again in %v: %w",
				r.Partition, came.clients[0].ID, 2*flushInterval, offset.ErrOutcome)
		}
	}
}

// updateAll sends the positions side by side. Where a broker has none of the topic yet, the first goes alone: brokers make the
// place for a topic's positions with the first one, and two that come together lose one of them, both answered with success.
func (w *writing) updateAll(ctx context.Context, at []int) {
	type place struct{ broker, topic string }
	made := map[place]bool{}
	for _, i := range at {
		p := w.rows[i].Partition
		made[place{p.Broker, p.Topic}] = made[place{p.Broker, p.Topic}] || w.rows[i].now.State != offset.Absent
	}
	var first, rest []int
	for _, i := range at {
		if p := w.rows[i].Partition; !made[place{p.Broker, p.Topic}] {
			made[place{p.Broker, p.Topic}] = true
			first = append(first, i)
		} else {
			rest = append(rest, i)
		}
	}
	for _, some := range [][]int{first, rest} {
		each(len(some), func(k int) { w.update(ctx, &w.rows[some[k]]) })
	}
}

// update sends one position. Where a reset is pending for the queue, it is ended first: it would swallow the position.
func (w *writing) update(ctx context.Context, r *row) {
	p := r.Partition
	for range 2 {
		swallowed, err := w.client.UpdateOffset(ctx, r.broker, w.group, p.Topic, p.Index, r.send)
		switch {
		case err != nil && !remoting.MayHaveArrived(err):
			r.err = w.refused(r, err)
			return
		case err != nil:
			r.sent = true
			w.env.Log.Info("no answer to a write", "queue", p.String(), "error", err)
			return
		case swallowed == "":
			r.sent, r.said = true, true
			return
		}
		if err := w.endReset(ctx, r); err != nil {
			r.err = fmt.Errorf("%s: a reset of the group is pending on %s and swallows what is stored, and it could not be ended: %w", p, r.broker.Name, err)
			return
		}
		r.note = "somebody had reset it on the broker, which no client has taken: such a reset swallows what is stored after it, so it was ended first"
	}
	r.err = fmt.Errorf("%s: a reset of the group is pending on %s and swallows what is stored; somebody resets it at this moment", p, r.broker.Name)
}

// endReset pulls once as the group: only that ends a reset that the broker keeps.
func (w *writing) endReset(ctx context.Context, r *row) error {
	p := r.Partition
	at := max(0, r.now.Next)
	_, err := w.client.Pull(ctx, r.broker, remoting.PullRequest{Group: w.group, Topic: p.Topic, Queue: p.Index, Offset: at, Max: 1})
	return err
}

// refused says in this package's words why a broker did not store a position.
func (w *writing) refused(r *row, err error) error {
	if remoting.IsCode(err, remoting.GroupNotExist) {
		return fmt.Errorf("%s: group %s %w on %s, and this broker stores nothing for such a group: repeat with --create-group, or create it: %w",
			r.Partition, w.group, offset.ErrUnknownName, r.broker.Name, err)
	}
	return fmt.Errorf("%s: %w", r.Partition, asked(r.broker, err))
}

// lookAfter reads back what was sent. What got no answer and is not there is sent once more, as long as the caller waits.
func (w *writing) lookAfter(ctx, after context.Context, at []int) {
	again := w.compare(after, at)
	if len(again) == 0 {
		return
	}
	if ctx.Err() == nil {
		w.updateAll(ctx, again)
		again = w.compare(after, slices.DeleteFunc(again, func(i int) bool { return w.rows[i].err != nil }))
	}
	for _, i := range again {
		r := &w.rows[i]
		r.err = fmt.Errorf("%s: it got no answer and is not there (yet): %w", r.Partition, offset.ErrOutcome)
	}
}

// compare reads rows that were sent and answers those that got no answer and have not changed.
func (w *writing) compare(after context.Context, at []int) (unchanged []int) {
	if len(at) == 0 {
		return nil
	}
	now := w.read(after, at)
	for k, i := range at {
		r := &w.rows[i]
		if now[k].Err != nil {
			r.err = fmt.Errorf("%s: %w, and reading it back failed: %w", r.Partition, offset.ErrOutcome, now[k].Err)
			continue
		}
		r.now = now[k].Value
		switch arrived := r.now.Same(stored(r.send)); {
		case arrived, r.said: // what is there is the answer, also when it is something else
		case r.now.Version == r.From.Version:
			unchanged = append(unchanged, i)
		default:
			r.err = fmt.Errorf("%s %w: it got no answer, and somebody else's position is there", r.Partition, offset.ErrMoved)
		}
	}
	return unchanged
}
