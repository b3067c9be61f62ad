package inspect

import (
	"fmt"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// repairs are the commands that put rows with one cause right: one, or several where a person must choose.
func (c *classifier) repairs(g *GroupReport, k cause, rows []*Row, t sums) []Repair {
	if g.elsewhere() {
		return nil
	}
	reset := func(effect string, count int64, args ...string) Repair {
		return Repair{Effect: effect, Count: count, Args: append(c.target(g, rows), args...)}
	}
	earliest := reset("reads", t.whole, "--to-earliest")
	latest := reset("skips", t.whole, "--to-latest")
	switch k {
	case noPosition, pastEnd, pastEndAnew:
		if !t.known {
			return nil
		}
		return []Repair{earliest, latest}
	case pastEndCut:
		r := rows[0]
		left := gap(r.EpochEnd, r.Log.Value.Reach(c.Ask.Isolation))
		return []Repair{reset("reads", left, backToEpochEnd(rows)...), earliest, latest}
	case absentUnsure:
		if g.share() {
			return []Repair{earliest, latest}
		}
		return nil // it depends on what could not be read
	case absentBeside:
		if g.share() {
			return []Repair{earliest, latest}
		}
		return []Repair{reset("keeps", t.lag, "--repair")}
	case beforeStart:
		return []Repair{reset("keeps", t.lag, "--repair")}
	case absentTopic:
		return []Repair{earliest, latest}
	case noPartition:
		if c.Own || !c.Caps.Delete {
			return nil
		}
		return []Repair{reset("forgets", int64(len(rows)), "--repair", "--prune")}
	case topicAnew, logShrank, storeDoubts:
		return []Repair{earliest, reset("keeps", t.lag, "--to-current")}
	case epochAbove:
		return []Repair{reset("keeps", t.lag, "--to-current"), reset("rereads", t.read, "--to-earliest")}
	case epochWrong:
		return []Repair{reset("keeps", t.lag, "--to-current")}
	case epochCut:
		return []Repair{reset("rereads", t.back, "--repair")}
	case epochDoubt:
		return []Repair{reset("keeps", t.lag, "--to-current"), reset("rereads", t.back, backToEpochEnd(rows)...)}
	case youngerRecord:
		return []Repair{reset("keeps", t.lag, "--to-current"), reset("rereads", t.later, "--to-time", t.wrote.Add(clockSkew).UTC().Format(time.RFC3339))}
	}
	return nil
}

// target begins a reset of these rows.
func (c *classifier) target(g *GroupReport, rows []*Row) []string {
	ps := make([]offset.Partition, len(rows))
	for i, r := range rows {
		ps[i] = r.Partition
	}
	args := []string{"reset", "-g", g.Name}
	for _, text := range where(ps) {
		args = append(args, "-t", text)
	}
	return args
}

// backToEpochEnd names, for each partition, where the committed epoch ends, or the log start where that is gone.
func backToEpochEnd(rows []*Row) (args []string) {
	for _, r := range rows {
		args = append(args, "--to-offset", fmt.Sprintf("%s=%d", r.Partition, max(r.EpochEnd, r.Log.Value.Start)))
	}
	return args
}
