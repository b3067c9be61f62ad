package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/positions"
)

// collapseAbove is how many ok rows of one topic are shown one by one.
const collapseAbove = 20

// rows writes a group's partitions in their order.
func (p *printer) rows(g *inspect.GroupReport) {
	t := p.columns(g)
	for _, retry := range []bool{false, true} { // retry topics below the group's own
		for i := 0; i < len(g.Rows); {
			n := i
			for n < len(g.Rows) && topicName(g.Rows[n].Partition) == topicName(g.Rows[i].Partition) {
				n++
			}
			if inspect.IsRetry(g.Rows[i].Partition.Topic) == retry {
				p.topicRows(t, g.Rows[i:n])
			}
			i = n
		}
	}
	if len(t.rows) == 0 {
		p.line("no row has a verdict that --show asks for")
		return
	}
	p.grid(&t.grid)
}

// topicRows writes the rows of one topic, and one line for those that are ok where they are many.
func (p *printer) topicRows(t *rowGrid, rows []inspect.Row) {
	healthy := func(r inspect.Row) bool { return r.Verdict == inspect.OK }
	many := 0
	for _, r := range rows {
		if healthy(r) {
			many++
		}
	}
	collapse := many > collapseAbove && !slices.Contains(p.o.Show, inspect.OK)
	for i := range rows {
		if r := &rows[i]; p.o.shows(r.Verdict) && !(collapse && healthy(*r)) {
			t.add(t.cells(p, r)...)
		}
	}
	if collapse && p.o.shows(inspect.OK) {
		t.add(t.collapsed(p, rows, many)...)
	}
}

// rowGrid is a table of partitions and what stands in its columns.
type rowGrid struct {
	grid
	wide, raw bool
}

func (p *printer) columns(g *inspect.GroupReport) *rowGrid {
	t := &rowGrid{wide: p.o.Format == "wide"}
	t.raw = t.wide && slices.ContainsFunc(g.Rows, func(r inspect.Row) bool { return r.Stored.Value.Raw != nil })
	t.columns = []gridColumn{{name: "TOPIC", shrink: true}, {name: "PART", right: true}, {name: "STORED", right: true}, {name: "START", right: true},
		{name: "END", right: true}, {name: "LAG", right: true}, {name: "VERDICT"}}
	if t.wide {
		t.columns = append(t.columns, gridColumn{name: "OLDEST", right: true}, gridColumn{name: "GONE IN", right: true}, gridColumn{name: "CONSUME AT", right: true},
			gridColumn{name: "OWNER", shrink: true})
	}
	if t.raw {
		t.columns = append(t.columns, gridColumn{name: "RAW"})
	}
	t.columns = append(t.columns, gridColumn{name: "DETAIL"})
	return t
}

func (t *rowGrid) cells(p *printer, r *inspect.Row) []string {
	out := []string{topicName(r.Partition), strconv.Itoa(int(r.Partition.Index)), storedCell(r)}
	out = append(out, boundCells(p.r.Survey.Ask.Isolation, r)...)
	out = append(out, lagCell(r), p.p.verdict(r.Verdict, r.Verdict.String()))
	if t.wide {
		out = append(out, oldestCell(p.r, r), goneCell(r), consumeCell(r), ownerCell(r))
	}
	if t.raw {
		out = append(out, rawCell(r.Stored.Value))
	}
	return append(out, r.Detail)
}

// collapsed is the line for all rows of a topic that are ok.
func (t *rowGrid) collapsed(p *printer, rows []inspect.Row, many int) []string {
	lag, held := int64(0), int64(0)
	var but []offset.Partition
	for i := range rows {
		if r := &rows[i]; r.Verdict == inspect.OK {
			lag, held = lag+r.Lag, held+r.Held
		} else {
			but = append(but, r.Partition)
		}
	}
	first, last := rows[0].Partition, rows[len(rows)-1].Partition
	text := fmt.Sprintf("%s: %d-%d", plural(many, "partition"), first.Index, last.Index)
	switch texts := numbers(but); {
	case len(but) == 0:
	case len(texts) <= 30:
		text += " but " + texts
	default:
		text = fmt.Sprintf("%d of %s", many, plural(len(rows), "partition"))
	}
	if held > 0 && p.r.Survey.Ask.Isolation == offset.ReadCommitted {
		text += "; " + Number(held) + " more in open transactions"
	}
	out := make([]string, len(t.columns))
	out[0], out[5], out[6], out[len(out)-1] = topicName(first), Number(lag), p.p.verdict(inspect.OK, "ok"), text
	return out
}

// numbers are the partition numbers of one topic: 5, 17-19.
func numbers(ps []offset.Partition) string {
	var out []string
	for _, t := range positions.SelectionOf(ps).Texts() {
		if len(ps) > 0 {
			out = append(out, t[strings.LastIndexByte(t, ':')+1:])
		}
	}
	return strings.ReplaceAll(strings.Join(out, ","), ",", ", ")
}

func storedCell(r *inspect.Row) string {
	switch s := r.Stored.Value; {
	case r.Stored.Err != nil:
		return "?"
	case s.State == offset.Set:
		return strconv.FormatInt(s.Next, 10)
	case s.State == offset.Absent:
		return "-"
	case s.State == offset.Invalid:
		return cut(rawCell(s), 20)
	}
	return "?"
}

// rawCell is what is stored where that is more than a position in decimal.
func rawCell(s offset.Stored) string {
	if s.Raw == nil {
		return "-"
	}
	return cut(strconv.QuoteToASCII(string(s.Raw)), 40)
}

func boundCells(iso offset.Isolation, r *inspect.Row) []string {
	switch {
	case !r.Exists:
		return []string{"-", "-"}
	case r.Log.Err != nil:
		return []string{"?", "?"}
	}
	b := r.Log.Value.Bounds
	return []string{strconv.FormatInt(b.Start, 10), strconv.FormatInt(b.Reach(iso), 10)}
}

func lagCell(r *inspect.Row) string {
	switch {
	case r.LagKnown:
		return Number(r.Lag)
	case r.Verdict == inspect.Unknown:
		return "?"
	}
	return "-"
}

func oldestCell(rep *inspect.Report, r *inspect.Row) string {
	if r.Oldest.IsZero() {
		return "-"
	}
	return span(rep.Survey.Taken.Sub(r.Oldest))
}

func goneCell(r *inspect.Row) string {
	switch {
	case r.Lost > 0 && r.Lag > 0:
		return "now"
	case !r.GoneKnown:
		return "-"
	}
	return span(r.GoneIn)
}

func consumeCell(r *inspect.Row) string {
	if r.Consume.Err != nil {
		return "stops"
	}
	return strconv.FormatInt(r.Consume.Value.Next, 10)
}

func ownerCell(r *inspect.Row) string {
	if r.Owner == nil {
		return "-"
	}
	return strings.TrimSpace(r.Owner.Client + " " + r.Owner.Host)
}
