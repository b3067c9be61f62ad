package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/offset"
)

// group judges one group and its lines.
func (c *classifier) group(gl GroupLine, lines []Line) GroupReport {
	g := GroupReport{GroupLine: gl, owned: ownership(gl)}
	g.Rows = make([]Row, 0, len(lines))
	for i := range lines {
		if lines[i].Selected {
			g.Rows = append(g.Rows, Row{Line: &lines[i]})
			c.row(&g, &g.Rows[len(g.Rows)-1])
		}
	}
	c.whole(&g, lines)
	g.Notes = c.notes(&g)
	g.settle()
	return g
}

// settle counts the rows and finds the worst verdict.
func (g *GroupReport) settle() {
	g.Verdict, g.Counts, g.Lag, g.RetryLag, g.Lost, g.Unmeasured = OK, [OK + 1]int{}, 0, 0, 0, 0
	for _, f := range g.Findings {
		g.Verdict = min(g.Verdict, f.Verdict)
		if !g.Nothing || f.cause != nothingStored || len(g.Rows) == 0 {
			g.Counts[f.Verdict]++
		}
	}
	for i := range g.Rows {
		r := &g.Rows[i]
		g.Verdict = min(g.Verdict, r.Verdict)
		g.Counts[r.Verdict]++
		switch {
		case !r.LagKnown:
		case IsRetry(r.Partition.Topic):
			g.RetryLag = add(g.RetryLag, r.Lag)
		default:
			g.Lag = add(g.Lag, r.Lag)
		}
		if r.Verdict == Unknown {
			g.Unmeasured++
		}
		g.Lost = add(g.Lost, r.Lost)
	}
}

// whole adds the findings of the group as a whole.
func (c *classifier) whole(g *GroupReport, lines []Line) {
	if g.Err != nil {
		g.Findings = append(g.Findings, Finding{Verdict: Unknown, Text: "what it has stored could not be read: " + g.Err.Error(), cause: groupUnknown})
		return
	}
	if c.Ask.Topics != nil {
		g.Findings = append(g.Findings, c.blindTopics(lines)...)
	}
	if mixed := mixture(g); mixed != "" && !perTopic(g) {
		g.Findings = append(g.Findings, Finding{Verdict: MixedSubscriptions, cause: differentSubscriptions, Text: mixed +
			". Each queue belongs to one client, which drops what it did not subscribe to while the position moves on: messages are lost with a lag of 0" +
			"; repaired in the clients: a group for each subscription"})
	}
	g.Nothing = nothingThere(lines) && len(g.Findings) == 0
	if g.Nothing {
		g.Findings = append(g.Findings, c.nothing(g))
	}
}

// blindTopics: topics that were named, may not be looked at, and have no line.
func (c *classifier) blindTopics(lines []Line) (out []Finding) {
	for _, tp := range c.Topology.Topics {
		if tp.Err == nil || !denied(tp.Err) || slices.ContainsFunc(lines, func(l Line) bool { return l.Partition.Topic == tp.Name }) {
			continue
		}
		text := tp.Err.Error()
		if !strings.Contains(text, tp.Name) {
			text = "topic " + tp.Name + ": " + text
		}
		out = append(out, Finding{Verdict: Unknown, cause: topicUnknown, Text: text + ". Neither ok nor absent"})
	}
	return out
}

// nothing is the one finding of a group without any position.
func (c *classifier) nothing(g *GroupReport) Finding {
	f := Finding{Verdict: Absent, cause: nothingStored, Text: "nothing is stored; a job begins by its start policy"}
	if c.Own && g.Group.Err == nil && g.Group.Value.Phase == offset.Missing {
		f.Text = "there is no group of this name; a job begins by its start policy"
		if g.Near != "" {
			f.Text = "there is no group of this name; did you mean " + g.Near + "?"
		}
	}
	rows := make([]*Row, 0, len(g.Rows))
	for i := range g.Rows {
		if g.Rows[i].LagKnown {
			rows = append(rows, &g.Rows[i])
		}
	}
	if len(rows) > 0 && g.Near == "" {
		t := c.sum(rows)
		f.Restart = c.restart(g, absentTopic, rows, t)
		f = f.offer(rows, c.repairs(g, absentTopic, rows, t))
	}
	return f
}

// mixture says how clients of one group differ in what they subscribe to.
func mixture(g *GroupReport) string {
	if g.Group.Err != nil || g.Group.Value.Kind == "streams" { // whose members share out parts of a topology
		return ""
	}
	var kinds []*offset.Member // one of each
	named := map[*offset.Member][]string{}
	for i := range g.Group.Value.Members {
		m := &g.Group.Value.Members[i]
		if len(m.Subscribes) == 0 || m.Err != nil {
			continue
		}
		k := slices.IndexFunc(kinds, func(o *offset.Member) bool { return slices.Equal(o.Subscribes, m.Subscribes) })
		if k < 0 {
			k, kinds = len(kinds), append(kinds, m)
		}
		named[kinds[k]] = append(named[kinds[k]], m.Client)
	}
	if len(kinds) < 2 {
		return ""
	}
	var texts []string
	for _, m := range kinds {
		clients := named[m]
		if n := len(clients); n > 3 {
			clients = append(slices.Clone(clients[:2]), fmt.Sprintf("%d more", n-2))
		}
		texts = append(texts, join(clients)+" to "+subscribes(m))
	}
	return "clients subscribe differently: " + strings.Join(texts, "; ")
}

