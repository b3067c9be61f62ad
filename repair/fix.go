package repair

import (
	"fmt"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

// fix is --repair: the nearest sound position where there is one beyond doubt, otherwise a person must choose.
func (m *making) fix(r *inspect.Row) (*offset.Resolution, string, *Reason) {
	b := r.Log.Value.Bounds
	switch r.Verdict {
	case inspect.Unknown:
		reason := unmeasured(r.Line, "it could not be measured", nil)
		return nil, "", &reason
	case inspect.HeadOverflow:
		return m.to(b.Start, "log start")
	case inspect.Absent:
		if r.Unsure {
			reason := unmeasured(r.Line, "nothing is stored, and whether other partitions of the topic are could not be read", nil)
			return nil, "", &reason
		}
		if !r.Beside {
			return nil, "nothing is stored for the topic at all: not broken, left alone", nil
		}
		return m.to(b.Start, "log start: added or expired")
	case inspect.TailOverflow:
		return m.chosen(r, m.OnTail, "on-tail-overflow", fmt.Sprintf("is %s past the log end %d", count(r.Stored.Value.Next-b.End), b.End))
	case inspect.Invalid:
		return m.chosen(r, m.OnInvalid, "on-invalid", "is no position")
	case inspect.Diverged:
		return m.diverged(r)
	case inspect.MixedSubscriptions:
		return nil, "repaired in the clients, not here", nil
	}
	return nil, "not broken: " + r.Verdict.String(), nil
}

func (m *making) to(n int64, why string) (*offset.Resolution, string, *Reason) {
	return &offset.Resolution{Next: n, Wanted: n, Why: why}, why, nil
}

func (m *making) chosen(r *inspect.Row, c Choice, flag, is string) (*offset.Resolution, string, *Reason) {
	b := r.Log.Value.Bounds
	switch c {
	case Earliest:
		return m.to(b.Start, "log start")
	case Latest:
		return m.to(b.Reach(m.Isolation), "end")
	}
	text := fmt.Sprintf("%s: stored %s %s, and nothing tells where to go on", r.Partition, at(r.Stored.Value), is)
	return nil, "", &Reason{Cause: CauseChoice, Text: text, Repairs: repairs(r, r.Verdict), Next: "choose with --" + flag + " earliest or latest"}
}

// diverged goes to where the committed epoch ends when it is proven that the log was cut there. Of a topic that was made again
// nothing has been read; its old epochs mean nothing.
func (m *making) diverged(r *inspect.Row) (*offset.Resolution, string, *Reason) {
	s, b := r.Stored.Value, r.Log.Value.Bounds
	if recreated(r) {
		return m.chosen(r, m.OnTail, "on-tail-overflow", "is of a topic that was made again")
	}
	if proven(r) && r.EpochEnd >= 0 && r.EpochEnd < s.Next {
		return m.to(max(r.EpochEnd, b.Start), fmt.Sprintf("end of leader epoch %d: the log was cut there", s.LeaderEpoch.Wire()))
	}
	return nil, "", &Reason{Cause: CauseChoice, Repairs: repairs(r, inspect.Diverged),
		Text: fmt.Sprintf("%s: stored %s is in doubt, it may belong to another log", r.Partition, at(s)),
		Next: "choose one of its repairs"}
}

func proven(r *inspect.Row) bool {
	for _, f := range r.Findings {
		if f.Verdict == inspect.Diverged && f.Proof {
			return true
		}
	}
	return false
}

// recreated: the evidence speaks of another topic, not of a cut log.
func recreated(r *inspect.Row) bool {
	s := r.Stored.Value
	return s.Evidence != nil && s.Evidence.Proof || s.TopicID != "" && r.TopicID != "" && s.TopicID != r.TopicID
}

func repairs(r *inspect.Row, v inspect.Verdict) []inspect.Repair {
	for _, f := range r.Findings {
		if f.Verdict == v {
			return f.Repairs
		}
	}
	return nil
}
