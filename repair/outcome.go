package repair

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// Status is what became of one row of a plan.
type Status uint8

// Statuses. The zero value is NotTried, so nothing that was forgotten looks done.
const (
	NotTried     Status = iota
	Written             // and read back
	AlreadyThere        // it was there before
	Unchanged           // the plan keeps it
	Moved               // somebody else had written; left alone
	Untouched           // left alone because another row of the same write failed
	Live                // refused by the server because of members
	Failed              // not written
	NotKnown            // may or may not be written
	Differs             // the server said yes, and something else is there
	Overwritten         // it was there, and later somebody else's value was
)

var statusNames = []string{"not tried", "written", "already there", "unchanged", "moved", "untouched", "live", "failed", "NOT KNOWN", "differs", "overwritten"}

func (s Status) String() string { return statusNames[s] }

// MarshalText writes the status's name.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *Status) UnmarshalText(b []byte) error {
	i := slices.Index(statusNames, string(b))
	if i < 0 {
		return fmt.Errorf("%q is no status", b)
	}
	*s = Status(i)
	return nil
}

// Done tells whether the row is as the plan wants it.
func (s Status) Done() bool { return s == Written || s == AlreadyThere || s == Unchanged }

// Outcome is what became of one row.
type Outcome struct {
	Group     string           `json:"group"`
	Partition offset.Partition `json:"partition,omitzero"` // zero: the group as a whole
	Status    Status           `json:"status"`
	Now       *offset.Stored   `json:"now,omitempty"`  // what is there, as far as it is known
	Text      string           `json:"text,omitempty"` // why it is not done, one sentence
	Note      string           `json:"note,omitempty"` // what the store came upon and did beside, one sentence
	Err       error            `json:"-"`

	taken bool // live consumers read from it on, and what is there later is theirs
}

// Applied is what became of a plan.
type Applied struct {
	Journal     int64         `json:"journal,omitempty"` // the entry's id; 0: nothing had to be written
	Outcomes    []Outcome     `json:"outcomes"`          // one for each row, in the plan's order
	Interrupted bool          `json:"interrupted,omitempty"`
	NotLooked   bool          `json:"notLooked,omitempty"` // interrupted before the look after the settle time
	Volatile    time.Duration `json:"-"`                   // for so long the store forgets what was written when it is killed; 0: it does not
	Idle        bool          `json:"idle,omitempty"`      // the store does not know who consumes: unmoved positions are no proof that the job is stopped
	Looked      time.Duration `json:"-"`                   // with Idle: so far apart it was looked; 0: nobody looked
	JournalErr  error         `json:"-"`                   // the results could not be recorded
	Once        bool          `json:"once,omitempty"`      // the command must not be repeated to go on: Plan.Once
}

// Count is how many rows have the status.
func (a *Applied) Count(s Status) (n int) {
	for _, o := range a.Outcomes {
		if o.Status == s {
			n++
		}
	}
	return n
}

// Wanted is how many rows the plan wanted to change and found not there yet.
func (a *Applied) Wanted() int { return len(a.Outcomes) - a.Count(Unchanged) - a.Count(AlreadyThere) }

// Sentence sums a up: "written 40 of 64, read back; 2 already there".
func (a *Applied) Sentence() string {
	s := fmt.Sprintf("written %s of %s, read back", count(int64(a.Count(Written))), count(int64(a.Wanted())))
	if a.Wanted() == 0 {
		s = "nothing to write"
	}
	for _, st := range []Status{AlreadyThere, Unchanged, Moved, Live, Failed, NotKnown, Differs, Overwritten, Untouched, NotTried} {
		if n := a.Count(st); n > 0 {
			s += fmt.Sprintf("; %s %s", count(int64(n)), st)
		}
	}
	return s
}

// Err is nil when everything is as the plan wants it. Otherwise it wraps ErrRefused when nothing was written because of what
// stands in the store, the kind of failure when nothing was written because of it, and ErrIncomplete when something is half
// done or not known.
func (a *Applied) Err() error {
	var first *Outcome
	wrote, unknown := a.Count(Written) > 0, a.Count(NotKnown)+a.Count(Differs)+a.Count(Overwritten) > 0
	for i, o := range a.Outcomes {
		if !o.Status.Done() && (first == nil || first.Status == Untouched || first.Status == NotTried) {
			first = &a.Outcomes[i]
		}
	}
	switch {
	case first == nil && a.JournalErr != nil:
		return fmt.Errorf("%w: %s, but the journal could not record it: %w", ErrIncomplete, a.Sentence(), a.JournalErr)
	case first == nil && a.NotLooked:
		return fmt.Errorf("%w: %s; interrupted before the last look, whether a job overwrites it", ErrIncomplete, a.Sentence())
	case first == nil:
		return nil
	case wrote || unknown:
		return fmt.Errorf("%w: %s", ErrIncomplete, a.Sentence())
	case first.Status == Moved:
		return &Refused{[]Reason{{Cause: CauseMoved, Group: first.Group, Partition: &first.Partition, Text: first.Text, Err: offset.ErrMoved, Next: "somebody writes there: stop the job, inspect, and plan again"}}}
	case first.Status == Live:
		return &Refused{[]Reason{{Cause: CauseLive, Group: first.Group, Text: first.Text, Err: offset.ErrLive, Next: "stop its members and repeat with --wait-empty 120s"}}}
	case first.Err != nil:
		return fmt.Errorf("nothing was written: %w", first.Err)
	}
	return fmt.Errorf("%w: nothing was written: %s", ErrIncomplete, first.Text)
}

// outcomeOf says what one result of a Write means.
func outcomeOf(group string, c offset.Change, r offset.Result[offset.Stored]) Outcome {
	o := Outcome{Group: group, Partition: c.Partition, Err: r.Err}
	now := r.Value
	if r.Err == nil {
		o.Now, o.Note = &now, now.Note
		o.Status, o.taken = Written, now.Taken
		if !arrived(c.To, now) {
			o.Status, o.Text = Differs, fmt.Sprintf("%s: %s was written and %s is there", c.Partition, at(c.To), at(now))
		}
		return o
	}
	o.Text = fmt.Sprintf("%s: %v", c.Partition, r.Err)
	if c.Partition == (offset.Partition{}) {
		o.Text = fmt.Sprintf("group %s: %v", group, r.Err)
	}
	switch {
	case errors.Is(r.Err, offset.ErrMoved):
		o.Status = Moved
		if now.State != offset.Unknown {
			o.Now = &now
			o.Text = movedReason(c, now).Text
		}
	case errors.Is(r.Err, offset.ErrUntouched):
		o.Status = Untouched
	case errors.Is(r.Err, offset.ErrLive):
		o.Status, o.Text = Live, fmt.Sprintf("group %s became active: the server refuses outside writes: %v", group, r.Err)
	case errors.Is(r.Err, offset.ErrOutcome):
		o.Status = NotKnown
	default:
		o.Status = Failed
	}
	return o
}

// arrived tells whether now is what was written.
func arrived(to, now offset.Stored) bool {
	if now.State != to.State {
		return false
	}
	if to.Raw != nil && !slices.Equal(to.Raw, now.Raw) {
		return false
	}
	return to.State != offset.Set || to.Next == now.Next
}
