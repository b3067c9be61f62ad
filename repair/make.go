package repair

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

// Mode is what a reset does with the selected partitions.
type Mode uint8

// Modes.
const (
	ToTarget Mode = iota // Options.Target
	ToRepair             // what is broken goes to the nearest sound position
	ToAbsent             // the positions are deleted
)

// Choice is what a person decided for positions that have no nearest sound one.
type Choice uint8

// Choices.
const (
	Undecided Choice = iota
	Earliest
	Latest
)

// Options are a reset's.
type Options struct {
	Mode       Mode
	Target     offset.Target // of ToTarget
	Replay     bool          // Target came from a file or another group, which means "read again": a skip is a by-product
	OnTail     Choice        // of ToRepair: past the log end, or of a topic that was made again
	OnInvalid  Choice        // of ToRepair
	Prune      bool          // also delete selected positions of partitions that do not exist
	Only       []inspect.Verdict
	IfStored   *int64 // each selected partition must have exactly this stored
	Clamp      bool   // a number outside the log goes to the nearer bound
	RewindOnly bool   // min(stored, target): never forward
	Several    bool   // a plan file is made, so several groups are allowed
	Isolation  offset.Isolation
	Owner      string // written where the store keeps who wrote
	To         string // where it goes, in a few words, for people
	Origin     Origin

	strict bool                      // every given partition must be there
	apart  map[offset.Partition]bool // not selected, and the caller says why
}

// Make plans a reset. Its Plan is never nil and shows every selected partition, also when its error, a *Refused, says why
// nothing of it may be written: one reason stops the whole.
func Make(rep *inspect.Report, o Options) (*Plan, error) {
	sv := rep.Survey
	m := making{Options: o, sv: sv, plan: newPlan(sv, o)}
	for i := range rep.Groups {
		m.group(&rep.Groups[i])
	}
	m.names()
	for _, f := range rep.Findings {
		if f.Verdict == inspect.Unknown {
			m.refuse(Reason{Cause: CauseUnknown, Text: f.Text, Next: "bring it back, or name what shall be reset on the others: -t TOPIC@BROKER"})
		}
	}
	if n := len(m.plan.Groups); n > 1 && !o.Several {
		m.refuse(Reason{Cause: CauseSeveral, Text: fmt.Sprintf("%s are selected", plural(n, "group")),
			Next: "several groups are written only through a plan file: --plan-out FILE, then apply FILE"})
	}
	m.plan.NotSelected = m.plan.brief(m.left)
	m.retries()
	m.stamps()
	return m.plan, refused(m.reasons)
}

// retries says that what a RocketMQ group has to try again is not moved with its topics.
func (m *making) retries() {
	if !m.sv.Own || !strings.HasPrefix(m.sv.Topology.Product, "RocketMQ") {
		return
	}
	for _, g := range m.plan.Groups {
		if g.New {
			continue
		}
		retry := inspect.RetryTopic(g.Name)
		moved := slices.ContainsFunc(g.Items, func(it Item) bool { return inspect.IsRetry(it.Partition.Topic) })
		said := slices.ContainsFunc(m.plan.NotSelected, func(s string) bool { return strings.HasPrefix(s, retry) })
		if !moved && !said {
			m.plan.NotSelected = append(m.plan.NotSelected, retry)
		}
	}
}

func newPlan(sv *inspect.Survey, o Options) *Plan {
	p := &Plan{Schema: Schema, Kind: KindReset, Made: sv.Taken.UTC().Round(0), Origin: o.Origin, Isolation: o.Isolation.String(), To: o.To}
	p.Cluster, p.seen = sv.Topology.Cluster, sv
	switch t := o.Target; {
	case o.Mode == ToRepair:
		p.Kind, p.Asked = KindRepair, true
	case o.Mode == ToAbsent:
	case t.Kind == offset.ToOffset:
		p.OneGiven, p.Asked = true, true
	case t.Kind == offset.ToTime:
		p.Time = t.Time.UTC()
	case t.Kind == offset.ToShift:
		p.Once, p.Asked = true, true
	default:
		p.Asked = !o.Replay
	}
	return p
}

// making is one Make under way.
type making struct {
	Options
	sv      *inspect.Survey
	plan    *Plan
	reasons []Reason
	left    []offset.Partition // not selected
}

func (m *making) refuse(r Reason) { m.reasons = append(m.reasons, r) }

