package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// partSize is how many changes go into one Write where each stands alone: many in one round trip, and an interruption is obeyed soon.
const partSize = 1000

// parts cuts a group's changes where the store keeps nothing together anyway.
func parts(cs []offset.Change, together offset.Extent) (out [][]offset.Change) {
	if together == offset.PerGroup {
		return [][]offset.Change{cs}
	}
	if together == offset.EachAlone {
		return slices.Collect(slices.Chunk(cs, partSize))
	}
	from := 0
	for i := 1; i <= len(cs); i++ {
		if i == len(cs) || cs[i].Partition.Topic != cs[from].Partition.Topic {
			out = append(out, cs[from:i])
			from = i
		}
	}
	return out
}

// write sends the changes. An interruption is obeyed between two writes, never within one; after a write in which anything
// failed nothing more is sent.
func (a *applying) write(ctx context.Context) {
	done, total := 0, a.out.Wanted()
	for i := range a.plan.Groups {
		g := &a.plan.Groups[i]
		cs := g.changes(a.caps.Whole)
		for n, part := range a.split(g, cs) {
			if ctx.Err() != nil {
				a.out.Interrupted = true
				return
			}
			os := a.first(ctx, g, part, n == 0)
			a.note(ctx, os)
			for _, o := range os {
				if !o.Status.Done() {
					return
				}
			}
			done += len(part)
			a.progress("writing", done, total)
		}
	}
}

func (a *applying) split(g *Group, cs []offset.Change) [][]offset.Change {
	switch {
	case g.Delete || g.Kept != nil:
		return [][]offset.Change{cs}
	case len(cs) == 0:
		return nil
	case a.caps.Whole:
		return parts(cs, max(a.caps.Together, offset.PerTopic))
	}
	return parts(cs, a.caps.Together)
}

// watched is how much longer a write to a live group may take: its store watches the members until they have moved, which takes
// up to a minute.
const watched = 2 * time.Minute

// send is one write.
func (a *applying) send(ctx context.Context, g *Group, cs []offset.Change) []Outcome {
	longer := time.Duration(0)
	if a.Allowed.Has(AllowLive) {
		longer = watched
	}
	ctx, cancel := a.detachedFor(ctx, longer)
	defer cancel()
	var res []offset.Result[offset.Stored]
	switch {
	case g.Delete:
		return a.deleteGroup(ctx, g.Name, cs)
	case g.Kept != nil:
		res = all(cs, restore(ctx, a.Store, g))
	default:
		res = a.Store.Write(ctx, g.Name, cs)
	}
	return outcomes(g.Name, cs, res)
}

// first is send, of a group's first part only when the group is there.
func (a *applying) first(ctx context.Context, g *Group, part []offset.Change, first bool) []Outcome {
	if first {
		if err := a.create(ctx, g); err != nil {
			return outcomes(g.Name, part, all(part, err))
		}
	}
	return a.send(ctx, g, part)
}

func outcomes(group string, cs []offset.Change, res []offset.Result[offset.Stored]) []Outcome {
	out := make([]Outcome, len(cs))
	for i, c := range cs {
		r := offset.Result[offset.Stored]{Err: fmt.Errorf("the store did not answer: %w", offset.ErrOutcome)}
		if i < len(res) {
			r = res[i]
		}
		out[i] = outcomeOf(group, c, r)
	}
	return out
}

// create makes a group that the store keeps nothing for until it was made.
func (a *applying) create(ctx context.Context, g *Group) error {
	c, ok := a.Store.(offset.GroupCreator)
	if !ok || !g.New || !a.Allowed.Has(CreateGroup) {
		return nil
	}
	ctx, cancel := a.detached(ctx)
	defer cancel()
	if err := c.CreateGroup(ctx, g.Name); err != nil {
		return fmt.Errorf("group %s could not be made: %w", g.Name, err)
	}
	return nil
}

// all is the same answer for every change: what was wanted is there, or err.
func all(cs []offset.Change, err error) []offset.Result[offset.Stored] {
	out := make([]offset.Result[offset.Stored], len(cs))
	for i, c := range cs {
		out[i] = offset.Result[offset.Stored]{Value: c.To, Err: err}
		if err != nil {
			out[i].Value = offset.Stored{}
		}
	}
	return out
}

// deleteGroup deletes a whole group. Where it has no position, or the answer is about all of it, the outcomes speak of the group.
func (a *applying) deleteGroup(ctx context.Context, group string, had []offset.Change) []Outcome {
	d, ok := a.Store.(offset.GroupDeleter)
	if !ok {
		return outcomes(group, had, all(had, fmt.Errorf("deleting a group %w", offset.ErrUnsupported)))
	}
	res, err := d.DeleteGroup(ctx, group, had)
	if err == nil && res != nil && len(had) > 0 {
		return outcomes(group, had, res)
	}
	gone := []offset.Change{{To: offset.Stored{State: offset.Absent}}}
	whole := outcomeOf(group, gone[0], all(gone, err)[0])
	if len(had) == 0 {
		return []Outcome{whole}
	}
	out := outcomes(group, had, all(had, err))
	for i := range out {
		out[i].Text = whole.Text
	}
	return out
}

