package render

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/positions"
	"github.com/offsetctl/offsetctl/repair"
)

// AppliedOptions is how the outcome of a write is shown.
type AppliedOptions struct {
	Format  string // table, wide, json, yaml
	Colour  bool
	Width   int
	Program string // what stands before undo: "offsetctl --context prod-eu"
	Err     error  // the outcome's error
}

// Applied writes what became of a plan, how to go on and how to take it back.
func Applied(w io.Writer, p *repair.Plan, a *repair.Applied, o AppliedOptions) error {
	switch o.Format {
	case "json":
		return JSON(w, newAppliedDocument(p, a, o))
	case "yaml":
		return YAML(w, newAppliedDocument(p, a, o))
	case "table", "wide":
		x := &appliedPrinter{printer: printer{w: w, p: palette(o.Colour), o: InspectOptions{Width: o.Width}}, plan: p, a: a, o: o}
		x.write()
		return x.err
	}
	return fmt.Errorf("there is no format %q", o.Format)
}

type appliedDocument struct {
	Schema  string      `json:"schema"`
	Kind    repair.Kind `json:"kind"`
	Cluster string      `json:"cluster"`
	Store   string      `json:"store"`
	*repair.Applied
	Volatile string   `json:"volatileFor,omitempty"` // a store that is killed within this time forgets what was written
	Complete bool     `json:"complete"`
	Error    string   `json:"error,omitempty"`
	Undo     []string `json:"undo,omitempty"` // arguments behind "offsetctl" and the global flags
}

func newAppliedDocument(p *repair.Plan, a *repair.Applied, o AppliedOptions) appliedDocument {
	d := appliedDocument{Schema: "offsetctl.applied/v1", Kind: p.Kind, Cluster: p.Cluster, Store: p.Store, Applied: a, Complete: o.Err == nil}
	if o.Err != nil {
		d.Error = o.Err.Error()
	}
	if a.Volatile > 0 {
		d.Volatile = a.Volatile.String()
	}
	if a.Journal != 0 {
		d.Undo = []string{"undo", fmt.Sprint(a.Journal)}
	}
	return d
}

type appliedPrinter struct {
	printer
	plan *repair.Plan
	a    *repair.Applied
	o    AppliedOptions
}

func (x *appliedPrinter) write() {
	if x.o.Err == nil {
		x.line("%s", x.good())
		x.notes()
		x.idle()
		return
	}
	outcomes(&x.printer, x.a.Outcomes, len(x.plan.Groups) > 1)
	wrote := x.a.Count(repair.Written)
	switch {
	case errors.Is(x.o.Err, repair.ErrIncomplete) && wrote > 0 && wrote < x.a.Wanted():
		x.line("%s", x.p.paint("31", fmt.Sprintf("incomplete (exit 3): %d of %d. The group is half moved: do not start the job.", wrote, x.a.Wanted())))
	case errors.Is(x.o.Err, repair.ErrIncomplete):
		x.line("%s", x.p.paint("31", "incomplete (exit 3): "+x.a.Sentence()+"."))
	default:
		x.line("%s", x.a.Sentence())
	}
	if x.a.JournalErr != nil {
		x.hanging("", "the journal could not record the result: "+x.a.JournalErr.Error())
	}
	x.ways()
	x.notes()
	x.idle()
}

// notes are what a store came upon, each once with the partitions that it is said of.
func (x *appliedPrinter) notes() {
	of := map[string][]offset.Partition{}
	for _, o := range x.a.Outcomes {
		if o.Note != "" {
			of[o.Note] = append(of[o.Note], o.Partition)
		}
	}
	for _, note := range slices.Sorted(maps.Keys(of)) {
		x.hanging("", positions.SelectionOf(of[note]).String()+": "+note)
	}
}

func (x *appliedPrinter) good() string {
	s := x.a.Sentence()
	if x.a.Journal != 0 {
		s += fmt.Sprintf(".  undo: %s undo %d", x.o.Program, x.a.Journal)
	}
	return s
}

// ways are the two ways out of something half done.
func (x *appliedPrinter) ways() {
	if x.a.Journal == 0 {
		return
	}
	over := x.a.Count(repair.Overwritten)
	if over > 0 {
		x.line("  first    stop who else writes there")
	}
	if x.a.Once {
		x.line("  go on    not by repeating the command, which would shift again: %s history %d has the numbers", x.o.Program, x.a.Journal)
	} else {
		x.line("  go on    repeat the command (it leaves what is already there)")
	}
	back := fmt.Sprintf("restores %d", x.a.Count(repair.Written))
	if n := x.a.Count(repair.NotKnown); n > 0 {
		back += fmt.Sprintf(", looks at %s first", plural(n, "row"))
	}
	if over > 0 {
		back += fmt.Sprintf(", with --also-moved the %d overwritten too", over)
	}
	x.line("  go back  %s undo %d     (%s)", x.o.Program, x.a.Journal, back)
}

func (x *appliedPrinter) idle() {
	switch {
	case x.a.NotLooked:
		x.hanging("", "interrupted before the look after the settle time: whether a live job has overwritten it since is not known")
	case x.a.Volatile > 0:
		x.hanging("", fmt.Sprintf("a broker that is killed within %s forgets it: positions are written to disk every few seconds; --wait-durable waits for that and looks again", x.a.Volatile))
	case x.a.Idle && x.a.Count(repair.Overwritten)+x.a.Count(repair.Moved)+x.a.Count(repair.Live) > 0: // somebody is there
	case x.a.Idle && x.a.Looked == 0:
		x.hanging("", "nobody looked whether the job is running, which would write over it (--settle 0)")
	case x.a.Idle:
		x.hanging("", "nobody moved these positions in the meantime, which is no proof that the job is stopped")
	}
}

// outcomes writes neighbours of a topic that ended alike on one line.
func outcomes(p *printer, all []repair.Outcome, groups bool) {
	t := grid{bare: true, columns: []gridColumn{{name: "WHERE", shrink: true}, {name: "HOW"}, {name: "ROWS", right: true}}}
	for i := 0; i < len(all); {
		n := i + 1
		for n < len(all) && sameOutcome(all[i], all[n]) {
			n++
		}
		how := all[i].Status.String()
		if all[i].Status == repair.Written {
			how = "written, read back"
		}
		if all[i].Text != "" {
			how += ": " + strings.TrimPrefix(all[i].Text, all[i].Partition.String()+": ")
		}
		t.add(outcomePlace(all[i:n], groups), how, Number(int64(n-i)))
		i = n
	}
	p.grid(&t)
}

func sameOutcome(a, b repair.Outcome) bool {
	return a.Group == b.Group && a.Status == b.Status && a.Partition.Topic == b.Partition.Topic && a.Partition.Broker == b.Partition.Broker &&
		strings.ReplaceAll(a.Text, a.Partition.String(), "") == strings.ReplaceAll(b.Text, b.Partition.String(), "")
}

func outcomePlace(same []repair.Outcome, groups bool) string {
	name := ""
	if groups || same[0].Partition == (offset.Partition{}) {
		name = Name(same[0].Group)
	}
	if same[0].Partition == (offset.Partition{}) {
		return name
	}
	ps := make([]offset.Partition, len(same))
	for i, o := range same {
		ps[i] = o.Partition
	}
	return strings.TrimSpace(name + " " + brief(positions.SelectionOf(ps).Texts()))
}
