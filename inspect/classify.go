package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/positions"
)

// Policy is what counts as wrong.
type Policy struct {
	StaleAfter  time.Duration // 0: nothing is stale; Ask.Stale must have been the same
	MaxLag      int64         // records; 0: any lag is fine
	MinHeadroom time.Duration // of the oldest unread record until retention takes it; 0: only what is nearly gone. Needs Ask.TimeLag
	Start       offset.Target // where consume starts where nothing is stored; zero: earliest
	Now         time.Time     // zero: when the survey was taken
}

// headroom is how much of the retention must be left where nobody says how much: a tenth, and never more than an hour.
const headroom = time.Hour

// Classify judges every selected line of a survey. It is pure.
func Classify(sv *Survey, p Policy) *Report {
	if p.Now.IsZero() {
		p.Now = sv.Taken
	}
	if p.Start.Kind == 0 {
		p.Start.Kind = offset.ToEarliest
	}
	c := newClassifier(sv, p)
	r := &Report{Survey: sv, Verdict: OK, Policy: p, Findings: c.missingBrokers()}
	lines := sv.Lines
	for _, g := range sv.Groups {
		n := 0
		for n < len(lines) && lines[n].Group == g.Name {
			n++
		}
		r.Groups = append(r.Groups, c.group(g, lines[:n]))
		lines = lines[n:]
	}
	r.settle()
	return r
}

// settle adds up what the groups say.
func (r *Report) settle() {
	r.Verdict, r.Incomplete = OK, false
	for _, f := range r.Findings {
		r.Verdict = min(r.Verdict, f.Verdict)
	}
	for _, g := range r.Groups {
		r.Verdict = min(r.Verdict, g.Verdict)
	}
	r.Incomplete = r.Verdict == Unknown
}

type classifier struct {
	*Survey
	policy Policy
	kafka  bool
}

func newClassifier(sv *Survey, p Policy) *classifier {
	return &classifier{Survey: sv, policy: p, kafka: strings.HasPrefix(sv.Topology.Product, "Kafka")}
}

// row judges the line of r.
func (c *classifier) row(g *GroupReport, r *Row) {
	r.Verdict = OK
	c.measure(r)
	for _, k := range c.causes(r) {
		r.Findings = append(r.Findings, c.finding(g, k, []*Row{r}))
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return cmp.Compare(a.Verdict, b.Verdict) })
	if len(r.Findings) > 0 {
		r.Verdict = r.Findings[0].Verdict
	}
	r.Detail = c.detail(r)
	r.Owner = g.owner(r.Partition)
}

// measure computes the numbers. Each of them is zero or more, and meaningless where its basis is unknown.
func (c *classifier) measure(r *Row) {
	s, b := r.Stored.Value, r.Log.Value.Bounds
	if r.Log.Err != nil {
		r.Consume.Err = fmt.Errorf("%s: its bounds are not known: %w", r.Partition, r.Log.Err)
		return
	}
	if r.Stored.Err != nil {
		r.Consume.Err = fmt.Errorf("%s: its position is not known: %w", r.Partition, r.Stored.Err)
		return
	}
	reach := b.Reach(c.Ask.Isolation)
	r.Consume.Value, r.Consume.Err = offset.Resolve(offset.Rule{Target: c.policy.Start, Isolation: c.Ask.Isolation}, r.View())
	r.Held = max(0, b.End-max(reach, b.Start))
	switch s.State {
	case offset.Absent:
		r.Lag, r.LagKnown = max(0, reach-b.Start), true
	case offset.Set:
		if s.Next > b.End {
			r.Ahead = s.Next - b.End
			break
		}
		r.Lost = gap(s.Next, b.Start)
		r.Lag, r.LagKnown = max(0, reach-max(s.Next, b.Start)), true
	}
	if r.LagKnown && r.Lag > 0 && !r.Oldest.IsZero() {
		c.forecast(r)
	}
}

// forecast: retention takes a record when it is older than the topic keeps.
func (c *classifier) forecast(r *Row) {
	keep, ok := c.Retention[r.Partition.Topic]
	if ok && keep.Err == nil && keep.Value.Time > 0 {
		r.GoneIn, r.GoneKnown = r.Oldest.Add(keep.Value.Time).Sub(c.policy.Now), true
	}
}

// gap is b - a where that is positive; it never overflows.
func gap(a, b int64) int64 {
	if a >= b {
		return 0
	}
	if d := b - a; d > 0 {
		return d
	}
	return int64(^uint64(0) >> 1)
}

