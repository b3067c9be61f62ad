package inspect

import (
	"context"
	"errors"
	"slices"

	"github.com/offsetctl/offsetctl/internal/near"
	"github.com/offsetctl/offsetctl/offset"
)

// startRetention asks how long topics keep their records, beside the bounds.
func (t *taking) startRetention(ctx context.Context) func() {
	if !t.ask.TimeLag && t.ask.At.IsZero() {
		return func() {}
	}
	var names []string
	for _, sp := range t.spans {
		if sp.Err == nil {
			names = append(names, sp.Name)
		}
	}
	get := start(func() ([]offset.Result[offset.Retention], error) { return t.broker.Retention(ctx, names), nil })
	return func() {
		answers, _ := get()
		t.sv.Retention = make(map[string]offset.Result[offset.Retention], len(names))
		for i, r := range answers {
			t.sv.Retention[names[i]] = r
		}
	}
}

// finish puts the groups beside their lines and says what may be missing.
func (t *taking) finish(ctx context.Context, answers []offset.Answer, described []offset.Result[offset.Group]) {
	t.sv.Gaps = t.beyondBrokers(append(t.sv.Gaps, t.sv.Topology.Gaps...))
	lines, kept := t.sv.Lines, t.sv.Lines[:0]
	for i, name := range t.groups {
		own := lines[:t.counts[i]]
		lines = lines[t.counts[i]:]
		g := GroupLine{Name: name, Group: described[i], Err: answers[i].Err, Gaps: t.beyondBrokers(answers[i].Gaps)}
		if t.ask.Groups == nil && t.ask.Topics != nil && g.Err == nil && nothingThere(own) {
			continue // one of all the groups, and it has nothing to do with these topics
		}
		if t.sv.Own && g.Group.Err == nil && g.Group.Value.Kind == "broadcast" {
			onClients(own)
		}
		t.settleLines(own)
		t.stuck(name, own)
		if t.sv.Own && g.Err == nil && g.Group.Err == nil && g.Group.Value.Phase == offset.Missing && nothingThere(own) {
			g.Near = t.nearGroup(ctx, name)
		}
		if !t.sv.Own && t.ask.Topics != nil && g.Err == nil && nothingThere(own) {
			g.Elsewhere = t.storedElsewhere(ctx, name)
		}
		kept = append(kept, own...)
		t.sv.Groups = append(t.sv.Groups, g)
	}
	t.sv.Lines = kept
}

// storedElsewhere: a store knows a group by what it has stored alone, and these topics are not all there may be.
func (t *taking) storedElsewhere(ctx context.Context, group string) bool {
	a := t.store.Read(ctx, []offset.Query{{Group: group}})
	return len(a) == 1 && a[0].Err == nil && len(a[0].Others) > 0
}

// beyondBrokers leaves out the gaps that a missing broker makes, where it is listed as missing: it has a finding of its own.
func (t *taking) beyondBrokers(gaps []error) []error {
	if !slices.ContainsFunc(t.sv.Topology.Brokers, func(s offset.Server) bool { return s.Err != nil }) {
		return gaps
	}
	return slices.DeleteFunc(slices.Clone(gaps), func(g error) bool { return errors.Is(g, offset.ErrNoLeader) })
}

var errBroadcast = errors.New("the group is broadcasting, and its positions live on its clients")

// onClients: that a broker has nothing stored for a broadcasting group says nothing of where it stands.
func onClients(lines []Line) {
	for i := range lines {
		if l := &lines[i]; l.Stored.Err == nil && l.Stored.Value.State == offset.Absent {
			l.Stored = offset.Result[offset.Stored]{Err: errBroadcast}
		}
	}
}

func nothingThere(lines []Line) bool {
	return !slices.ContainsFunc(lines, func(l Line) bool { return l.Stored.Err != nil || l.Stored.Value.State != offset.Absent })
}

// settleLines fills in what only all lines of a topic together tell.
func (t *taking) settleLines(lines []Line) {
	for len(lines) > 0 {
		n, stored, unread := 0, 0, 0
		for n < len(lines) && lines[n].Partition.Topic == lines[0].Partition.Topic {
			switch l := &lines[n]; {
			case isStored(l):
				stored++
			case l.Stored.Err != nil || l.Stored.Value.State == offset.Unknown:
				unread++
			}
			n++
		}
		logAppend := t.sv.Retention[lines[0].Partition.Topic].Value.LogAppend
		for i := range lines[:n] {
			l := &lines[i]
			l.Beside = stored > 1 || stored == 1 && !isStored(l)
			l.Unsure = !l.Beside && unread > 0
			l.LogAppend = logAppend
			if l.Wrote.IsZero() && l.Stored.Err == nil {
				l.Wrote = l.Stored.Value.Committed
			}
		}
		lines = lines[n:]
	}
}

func isStored(l *Line) bool {
	return l.Stored.Err == nil && (l.Stored.Value.State == offset.Set || l.Stored.Value.State == offset.Invalid)
}

// nearGroup is what a group that does not exist may have been meant to be.
func (t *taking) nearGroup(ctx context.Context, name string) string {
	names, _, err := t.store.Groups(ctx)
	if err != nil {
		return ""
	}
	return near.Name(name, slices.Values(names))
}
