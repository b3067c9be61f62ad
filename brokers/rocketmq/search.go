package rocketmq

import (
	"context"
	"fmt"
	"time"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/offset"
)

const (
	// window is how many messages are looked at in one step around what a broker's search answers; brokers give at most 32.
	window = 32
	// maxSteps bounds the walk: more messages than this with one store time are not gone through.
	maxSteps = 128
)

// search finds the first offset whose message was stored at or after t, NoRecord when there is none. Brokers search by rules
// that differ between versions (the nearest message, the last one for any later time), so what they answer is only where the
// walk starts. last is the store time of the last message in ms.
func (c *Cluster) search(ctx context.Context, b remoting.Broker, p offset.Partition, in offset.Bounds, last int64, t time.Time) (int64, error) {
	if in.Start == in.End || last < t.UnixMilli() {
		return offset.NoRecord, nil
	}
	guess, err := c.client.SearchOffset(ctx, b, p.Topic, p.Index, t)
	if err != nil {
		return 0, asked(b, err)
	}
	w := walk{c: c, b: b, p: p, in: in, t: t}
	return w.from(ctx, min(max(guess, in.Start), in.End))
}

// walk looks at messages around an offset until one is at or after t and the one before it is not.
type walk struct {
	c  *Cluster
	b  remoting.Broker
	p  offset.Partition
	in offset.Bounds
	t  time.Time
}

func (w walk) from(ctx context.Context, guess int64) (int64, error) {
	ms, err := w.read(ctx, max(guess-1, w.in.Start), 2)
	if err != nil {
		return 0, err
	}
	switch {
	case len(ms) == 0:
		return offset.NoRecord, nil
	case !w.reached(ms[0]):
		return w.right(ctx, ms)
	case ms[0].Offset <= w.in.Start:
		return ms[0].Offset, nil
	}
	return w.left(ctx, ms[0].Offset)
}

func (w walk) reached(m remoting.Message) bool { return !m.Stored.Before(w.t) }

// right goes on after messages of which the first is before t.
func (w walk) right(ctx context.Context, ms []remoting.Message) (int64, error) {
	for range maxSteps {
		for _, m := range ms {
			if w.reached(m) {
				return m.Offset, nil
			}
		}
		var err error
		if ms, err = w.read(ctx, ms[len(ms)-1].Offset+1, window); err != nil {
			return 0, err
		}
		if len(ms) == 0 {
			return offset.NoRecord, nil
		}
	}
	return 0, w.tooFar()
}

// left goes back from a message that is at or after t.
func (w walk) left(ctx context.Context, found int64) (int64, error) {
	at := found
	for range maxSteps {
		from := max(at-window, w.in.Start)
		ms, err := w.between(ctx, from, at)
		if err != nil {
			return 0, err
		}
		for i := len(ms) - 1; i >= 0; i-- {
			if !w.reached(ms[i]) {
				return found, nil
			}
			found = ms[i].Offset
		}
		if from == w.in.Start {
			return found, nil
		}
		if len(ms) == 0 { // a hole, or all before are gone
			first, err := w.read(ctx, w.in.Start, 1)
			if err != nil || len(first) > 0 && first[0].Offset >= found {
				return found, err
			}
		}
		at = from
	}
	return 0, w.tooFar()
}

// between are the messages from one offset up to another; a broker may give fewer than were asked for.
func (w walk) between(ctx context.Context, from, to int64) (out []remoting.Message, err error) {
	for from < to {
		ms, err := w.read(ctx, from, int(to-from))
		if err != nil {
			return nil, err
		}
		for _, m := range ms {
			if m.Offset < to {
				out = append(out, m)
			}
		}
		if len(ms) == 0 {
			break
		}
		from = ms[len(ms)-1].Offset + 1
	}
	return out, nil
}

func (w walk) tooFar() error {
	return fmt.Errorf("more than %d messages around it have store times that do not settle it", maxSteps*window)
}

func (w walk) read(ctx context.Context, at int64, n int) ([]remoting.Message, error) {
	return w.c.messages(ctx, w.b, w.p, at, n)
}