// perTopic: the group protocol gives each topic to those members alone that want it, so that differing subscriptions lose
// nothing. Kafka's do; RocketMQ's shares every queue among all clients, whatever they want.
func perTopic(g *GroupReport) bool {
	return slices.Contains([]string{"classic", "consumer", "share"}, g.Group.Value.Kind)
}

func subscribes(m *offset.Member) string {
	var out []string
	for _, s := range m.Subscribes {
		if s.Filter == "" || s.Filter == "*" {
			out = append(out, s.Topic)
		} else {
			out = append(out, s.Topic+" ("+s.Filter+")")
		}
	}
	return strings.Join(out, ", ")
}

// Framework names what keeps its offsets elsewhere, by the name that it gives its groups on a broker: a reset of the group has no
// effect on it. "" is none that can be recognised.
func Framework(group string) string {
	switch n := group; {
	case strings.HasPrefix(n, "spark-kafka-source-"), strings.HasPrefix(n, "spark-executor-"):
		return "Spark Structured Streaming, which keeps its offsets in its checkpoint (store spark:DIR)"
	case strings.HasPrefix(n, "KafkaSource-"), strings.Contains(strings.ToLower(n), "flink"):
		return "Flink, which keeps its offsets in its checkpoints and savepoints"
	}
	return ""
}

// share: its brokers hand out records one by one, and keep what is acknowledged.
func (g *GroupReport) share() bool { return g.Group.Err == nil && g.Group.Value.Kind == "share" }

// elsewhere: a reset of this group would have no effect.
func (g *GroupReport) elsewhere() bool { return Framework(g.Name) != "" }

// notes are what an operator should know and that is no finding.
func (c *classifier) notes(g *GroupReport) (out []string) {
	if f := Framework(g.Name); f != "" && c.Own {
		out = append(out, "by its name this is "+f+": a reset of the group has no effect on the job")
	}
	if strings.HasPrefix(g.Name, "connect-") && c.Own {
		out = append(out, "by its name this is a Kafka Connect sink: stop the connector and move its offsets through Connect, which otherwise writes over a reset")
	}
	if g.Group.Err != nil {
		return append(out, "its members could not be looked at: "+g.Group.Err.Error())
	}
	v := g.Group.Value
	for _, m := range v.Members {
		if m.Err != nil {
			out = append(out, fmt.Sprintf("member %s could not be asked what it reads: %v", m.Client, m.Err))
		}
	}
	if mixed := mixture(g); mixed != "" && perTopic(g) {
		out = append(out, mixed+"; each topic is read by those alone that subscribe to it")
	}
	if hint := c.untilMinusOne(g); hint != "" && c.Own {
		out = append(out, hint)
	}
	switch {
	case v.Kind == "streams" || v.Protocol == "stream":
		out = append(out, "Kafka Streams: a reset moves the source positions only; state stores and changelogs stay")
	case v.Kind == "share":
		out = append(out, "share group: the position is where its oldest unfinished record lies, and records may be read out of order")
	case v.Kind == "broadcast":
		out = append(out, "broadcast: the positions that count lie on the clients")
	}
	if c.Own && c.kafka && v.Phase == offset.Live && repairable(g) {
		out = append(out, fmt.Sprintf("live: Kafka takes no outside commit while a member lives, so a reset waits until all have stopped (%s); reset --wait-empty 120s writes the moment it is empty",
			plural(int64(len(v.Members)), "member")))
	}
	if !c.Own && v.Phase == offset.Live {
		out = append(out, fmt.Sprintf("the broker has a live group of this name with %s; the positions shown are those of the store", plural(int64(len(v.Members)), "member")))
	}
	return out
}

// repairable: a command is offered for some row.
func repairable(g *GroupReport) bool {
	return slices.ContainsFunc(g.Rows, func(r Row) bool { return len(r.Findings) > 0 && len(r.Findings[0].Repairs) > 0 })
}

// owned is one assignment of a group.
type owned struct {
	partition offset.Partition
	member    *offset.Member
}

func ownership(g GroupLine) (out []owned) {
	if g.Group.Err != nil {
		return nil
	}
	for i := range g.Group.Value.Members {
		m := &g.Group.Value.Members[i]
		for _, p := range m.Owns {
			out = append(out, owned{p, m})
		}
	}
	slices.SortFunc(out, func(a, b owned) int { return a.partition.Compare(b.partition) })
	return out
}

func (g *GroupReport) owner(p offset.Partition) *offset.Member {
	i, ok := slices.BinarySearchFunc(g.owned, p, func(o owned, p offset.Partition) int { return o.partition.Compare(p) })
	if !ok {
		return nil
	}
	return g.owned[i].member
}
