package inspect

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/positions"
)

// Move is what two looks at a partition tell.
type Move struct {
	Over    time.Duration // between the looks
	In, Out float64       // records a second: appended, and read; negative where something went backwards
	CatchUp time.Duration // until nothing is unread if both go on so; 0: nothing to catch up with; Never
	Unmoved bool          // the position is the same, and records were unread in both looks
}

// Never is a CatchUp that does not come.
const Never time.Duration = -1

// steady is how much of the incoming rate two looks may be off where a reader keeps pace.
const steady = 0.05

// Sample keeps what a later Compare needs of a report.
func (r *Report) Sample() *Sample {
	n := 0
	for i := range r.Groups {
		n += len(r.Groups[i].Rows)
	}
	s := &Sample{Taken: r.Survey.Taken, Points: make([]Point, 0, n)}
	for i := range r.Groups {
		for k := range r.Groups[i].Rows {
			s.Points = append(s.Points, point(&r.Groups[i].Rows[k]))
		}
	}
	return s
}

func point(r *Row) Point {
	p := Point{Group: r.Group, Partition: r.Partition, Lag: -1, Start: -1, End: -1, TopicID: r.TopicID}
	if r.Stored.Err == nil {
		p.State, p.Next = r.Stored.Value.State, r.Stored.Value.Next
	}
	if r.LagKnown {
		p.Lag = r.Lag
	}
	if r.Log.Err == nil {
		p.Start, p.End = r.Log.Value.Start, r.Log.Value.End
	}
	return p
}

// Compare answers now with what an earlier look adds: movement, and the findings that only two looks show. It changes neither.
func Compare(earlier, now *Report) *Report {
	c := newComparing(earlier, now)
	out := *now
	out.Groups = slices.Clone(now.Groups)
	for i := range out.Groups {
		c.group(&out.Groups[i])
	}
	if now.Survey.Ask.Groups == nil {
		out.Groups = c.goneGroups(out.Groups)
	}
	out.settle()
	return &out
}

// Rates answers now with the movement since an earlier look and no findings of it: two looks that lie too near for those accuse
// a group that is merely between two commits.
func Rates(earlier, now *Report) *Report {
	c := newComparing(earlier, now)
	out := *now
	out.Groups = slices.Clone(now.Groups)
	for i := range out.Groups {
		g := &out.Groups[i]
		g.Rows = slices.Clone(g.Rows)
		for k := range g.Rows {
			if p, ok := c.earlier.find(g.Name, g.Rows[k].Partition); ok {
				g.Rows[k].Move = c.move(&g.Rows[k], p)
			}
		}
	}
	return &out
}

func newComparing(earlier, now *Report) *comparing {
	return &comparing{newClassifier(now.Survey, now.Policy), earlier.Sample(), now.Survey.Taken.Sub(earlier.Survey.Taken)}
}

// Moved tells whether any position of now is another one than in the earlier look.
func Moved(earlier, now *Report) bool {
	then := earlier.Sample()
	for _, p := range now.Sample().Points {
		was, ok := then.find(p.Group, p.Partition)
		if p.State == offset.Set && (!ok || was.State != offset.Set || was.Next != p.Next) {
			return true
		}
	}
	return false
}

type comparing struct {
	*classifier
	earlier *Sample
	over    time.Duration
}

func (c *comparing) group(g *GroupReport) {
	g.Rows, g.Findings = slices.Clone(g.Rows), slices.Clip(g.Findings)
	for i := range g.Rows {
		if p, ok := c.earlier.find(g.Name, g.Rows[i].Partition); ok {
			c.row(g, &g.Rows[i], p)
		}
	}
	c.gone(g)
	g.settle()
}

// row adds what the earlier look p tells of r.
func (c *comparing) row(g *GroupReport, r *Row, p Point) {
	r.Move = c.move(r, p)
	both := p.State == offset.Set && r.Stored.Err == nil && r.Stored.Value.State == offset.Set
	remade := p.TopicID != "" && r.TopicID != "" && p.TopicID != r.TopicID
	var found []Finding
	if p.State == offset.Set && r.Stored.Err == nil && r.Stored.Value.State == offset.Absent {
		found = append(found, c.vanished(g, r, p))
	}
	if both && !remade && r.Log.Err == nil && p.End > r.Log.Value.End {
		f := c.finding(g, logShrank, []*Row{r})
		f.Text = fmt.Sprintf("the log end was %d at %s and is %d: the topic was made again, or its log was cut", p.End, moment(c.earlier.Taken), r.Log.Value.End)
		found = append(found, f)
	}
	if r.Move != nil && r.Move.Unmoved {
		found = append(found, Finding{Verdict: Stalled, cause: noMovement,
			Text: fmt.Sprintf("unmoved at %d for %s, with %s unread; the position is right, the job is stuck or stopped", p.Next, positions.Span(c.over), plural(r.Lag, "record"))})
	}
	if both && !remade && r.Stored.Value.Next < p.Next {
		found = append(found, c.movedBack(g, r, p))
	}
	if len(found) == 0 {
		return
	}
	r.Findings = append(found, r.Findings...)
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return cmp.Compare(a.Verdict, b.Verdict) })
	if worst := r.Findings[0]; worst.Verdict < r.Verdict || worst.cause == vanished {
		r.Verdict, r.Detail = worst.Verdict, c.moveDetail(r, worst.cause, p)
	}
}

