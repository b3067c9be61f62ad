package repair

import (
	"github.com/offsetctl/offsetctl/offset"
)

// effect counts what it costs that a job which stood at from goes on at next. It agrees with offset.Resolve for a position inside
// the log or below it, and knows more: a partition without a position beside stored ones would have been read from the log start,
// and of a log that ends before the position, or of one whose position is none, nothing is known to have been read.
func effect(b offset.Bounds, from offset.Stored, beside bool, next int64) (e offset.Resolution) {
	e.Next, e.Wanted = next, next
	to := min(max(next, b.Start), b.End)
	switch {
	case unread(b, from):
		e.Skipped, e.Replayed = to-b.Start, b.End-to
	case from.State == offset.Set:
		read := max(from.Next, b.Start)
		e.Skipped, e.Replayed = max(0, to-read), max(0, read-to)
		e.Lost = below(from.Next, b.Start)
	case from.State == offset.Absent && beside:
		e.Skipped = to - b.Start
	}
	return e
}

// unread: nothing tells what has been read of this log.
func unread(b offset.Bounds, from offset.Stored) bool {
	return from.State == offset.Set && from.Next > b.End || from.State == offset.Invalid
}

// below is how far n lies below start.
func below(n, start int64) int64 {
	if n >= start {
		return 0
	}
	return sum(start, -max(n, -start)) // a stored number may be as low as int64 goes
}

// effectNote says in words what the numbers of a row do not.
func effectNote(b offset.Bounds, from offset.Stored, beside bool, e offset.Resolution) string {
	var forward, lost string
	switch {
	case from.State == offset.Set && from.Next > b.End:
		forward = count(from.Next-b.End) + " past the log end: what has been read of this log is not known"
	case from.State == offset.Invalid:
		forward = "what was stored is no position: what has been read is not known"
	case e.Skipped > 0 && e.Lost == 0:
		forward = "FORWARD over unread records"
	case e.Skipped > 0:
		forward = "FORWARD"
	case from.State == offset.Absent && !beside:
		forward = "nothing was stored"
	}
	if e.Lost > 0 {
		lost = count(e.Lost) + " before it already lost"
	}
	return notes(forward, lost)
}
