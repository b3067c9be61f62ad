package render

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

var csvColumns = []string{"group", "topic", "broker", "partition", "state", "stored", "start", "stable", "end", "lag", "lost", "ahead", "held", "verdict",
	"oldest_unread", "gone_in_seconds", "consume_at", "owner", "detail"}

var (
	csvGroupColumns = []string{"group", "kind", "phase", "members", "partitions", "lag", "unmeasured", "lost", "verdict", "verdicts"}
	csvTopicColumns = []string{"group", "topic", "broker", "partitions", "lag", "unmeasured", "lost", "verdict", "verdicts"}
)

// inspectCSV writes a line for each partition, topic or group.
func inspectCSV(w io.Writer, r *inspect.Report, o InspectOptions) error {
	c := csv.NewWriter(w) // whose Flush has the error
	switch o.By {
	case "group":
		csvGroups(c, r, o)
	case "topic":
		csvTopics(c, r, o)
	default:
		csvPartitions(c, r, o)
	}
	c.Flush()
	return c.Error()
}

func csvGroups(c *csv.Writer, r *inspect.Report, o InspectOptions) {
	_ = c.Write(csvGroupColumns)
	for i := range r.Groups {
		if g := &r.Groups[i]; o.showsAny(g) {
			d := newDocGroup(g)
			_ = c.Write([]string{g.Name, d.Kind, d.Phase, strconv.Itoa(d.Members), strconv.Itoa(len(g.Rows)), integer(g.Lag), strconv.Itoa(g.Unmeasured),
				integer(g.Lost), g.Verdict.String(), csvCounts(g)})
		}
	}
}

func csvTopics(c *csv.Writer, r *inspect.Report, o InspectOptions) {
	_ = c.Write(csvTopicColumns)
	for i := range r.Groups {
		sums := topicSums(&r.Groups[i])
		for k := range sums {
			if s := &sums[k]; o.showsAny(&s.GroupReport) {
				p := s.Rows[0].Partition
				_ = c.Write([]string{s.Name, p.Topic, p.Broker, strconv.Itoa(len(s.Rows)), integer(s.Lag), strconv.Itoa(s.Unmeasured), integer(s.Lost),
					s.Verdict.String(), csvCounts(&s.GroupReport)})
			}
		}
	}
}

// csvCounts is "stale 1; ok 7", worst first.
func csvCounts(g *inspect.GroupReport) string {
	var out []string
	for v, n := range g.Counts {
		if n > 0 {
			out = append(out, inspect.Verdict(v).String()+" "+strconv.Itoa(n))
		}
	}
	return strings.Join(out, "; ")
}

// csvPartitions: what is not known is empty; a group without partitions has a line with its finding.
func csvPartitions(c *csv.Writer, r *inspect.Report, o InspectOptions) {
	_ = c.Write(csvColumns)
	for i := range r.Groups {
		g := &r.Groups[i]
		for k := range g.Rows {
			if o.shows(g.Rows[k].Verdict) {
				_ = c.Write(csvRow(&g.Rows[k]))
			}
		}
		if len(g.Rows) == 0 && len(g.Findings) > 0 && o.shows(g.Verdict) {
			line := make([]string, len(csvColumns))
			line[0], line[13], line[18] = g.Name, g.Verdict.String(), g.Findings[0].Text
			_ = c.Write(line)
		}
	}
}

func csvRow(r *inspect.Row) []string {
	p := r.Partition
	out := []string{r.Group, p.Topic, p.Broker, strconv.Itoa(int(p.Index)), "unknown", "", "", "", "", "", integer(r.Lost), integer(r.Ahead), integer(r.Held),
		r.Verdict.String(), "", "", "", "", r.Detail}
	if r.Stored.Err == nil {
		out[4] = r.Stored.Value.State.String()
		if r.Stored.Value.State == offset.Set {
			out[5] = integer(r.Stored.Value.Next)
		}
	}
	if r.Log.Err == nil {
		b := r.Log.Value.Bounds
		out[6], out[7], out[8] = integer(b.Start), integer(b.Stable), integer(b.End)
	}
	if r.LagKnown {
		out[9] = integer(r.Lag)
	}
	if !r.Oldest.IsZero() {
		out[14] = r.Oldest.UTC().Format(time.RFC3339Nano)
	}
	if r.GoneKnown {
		out[15] = integer(int64(r.GoneIn.Seconds()))
	}
	if r.Consume.Err == nil {
		out[16] = integer(r.Consume.Value.Next)
	}
	if r.Owner != nil {
		out[17] = r.Owner.Client
	}
	return out
}

func integer(n int64) string { return strconv.FormatInt(n, 10) }