func restore(ctx context.Context, s offset.Store, g *Group) error {
	k, ok := s.(offset.Keeper)
	if !ok {
		return fmt.Errorf("restoring what was kept %w", offset.ErrUnsupported)
	}
	return k.Restore(ctx, g.Name, g.Kept)
}

// note puts outcomes into their places, and into the journal as soon as they are known.
func (a *applying) note(ctx context.Context, os []Outcome) {
	for _, o := range os {
		if i, ok := a.at[rowKey{o.Group, o.Partition}]; ok && a.out.Outcomes[i].Status != Unchanged {
			a.out.Outcomes[i] = o
		}
	}
	ctx, cancel := a.detached(ctx)
	defer cancel()
	if err := a.Journal.record(ctx, a.id, laterLine{At: a.Now().UTC(), Outcomes: os}); err != nil {
		a.out.JournalErr = errors.Join(a.out.JournalErr, err)
		return
	}
	for _, o := range os {
		a.said[rowKey{o.Group, o.Partition}] = o.Status
	}
}

// readBack compares what is there with what was written. A write's own yes is not enough.
func (a *applying) readBack(ctx context.Context) {
	ctx, cancel := a.detached(ctx)
	defer cancel()
	a.sent(ctx, func(o *Outcome, c offset.Change, now offset.Result[offset.Stored]) {
		switch {
		case now.Err != nil && o.Status == Written:
			o.Status, o.Err = NotKnown, errors.Join(offset.ErrOutcome, now.Err)
			o.Text = fmt.Sprintf("%s: sent, and cannot be read back: %v", c.Partition, now.Err)
		case now.Err != nil:
		case arrived(c.To, now.Value) && errors.Is(o.Err, offset.ErrVolatile): // that it is there now is no news
			o.Now = &now.Value
		case arrived(c.To, now.Value):
			if o.Status == NotKnown || o.Status == Differs {
				o.Err, o.Text = nil, ""
			}
			o.Status, o.Now = Written, &now.Value
		case o.Status == NotKnown: // it may still land
			o.Now = &now.Value
		case now.Value.Same(c.From):
			o.Status, o.Now = Differs, &now.Value
			o.Text = fmt.Sprintf("%s: the store said yes to %s, and %s is still there", c.Partition, at(c.To), at(now.Value))
		default:
			o.Status, o.Now = Overwritten, &now.Value
			o.Text = fmt.Sprintf("%s: %s was written, and %s is there: somebody else writes", c.Partition, at(c.To), at(now.Value))
		}
	})
}

// lookAgain looks once more after the time that a running job, or the broker itself, needs to overwrite what was written.
func (a *applying) lookAgain(ctx context.Context) {
	wait := a.caps.Settle
	if !a.caps.Members {
		wait = max(wait, a.Settle)
	}
	if wait <= 0 || a.out.Count(Written) == 0 {
		return
	}
	if a.caps.Members && !a.Durable { // it knows who consumes, so all that may still happen is that it forgets
		a.out.Volatile = wait
		return
	}
	a.progress("waiting to look once more", 0, 0)
	if ctx.Err() != nil || a.Wait(ctx, wait) != nil {
		a.out.Interrupted, a.out.NotLooked = true, true
		return
	}
	ctx, cancel := a.detached(ctx)
	defer cancel()
	a.sent(ctx, func(o *Outcome, c offset.Change, now offset.Result[offset.Stored]) {
		switch {
		case o.Status != Written || now.Err == nil && arrived(c.To, now.Value):
		case now.Err != nil:
			o.Status, o.Err = NotKnown, errors.Join(offset.ErrOutcome, now.Err)
			o.Text = fmt.Sprintf("%s: written, and %s later it cannot be read: %v", c.Partition, wait, now.Err)
		default:
			o.Status, o.Now = Overwritten, &now.Value
			o.Text = fmt.Sprintf("%s: overwritten by a live job: %s was written, and %s is there %s later", c.Partition, at(c.To), at(now.Value), wait)
		}
	})
}

// sent reads every row that was written, or may have been.
func (a *applying) sent(ctx context.Context, each func(*Outcome, offset.Change, offset.Result[offset.Stored])) {
	for i := range a.plan.Groups {
		g := &a.plan.Groups[i]
		var cs []offset.Change
		for _, c := range g.changes(false) {
			switch o := &a.out.Outcomes[a.at[rowKey{g.Name, c.Partition}]]; {
			case o.taken: // the store has watched it
			case o.Status == Written, o.Status == NotKnown, o.Status == Differs:
				cs = append(cs, c)
			}
		}
		if len(cs) == 0 {
			continue
		}
		for j, now := range read(ctx, a.Store, g.Name, cs) {
			each(&a.out.Outcomes[a.at[rowKey{g.Name, cs[j].Partition}]], cs[j], now)
		}
	}
}
