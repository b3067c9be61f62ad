package inspect

import (
	"fmt"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/positions"
)

// sums are the numbers of the rows that share a cause.
type sums struct {
	lag, lost, ahead int64
	whole            int64 // records from log start to reach
	read             int64 // records from log start to the position
	back             int64 // records from the end of the committed epoch to the position
	later            int64 // records from the first that is younger than the position to the position
	known            bool  // bounds of all of them
	gone             time.Duration
	goneKnown        bool
	oldest           time.Time
	wrote            time.Time
}

func (c *classifier) sum(rows []*Row) (t sums) {
	t.known = true
	for _, r := range rows {
		b, n := r.Log.Value.Bounds, r.Stored.Value.Next
		t.lag, t.lost, t.ahead = add(t.lag, r.Lag), add(t.lost, r.Lost), add(t.ahead, r.Ahead)
		t.known = t.known && r.Log.Err == nil
		t.whole = add(t.whole, gap(b.Start, b.Reach(c.Ask.Isolation)))
		if r.Stored.Value.State == offset.Set {
			t.read = add(t.read, gap(b.Start, min(n, b.End)))
			t.back = add(t.back, gap(max(r.EpochEnd, b.Start), n))
			if r.WroteAt != offset.NoRecord {
				t.later = add(t.later, gap(max(r.WroteAt, b.Start), n))
			}
		}
		if r.GoneKnown && (!t.goneKnown || r.GoneIn < t.gone) {
			t.gone, t.goneKnown = r.GoneIn, true
		}
		t.oldest, t.wrote = earlier(t.oldest, r.Oldest), earlier(t.wrote, r.Wrote)
	}
	return t
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// finding says what is wrong with rows that share a cause, what a restart would do, and how to repair it.
func (c *classifier) finding(g *GroupReport, k cause, rows []*Row) Finding {
	t := c.sum(rows)
	f := Finding{Verdict: causeVerdicts[k], Proof: k.proven(), Text: c.text(g, k, rows, t), Restart: c.restart(g, k, rows, t), cause: k,
		Asked: k == nearlyGone && c.policy.MinHeadroom > 0}
	return f.offer(rows, c.repairs(g, k, rows, t))
}

func (c *classifier) text(g *GroupReport, k cause, rows []*Row, t sums) string {
	r, n := rows[0], len(rows)
	s := r.Stored.Value
	if g.share() && k.absent() {
		return "not begun: brokers keep a share group's position from the first record on that they hand out"
	}
	switch k {
	case positionUnknown:
		return "the position could not be read: " + reason(r.Stored.Err)
	case boundsUnknown:
		return boundsText(r)
	case ambiguous:
		return "ambiguous: the position names no broker, and the topic is on " + r.Ambiguous
	case noPosition:
		return rawText(s) + " is no position; it is never guessed what was meant"
	case pastEndAnew:
		return "topic made again (" + anewText(r) + "); its " + plural(t.whole, "record") + one(int(t.whole), " is", " are") + " unread"
	case pastEndCut:
		return fmt.Sprintf("%s past the log end, and its leader epoch %d ended at %d: the log was cut there, or the topic was made again", Count(t.ahead), s.LeaderEpoch.Wire(), r.EpochEnd)
	case pastEnd:
		return Count(t.ahead) + " past the log end: the topic was made again, the log was cut, or the position came from elsewhere"
	case beforeStart:
		return plural(t.lost, "unread record") + " fell to retention; nothing brings " + one(int(t.lost), "it", "them") + " back"
	case noPartition:
		return c.orphanText(g, n)
	case absentBeside:
		return "added or expired; consume starts at " + startText(rows, c) + goneText(t)
	case absentTopic:
		return "nothing is stored for the topic; consume starts by its start policy, at " + startText(rows, c) + goneText(t)
	case absentUnsure:
		return "nothing is stored for it, and whether other partitions of the topic are stored could not be read: its repair depends on that" + goneText(t)
	case oldUnread:
		return c.staleText(t) + goneText(t) + "; the position is right, the job is slow or stopped"
	case oldPosition:
		return "the last position was written " + positions.Span(c.policy.Now.Sub(t.wrote)) + " ago, and " + plural(t.lag, "record") + one(int(t.lag), " is", " are") + " unread"
	case nearlyGone:
		return "the oldest unread record falls to retention " + goneIn(t.gone)
	case muchUnread:
		return plural(t.lag, "record") + " unread, more than " + Count(c.policy.MaxLag) + one(n, "", " in each")
	}
	return c.divergedText(k, r, t)
}

func (c *classifier) divergedText(k cause, r *Row, t sums) string {
	s := r.Stored.Value
	switch k {
	case topicAnew:
		return "topic made again (" + anewText(r) + "): the position was read in another log"
	case storeDoubts:
		return s.Evidence.Text
	case epochAbove:
		return fmt.Sprintf("committed under leader epoch %d, and the log is at %d: made for another log, or invented", s.LeaderEpoch.Wire(), r.Log.Value.Current.Wire())
	case youngerRecord:
		return fmt.Sprintf("record %d is from %s, after the position was written at %s: a doubt whether the log is the one that was read",
			s.Next-1, moment(r.Before), moment(s.Committed))
	}
	ended := fmt.Sprintf("its leader epoch %d ended at %d, below the stored %d: ", s.LeaderEpoch.Wire(), r.EpochEnd, s.Next)
	switch {
	case k == epochWrong:
		return ended + "by its time the record before it is the one that was read, so the client stored a wrong epoch"
	case k == epochDoubt:
		return ended + "the log was cut, or the client stores wrong epochs"
	case !r.Before.IsZero() && r.Before.After(r.Wrote):
		return ended + "the log was cut and written again after the position"
	}
	return ended + "the log was cut, and " + plural(t.back, "record") + " before the position are others now"
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

func reason(err error) string {
	if err == nil {
		return "there was no answer"
	}
	return err.Error()
}

func boundsText(r *Row) string {
	text := r.LeaderText
	if text == "" {
		text = reason(r.Log.Err)
	}
	return text + ". Neither ok nor zero"
}

// rawText shows what is stored where it is no position.
func rawText(s offset.Stored) string {
	if s.Raw == nil {
		return "what is stored"
	}
	if len(s.Raw) == 0 {
		return "an empty value"
	}
	const most = 60
	raw := s.Raw
	if len(raw) > most {
		raw = raw[:most]
	}
	return fmt.Sprintf("%q", raw)
}

func anewText(r *Row) string {
	if e := r.Stored.Value.Evidence; e != nil {
		return strings.TrimSuffix(e.Text, ".")
	}
	return "its id changed"
}

// startText is where consume would begin.
func startText(rows []*Row, c *classifier) string {
	switch r := rows[0]; {
	case len(rows) > 1 && (r.Beside || c.policy.Start.Kind == offset.ToEarliest):
		return "their log starts"
	case len(rows) > 1:
		return "what its start policy says"
	case r.Consume.Err != nil:
		return "no place: " + r.Consume.Err.Error()
	default:
		return digits(r.Consume.Value.Next)
	}
}

func goneText(t sums) string {
	if !t.goneKnown || t.gone > 24*time.Hour {
		return ""
	}
	return "; oldest record gone " + goneIn(t.gone)
}

func goneIn(d time.Duration) string {
	if d <= 0 {
		return "now"
	}
	return "in " + positions.Span(d)
}

func (c *classifier) staleText(t sums) string {
	if t.oldest.IsZero() {
		return "unread records are older than " + positions.Span(c.policy.StaleAfter)
	}
	return "oldest unread record is " + positions.Span(c.policy.Now.Sub(t.oldest)) + " old"
}

func (c *classifier) orphanText(g *GroupReport, n int) string {
	text := one(n, "stored, and there is no such partition", "stored, and there are no such partitions")
	switch {
	case c.Own && c.kafka:
		return text + "; a Kafka group cannot drop " + one(n, "it", "them") + " alone: only with the group (groups delete " + g.Name + ") or by expiry"
	case !c.Caps.Delete:
		return text + "; this store cannot delete a position"
	}
	return text
}

// restart is what a restart would do where that is worse than nothing.
func (c *classifier) restart(g *GroupReport, k cause, rows []*Row, t sums) string {
	at := digits(rows[0].Stored.Value.Next)
	if len(rows) > 1 {
		at = "the stored positions"
	}
	switch k {
	case beforeStart, absentBeside, absentTopic, absentUnsure, noPosition, pastEnd, pastEndAnew:
		lost := t.lag
		if k == noPosition || k == pastEnd || k == pastEndAnew {
			lost = t.whole
		}
		if !c.kafka || !t.known || lost == 0 {
			return ""
		}
		if !c.Own && (k.absent() || k == noPosition) {
			return "" // a job that keeps its own positions decides where it starts without one; out of range its client decides
		}
		if g.share() {
			return shareRestart(k, lost)
		}
		more := ""
		if k == beforeStart {
			more = " more"
		}
		return "a client with auto.offset.reset=latest (Kafka's default) skips " + Count(lost) + more
	case pastEndCut:
		return "a Java or franz-go consumer goes back to " + digits(rows[0].EpochEnd) + ", whatever auto.offset.reset says; others skip " + Count(t.whole) + " with latest (Kafka's default)"
	case topicAnew, logShrank:
		return "a client goes on at " + at + " and never reads the " + plural(t.read, "record") + " before"
	case epochAbove:
		return "a Java consumer reads nothing, for ever and without a message; a franz-go consumer goes on at " + at
	case epochCut, epochDoubt, epochWrong:
		to := digits(rows[0].EpochEnd)
		if len(rows) > 1 {
			to = "the end of the epoch"
		}
		return "a Java or franz-go consumer goes back to " + to + " and rereads " + Count(t.back) + ", whatever auto.offset.reset says"
	}
	return ""
}

// shareRestart: where a share group has no position its brokers go by its own setting; a client has no say.
func shareRestart(k cause, skips int64) string {
	if k.absent() {
		return "with share.auto.offset.reset=latest (the default) the group skips " + Count(skips)
	}
	return ""
}
