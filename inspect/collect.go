package inspect

import (
	"slices"

	"github.com/offsetctl/offsetctl/offset"
)

// Collected is one finding for all rows of a topic that share it.
type Collected struct {
	Finding
	Partitions []offset.Partition // sorted; none: it is the group's as a whole
	Where      []string           // the same as texts: orders:0-63
}

// Collect says the worst finding of each row, once for all rows of a topic that have the same: worst last, as it is shown.
func (r *Report) Collect(g *GroupReport) (out []Collected) {
	c := newClassifier(r.Survey, r.Policy)
	for _, f := range g.Findings {
		out = append(out, Collected{Finding: f})
	}
	for i := 0; i < len(g.Rows); {
		n := i
		for n < len(g.Rows) && g.Rows[n].Partition.Topic == g.Rows[i].Partition.Topic {
			n++
		}
		out = append(out, c.collect(g, g.Rows[i:n])...)
		i = n
	}
	slices.SortStableFunc(out, func(a, b Collected) int { return int(b.Verdict) - int(a.Verdict) })
	return out
}

// collect joins the rows of one topic.
func (c *classifier) collect(g *GroupReport, rows []Row) (out []Collected) {
	var sets [][]*Row
	for i := range rows {
		r := &rows[i]
		if len(r.Findings) == 0 || g.Nothing && r.Verdict == Absent {
			continue
		}
		k := slices.IndexFunc(sets, func(s []*Row) bool { return alike(s[0], r) })
		if k < 0 {
			k, sets = len(sets), append(sets, nil)
		}
		sets[k] = append(sets[k], r)
	}
	for _, s := range sets {
		all := Collected{Finding: s[0].Findings[0]}
		if len(s) > 1 {
			all.Finding = c.finding(g, all.cause, s)
		}
		for _, r := range s {
			all.Partitions = append(all.Partitions, r.Partition)
		}
		all.Where = where(all.Partitions)
		out = append(out, all)
	}
	return out
}

// alike: two rows whose findings can be said in one sentence.
func alike(a, b *Row) bool {
	x, y := a.Findings[0], b.Findings[0]
	if x.cause != y.cause || a.Stuck != b.Stuck {
		return false
	}
	switch x.cause {
	case positionUnknown, boundsUnknown, ambiguous, noPosition, storeDoubts:
		return x.Text == y.Text
	case epochAbove:
		return a.Stored.Value.LeaderEpoch == b.Stored.Value.LeaderEpoch && a.Log.Value.Current == b.Log.Value.Current
	case pastEndCut, epochCut, epochDoubt, epochWrong, youngerRecord, logShrank, noMovement, movedBack, vanished:
		return false // each has numbers of its own
	}
	return true
}
