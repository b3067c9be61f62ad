package kafka

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// lookTimeout is for looking at what a write did, also when the caller's time is up.
const lookTimeout = 10 * time.Second

func afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), lookTimeout)
}

// Write reads again, commits what has not moved since, and reads back. Brokers refuse it for a group with members.
func (g groupStore) Write(ctx context.Context, group string, changes []offset.Change) []offset.Result[offset.Stored] {
	w := &writing{g: g, group: group, ch: changes, out: make([]offset.Result[offset.Stored], len(changes))}
	which := w.check(ctx)
	lost := w.send(ctx, which)
	tried := w.verify(ctx, which, lost)
	// Nothing is there of what was lost: it may be sent once more.
	if len(tried) > 0 && ctx.Err() == nil {
		for _, i := range tried {
			w.out[i].Err = nil
		}
		lost = w.send(ctx, tried)
		for _, i := range w.verify(ctx, tried, lost) {
			w.out[i].Err = fmt.Errorf("%v %w: two tries got no answer, and it still has its old position", changes[i].Partition, offset.ErrOutcome)
		}
	}
	return w.out
}

// writing is one call of Write.
type writing struct {
	g     groupStore
	group string
	ch    []offset.Change
	out   []offset.Result[offset.Stored]
}

func (w *writing) read(ctx context.Context, which []int) []offset.Result[offset.Stored] {
	ps := make([]offset.Partition, len(which))
	for k, i := range which {
		ps[k] = w.ch[i].Partition
	}
	return w.g.Read(ctx, []offset.Query{{Group: w.group, Topics: []string{}, Expect: ps}})[0].Expected
}

// check answers the changes that can be written: those whose partition still has the version that was read.
func (w *writing) check(ctx context.Context) (which []int) {
	var able []int
	for i, c := range w.ch {
		if w.out[i].Err = impossible(w.group, c); w.out[i].Err == nil {
			able = append(able, i)
		}
	}
	if len(able) == 0 {
		return nil
	}
	for k, now := range w.read(ctx, able) {
		i := able[k]
		switch {
		case now.Err != nil:
			w.out[i].Err = now.Err
		case now.Value.Version != w.ch[i].From.Version:
			w.out[i] = offset.Result[offset.Stored]{Value: now.Value, Err: fmt.Errorf("%v %w", w.ch[i].Partition, offset.ErrMoved)}
		case ctx.Err() != nil:
			w.out[i].Err = fmt.Errorf("%v: nothing was written: %w", w.ch[i].Partition, ctx.Err())
		default:
			which = append(which, i)
		}
	}
	return which
}

// impossible is why a change can never be written.
func impossible(group string, c offset.Change) error {
	if err := cmp.Or(badGroup(group), badPartition(c.Partition)); err != nil {
		return err
	}
	_, ok := number(c.To)
	switch {
	case c.To.State == offset.Absent && c.To.Raw == nil, ok:
		return nil
	case c.To.State == offset.Set:
		return offset.As(offset.ErrUnsupported, fmt.Errorf("%v: %d is no position", c.Partition, c.To.Next))
	}
	return offset.As(offset.ErrUnsupported, fmt.Errorf("%v: a %s position cannot be written", c.Partition, c.To.State))
}

// number is what is committed for a wanted position; raw bytes bring back what somebody else had committed.
func number(s offset.Stored) (int64, bool) {
	if s.Raw != nil {
		n, err := strconv.ParseInt(string(s.Raw), 10, 64)
		return n, err == nil
	}
	return s.Next, s.State == offset.Set && s.Next >= 0
}

// send writes and answers which changes got no answer.
func (w *writing) send(ctx context.Context, which []int) (lost []int) {
	for try := 0; len(which) > 0; try++ {
		f := w.g.find(ctx, []string{w.group})[0]
		if f.err != nil {
			for _, i := range which {
				w.out[i].Err = f.err
			}
			return lost
		}
		sends := w.sends(f.node, which)
		each(len(sends), func(k int) { sends[k].run(ctx, w.g.Cluster) })
		which = which[:0:0]
		for k := range sends {
			s := &sends[k]
			if s.lost {
				lost = append(lost, s.which...)
			}
			for n, i := range s.which {
				w.out[i].Err = s.errs[n]
				if s.elsewhere {
					which = append(which, i)
				}
			}
		}
		if len(which) == 0 && w.shareAfterAll(ctx, sends) {
			which = slices.Concat(sends[0].which, nil)
			continue
		}
		if len(which) > 0 {
			w.g.forget(w.group, f)
			if try == len(patience) || !wait(ctx, patience[try]) {
				return lost
			}
		}
	}
	return lost
}

// shareAfterAll finds out that the group is a share group where nothing had told, and brokers say of its positions that there is
// no such group.
func (w *writing) shareAfterAll(ctx context.Context, sends []sending) bool {
	if len(sends) != 1 || !sends[0].noGroup || w.g.kindOf(w.group) != "" || !w.g.offers.Load().has(keyShareOffsets, 0) {
		return false
	}
	w.g.Describe(ctx, []string{w.group})
	return w.g.kindOf(w.group) == share
}

// verify reads back what was written and looks at what got no answer; it answers which of those still have their old position.
func (w *writing) verify(ctx context.Context, which, lost []int) (unchanged []int) {
	gone := make([]bool, len(w.ch))
	for _, i := range lost {
		gone[i] = true
	}
	var look []int
	for _, i := range which {
		if w.out[i].Err == nil || gone[i] {
			look = append(look, i)
		}
	}
	if len(look) == 0 {
		return nil
	}
	ctx, cancel := afterwards(ctx)
	defer cancel()
	for k, now := range w.read(ctx, look) {
		i := look[k]
		c, cause := w.ch[i], w.out[i].Err
		switch {
		case now.Err != nil && gone[i]:
			w.out[i].Err = fmt.Errorf("%v %w: %w; it could not be read again: %w", c.Partition, offset.ErrOutcome, cause, now.Err)
		case now.Err != nil:
			w.out[i].Err = fmt.Errorf("%v %w: the broker took it, and it could not be read back: %w", c.Partition, offset.ErrOutcome, now.Err)
		case same(now.Value, c.To):
			w.out[i] = now
		case gone[i] && now.Value.Version == c.From.Version:
			unchanged = append(unchanged, i)
			w.out[i].Err = fmt.Errorf("%v %w: %w; it still has its old position", c.Partition, offset.ErrOutcome, cause)
		default:
			w.out[i] = offset.Result[offset.Stored]{Value: now.Value, Err: fmt.Errorf("%v %w: another position is there than the one written", c.Partition, offset.ErrMoved)}
		}
	}
	return unchanged
}

// same tells whether what is there is what was wanted.
func same(now, to offset.Stored) bool {
	if to.State == offset.Absent && to.Raw == nil {
		return now.State == offset.Absent
	}
	n, _ := number(to)
	got := now.Next
	if now.State == offset.Invalid {
		got, _ = number(now)
	}
	return now.State != offset.Absent && n == got && now.Metadata == to.Metadata
}
