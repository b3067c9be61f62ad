package repair

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// stamps says who set the timestamps that a time went by.
func (m *making) stamps() {
	if m.plan.Time.IsZero() {
		return
	}
	var by []string
	for _, l := range m.sv.Lines {
		name := "CreateTime"
		if l.LogAppend {
			name = "LogAppendTime"
		}
		if l.Selected && !slices.Contains(by, name) {
			by = append(by, name)
		}
	}
	slices.Sort(by)
	m.plan.TimesBy = strings.Join(by, " and ")
}

// FirstRecords are the starts of logs that begin only after the time that was asked for. What a Peek finds there goes to NoteFirst.
func (p *Plan) FirstRecords() (out []offset.Position) {
	for it := range p.items() {
		if it.late(p) {
			out = append(out, offset.Position{Partition: it.Partition, Offset: it.Bounds.Start})
		}
	}
	return out
}

func (it *Item) late(p *Plan) bool {
	return !p.Time.IsZero() && it.Bounds != nil && it.Effect.Wanted == it.Bounds.Start && it.Bounds.Start > 0 && it.Bounds.Start < it.Bounds.End
}

// NoteFirst notes when each log of FirstRecords really starts: "asked 14:05, first record 15:32".
func (p *Plan) NoteFirst(first []offset.Result[*offset.Record], zone *time.Location) {
	i := 0
	for it := range p.items() {
		if !it.late(p) {
			continue
		}
		if r := first[i]; r.Err == nil && r.Value != nil && r.Value.Time.After(p.Time) {
			layout := "15:04"
			if p.Time.In(zone).Format(time.DateOnly) != r.Value.Time.In(zone).Format(time.DateOnly) {
				layout = "2006-01-02 15:04"
			}
			text := fmt.Sprintf("asked %s, first record %s", p.Time.In(zone).Format(layout), r.Value.Time.In(zone).Format(layout))
			it.Note = notes(strings.TrimSuffix(strings.TrimSuffix(it.Note, "the log starts after the time"), "; "), text)
		}
		i++
	}
}