func (m *making) group(gr *inspect.GroupReport) {
	g := Group{Name: gr.Name}
	if gr.Err != nil {
		m.refuse(Reason{Cause: CauseUnknown, Group: gr.Name, Err: gr.Err,
			Text: fmt.Sprintf("group %s: what it has stored could not be read: %v", gr.Name, gr.Err), Next: "check the connection and the rights with check --can reset"})
		return
	}
	for i := range gr.Rows {
		if r := &gr.Rows[i]; r.Selected && m.wanted(r) {
			g.Items = append(g.Items, m.item(gr.Name, r))
		}
	}
	stored := m.rest(&g, gr.Name)
	if len(g.Items) == 0 {
		return
	}
	g.New = !stored && !gr.Elsewhere && (!m.sv.Own || gr.Group.Err == nil && gr.Group.Value.Phase == offset.Missing)
	m.plan.NewGroups = m.plan.NewGroups || g.New
	m.plan.Groups = append(m.plan.Groups, g)
}

// wanted tells whether --only leaves the row in.
func (m *making) wanted(r *inspect.Row) bool {
	return len(m.Only) == 0 || slices.Contains(m.Only, r.Verdict) ||
		slices.ContainsFunc(r.Findings, func(f inspect.Finding) bool { return slices.Contains(m.Only, f.Verdict) })
}

// item decides about one selected partition.
func (m *making) item(group string, r *inspect.Row) Item {
	it := Item{Change: offset.Change{Partition: r.Partition, From: r.Stored.Value}}
	if r.Exists && r.Log.Err == nil {
		b := r.Log.Value.Bounds
		it.Bounds = &b
	}
	stop := func(reason Reason) Item {
		it.To, it.Action, it.Refused = it.From, Keep, reason.Text
		reason.Group, reason.Partition = group, &r.Partition
		m.refuse(reason)
		return it
	}
	if r.Stored.Err != nil || r.Stored.Value.State == offset.Unknown {
		return stop(unmeasured(r.Line, "what is stored is not known", r.Stored.Err))
	}
	if why := m.ifStored(r); why != "" {
		return stop(Reason{Cause: CauseMoved, Err: offset.ErrMoved, Text: why, Next: "inspect the group and plan again"})
	}
	if r.Ambiguous != "" && m.Mode != ToAbsent && !m.Prune {
		return stop(Reason{Cause: CauseChoice, Text: fmt.Sprintf("%s: stored without a broker, and it could be of %s", r.Partition, r.Ambiguous),
			Next: "leave it out with -t TOPIC@BROKER, or delete it with --prune"})
	}
	if !r.Exists {
		return m.orphan(it, stop)
	}
	if m.Mode == ToAbsent {
		return m.absent(it, stop)
	}
	if r.Log.Err != nil {
		return stop(unmeasured(r.Line, "its range is not known", r.Log.Err))
	}
	next, why, reason := m.decide(r)
	if reason != nil {
		return stop(*reason)
	}
	if next == nil {
		it.To, it.Note = it.From, why
		return it
	}
	m.place(&it, r, *next, why)
	return it
}

func unmeasured(r *inspect.Line, what string, err error) Reason {
	text := fmt.Sprintf("%s: %s", r.Partition, what)
	if r.LeaderText != "" && what != "what is stored is not known" {
		text += ": " + r.LeaderText
	} else if err != nil {
		text += fmt.Sprintf(": %v", err)
	}
	return Reason{Cause: CauseUnknown, Text: text, Err: err,
		Next: "leave it out with -t TOPIC:PARTITIONS, or repeat when it can be measured"}
}

func (m *making) ifStored(r *inspect.Row) string {
	if s := r.Stored.Value; m.IfStored != nil && (s.State != offset.Set || s.Next != *m.IfStored) {
		return fmt.Sprintf("%s has %s stored, not %d as --if-stored says", r.Partition, at(s), *m.IfStored)
	}
	return ""
}

// decide answers where a measured partition goes; no number: it stays, and why.
func (m *making) decide(r *inspect.Row) (next *offset.Resolution, why string, no *Reason) {
	if m.Mode == ToRepair {
		return m.fix(r)
	}
	rule := offset.Rule{Target: m.Target, Reset: true, Isolation: m.Isolation, Clamp: m.Clamp}
	res, err := offset.Resolve(rule, r.View())
	if err != nil {
		return nil, "", stopped(r.Partition, err)
	}
	if m.RewindOnly {
		if why = m.rewind(r, &res); why != "" {
			return &res, why, nil
		}
	}
	return &res, m.why(r, res), nil
}

// rewind is min(stored, target), and says so where that is not the target. A position before the log start stands at the log
// start, and so does one that is missing beside others, and one that does not tell what has been read of this log.
func (m *making) rewind(r *inspect.Row, res *offset.Resolution) string {
	s, b := r.Stored.Value, r.Log.Value.Bounds
	switch {
	case (s.State == offset.Set && s.Next < b.Start || s.State == offset.Absent && r.Beside) && res.Next > b.Start:
		res.Next = b.Start
		return "log start, not further forward"
	case unread(b, s) && res.Next > b.Start:
		res.Next = b.Start
		return "log start"
	case s.State == offset.Set && s.Next >= b.Start && s.Next < res.Next:
		res.Next = s.Next
		return "not moved forward"
	}
	return ""
}

