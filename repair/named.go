package repair

import (
	"fmt"
	"slices"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/positions"
)

// names refuses what was named and is not there.
func (m *making) names() {
	for _, t := range m.sv.Topology.Topics {
		if t.Err != nil && slices.Contains(m.sv.Ask.Topics, t.Name) {
			m.refuse(Reason{Cause: CauseNames, Err: t.Err, Text: fmt.Sprintf("topic %s: %v", t.Name, t.Err), Next: "see topics for what this user may see"})
		}
	}
	if len(m.Target.Offsets) == 0 {
		return
	}
	there := map[offset.Partition]bool{}
	topics := map[string]bool{}
	for _, l := range m.sv.Lines {
		there[l.Partition], topics[l.Partition.Topic] = true, true
	}
	var missing []offset.Partition
	for p := range m.Target.Offsets {
		if !there[p] && (topics[p.Topic] || !m.Replay || m.strict) {
			missing = append(missing, p)
		}
	}
	slices.SortFunc(missing, offset.Partition.Compare)
	for _, p := range missing {
		m.refuse(Reason{Cause: CauseNames, Partition: &p, Err: offset.ErrUnknownName, Text: fmt.Sprintf("%s is given, but is not among the selected partitions", p), Next: "select it with -t if it exists (see topics), or leave it out"})
	}
}

// brief names partitions in few words: a topic of which the plan has nothing by its name alone.
func (p *Plan) brief(left []offset.Partition) []string {
	in := map[string]bool{}
	for it := range p.items() {
		in[it.Partition.Topic] = true
	}
	var whole []string
	var parts []offset.Partition
	for _, l := range left {
		if in[l.Topic] {
			parts = append(parts, l)
		} else {
			whole = append(whole, l.Topic)
		}
	}
	if len(parts) > 0 {
		whole = append(whole, positions.SelectionOf(parts).Texts()...)
	}
	slices.Sort(whole)
	return slices.Compact(whole)
}
