package render

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

// InspectOptions is how a report is shown.
type InspectOptions struct {
	Format  string            // table, wide, json, yaml, csv, prometheus
	By      string            // group, topic, partition; "": partition for one group, group for several
	Show    []inspect.Verdict // hides the other rows, and nothing else; nil: all
	FailOn  []inspect.Verdict // for the exit code that is printed
	Header  Header
	Command string // what stands before a repair's arguments: "offsetctl --context prod-eu"
	Colour  bool
	Width   int  // of the terminal; 0: none
	Quiet   bool // no header, no repairs
	Took    time.Duration
	Every   time.Duration // of Watch
	Clear   bool          // of Watch: each frame replaces the one before
}

func (o InspectOptions) shows(v inspect.Verdict) bool {
	return o.Show == nil || slices.Contains(o.Show, v)
}

// Inspect writes a report.
func Inspect(w io.Writer, r *inspect.Report, o InspectOptions) error {
	switch o.Format {
	case "table", "wide":
		p := &printer{w: w, r: r, o: o, p: palette(o.Colour)}
		p.report()
		return p.err
	case "json":
		return inspectStream(&jsonStream{w: bufio.NewWriter(w)}, r, o)
	case "yaml":
		return inspectStream(&yamlStream{w: bufio.NewWriter(w)}, r, o)
	case "csv":
		return inspectCSV(w, r, o)
	case "prometheus":
		return inspectPrometheus(w, r, o)
	}
	return fmt.Errorf("there is no format %q", o.Format)
}

// printer writes for people. The first error stops it.
type printer struct {
	w   io.Writer
	r   *inspect.Report
	o   InspectOptions
	p   palette
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *printer) grid(g *grid) {
	if g.width = p.o.Width; p.err == nil {
		p.err = g.write(p.w)
	}
}

// room is how wide sentences run.
func (p *printer) room() int {
	if p.o.Width <= 0 {
		return 100
	}
	return max(60, p.o.Width)
}

func (p *printer) report() {
	if !p.o.Quiet {
		p.line("%s%s", p.p.bold(p.o.Header.Of(p.r.Survey).String()), ends(p.r.Survey))
	}
	for _, e := range p.r.Survey.Gaps {
		p.line("%s", gapText(e))
	}
	switch by := p.o.By; {
	case by == "topic":
		p.byTopic()
	case by == "group" || by == "" && len(p.r.Groups) != 1:
		p.byGroup()
	default:
		p.byPartition()
	}
	for _, f := range p.r.Findings {
		p.line("%s", p.p.verdict(f.Verdict, fmt.Sprintf("%-13s  %s", f.Verdict, f.Text)))
	}
}

// byPartition writes a section for each group; groups that are ok share a line where there are several.
func (p *printer) byPartition() {
	healthy, lag := 0, int64(0)
	var sections []*inspect.GroupReport
	for i := range p.r.Groups {
		g := &p.r.Groups[i]
		if g.Verdict == inspect.OK && len(p.r.Groups) > 1 && !slices.Contains(p.o.Show, inspect.OK) {
			healthy, lag = healthy+1, lag+g.Lag
			continue
		}
		sections = append(sections, g)
	}
	if healthy > 0 {
		p.line("%s ok, lag %s", plural(healthy, "group"), Number(lag))
	}
	slices.SortStableFunc(sections, func(a, b *inspect.GroupReport) int { return cmp.Compare(b.Verdict, a.Verdict) })
	for i, g := range sections {
		if i > 0 || healthy > 0 {
			p.line("")
		}
		p.section(g)
	}
	if len(sections) == 0 && healthy == 0 {
		p.line("no group was found")
	}
}

// gapText says why what is shown may not be all. Where rights are why, Kafka's own sentences begin so already.
func gapText(e error) string {
	const denied = "as far as this user may see: "
	switch text := e.Error(); {
	case strings.HasPrefix(text, denied):
		return text
	case errors.Is(e, offset.ErrDenied):
		return denied + text
	default:
		return "may not be all: " + text
	}
}

func (p *printer) section(g *inspect.GroupReport) {
	p.groupLine(g)
	for _, e := range g.Gaps {
		if !slices.ContainsFunc(p.r.Survey.Gaps, func(said error) bool { return said.Error() == e.Error() }) {
			p.line("%s", gapText(e))
		}
	}
	if len(g.Rows) > 0 {
		p.rows(g)
		p.summary(g)
	}
	p.findings(g)
	for _, n := range g.Notes {
		p.hanging("note: ", n)
	}
}

// groupLine is the second header line: the group on the left, the time on the right.
func (p *printer) groupLine(g *inspect.GroupReport) {
	if p.o.Quiet {
		return
	}
	left := Name(g.Name) + "  " + phase(g, p.r.Survey.Own)
	right := stamp(p.r.Survey.Taken)
	if p.o.Took > 0 {
		right += fmt.Sprintf(", took %.1f s", p.o.Took.Seconds())
	}
	p.line("%s", aside(left, right, p.room()))
}

// aside puts right at the right edge, or behind left where there is no room.
func aside(left, right string, width int) string {
	return left + strings.Repeat(" ", max(2, width-len([]rune(left))-len([]rune(right)))) + right
}

// summary says how many partitions have which verdict, what is unread, and how the command ends.
func (p *printer) summary(g *inspect.GroupReport) {
	p.line("%s: %s", plural(len(g.Rows), "partition"), strings.Join(p.counts(g, -1), ", "))
	left := "lag " + Number(g.Lag)
	if g.Unmeasured > 0 {
		left += fmt.Sprintf(" and %d not measured", g.Unmeasured)
	}
	if g.RetryLag > 0 {
		left += "; to be tried again " + Number(g.RetryLag)
	}
	if g.Lost > 0 {
		left += "; already lost " + Number(g.Lost)
	}
	switch code := inspect.ExitCode(p.r, p.o.FailOn); code {
	case inspect.ExitHealthy:
		p.line("%s", left)
	case inspect.ExitIncomplete:
		p.line("%s", aside(left, "exit 3: incomplete", p.room()))
	default:
		p.line("%s", aside(left, fmt.Sprintf("exit %d: findings", code), p.room()))
	}
}

// counts are "1 unknown", worst first; at most most of them, and then "+2".
func (p *printer) counts(g *inspect.GroupReport, most int) (out []string) {
	more := 0
	for v, n := range g.Counts {
		switch {
		case n == 0 || most >= 0 && inspect.Verdict(v) == inspect.OK:
		case most >= 0 && len(out) == most:
			more++
		default:
			word := fmt.Sprintf("%s %s", Number(int64(n)), inspect.Verdict(v))
			if most >= 0 {
				word = fmt.Sprintf("%s %s", inspect.Verdict(v), Number(int64(n)))
			}
			out = append(out, p.p.verdict(inspect.Verdict(v), word))
		}
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("+%d", more))
	}
	return out
}
