package hbase

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/hbase/hrpc"
)

// judge decides from what was read back what came of the last attempt. Cells that it leaves open are tried once more.
func (r *rowWrite) judge(ctx context.Context, s *Store, got hrpc.RowResult) {
	if err := r.seen(got); err != nil {
		for _, c := range r.open() {
			c.notSeen(err)
		}
		return
	}
	r.hidden = false
	for _, c := range r.open() {
		r.judgeCell(s, c)
	}
	if !s.cellwise.Load() && r.failed() {
		r.takeBack(ctx, s)
		r.untouched(s)
	}
}

func (r *rowWrite) seen(got hrpc.RowResult) error {
	if got.Err != nil {
		return got.Err
	}
	return r.look(got.Row)
}

// notSeen answers a cell that could not be looked at.
func (c *cellWrite) notSeen(err error) {
	switch a := c.attempt; {
	case c.unsure || a.done && a.err == nil || errors.Is(a.err, offset.ErrOutcome):
		c.fail(fmt.Errorf("%w; it could not be read back: %w", offset.ErrOutcome, err))
	case a.err != nil:
		c.fail(a.err)
	case !a.sent:
		c.fail(offset.ErrUntouched)
	default:
		c.fail(fmt.Errorf("%w; what is there now could not be read: %w", offset.ErrMoved, err))
	}
}

// judgeCell settles a cell, or leaves it open for another try.
func (r *rowWrite) judgeCell(s *Store, c *cellWrite) {
	a := c.attempt
	through := a.done && a.err == nil
	switch {
	case through && c.arrived(), c.unsure && c.arrived(), errors.Is(a.err, offset.ErrOutcome) && c.arrived():
		c.succeed(s)
	case through && c.holds(s):
		r.hidden = true // it went through, and a reader sees what was there before
	case through && !c.empty:
		c.overtaken(s)
	case !c.holds(s):
		// Also where it went through, into an empty cell: a marker may have hidden it, so that two such writes went through.
		c.moved(s)
	case errors.Is(a.err, offset.ErrOutcome), errors.Is(a.err, hrpc.ErrNoFilter):
		// What is there is what it started from: once more.
	case a.err != nil && c.unsure:
		c.fail(fmt.Errorf("%w: %w", offset.ErrOutcome, a.err)) // what is under way can still arrive
	case a.err != nil:
		c.fail(a.err)
	}
}

// failed: one of the row's cells has an error, and the rest goes with it.
func (r *rowWrite) failed() bool {
	return slices.ContainsFunc(r.cells, func(c *cellWrite) bool { return c.settled && c.out.Err != nil })
}

// takeBack deletes the first cell of a new row again, where no other could follow.
func (r *rowWrite) takeBack(ctx context.Context, s *Store) {
	first := r.first
	if first == nil {
		return
	}
	for _, c := range r.cells {
		if wrote := c.settled && c.out.Err == nil && c.put != nil; wrote != (c == first) {
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.look)
	defer cancel()
	_, err := s.mutate(ctx, hrpc.Mutation{
		Row:    r.key,
		Delete: []hrpc.Cell{{Qualifier: first.qualifier, Time: first.now.Time}},
		When:   []hrpc.Expect{{Qualifier: first.qualifier, Value: first.put}},
	})
	if seen := r.seen(s.client.Get(ctx, [][]byte{r.key})[0]); seen != nil {
		first.fail(fmt.Errorf("%w: it was to be taken back, and could not be looked at: %w", offset.ErrOutcome, errors.Join(err, seen)))
		return
	}
	switch {
	case first.now == nil:
		first.settled = false // untouched answers it
	case !first.arrived():
		first.moved(s)
	}
}

// giveUp answers what three rounds could not settle.
func (r *rowWrite) giveUp(s *Store) {
	for _, c := range r.open() {
		a := c.attempt
		switch {
		case a.done && a.err == nil && c.now == nil && c.put != nil:
			c.fail(errors.New("HBase took the write, and hides it: a delete marker with a timestamp in the future lies over the cell until the table's next major compaction"))
		case a.done && a.err == nil:
			c.fail(errors.New("HBase took the write, and readers still see what was there before; look at the timestamps of the cell"))
		case c.unsure || errors.Is(a.err, offset.ErrOutcome):
			c.fail(offset.ErrOutcome)
		default:
			c.moved(s)
			continue
		}
		c.out.Value = s.stored(c.now)
	}
}
