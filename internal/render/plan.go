package render

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/positions"
	"github.com/offsetctl/offsetctl/repair"
)

// PlanOptions is how a plan is shown.
type PlanOptions struct {
	Format  string // table, wide, json, yaml
	Header  Header
	Colour  bool
	Width   int
	Now     time.Time
	Zone    *time.Location // that the user gave a time in; nil: UTC
	Refusal error          // why it may not be written, a *repair.Refused
	DryRun  bool
	Saved   bool // it is a file's: what it was made with stands
}

// Plan writes what a plan would do and what it costs. Nothing was written yet.
func Plan(w io.Writer, p *repair.Plan, o PlanOptions) error {
	switch o.Format {
	case "json":
		return JSON(w, newPlanDocument(p, o))
	case "yaml":
		return YAML(w, newPlanDocument(p, o))
	case "table", "wide":
		x := &planPrinter{printer: printer{w: w, p: palette(o.Colour), o: InspectOptions{Width: o.Width}}, plan: p, o: o}
		x.write()
		return x.err
	}
	return fmt.Errorf("there is no format %q", o.Format)
}

// planDocument is a plan with its sums and what speaks against it, for programs.
type planDocument struct {
	*repair.Plan
	DryRun  bool            `json:"dryRun"`
	Changes int             `json:"changes"`
	Deletes int             `json:"deletes"`
	Replays int64           `json:"replays"`
	Skips   int64           `json:"skips"`
	Lost    int64           `json:"lost"`
	Refused []repair.Reason `json:"refused,omitempty"`
}

func newPlanDocument(p *repair.Plan, o PlanOptions) planDocument {
	t := p.Totals()
	d := planDocument{Plan: p, DryRun: o.DryRun, Changes: t.Changes, Deletes: t.Deletes, Replays: t.Replays, Skips: t.Skips, Lost: t.Lost}
	var no *repair.Refused
	if errors.As(o.Refusal, &no) {
		d.Refused = no.Reasons
	}
	return d
}

type planPrinter struct {
	printer
	plan *repair.Plan
	o    PlanOptions
}

func (x *planPrinter) write() {
	p := x.plan
	var names []string
	for _, g := range p.Groups {
		names = append(names, groupWords(g))
	}
	h := x.o.Header
	if h.Cluster == "" {
		h.Cluster = p.Cluster
	}
	where := strings.Join(slices.DeleteFunc([]string{h.Context, clusterWords(h.Cluster), brief(names)}, func(s string) bool { return s == "" }), ", ")
	x.hanging(x.p.bold("PLAN")+"  ", where+", store: "+h.Store)
	x.hanging("to    ", x.target())
	for i := range p.Groups {
		if len(p.Groups) > 1 {
			x.line("%s", groupWords(p.Groups[i]))
		}
		x.group(&p.Groups[i])
	}
	x.sums()
}

func groupWords(g repair.Group) string {
	switch {
	case g.Delete:
		return "group " + Name(g.Name) + " DELETED"
	case g.New:
		return "NEW GROUP " + Name(g.Name)
	}
	return "group " + Name(g.Name)
}

func clusterWords(id string) string {
	if id == "" {
		return ""
	}
	return "cluster " + id
}

func brief(names []string) string {
	if len(names) > 4 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}

// target says where the plan goes; a time in UTC, as it was given, and how long ago it is.
func (x *planPrinter) target() string {
	p := x.plan
	if p.Time.IsZero() {
		return p.To
	}
	s := stamp(p.Time)
	if x.o.Zone != nil {
		s += " = " + p.Time.In(x.o.Zone).Format("Mon 15:04:05 -07:00")
	}
	if ago := x.o.Now.Sub(p.Time); ago > 0 {
		s += ", " + positions.Span(ago) + " ago"
	}
	if p.TimesBy != "" {
		s += ", by " + p.TimesBy
	}
	return s
}

// showAll is how many rows of a plan are written one by one.
const showAll = 100

func (x *planPrinter) group(g *repair.Group) {
	if len(g.Items) == 0 {
		return
	}
	undo := x.plan.Kind == repair.KindUndo
	t := grid{columns: []gridColumn{{name: "TOPIC", shrink: true}, {name: "PART", right: true}, {name: "BEFORE", right: true}, {name: "AFTER", right: true},
		{name: "REPLAYS", right: true}, {name: "SKIPS", right: true}, {name: "NOTE"}}}
	if undo {
		t.columns = []gridColumn{{name: "TOPIC", shrink: true}, {name: "PART", right: true}, {name: "BEFORE", right: true}, {name: "WRITTEN", right: true},
			{name: "NOW", right: true}, {name: "NOTE"}}
	}
	hidden := 0
	for i := range g.Items {
		it := &g.Items[i]
		if len(g.Items) > showAll && x.o.Format != "wide" && i >= showAll && it.Refused == "" && it.Effect.Skipped == 0 {
			hidden++
			continue
		}
		if undo {
			t.add(topicName(it.Partition), strconv.Itoa(int(it.Partition.Index)), undoneCell(it), writtenCell(it.Written), positionCell(it.From), x.note(it))
			continue
		}
		t.add(topicName(it.Partition), strconv.Itoa(int(it.Partition.Index)), positionCell(it.From), afterCell(it), costCell(it.Effect.Replayed), costCell(it.Effect.Skipped), x.note(it))
	}
	x.grid(&t)
	if hidden > 0 {
		x.line("and %s that skip nothing: -o wide has all", plural(hidden, "row"))
	}
}

