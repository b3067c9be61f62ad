package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/inspect"
)

// byGroup writes a line for each group, worst last. Groups that are ok share one, unless somebody asked for them.
func (p *printer) byGroup() {
	if len(p.r.Groups) == 0 {
		p.line("no group was found")
		return
	}
	t := grid{columns: []gridColumn{{name: "GROUP", shrink: true}, {name: "PHASE"}, {name: "PARTS", right: true}, {name: "LAG", right: true}, {name: "LOST", right: true}, {name: "FINDINGS"}}}
	all := p.o.Format == "wide" || slices.Contains(p.o.Show, inspect.OK)
	var bad []*inspect.GroupReport
	healthy, parts, lag := 0, 0, int64(0)
	for i := range p.r.Groups {
		switch g := &p.r.Groups[i]; {
		case g.Verdict == inspect.OK && !all:
			healthy, parts, lag = healthy+1, parts+len(g.Rows), lag+g.Lag
		case p.o.showsAny(g):
			bad = append(bad, g)
		}
	}
	if healthy > 0 && p.o.shows(inspect.OK) {
		t.add(plural(healthy, "group"), "", Number(int64(parts)), Number(lag), "0", p.p.verdict(inspect.OK, "ok"))
	}
	slices.SortStableFunc(bad, func(a, b *inspect.GroupReport) int { return cmp.Compare(b.Verdict, a.Verdict) })
	for _, g := range bad {
		what := strings.Join(p.counts(g, 3), ", ")
		if what == "" {
			what = p.p.verdict(inspect.OK, "ok")
		}
		t.add(Name(g.Name), phase(g, p.r.Survey.Own), Number(int64(len(g.Rows))), lagOf(g), Number(g.Lost), what)
	}
	if len(t.rows) > 0 {
		p.grid(&t)
	}
	p.total()
	if !p.o.Quiet && len(bad) > 0 && p.r.Verdict != inspect.OK {
		worst := bad[len(bad)-1]
		p.line("the findings of a group and their repair: %s inspect -g %s", p.o.Command, shellWord(worst.Name))
	}
}

// showsAny: the group has a row or a finding that --show asks for.
func (o InspectOptions) showsAny(g *inspect.GroupReport) bool {
	for v, n := range g.Counts {
		if n > 0 && o.shows(inspect.Verdict(v)) {
			return true
		}
	}
	return o.shows(g.Verdict)
}

func lagOf(g *inspect.GroupReport) string {
	if g.Unmeasured > 0 {
		return Number(g.Lag) + "+?"
	}
	return Number(g.Lag)
}

// total sums up all groups.
func (p *printer) total() {
	var lag, lost int64
	rows, unmeasured := 0, 0
	for i := range p.r.Groups {
		g := &p.r.Groups[i]
		lag, lost, rows, unmeasured = lag+g.Lag, lost+g.Lost, rows+len(g.Rows), unmeasured+g.Unmeasured
	}
	left := fmt.Sprintf("%s, %s, lag %s", plural(len(p.r.Groups), "group"), plural(rows, "partition"), Number(lag))
	if unmeasured > 0 {
		left += fmt.Sprintf(" and %s not measured", Number(int64(unmeasured)))
	}
	if lost > 0 {
		left += "; already lost " + Number(lost)
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

// byTopic writes a line for each topic of each group, worst last.
func (p *printer) byTopic() {
	t := grid{columns: []gridColumn{{name: "GROUP", shrink: true}, {name: "TOPIC", shrink: true}, {name: "PARTS", right: true}, {name: "LAG", right: true}, {name: "LOST", right: true}, {name: "FINDINGS"}}}
	var sums []topicSum
	for i := range p.r.Groups {
		sums = append(sums, topicSums(&p.r.Groups[i])...)
	}
	slices.SortStableFunc(sums, func(a, b topicSum) int { return cmp.Compare(b.Verdict, a.Verdict) })
	healthy := 0
	for healthy < len(sums) && sums[healthy].Verdict == inspect.OK {
		healthy++
	}
	if healthy > collapseAbove && p.o.Format != "wide" && !slices.Contains(p.o.Show, inspect.OK) {
		if p.o.shows(inspect.OK) {
			p.line("%s ok", plural(healthy, "topic"))
		}
		sums = sums[healthy:]
	}
	for i := range sums {
		s := &sums[i]
		if !p.o.showsAny(&s.GroupReport) {
			continue
		}
		what := strings.Join(p.counts(&s.GroupReport, 3), ", ")
		if what == "" {
			what = p.p.verdict(inspect.OK, "ok")
		}
		t.add(Name(s.Name), s.topic, Number(int64(len(s.Rows))), lagOf(&s.GroupReport), Number(s.Lost), what)
	}
	if len(t.rows) > 0 {
		p.grid(&t)
	}
	p.total()
}

// topicSum is a group as far as one topic goes.
type topicSum struct {
	inspect.GroupReport
	topic string
}

func topicSums(g *inspect.GroupReport) (out []topicSum) {
	for i := 0; i < len(g.Rows); {
		s := topicSum{topic: topicName(g.Rows[i].Partition)}
		s.Name, s.Verdict = g.Name, inspect.OK
		n := i
		for ; n < len(g.Rows) && topicName(g.Rows[n].Partition) == s.topic; n++ {
			r := &g.Rows[n]
			s.Verdict = min(s.Verdict, r.Verdict)
			s.Counts[r.Verdict]++
			s.Lost += r.Lost
			if r.LagKnown {
				s.Lag += r.Lag
			}
			if r.Verdict == inspect.Unknown {
				s.Unmeasured++
			}
		}
		s.Rows = g.Rows[i:n]
		out = append(out, s)
		i = n
	}
	return out
}