func (m *making) why(r *inspect.Row, res offset.Resolution) string {
	b := r.Log.Value.Bounds
	switch {
	case m.Target.Kind == offset.ToTime && r.AtTime == offset.NoRecord:
		return "no record at or after the time: end"
	case m.Target.Kind == offset.ToTime && res.Next == b.Start && b.Start > 0:
		return "the log starts after the time"
	case res.Next != res.Wanted && res.Wanted < b.Start:
		return fmt.Sprintf("%d is before the log start", res.Wanted)
	case res.Next != res.Wanted && res.Wanted > b.End:
		return fmt.Sprintf("%d is past the log end", res.Wanted)
	}
	return ""
}

// stopped turns what Resolve says into a reason.
func stopped(p offset.Partition, err error) *Reason {
	r := &Reason{Cause: CauseOutside, Text: err.Error(), Err: err}
	var s *offset.StopError
	if !errors.As(err, &s) {
		return r
	}
	switch s.Obstacle {
	case offset.GivenOutside:
		r.Next = "give a number in this range, or --clamp for the nearer end of it"
	case offset.NothingStored:
		r.Cause, r.Next = CauseChoice, fmt.Sprintf("leave %s out, or give it a target of its own", p)
	case offset.NotInGivenSet:
		r.Cause, r.Next = CauseNames, "narrow the selection with -t TOPIC:PARTITIONS to those that are given"
	case offset.StoredUnknown:
		r.Cause, r.Next = CauseUnknown, "repeat when it can be measured"
	}
	return r
}

// place fills in a number, its cost, and whether there is anything to do.
func (m *making) place(it *Item, r *inspect.Row, res offset.Resolution, why string) {
	it.To = offset.Stored{State: offset.Set, Next: res.Next, TopicID: r.TopicID, Owner: m.Owner}
	e := effect(*it.Bounds, it.From, r.Beside, res.Next)
	e.Wanted, e.Why = res.Wanted, res.Why
	it.Effect = e
	if it.From.State == offset.Set && it.From.Next == res.Next && !m.anew(r) {
		it.Action, it.Note = Keep, notes("unchanged", why)
		return
	}
	it.Action = Write
	if r.Log.Value.Unproven && res.Next == it.Bounds.Start {
		why = notes(why, "the log start is the server's word alone: its first records may be gone")
	}
	it.Note = notes(effectNote(*it.Bounds, it.From, r.Beside, e), why)
}

// anew: the same number is written again, because it was asked for, or to drop a leader epoch that does harm.
func (m *making) anew(*inspect.Row) bool {
	return m.Mode == ToTarget && m.Target.Kind == offset.ToCurrent
}

// rest names what was left out of g and tells whether the group has anything stored at all. A store that keeps a topic only as a
// whole gets the other positions of each touched topic, too.
func (m *making) rest(g *Group, name string) (stored bool) {
	in, touched := map[offset.Partition]bool{}, map[string]bool{}
	for _, it := range g.Items {
		in[it.Partition] = true
		touched[it.Partition.Topic] = touched[it.Partition.Topic] || it.Action != Keep
	}
	for _, l := range linesOf(m.sv, name) {
		stored = stored || l.Stored.Err != nil || l.Stored.Value.State != offset.Absent
		if in[l.Partition] {
			continue
		}
		if !m.apart[l.Partition] {
			m.left = append(m.left, l.Partition)
		}
		if m.sv.Caps.Whole && touched[l.Partition.Topic] {
			g.Items = append(g.Items, m.along(name, l))
		}
	}
	slices.SortFunc(g.Items, func(a, b Item) int { return a.Partition.Compare(b.Partition) })
	return stored
}

// along is a row that is written only because the store keeps its topic as a whole.
func (m *making) along(group string, l inspect.Line) Item {
	it := Item{Change: offset.Change{Partition: l.Partition, From: l.Stored.Value, To: l.Stored.Value}, Note: "not selected; written with the others as it is"}
	if l.Stored.Err != nil || l.Stored.Value.State == offset.Unknown {
		reason := unmeasured(&l, "what is stored is not known, and this store keeps a topic only as a whole", l.Stored.Err)
		reason.Group, reason.Partition = group, &l.Partition
		it.Refused = reason.Text
		m.refuse(reason)
	}
	return it
}

// linesOf are the lines of one group.
func linesOf(sv *inspect.Survey, group string) []inspect.Line {
	from, _ := slices.BinarySearchFunc(sv.Lines, group, func(l inspect.Line, g string) int { return strings.Compare(l.Group, g) })
	to := from
	for to < len(sv.Lines) && sv.Lines[to].Group == group {
		to++
	}
	return sv.Lines[from:to]
}
