package render

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/offsetctl/offsetctl/inspect"
)

// mostFindings is how many findings of a group are written out; the others are counted.
const mostFindings = 30

// findings says what is wrong, what a restart would do, and how it is repaired; the worst is last, next to the prompt.
func (p *printer) findings(g *inspect.GroupReport) {
	var all []inspect.Collected
	for _, c := range p.r.Collect(g) {
		if p.o.shows(c.Verdict) {
			all = append(all, c)
		}
	}
	if left := len(all) - mostFindings; left > 0 {
		p.line("%s more, not as bad as these: -o json has all", plural(left, "finding"))
		all = all[left:]
	}
	verdict, place := 0, 0
	for _, c := range all {
		verdict = max(verdict, len(c.Verdict.String()))
		place = max(place, min(30, utf8.RuneCountInString(whereText(c))))
	}
	for _, c := range all {
		p.finding(c, verdict, place)
	}
}

func whereText(c inspect.Collected) string {
	if len(c.Where) > 4 {
		return fmt.Sprintf("%s and %d more", strings.Join(c.Where[:3], ", "), len(c.Where)-3)
	}
	return strings.Join(c.Where, ", ")
}

func (p *printer) finding(c inspect.Collected, verdict, place int) {
	where := whereText(c)
	head := fmt.Sprintf("%-*s  ", verdict, c.Verdict)
	if place > 0 {
		head += where + strings.Repeat(" ", max(0, place-utf8.RuneCountInString(where))) + "  "
	}
	text := sentence(c.Text)
	if len(c.Repairs) > 1 && !p.o.Quiet {
		text += " Choose:"
	}
	p.hanging(p.p.verdict(c.Verdict, head), text)
	if c.Restart != "" {
		p.hanging("  BEFORE A RESTART: ", sentence(c.Restart))
	}
	if !p.o.Quiet {
		p.repairs(c.Repairs)
	}
}

// hanging writes a sentence behind its head, and its other lines below its first; below a head that takes most of the line.
func (p *printer) hanging(head, text string) {
	indent := visible(head)
	if indent > p.room()*2/3 {
		p.line("%s", strings.TrimRight(head, " "))
		head, indent = "    ", 4
	}
	for i, line := range wrap(text, indent, p.room()) {
		if i == 0 {
			p.line("%s%s", head, line)
		} else {
			p.line("%*s%s", max(indent, 2), "", line)
		}
	}
}

// repairs writes each command on a line of its own, whole, to be copied.
func (p *printer) repairs(rs []inspect.Repair) {
	widest := 0
	for _, r := range rs {
		widest = max(widest, len(r.Effect)+1+len(Number(r.Count)))
	}
	for _, r := range rs {
		p.line("  %-*s  %s", widest, r.Effect+" "+Number(r.Count), p.p.bold(p.o.Command+" "+Command(r.Args)))
	}
}

// sentence ends a text with a full stop.
func sentence(s string) string {
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".?!") {
		return s
	}
	return s + "."
}