func (x *planPrinter) note(it *repair.Item) string {
	if it.Refused != "" {
		return x.p.paint("31", "REFUSED: "+strings.TrimPrefix(it.Refused, it.Partition.String()+": "))
	}
	return it.Note
}

func positionCell(s offset.Stored) string {
	switch s.State {
	case offset.Set:
		return strconv.FormatInt(s.Next, 10)
	case offset.Absent:
		return "-"
	case offset.Invalid:
		return cut(rawCell(s), 20)
	}
	return "?"
}

func writtenCell(s *offset.Stored) string {
	if s == nil {
		return "?"
	}
	return positionCell(*s)
}

// afterCell is empty where the row is refused: nothing comes after.
func afterCell(it *repair.Item) string {
	if it.Refused != "" {
		return ""
	}
	return positionCell(it.To)
}

// undoneCell is what was there before the write that is taken back.
func undoneCell(it *repair.Item) string {
	if it.Before != nil {
		return positionCell(*it.Before)
	}
	return positionCell(it.To)
}

func costCell(n int64) string {
	if n == 0 {
		return "-"
	}
	return Number(n)
}

// sums says what the whole costs, and what is not part of it.
func (x *planPrinter) sums() {
	p, t := x.plan, x.plan.Totals()
	var s string
	switch {
	case p.Empty() && x.o.Refusal != nil:
		s = "nothing is written"
	case p.Empty():
		s = "nothing to change"
	case t.Skips > 0:
		s = fmt.Sprintf("replays %s, %s%s on %d of %d", Number(t.Replays), x.p.paint("31", "SKIPS "+Number(t.Skips)), skipped(p), t.Forward, t.Changes+t.Keeps+t.Refused)
	default:
		s = fmt.Sprintf("replays %s, skips 0", Number(t.Replays))
	}
	if t.Deletes > 0 {
		s += fmt.Sprintf(", deletes %s", plural(t.Deletes, "position"))
	}
	if t.Keeps > 0 && !p.Empty() {
		s += fmt.Sprintf("; %s unchanged", Number(int64(t.Keeps)))
	}
	if t.Refused > 0 && !p.Empty() {
		s += fmt.Sprintf("; %s refused", Number(int64(t.Refused)))
	}
	if len(p.NotSelected) > 0 {
		s += ". Not selected: " + brief(p.NotSelected)
	}
	x.hanging("", s+".")
	if hint := rewindHint(p); hint != "" && x.o.Refusal == nil {
		if x.o.Saved {
			hint = "Made anew with" + strings.TrimPrefix(hint, "With")
		}
		x.hanging("", hint)
	}
	if x.o.DryRun {
		x.line("dry run: nothing was written")
	}
}

// skipped says of what a plan skips whether it was read. An undo goes back to where somebody stood, which need not be what he had
// read; its rows say it.
func skipped(p *repair.Plan) string {
	if p.Kind != repair.KindUndo {
		return " unread"
	}
	for _, g := range p.Groups {
		for _, it := range g.Items {
			if it.Effect.Skipped > 0 && !strings.HasSuffix(it.Note, "read before") {
				return ""
			}
		}
	}
	return " read before"
}

// rewindHint says what --rewind-only would make of a plan whose skips nobody asked for.
func rewindHint(p *repair.Plan) string {
	if p.Kind != repair.KindReset || p.Asked || p.Totals().Skips == 0 {
		return ""
	}
	var start, stay []offset.Partition
	for _, g := range p.Groups {
		for i := range g.Items {
			switch it := &g.Items[i]; {
			case it.Effect.Skipped == 0:
			case it.Bounds != nil && it.From.State == offset.Set && it.Bounds.Inside(it.From.Next):
				stay = append(stay, it.Partition)
			default:
				start = append(start, it.Partition)
			}
		}
	}
	var out []string
	if start != nil {
		out = append(out, brief(positions.SelectionOf(start).Texts())+" to the log start")
	}
	if stay != nil {
		out = append(out, brief(positions.SelectionOf(stay).Texts())+" unchanged")
	}
	return "With --rewind-only: " + strings.Join(append(out, "SKIPS 0"), ", ") + "."
}
