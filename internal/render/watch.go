package render

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/positions"
)

// betweenCommits is how long a healthy job may take from one commit to the next: nothing is called stalled sooner.
const betweenCommits = 30 * time.Second

// Watch writes the newest of some looks, with rates over all of them: a frame for people, a line of JSON for programs.
func Watch(w io.Writer, frames []*inspect.Report, o InspectOptions) error {
	r := frames[len(frames)-1]
	switch over := r.Survey.Taken.Sub(frames[0].Survey.Taken); {
	case over >= betweenCommits:
		r = inspect.Compare(frames[0], r)
	case over > 0:
		r = inspect.Rates(frames[0], r)
	}
	switch o.Format {
	case "json":
		return jsonLine(w, newDocument(r, o))
	case "table", "wide":
	default:
		return Inspect(w, r, o)
	}
	p := &printer{w: w, r: r, o: o, p: palette(o.Colour)}
	if o.Clear {
		p.line("\x1b[H\x1b[2J%s", p.watchHeader(frames))
	} else {
		p.line("%s", p.watchHeader(frames))
	}
	for i := range r.Groups {
		p.watchGroup(&r.Groups[i])
	}
	return p.err
}

func (p *printer) watchHeader(frames []*inspect.Report) string {
	right := fmt.Sprintf("%s, every %s", p.r.Survey.Taken.UTC().Format("15:04:05Z"), positions.Span(p.o.Every))
	if over := p.r.Survey.Taken.Sub(frames[0].Survey.Taken); over > 0 {
		right += ", over the last " + positions.Span(over.Round(time.Second))
	}
	return aside(p.p.bold(p.o.Header.Of(p.r.Survey).String()), right, p.room())
}

func (p *printer) watchGroup(g *inspect.GroupReport) {
	p.line("%s  %s", Name(g.Name), phase(g, p.r.Survey.Own))
	t := grid{columns: []gridColumn{{name: "TOPIC", shrink: true}, {name: "PART", right: true}, {name: "STORED", right: true}, {name: "LAG", right: true}, {name: "VERDICT"},
		{name: "IN/s", right: true}, {name: "OUT/s", right: true}, {name: "CATCH-UP", right: true}, {name: "OWNER", shrink: true}, {name: "DETAIL"}}}
	for i := range g.Rows {
		r := &g.Rows[i]
		if !p.o.shows(r.Verdict) {
			continue
		}
		in, out, catchUp := "-", "-", "-"
		if m := r.Move; m != nil {
			in, out, catchUp = rate(m.In), rate(m.Out), catchUpCell(r)
		}
		t.add(topicName(r.Partition), strconv.Itoa(int(r.Partition.Index)), storedCell(r), lagCell(r), p.p.verdict(r.Verdict, r.Verdict.String()), in, out, catchUp, ownerCell(r), r.Detail)
	}
	if len(t.rows) > 0 {
		p.grid(&t)
		p.summary(g)
	}
	for _, f := range g.Findings {
		p.hanging(p.p.verdict(f.Verdict, f.Verdict.String())+"  ", sentence(f.Text))
	}
}

func catchUpCell(r *inspect.Row) string {
	switch m := r.Move; {
	case m.CatchUp == 0, m.Out == 0 && m.Over < betweenCommits:
		return "-"
	case m.CatchUp == inspect.Never:
		return "never"
	case m.CatchUp < time.Second:
		return "< 1 s"
	default:
		return positions.Span(m.CatchUp)
	}
}

func rate(perSecond float64) string {
	if perSecond > 0 && perSecond < 10 {
		return strconv.FormatFloat(perSecond, 'f', 1, 64)
	}
	return Number(int64(perSecond + 0.5))
}
