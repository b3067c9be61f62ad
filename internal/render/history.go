package render

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/positions"
	"github.com/offsetctl/offsetctl/repair"
)

// HistoryOptions is how the journal is shown.
type HistoryOptions struct {
	Format  string // table, wide, json, yaml
	Now     time.Time
	Width   int
	Journal string // where it is
}

type historyDocument struct {
	Schema  string          `json:"schema"`
	Journal string          `json:"journal"`
	Entries []*repair.Entry `json:"entries"`
}

// History writes what was written when by whom, newest first as it comes.
func History(w io.Writer, es []*repair.Entry, o HistoryOptions) error {
	d := historyDocument{"offsetctl.history/v1", o.Journal, append([]*repair.Entry{}, es...)}
	switch o.Format {
	case "json":
		return JSON(w, d)
	case "yaml":
		return YAML(w, d)
	}
	if len(es) == 0 {
		_, err := fmt.Fprintf(w, "nothing in the journal %s\n", o.Journal)
		return err
	}
	t := grid{width: o.Width, columns: []gridColumn{{name: "ID", right: true}, {name: "WHEN"}, {name: "WHO"}, {name: "WHAT"}, {name: "GROUP", shrink: true},
		{name: "ROWS", right: true}, {name: "RESULT"}, {name: "REASON"}, {name: "COMMAND"}}}
	for _, e := range es {
		t.add(strconv.FormatInt(e.ID, 10), when(e, o.Now), e.User+"@"+e.Host, string(e.Kind), entryGroups(e), Number(int64(rowsOf(e))), result(e), dash(e.Reason), e.Command)
	}
	return t.write(w)
}

func when(e *repair.Entry, now time.Time) string {
	return stamp(e.At) + ", " + span(now.Sub(e.At)) + " ago"
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func entryGroups(e *repair.Entry) string {
	var names []string
	for _, g := range e.Groups {
		names = append(names, Name(g.Group))
	}
	return brief(names)
}

func rowsOf(e *repair.Entry) (n int) {
	for _, g := range e.Groups {
		n += len(g.Changes)
	}
	return n
}

// result says how an entry ended, as far as the journal knows; of rows that had not to be written nothing.
func result(e *repair.Entry) string {
	written, all := 0, 0
	bad := map[repair.Status]int{}
	for _, o := range e.Done {
		switch {
		case o.Status == repair.Written:
			written++
		case o.Status.Done():
			continue
		default:
			bad[o.Status]++
		}
		all++
	}
	switch {
	case e.Busy:
		return "being written"
	case e.Ended.IsZero():
		return "NOT RECORDED"
	case len(bad) == 0:
		return "written"
	}
	s := fmt.Sprintf("%s of %s", Number(int64(written)), Number(int64(all)))
	for _, st := range slices.Sorted(maps.Keys(bad)) {
		s += fmt.Sprintf(", %s %s", Number(int64(bad[st])), st)
	}
	return s
}

// unsettled is why the store was looked at for what became of an entry; "": the journal knows.
func unsettled(e *repair.Entry) string {
	switch {
	case e.Busy:
		return "It is being written right now; below is what the store says at this moment."
	case e.Ended.IsZero():
		return "The process ended before it could record the result; below is what the store says now."
	case !e.Settled():
		return "What became of some rows was not known when it ended; below is what the store says of them now."
	}
	return ""
}

// Entry writes one entry with every row. outcomes are what was recorded, or what is true now where nothing was.
func Entry(w io.Writer, e *repair.Entry, results []repair.Outcome, o HistoryOptions) error {
	switch o.Format {
	case "json", "yaml":
		d := struct {
			Schema  string `json:"schema"`
			Journal string `json:"journal"`
			*repair.Entry
			Truth []repair.Outcome `json:"truth"`
		}{"offsetctl.entry/v1", o.Journal, e, results}
		if o.Format == "yaml" {
			return YAML(w, d)
		}
		return JSON(w, d)
	}
	p := &printer{w: w, o: InspectOptions{Width: o.Width}}
	p.line("%d  %s, %s@%s, %s ago%s", e.ID, stamp(e.At), e.User, e.Host, positions.Span(o.Now.Sub(e.At)), quoted(e.Reason))
	p.hanging("command  ", e.Command)
	p.hanging("store    ", e.Store+", cluster "+dash(e.Cluster))
	if why := unsettled(e); why != "" {
		p.hanging("", why)
	}
	t := grid{columns: []gridColumn{{name: "GROUP", shrink: true}, {name: "TOPIC", shrink: true}, {name: "PART", right: true}, {name: "BEFORE", right: true}, {name: "AFTER", right: true}, {name: "RESULT"}}}
	ended := outcomeTexts(results)
	for _, g := range e.Groups {
		for _, c := range g.Changes {
			how, ok := ended[rowKey{g.Group, c.Partition}]
			if !ok {
				how = "not recorded"
			}
			t.add(Name(g.Group), topicName(c.Partition), strconv.Itoa(int(c.Partition.Index)), positionCell(c.From), positionCell(c.To), how)
		}
	}
	if len(t.rows) > 0 {
		p.grid(&t)
	}
	return p.err
}

func quoted(reason string) string {
	if reason == "" {
		return ""
	}
	return fmt.Sprintf(", %q", reason)
}

// rowKey is a row of an entry.
type rowKey struct {
	group     string
	partition offset.Partition
}

func outcomeTexts(all []repair.Outcome) map[rowKey]string {
	out := make(map[rowKey]string, len(all))
	for _, o := range all {
		text := o.Status.String()
		if o.Text != "" {
			text += ": " + o.Text
		}
		out[rowKey{o.Group, o.Partition}] = text
	}
	return out
}
