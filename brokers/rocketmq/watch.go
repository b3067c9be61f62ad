package rocketmq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/offset"
)

// way is how a live queue was written.
type way uint8

const (
	byStoring way = iota // the position was stored, and no client was told
	byReset              // the broker keeps a reset and gives it to the client with its next pull
	byTelling            // the broker told the clients a time
)

// span is how long a queue is watched at most.
func (p pace) span(how way) time.Duration {
	return []time.Duration{byStoring: p.stored, byReset: p.kept, byTelling: p.told}[how]
}

// phase is how far a live queue has come.
type phase uint8

const (
	waiting phase = iota // the target has not been seen
	arrived              // it is in the broker's table, which says nothing of the client
	bounced              // and then the client stored its old position once more
	moved                // the client reads from the target on
)

// next is the phase after one more look.
//
// A client that takes a kept reset over pauses for ten seconds, in which it stores its old position once more, and then comes
// back to the target. Replaying from there may bring it to its old position again, so the order of what is seen decides, not
// the last look.
func (p phase) next(how way, target int64, isNew bool, seen offset.Stored) phase {
	switch {
	case p == moved:
		return moved
	case !isNew && p == arrived:
		return bounced
	case !isNew:
		return p
	case p == bounced, how == byTelling: // only a client can have stored it
		return moved
	case seen.State == offset.Set && seen.Next != target: // it has gone on from there
		return moved
	}
	return arrived
}

// isNew tells whether a position can only be had by reading from the target on.
func (c row) isNew(seen offset.Stored) bool {
	switch {
	case seen.State != offset.Set || c.To.State != offset.Set:
		return seen.Same(stored(c.send))
	case c.From.State != offset.Set || c.send >= c.From.Next:
		return seen.Next >= c.send
	}
	return seen.Next >= c.send && seen.Next < c.From.Next
}

// settled: nothing more is to be learnt by looking.
func (c row) settled() bool {
	return c.err != nil || !c.sent || c.phase == moved || c.way == byStoring && c.phase == bounced
}

// watch looks at the rows that were sent until each is settled or its time is over.
func (w *writing) watch(ctx context.Context) {
	begin := w.env.Now()
	tick := time.NewTicker(w.pace.poll)
	defer tick.Stop()
	for {
		passed := w.env.Now().Sub(begin)
		at := slices.DeleteFunc(w.open(), func(i int) bool { return w.rows[i].settled() })
		if len(at) == 0 {
			return
		}
		over := true
		for k, now := range w.read(ctx, at) {
			r := &w.rows[at[k]]
			switch {
			case now.Err == nil:
				r.see(now.Value)
			case ctx.Err() == nil:
				w.env.Log.Info("a look at a live queue failed", "queue", r.Partition.String(), "error", now.Err)
			}
			over = over && (r.settled() || passed >= w.pace.span(r.way))
		}
		if over {
			w.conclude(ctx, at)
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			for _, i := range at {
				if r := &w.rows[i]; !r.settled() {
					r.err = fmt.Errorf("%s: it was sent, and nobody waited until its clients had moved: %w", r.Partition, offset.ErrOutcome)
				}
			}
			return
		}
	}
}

// taken is a position from which clients were seen to read.
func taken(next int64) offset.Stored {
	s := stored(next)
	s.Taken = true
	return s
}

// conclude answers for the rows whose time is over. A client may have read up to its old position again between two looks at
// what is stored: that it has consumed meanwhile although the position is the same tells. That it has begun with the queue anew
// is no proof: clients do so by themselves, and those whose new position got lost on its way.
func (w *writing) conclude(ctx context.Context, at []int) {
	at = slices.DeleteFunc(at, func(i int) bool { return w.rows[i].settled() || w.rows[i].phase == arrived })
	if len(at) == 0 {
		return
	}
	now := w.consumedAfterwards(ctx)
	for _, i := range at {
		r := &w.rows[i]
		after, knows := now[r.Partition]
		switch {
		case r.now.State == offset.Set && r.now.Next == r.From.Next && knows && w.consumedSince(r.Partition, after):
			r.now = taken(r.send)
		case r.phase == bounced && knows && r.way == byReset: // the broker may still have the reset, or a client be about to obey
			r.err = fmt.Errorf("%s: after %v its clients are at %s, and have not gone to %d yet: %w", r.Partition, w.pace.span(r.way), describe(r.now), r.send, offset.ErrOutcome)
		case r.phase == bounced && knows:
		default:
			r.err = fmt.Errorf("%s: after %v %s is stored: its clients have not gone to %d, or have read from there up to it already, and they did not tell which: %w",
				r.Partition, w.pace.span(r.way), describe(r.now), r.send, offset.ErrOutcome)
		}
	}
}

// consumedSince tells whether a client has consumed from a queue since the write. Where it did not tell what it did before, our
// time of the write stands for that: a client that obeys pauses before it reads again, and clocks differ by less than half of it.
func (w *writing) consumedSince(p offset.Partition, now remoting.ClientQueue) bool {
	before, knew := w.consumed[p]
	if !knew {
		before.LastConsumed = w.began.Add(clientPause / 2).UnixMilli()
	}
	return now.Consumed() && now.LastConsumed > before.LastConsumed
}

// clientPause is how long a client pauses that was told to read from somewhere else.
const clientPause = 10 * time.Second

func describe(s offset.Stored) string {
	if s.State == offset.Set {
		return strconv.FormatInt(s.Next, 10)
	}
	return "no position"
}

// consumedAfterwards is lastConsumed once all clients could tell: a Go client cannot for some ten seconds after a burst, which
// reading again is.
func (w *writing) consumedAfterwards(ctx context.Context) map[offset.Partition]remoting.ClientQueue {
	for end := w.env.Now().Add(w.pace.silent); ; {
		out, all := w.lastConsumed(ctx)
		if all || w.env.Now().After(end) {
			return out
		}
		select {
		case <-time.After(w.pace.poll):
		case <-ctx.Done():
			return out
		}
	}
}

// lastConsumed asks all clients what they did with each of their queues. all is false when one of them is there and could not
// tell.
func (w *writing) lastConsumed(ctx context.Context) (_ map[offset.Partition]remoting.ClientQueue, all bool) {
	infos, errs := make([]remoting.RunningInfo, len(w.who.clients)), make([]error, len(w.who.clients))
	each(len(infos), func(i int) {
		infos[i], errs[i] = w.client.RunningInfo(ctx, w.who.clients[i].at, w.group, w.who.clients[i].ID)
	})
	out, all := map[offset.Partition]remoting.ClientQueue{}, true
	for i, info := range infos {
		if errs[i] != nil {
			w.env.Log.Info("a client did not tell what it does", "client", w.who.clients[i].ID, "error", errs[i])
			all = all && !errors.Is(errs[i], remoting.ErrNotTold)
		}
		for q, has := range info.Queues {
			out[offset.Partition{Topic: q.Topic, Broker: q.Broker, Index: q.ID}] = has
		}
	}
	return out, all
}

// see takes one look into account. Once a client has moved, where it goes from the target is its own affair: the answer is the
// target.
func (c *row) see(now offset.Stored) {
	c.phase = c.phase.next(c.way, c.send, c.isNew(now), now)
	c.now = now
	if c.phase == moved {
		c.now = taken(c.send)
	}
}
