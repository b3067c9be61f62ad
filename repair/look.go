package repair

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

// Rows are the partitions of one group that a plan or an entry names, sorted.
type Rows struct {
	Group      string
	Partitions []offset.Partition
}

// Rows are what p names, sorted by group.
func (p *Plan) Rows() []Rows {
	var out []Rows
	for _, g := range p.Groups {
		r := Rows{Group: g.Name}
		for _, it := range g.Items {
			r.Partitions = append(r.Partitions, it.Partition)
		}
		out = append(out, r)
	}
	return out
}

// Rows are what e names, sorted by group.
func (e *Entry) Rows() []Rows {
	var out []Rows
	for _, g := range e.Groups {
		r := Rows{Group: g.Group}
		for _, c := range g.Changes {
			r.Partitions = append(r.Partitions, c.Partition)
		}
		out = append(out, r)
	}
	return out
}

// Look surveys rows as they are now: what Renew, Check, MakeUndo and Truth need. Each row has a line, also one whose topic is gone.
func (r *Run) Look(ctx context.Context, rows []Rows) (*inspect.Survey, error) {
	ask := inspect.Ask{Vanished: true, Isolation: r.Isolation, Now: r.Now()}
	for _, g := range rows {
		ask.Groups = append(ask.Groups, g.Group)
		for _, p := range g.Partitions {
			ask.Topics = append(ask.Topics, p.Topic)
		}
	}
	slices.Sort(ask.Topics)
	ask.Topics = slices.Compact(ask.Topics)
	sv, err := inspect.Take(ctx, r.Broker, r.Store, r.Own, ask)
	if err != nil {
		return nil, err
	}
	r.vanished(ctx, sv, rows)
	return sv, nil
}

// vanished asks by name for what the survey has no line for, so that its absence is proven and can be written to.
func (r *Run) vanished(ctx context.Context, sv *inspect.Survey, rows []Rows) {
	var lines []inspect.Line
	for _, g := range rows {
		var cs []offset.Change
		for _, p := range g.Partitions {
			if find(sv, g.Group, p) == nil {
				cs = append(cs, offset.Change{Partition: p})
			}
		}
		if len(cs) == 0 {
			continue
		}
		for i, stored := range read(ctx, r.Store, g.Group, cs) {
			l := inspect.Line{Group: g.Group, Partition: cs[i].Partition, Selected: true, Stored: stored, EpochEnd: -1}
			l.Log.Err = topicErr(sv, l.Partition.Topic)
			l.Exists = !errors.Is(l.Log.Err, offset.ErrUnknownName)
			lines = append(lines, l)
		}
	}
	if lines != nil {
		sv.Lines = append(sv.Lines, lines...)
		slices.SortFunc(sv.Lines, func(a, b inspect.Line) int {
			if c := strings.Compare(a.Group, b.Group); c != 0 {
				return c
			}
			return a.Partition.Compare(b.Partition)
		})
	}
}

// topicErr is why a topic has no line for a partition: without an error of its own it has no such partition.
func topicErr(sv *inspect.Survey, name string) error {
	for _, t := range sv.Topology.Topics {
		if t.Name == name && t.Err != nil {
			return t.Err
		}
	}
	return offset.ErrUnknownName
}
