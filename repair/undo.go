package repair

import (
	"fmt"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

// UndoOptions say what to do when somebody has moved on since.
type UndoOptions struct {
	OnlyUnmoved bool // restores the others
	AlsoMoved   bool // restores these, too
	Origin      Origin
}

// MakeUndo plans to take a journal entry back. What is there now decides, not what the journal hoped: sv is what Run.Look
// answers for e.Rows. The plan is never nil; Item.To is what was there before, Item.Written what the entry
// wrote, Item.From what is there now. The error is a *Refused.
func MakeUndo(e *Entry, sv *inspect.Survey, o UndoOptions) (*Plan, error) {
	u := undoing{e: e, sv: sv, o: o}
	u.plan = &Plan{Schema: Schema, Kind: KindUndo, Made: sv.Taken.UTC().Round(0), Origin: o.Origin, Isolation: sv.Ask.Isolation.String(),
		Undoes: e.ID, To: fmt.Sprintf("what was there before %d", e.ID)}
	u.plan.Cluster, u.plan.seen = sv.Topology.Cluster, sv
	if e.Busy {
		return u.plan, refuse(CausePlan, fmt.Sprintf("entry %d is being written right now", e.ID), "wait for it to end")
	}
	if r := u.place(); r != nil {
		return u.plan, refused([]Reason{*r})
	}
	for _, eg := range e.Groups {
		g := Group{Name: eg.Group, Kept: eg.Kept}
		for _, c := range eg.Changes {
			g.Items = append(g.Items, u.item(eg, c))
		}
		u.plan.Groups = append(u.plan.Groups, g)
	}
	u.choose()
	return u.plan, refused(u.reasons)
}

type undoing struct {
	e       *Entry
	sv      *inspect.Survey
	o       UndoOptions
	plan    *Plan
	reasons []Reason

	back, moved, impossible int
	movedKept               bool // a moved row of a store that is restored only as a whole
}

// place holds an undo to the cluster and the store that the entry was written to.
func (u *undoing) place() *Reason {
	here := u.sv.Topology.Cluster
	if u.e.Cluster != here {
		return &Reason{Cause: CauseCluster, Text: fmt.Sprintf("entry %d was written to cluster %s, and this is cluster %s", u.e.ID, orNone(u.e.Cluster), orNone(here)), Next: "use the context it was written with"}
	}
	if u.e.Store != u.o.Origin.Store && !(u.e.own() && u.sv.Own && here != "") {
		return &Reason{Cause: CauseCluster, Text: fmt.Sprintf("entry %d was written to the store %s, and this is %s", u.e.ID, u.e.Store, u.o.Origin.Store), Next: "use the context it was written with"}
	}
	return nil
}

func (u *undoing) item(eg EntryGroup, c offset.Change) Item {
	written := c.To
	it := Item{Change: offset.Change{Partition: c.Partition, To: bare(c.From)}, Written: &written}
	keep := func(note string) Item {
		it.leave()
		it.Note = note
		return it
	}
	l := find(u.sv, eg.Group, c.Partition)
	if l == nil || l.Stored.Err != nil || l.Stored.Value.State == offset.Unknown {
		r := Reason{Cause: CauseUnknown, Group: eg.Group, Partition: &c.Partition, Err: offset.ErrUnknownName, Text: fmt.Sprintf("%s is not there any more", c.Partition), Next: "leave it as it is"}
		if l != nil {
			r = unmeasured(l, "what is stored is not known", l.Stored.Err)
			r.Group, r.Partition = eg.Group, &c.Partition
		}
		u.reasons = append(u.reasons, r)
		it = Item{Change: offset.Change{Partition: c.Partition}, Written: &written, Refused: r.Text}
		return it
	}
	it.From = l.Stored.Value
	renewBounds(&it, l)
	if u.untouched(eg.Group, c) {
		return keep("was not written")
	}
	if restored(it.From, c.From) {
		return keep("is back already")
	}
	if why := u.cannot(eg, c, l); why != "" {
		u.impossible++
		return keep("CANNOT be undone: " + why)
	}
	it.Action = Write
	if c.From.State == offset.Absent {
		it.Action = Delete
	}
	renewBounds(&it, l)
	if arrived(c.To, it.From) {
		u.back++
		it.Note = "back" + u.cost(&it)
		return it
	}
	return u.movedItem(eg, c, it)
}

func (u *undoing) movedItem(eg EntryGroup, c offset.Change, it Item) Item {
	u.moved++
	u.movedKept = u.movedKept || eg.Kept != nil
	it.Note = "MOVED: " + movement(c.To, it.From) + "; back" + u.cost(&it)
	if !u.o.AlsoMoved {
		it.leave()
	}
	return it
}

// leave makes of an undo's row one that stays as it is.
func (it *Item) leave() {
	before := it.To
	it.Action, it.To, it.Effect, it.Before = Keep, it.From, offset.Resolution{}, &before
}

// movement says what happened to a position after it was written.
func movement(wrote, now offset.Stored) string {
	switch {
	case wrote.State != offset.Set || now.State != offset.Set:
		return at(now) + " is there"
	case now.Next > wrote.Next:
		return "a consumer read " + count(now.Next-wrote.Next) + " since"
	case now.Next < wrote.Next:
		return "it went back by " + count(wrote.Next-now.Next) + " since"
	}
	return "written anew"
}

// cost says in words what going back costs.
func (u *undoing) cost(it *Item) string {
	b, to := it.Bounds, it.To
	switch {
	case to.State == offset.Absent:
		return " to nothing stored"
	case to.State == offset.Invalid:
		return " to what is no position"
	case b == nil:
		return ", its range is not known"
	case to.Next < b.Start:
		return ", below the log start again (head-overflow)"
	case to.Next > b.End:
		return ", past the log end again (tail-overflow)"
	case it.Effect.Skipped > 0 && u.e.Kind != KindUndo && it.From.Same(*it.Written):
		return fmt.Sprintf(", skips %s read before", count(it.Effect.Skipped))
	case it.Effect.Skipped > 0:
		return " skips " + count(it.Effect.Skipped)
	case it.Effect.Replayed > 0:
		return ", replays " + count(it.Effect.Replayed)
	}
	return ""
}

// untouched: the journal knows that the row was not written.
func (u *undoing) untouched(group string, c offset.Change) bool {
	o, ok := u.e.Outcome(group, c.Partition)
	if !ok {
		return false // recorded or not, the store tells
	}
	switch o.Status {
	case Moved, Untouched, Live, Failed:
		return true
	case NotTried:
		return !u.e.Ended.IsZero()
	}
	return false
}

func (u *undoing) cannot(eg EntryGroup, c offset.Change, l *inspect.Line) string {
	switch {
	case eg.Kept != nil:
		return "" // the store itself knows, see offset.Keeper
	case u.sv.Own && !l.Exists:
		return "there is no such partition any more"
	case c.From.State == offset.Absent && !u.sv.Caps.Delete:
		return "nothing was stored before, and this store cannot delete a position"
	case c.From.State == offset.Invalid && c.From.Raw == nil:
		return "what was there before is no position, and its bytes are not known"
	}
	return ""
}

// choose refuses as a whole where somebody has moved on and nobody said what to do about it.
func (u *undoing) choose() {
	n := u.back + u.moved
	switch {
	case u.moved > 0 && u.movedKept:
		u.reasons = append(u.reasons, Reason{Cause: CauseMoved, Err: offset.ErrMoved, Text: fmt.Sprintf("%s of %s moved, and this store is restored only as a whole", count(int64(u.moved)), count(int64(n))), Next: "reset it to a position instead"})
	case u.moved > 0 && !u.o.OnlyUnmoved && !u.o.AlsoMoved:
		u.reasons = append(u.reasons, Reason{Cause: CauseMoved, Err: offset.ErrMoved, Text: fmt.Sprintf("%s of %s moved", count(int64(u.moved)), count(int64(n))),
			Next: fmt.Sprintf("--only-unmoved restores %s; --also-moved all %s", count(int64(u.back)), count(int64(n)))})
	case n == 0 && u.impossible > 0:
		u.reasons = append(u.reasons, Reason{Cause: CauseImpossible, Err: offset.ErrUnsupported, Text: fmt.Sprintf("nothing of entry %d can be undone", u.e.ID), Next: "see the rows for why"})
	}
}

// restored tells whether now is what was there before the write, with all that an undo restores.
func restored(now, before offset.Stored) bool {
	return now.Same(before) && now.LeaderEpoch == before.LeaderEpoch && string(now.Raw) == string(before.Raw)
}

// bare is what of a stored position is written back. Its version tells the store what kind of thing the bytes were.
func bare(s offset.Stored) offset.Stored {
	return offset.Stored{State: s.State, Next: s.Next, LeaderEpoch: s.LeaderEpoch, TopicID: s.TopicID, Metadata: s.Metadata, Owner: s.Owner, Version: s.Version, Raw: s.Raw}
}

// Inverse is the undo of what was written for e, as a plan for a runner that vanishes with its journal: without a look at the
// store, from what the write itself answered. Where somebody moves on before it is applied, Apply refuses it.
func Inverse(e *Entry, outcomes []Outcome) *Plan {
	p := &Plan{Schema: Schema, Kind: KindUndo, Made: e.At, Origin: e.Origin, Undoes: e.ID, To: fmt.Sprintf("what was there before %d", e.ID)}
	done := map[rowKey]offset.Stored{}
	for _, o := range outcomes {
		if o.Status == Written && o.Now != nil {
			done[rowKey{o.Group, o.Partition}] = *o.Now
		}
	}
	for _, eg := range e.Groups {
		g := Group{Name: eg.Group, Kept: eg.Kept}
		for _, c := range eg.Changes {
			now, ok := done[rowKey{eg.Group, c.Partition}]
			if !ok {
				continue
			}
			written := c.To
			it := Item{Change: offset.Change{Partition: c.Partition, From: now, To: bare(c.From)}, Action: Write, Written: &written}
			if c.From.State == offset.Absent {
				it.Action = Delete
			}
			g.Items = append(g.Items, it)
		}
		if len(g.Items) > 0 {
			p.Groups = append(p.Groups, g)
		}
	}
	return p
}
