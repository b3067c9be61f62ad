package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/offsetctl/offsetctl/offset"
)

// writeTries is how often a write is tried that failed for no reason that can be seen: somebody makes the nodes above ours.
const writeTries = 4

// maxMulti is what goes into one transaction. The servers cut the connection above 1 MiB.
const maxMulti = 500 << 10

// Write makes all changes in one transaction, or none.
func (s *Store) Write(ctx context.Context, group string, changes []offset.Change) []offset.Result[offset.Stored] {
	out := make([]offset.Result[offset.Stored], len(changes))
	if len(changes) == 0 {
		return out
	}
	for i, c := range changes {
		if out[i].Err = nodeName(group); out[i].Err == nil {
			out[i].Err = s.possible(c)
		}
	}
	if offset.Untouched(out) {
		return out
	}
	again := true // after an answer that was lost
	for n := 1; ; n++ {
		now := s.current(ctx, group, changes)
		if compare(changes, now, out) {
			return out
		}
		err := s.commit(ctx, group, changes, now, out)
		switch {
		case err == nil:
			return out
		case n < writeTries && (errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNodeExists)):
			continue // the next look shows who moved
		case errors.Is(err, errLost) && again && ctx.Err() == nil:
			again = false
			continue
		}
		for i := range out {
			out[i] = offset.Result[offset.Stored]{Err: err}
		}
		return out
	}
}

// compare holds what is there against what was there when the changes were planned, and tells whether they are off.
func compare(changes []offset.Change, now []there, out []offset.Result[offset.Stored]) bool {
	for i, c := range changes {
		if out[i] = now[i].Result; out[i].Err == nil && out[i].Value.Version != c.From.Version {
			out[i].Err = offset.ErrMoved
		}
	}
	return offset.Untouched(out)
}

// possible says why a change can never be made, or nil.
func (s *Store) possible(c offset.Change) error {
	if err := s.holds(c.Partition); err != nil {
		return err
	}
	switch to := c.To; {
	case to.State == offset.Unknown:
		return fmt.Errorf("%s: neither a position nor its absence: never written", c.Partition)
	case to.State == offset.Set && to.Next < 0:
		return fmt.Errorf("%s: %d is no position: never written", c.Partition, to.Next)
	case s.storm:
		return s.spoutable(c)
	}
	return nil
}

// spoutable says why a spout's node cannot be changed so, or nil: what an undo puts back has been a spout's node, and no other is made.
func (s *Store) spoutable(c offset.Change) error {
	back := c.To.Raw != nil || c.To.State == offset.Invalid
	if gone := c.To.State == offset.Absent; (c.From.Version == absent) == gone || back {
		return nil
	}
	return fmt.Errorf("%s %w: the spout makes and deletes its nodes itself; run it once", c.Partition, offset.ErrUnsupported)
}

// there is a node as it is.
type there struct {
	path string
	offset.Result[offset.Stored]
}

// current reads what the changes are about.
func (s *Store) current(ctx context.Context, group string, changes []offset.Change) []there {
	out := make([]there, len(changes))
	if err := s.sync(ctx, s.chroot+s.config.root); err != nil {
		for i := range out {
			out[i].Err = s.explain("reading before the write", err)
		}
		return out
	}
	each(len(changes), func(i int) { out[i].path, out[i].Value, out[i].Err = s.find(ctx, group, changes[i].Partition) })
	return out
}

// errLost: the connection was lost, and what was there before is there still.
var errLost = errors.New("the connection was lost, and nothing was written")

// commit sends the changes, and fills out.
func (s *Store) commit(ctx context.Context, group string, changes []offset.Change, now []there, out []offset.Result[offset.Stored]) error {
	t, err := s.transaction(ctx, group, changes, now)
	if err != nil {
		return err
	}
	answers, err := s.multi(ctx, t.ops)
	switch {
	case err == nil:
		t.fill(s, answers, out)
		return nil
	case errors.Is(err, zk.ErrConnectionClosed), errors.Is(err, zk.ErrSessionExpired):
		return s.decide(ctx, group, changes, t, out)
	case errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNodeExists):
		return fmt.Errorf("%s: writing group %s: the nodes change again and again; nothing was written: %w", s.name, group, err)
	}
	return s.explain("writing group "+group, err)
}

// multi sends a transaction. Once it is sent it is waited for, whatever becomes of ctx; without an answer it is
// zk.ErrConnectionClosed.
func (s *Store) multi(ctx context.Context, ops []any) ([]zk.MultiResponse, error) {
	s.env.Call(s.name, "Multi")
	if err := ctx.Err(); err != nil { // the last moment at which to give up
		return nil, err
	}
	type answer struct {
		of  []zk.MultiResponse
		err error
	}
	got := make(chan answer, 1)
	go func() {
		r, err := s.Multi(ops...)
		got <- answer{r, err}
	}()
	late := time.NewTimer(decideTime)
	defer late.Stop()
	select {
	case a := <-got:
		return a.of, a.err
	case <-late.C:
		return nil, zk.ErrConnectionClosed
	}
}

// decide finds out what became of a transaction whose answer was lost. It is all or nothing: one node that is as only it makes
// it proves that it happened.
func (s *Store) decide(ctx context.Context, group string, changes []offset.Change, t transaction, out []offset.Result[offset.Stored]) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), decideTime)
	defer cancel()
	now := s.current(ctx, group, changes)
	ours, before := 0, 0
	for i, c := range changes {
		if now[i].Err != nil {
			return fmt.Errorf("%s %w: the connection was lost while it was written, and looking again failed: %w", group, offset.ErrOutcome, now[i].Err)
		}
		switch v := now[i].Value; {
		case t.made(i, c.From.Version, v):
			ours++
		case v.Version == c.From.Version:
			before++
		}
	}
	switch {
	case ours > 0:
		for i := range out {
			out[i] = now[i].Result
		}
		return nil
	case before == len(changes):
		return fmt.Errorf("%s: %w: %w", s.name, offset.ErrUnreachable, errLost)
	}
	return fmt.Errorf("group %s %w: the connection was lost while it was written, and others have written since", group, offset.ErrOutcome)
}
