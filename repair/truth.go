package repair

import (
	"fmt"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

// Truth says what became of every row of an entry whose journal does not say it, by what is stored now: what should have been
// written is there, or what was there before, or neither. sv is what Run.Look answers for e.Rows.
func Truth(e *Entry, sv *inspect.Survey) []Outcome {
	var out []Outcome
	for _, g := range e.Groups {
		for _, c := range g.Changes {
			o, ok := e.Outcome(g.Group, c.Partition)
			if !ok || o.Status == NotKnown || o.Status == NotTried && e.Ended.IsZero() {
				o = look(g.Group, c, find(sv, g.Group, c.Partition))
			}
			out = append(out, o)
		}
	}
	return out
}

func look(group string, c offset.Change, l *inspect.Line) Outcome {
	o := Outcome{Group: group, Partition: c.Partition, Status: NotKnown}
	if l == nil {
		o.Text = fmt.Sprintf("%s is not there any more", c.Partition)
		return o
	}
	if l.Stored.Err != nil || l.Stored.Value.State == offset.Unknown {
		o.Err, o.Text = l.Stored.Err, fmt.Sprintf("%s: what is stored is not known: %v", c.Partition, l.Stored.Err)
		return o
	}
	now := l.Stored.Value
	o.Now = &now
	switch {
	case restored(now, c.From):
		o.Status, o.Text = Failed, fmt.Sprintf("%s was not written: %s is there as before", c.Partition, at(now))
	case arrived(c.To, now):
		o.Status, o.Text = Written, fmt.Sprintf("%s was written: %s is there", c.Partition, at(now))
	default:
		o.Status, o.Text = Moved, fmt.Sprintf("%s: %s is there, neither the %s before nor the %s of the write", c.Partition, at(now), at(c.From), at(c.To))
	}
	return o
}