func (c *comparing) move(r *Row, p Point) *Move {
	seconds := c.over.Seconds()
	if seconds <= 0 || p.State != offset.Set || p.End < 0 || r.Log.Err != nil || r.Stored.Err != nil || r.Stored.Value.State != offset.Set {
		return nil
	}
	m := &Move{Over: c.over, In: float64(r.Log.Value.End-p.End) / seconds, Out: float64(r.Stored.Value.Next-p.Next) / seconds}
	m.Unmoved = p.Next == r.Stored.Value.Next && p.Lag > 0 && r.LagKnown && r.Lag > 0 && !r.NoUnread
	switch faster := m.Out - m.In; {
	case !r.LagKnown || r.Lag == 0 || m.Out > 0 && math.Abs(faster) < steady*m.In:
	case faster > 0:
		m.CatchUp = time.Duration(min(float64(r.Lag)/faster, 1e9) * float64(time.Second))
	case m.Out < m.In || m.Out == 0:
		m.CatchUp = Never
	}
	return m
}

func (c *comparing) vanished(g *GroupReport, r *Row, p Point) Finding {
	f := Finding{Verdict: Absent, cause: vanished, Text: fmt.Sprintf("was %d at %s and is not stored any more: expired, or deleted", p.Next, moment(c.earlier.Taken))}
	if r.Log.Err == nil && r.Log.Value.Inside(p.Next) && !g.elsewhere() {
		left := gap(p.Next, r.Log.Value.Reach(c.Ask.Isolation))
		f.Restart = c.restart(g, absentBeside, []*Row{r}, sums{lag: left, known: true})
		return f.offer([]*Row{r}, []Repair{{Effect: "keeps", Count: left, Args: append(c.target(g, []*Row{r}), "--to-offset", digits(p.Next))}})
	}
	return f.offer([]*Row{r}, c.repairs(g, absentBeside, []*Row{r}, c.sum([]*Row{r})))
}

func (c *comparing) movedBack(g *GroupReport, r *Row, p Point) Finding {
	n := r.Stored.Value.Next
	f := Finding{Verdict: Rewound, cause: movedBack, Text: fmt.Sprintf("moved back from %d at %s to %d: %s read twice, unless somebody meant it",
		p.Next, moment(c.earlier.Taken), n, plural(gap(n, p.Next), "record"))}
	if r.Log.Err == nil && r.Log.Value.Inside(p.Next) && !g.elsewhere() {
		f = f.offer([]*Row{r}, []Repair{{Effect: "skips", Count: gap(n, p.Next), Args: append(c.target(g, []*Row{r}), "--to-offset", digits(p.Next))}})
	}
	return f
}

func (c *comparing) moveDetail(r *Row, k cause, p Point) string {
	switch k {
	case noMovement:
		return "unmoved for " + positions.Span(c.over)
	case movedBack:
		return "was " + digits(p.Next)
	case vanished:
		return "was " + digits(p.Next)
	case logShrank:
		return "log end was " + digits(p.End)
	}
	return r.Detail
}

// gone adds one finding for positions of the earlier look whose partitions have no row any more.
func (c *comparing) gone(g *GroupReport) {
	var lost []offset.Partition
	for _, p := range c.earlier.group(g.Name) {
		_, here := slices.BinarySearchFunc(g.Rows, p.Partition, func(r Row, at offset.Partition) int { return r.Partition.Compare(at) })
		if !here && p.State == offset.Set && c.asked(p.Partition) {
			lost = append(lost, p.Partition)
		}
	}
	if lost != nil {
		g.Findings = append(g.Findings, Finding{Verdict: Absent, cause: groupGone,
			Text: fmt.Sprintf("%s had positions at %s and have none now", join(where(lost)), moment(c.earlier.Taken))})
	}
}

// asked: the present look would show the partition if it were there.
func (c *comparing) asked(p offset.Partition) bool {
	return (c.Ask.Topics == nil || slices.Contains(c.Ask.Topics, p.Topic)) && (c.Ask.Select == nil || c.Ask.Select(p))
}

// goneGroups adds the groups of the earlier look that are not there now.
func (c *comparing) goneGroups(groups []GroupReport) []GroupReport {
	for _, p := range c.earlier.Points {
		i, ok := slices.BinarySearchFunc(groups, p.Group, func(g GroupReport, n string) int { return cmp.Compare(g.Name, n) })
		if ok || p.State != offset.Set || !c.asked(p.Partition) {
			continue
		}
		g := GroupReport{GroupLine: GroupLine{Name: p.Group}}
		g.Group.Value = offset.Group{Name: p.Group, Phase: offset.Missing}
		c.gone(&g)
		g.settle()
		groups = slices.Insert(groups, i, g)
	}
	return groups
}
