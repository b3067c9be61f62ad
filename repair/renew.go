package repair

import (
	"fmt"
	"slices"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

// Renew looks at p with today's survey of its groups: a copy with today's ranges and costs comes back, never nil. Rows that are
// already where they should be are kept, which makes a second apply go on where the first one stopped. The error, a *Refused,
// names what has moved since, what can no longer be measured, and targets that retention has passed; clamp moves those to the log start.
func Renew(p *Plan, sv *inspect.Survey, clamp bool) (*Plan, error) {
	q := p.clone()
	q.seen = sv
	var reasons []Reason
	for i := range q.Groups {
		g := &q.Groups[i]
		for j := range g.Items {
			it := &g.Items[j]
			if r := renewItem(q, it, find(sv, g.Name, it.Partition), clamp); r != nil {
				r.Group, r.Partition = g.Name, &it.Partition
				it.Refused, it.Effect = r.Text, offset.Resolution{}
				reasons = append(reasons, *r)
			}
		}
	}
	return q, refused(reasons)
}

func find(sv *inspect.Survey, group string, p offset.Partition) *inspect.Line {
	i, ok := slices.BinarySearchFunc(sv.Lines, p, func(l inspect.Line, p offset.Partition) int {
		switch {
		case l.Group < group:
			return -1
		case l.Group > group:
			return 1
		}
		return l.Partition.Compare(p)
	})
	if !ok {
		return nil
	}
	return &sv.Lines[i]
}

func renewItem(p *Plan, it *Item, l *inspect.Line, clamp bool) *Reason {
	if it.Action == Keep {
		return nil
	}
	if l == nil {
		return &Reason{Cause: CauseNames, Err: offset.ErrUnknownName, Text: fmt.Sprintf("%s is in the plan and was not found", it.Partition), Next: "plan again"}
	}
	now := l.Stored.Value
	if l.Stored.Err != nil || now.State == offset.Unknown {
		r := unmeasured(l, "what is stored is not known", l.Stored.Err)
		return &r
	}
	if there(it.Change, now) {
		it.Action, it.Note, it.From, it.there = Keep, "already there", now, true
		return nil
	}
	if !now.Same(it.From) || now.Version != it.From.Version {
		return movedReason(it.Change, now)
	}
	if it.Action == Delete || p.Kind == KindUndo {
		renewBounds(it, l)
		return nil
	}
	if l.Log.Err != nil {
		r := unmeasured(l, "its range is not known", l.Log.Err)
		return &r
	}
	return renewTarget(it, l, clamp)
}

func renewBounds(it *Item, l *inspect.Line) {
	if !l.Exists || l.Log.Err != nil {
		it.Bounds = nil
		return
	}
	b := l.Log.Value.Bounds
	it.Bounds = &b
	if it.Action == Write && it.To.State == offset.Set {
		it.Effect = effect(b, it.From, l.Beside, it.To.Next)
	}
}

func renewTarget(it *Item, l *inspect.Line, clamp bool) *Reason {
	b := l.Log.Value.Bounds
	wanted := it.To.Next
	why := it.Effect.Why
	switch {
	case b.Inside(wanted):
	case clamp && wanted < b.Start:
		it.To.Next, it.Note = b.Start, notes(it.Note, fmt.Sprintf("%d is before the log start by now", wanted))
	case clamp:
		it.To.Next, it.Note = b.End, notes(it.Note, fmt.Sprintf("%d is past the log end by now", wanted))
	case wanted < b.Start:
		return &Reason{Cause: CauseOutside, Text: fmt.Sprintf("%s: retention has passed the target: %d is outside the log, which has %d to %d by now", it.Partition, wanted, b.Start, b.End),
			Next: "plan again, or --clamp for the log start"}
	default:
		return &Reason{Cause: CauseOutside, Text: fmt.Sprintf("%s: %d is outside the log, which has %d to %d by now", it.Partition, wanted, b.Start, b.End),
			Next: "look whether the topic was made again, and plan again"}
	}
	it.To.TopicID = l.TopicID
	renewBounds(it, l)
	it.Effect.Wanted, it.Effect.Why = wanted, why
	return nil
}

// there tells whether now is what c wants. A change that keeps the number is there only when what it changes is, too.
func there(c offset.Change, now offset.Stored) bool {
	to := c.To
	switch {
	case now.State != to.State:
		return false
	case to.State == offset.Absent:
		return true
	case to.State != offset.Set || to.Raw != nil:
		return now.Same(to) && slices.Equal(now.Raw, to.Raw)
	case now.Next != to.Next:
		return false
	case c.From.State == offset.Set && c.From.Next == to.Next:
		return now.LeaderEpoch == to.LeaderEpoch && now.Metadata == to.Metadata && now.Version != c.From.Version
	}
	return true
}

func movedReason(c offset.Change, now offset.Stored) *Reason {
	text := fmt.Sprintf("%s changed from %s to %s since the plan", c.Partition, at(c.From), at(now))
	if now.Same(c.From) {
		text = fmt.Sprintf("%s was written anew since the plan, with the same %s", c.Partition, at(now))
	}
	return &Reason{Cause: CauseMoved, Err: offset.ErrMoved, Text: text, Next: "somebody writes there: stop the job, inspect, and plan again"}
}