// causes lists what is wrong with a row.
func (c *classifier) causes(r *Row) (out []cause) {
	s := r.Stored.Value
	switch {
	case r.Stored.Err != nil, s.State == offset.Unknown:
		return []cause{positionUnknown}
	case r.Ambiguous != "":
		return []cause{ambiguous}
	case s.State == offset.Invalid:
		return []cause{noPosition}
	case !r.Exists && s.State == offset.Set:
		return []cause{noPartition}
	case r.Log.Err != nil:
		return []cause{boundsUnknown}
	case s.State == offset.Absent && r.Lag == 0 && strings.HasPrefix(r.Partition.Topic, offset.RetryPrefix):
		return nil // clients store none for an idle retry queue, and begin at its start whatever their policy
	case s.State == offset.Absent && r.Beside:
		return append([]cause{absentBeside}, c.late(r)...)
	case s.State == offset.Absent && r.Unsure:
		return append([]cause{absentUnsure}, c.late(r)...)
	case s.State == offset.Absent:
		return append([]cause{absentTopic}, c.late(r)...)
	case r.Ahead > 0 && c.madeAgain(r):
		return []cause{pastEndAnew}
	case r.Ahead > 0 && r.EpochEnd >= 0 && r.Log.Value.Inside(r.EpochEnd):
		return []cause{pastEndCut}
	case r.Ahead > 0:
		return []cause{pastEnd}
	case r.Lost > 0:
		out = append(out, beforeStart)
	}
	if k, ok := c.diverged(r); ok {
		out = append(out, k)
	}
	return append(out, c.late(r)...)
}

// late lists what is wrong with how far behind the reader is.
func (c *classifier) late(r *Row) (out []cause) {
	if r.NoUnread || r.Lag == 0 {
		return nil
	}
	switch {
	case r.Stored.Value.State != offset.Set:
	case c.oldData(r):
		out = append(out, oldUnread)
	case c.oldCommit(r):
		out = append(out, oldPosition)
	}
	if r.GoneKnown && r.GoneIn < c.wantedHeadroom(r) {
		out = append(out, nearlyGone)
	}
	if c.policy.MaxLag > 0 && r.Lag > c.policy.MaxLag {
		out = append(out, muchUnread)
	}
	return out
}

// oldData: the oldest unread record is older than allowed, by its own time, or where nobody fetched it by the look-up.
func (c *classifier) oldData(r *Row) bool {
	switch after := c.policy.StaleAfter; {
	case after <= 0:
		return false
	case !r.Oldest.IsZero():
		return c.policy.Now.Sub(r.Oldest) > after
	case c.Ask.Stale != after:
		return false
	}
	at := max(r.Stored.Value.Next, r.Log.Value.Start)
	return r.StaleAt == offset.NoRecord || at < r.StaleAt
}

// busy is how long a record may wait before an old commit time means anything: a job that was idle for days for want of
// records is not late with one that has just come in.
const busy = 10 * time.Minute

func (c *classifier) oldCommit(r *Row) bool {
	after := c.policy.StaleAfter
	if after <= 0 || r.Wrote.IsZero() || c.policy.Now.Sub(r.Wrote) <= after {
		return false
	}
	return !r.Oldest.IsZero() && c.policy.Now.Sub(r.Oldest) > min(busy, after)
}

func (c *classifier) wantedHeadroom(r *Row) time.Duration {
	if c.policy.MinHeadroom > 0 {
		return c.policy.MinHeadroom
	}
	return min(headroom, c.Retention[r.Partition.Topic].Value.Time/10)
}

// missingBrokers: half a cluster can look like a healthy small one, so what should be there is said by the caller, and what the
// broker's own list has and cannot be reached is said by it.
func (c *classifier) missingBrokers() (out []Finding) {
	names := slices.Clone(c.Ask.Expected)
	for _, s := range c.Topology.Brokers {
		if s.Err != nil {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if c.Ask.Brokers != nil && !slices.Contains(c.Ask.Brokers, name) {
			continue
		}
		i := slices.IndexFunc(c.Topology.Brokers, func(s offset.Server) bool { return s.Name == name })
		if i >= 0 && c.Topology.Brokers[i].Err == nil {
			continue
		}
		text := fmt.Sprintf("broker %s should be there and is missing", name)
		if i >= 0 && errors.Is(c.Topology.Brokers[i].Err, offset.ErrNoLeader) {
			text = fmt.Sprintf("the master of broker %s is missing", name)
		} else if i >= 0 {
			text = fmt.Sprintf("broker %s does not answer: %v", name, c.Topology.Brokers[i].Err)
		}
		if at, remembered := c.Ask.LastSeen[name]; remembered {
			text += fmt.Sprintf(", last seen %s ago", positions.Span(c.Ask.Now.Sub(at)))
		}
		text += "; what it holds is neither ok nor zero"
		if _, remembered := c.Ask.LastSeen[name]; remembered {
			text += ". If it was retired: config forget-broker " + name
		}
		out = append(out, Finding{Verdict: Unknown, Text: text})
	}
	return out
}

func denied(err error) bool { return errors.Is(err, offset.ErrDenied) }
