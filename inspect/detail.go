package inspect

import (
	"fmt"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/positions"
)

// detail is the short words beside the verdict.
func (c *classifier) detail(r *Row) string {
	if len(r.Findings) == 0 {
		return c.healthy(r)
	}
	s := r.Stored.Value
	switch k := r.Findings[0].cause; k {
	case positionUnknown:
		return "position not read: " + short(r.Stored.Err)
	case boundsUnknown:
		if r.LeaderText != "" {
			return r.LeaderText
		}
		return short(r.Log.Err)
	case ambiguous:
		return "ambiguous: on " + r.Ambiguous
	case noPosition:
		return rawText(s) + " is no position"
	case pastEnd, pastEndAnew, pastEndCut:
		return Count(r.Ahead) + " past the log end"
	case beforeStart:
		return Count(r.Lost) + " before the log start"
	case topicAnew:
		return "topic made again"
	case storeDoubts:
		return "its store doubts it"
	case epochAbove:
		return fmt.Sprintf("epoch %d, the log is at %d", s.LeaderEpoch.Wire(), r.Log.Value.Current.Wire())
	case epochCut, epochDoubt, epochWrong:
		return fmt.Sprintf("epoch %d ended at %d", s.LeaderEpoch.Wire(), r.EpochEnd)
	case youngerRecord:
		return "record before it is younger"
	case noPartition:
		return "no such partition"
	case absentBeside:
		return "other partitions of it are stored"
	case absentTopic:
		return "nothing of the topic is stored"
	case absentUnsure:
		return "whether others of it are stored is not known"
	case oldUnread:
		if r.Oldest.IsZero() {
			return "unread for over " + positions.Span(c.policy.StaleAfter)
		}
		return "oldest unread record is " + positions.Span(c.policy.Now.Sub(r.Oldest)) + " old"
	case oldPosition:
		return "written " + positions.Span(c.policy.Now.Sub(r.Wrote)) + " ago"
	case nearlyGone:
		return "oldest unread gone " + goneIn(r.GoneIn)
	case muchUnread:
		return "more than " + Count(c.policy.MaxLag) + " unread"
	}
	return ""
}

// healthy is what is worth a word of a row that is ok.
func (c *classifier) healthy(r *Row) string {
	switch {
	case r.Stored.Value.Pending != nil && r.Stored.Value.Pending.Next >= 0:
		return fmt.Sprintf("%d pending: %s", r.Stored.Value.Pending.Next, r.Stored.Value.Pending.What)
	case r.Stored.Value.Pending != nil:
		return r.Stored.Value.Pending.What
	case r.Held > 0 && c.Ask.Isolation == offset.ReadCommitted:
		return Count(r.Held) + " more in an open transaction"
	case r.NoUnread:
		return "markers and holes only"
	}
	return ""
}

// short is an error in the width of a table.
func short(err error) string {
	if err == nil {
		return "no answer"
	}
	return err.Error()
}
