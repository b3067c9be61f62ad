package repair

import (
	"errors"
	"strings"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

// ErrRefused is what every Refused is: nothing was written, and a person must decide.
var ErrRefused = errors.New("refused, nothing written")

// ErrIncomplete: something was written and something was not, or it is not known.
var ErrIncomplete = errors.New("incomplete")

// Cause is a kind of refusal.
type Cause string

// Causes, as they stand in JSON.
const (
	CauseUnknown    Cause = "unknown"    // something could not be measured
	CauseOutside    Cause = "outside"    // a target outside the log
	CauseMoved      Cause = "moved"      // what is stored is not what the plan or --if-stored says
	CauseLive       Cause = "live"       // somebody consumes
	CauseStateful   Cause = "stateful"   // a framework keeps positions elsewhere
	CauseSkip       Cause = "skip"       // unread records would be skipped
	CauseConsent    Cause = "consent"    // nobody agreed
	CauseProtected  Cause = "protected"  // the context is protected or read-only
	CauseCluster    Cause = "cluster"    // another cluster, store or broker than the plan's
	CauseNewGroup   Cause = "new-group"  // nothing is known of the group
	CauseNames      Cause = "names"      // a named topic, partition or group does not exist
	CauseChoice     Cause = "choice"     // a person must choose
	CauseImpossible Cause = "impossible" // the store cannot do it
	CauseObjection  Cause = "objection"  // the store speaks against it
	CauseJournal    Cause = "journal"    // the journal cannot be written
	CausePlan       Cause = "plan"       // the plan file does not hold
	CauseOverwrite  Cause = "overwrite"  // the target of a copy has positions
	CauseSeveral    Cause = "several"    // several groups need a plan file
)

// Reason is one reason against a write.
type Reason struct {
	Cause     Cause             `json:"cause"`
	Group     string            `json:"group,omitempty"`
	Partition *offset.Partition `json:"partition,omitempty"`
	Text      string            `json:"text"`              // one sentence that names the thing
	Details   []string          `json:"details,omitempty"` // members and hosts
	Next      string            `json:"next,omitempty"`    // the next step
	Allow     string            `json:"allow,omitempty"`   // the flag that overrules it, without dashes
	Repairs   []inspect.Repair  `json:"repairs,omitempty"` // where a person must choose
	Err       error             `json:"-"`
}

// Refused says why nothing was written.
type Refused struct{ Reasons []Reason } //nolint:errname // it is what happened, as in errors.As(err, &refused)

func (e *Refused) Error() string {
	texts := make([]string, 0, len(e.Reasons))
	for _, r := range e.Reasons {
		t := r.Text
		if r.Next != "" {
			t += "; " + r.Next
		}
		texts = append(texts, t)
	}
	return ErrRefused.Error() + ": " + strings.Join(texts, "; ")
}

// Unwrap makes errors.Is find ErrRefused and whatever the reasons come from.
func (e *Refused) Unwrap() []error {
	out := []error{ErrRefused}
	for _, r := range e.Reasons {
		if r.Err != nil {
			out = append(out, r.Err)
		}
	}
	return out
}

// refused is nil when there is no reason.
func refused(reasons []Reason) error {
	if len(reasons) == 0 {
		return nil
	}
	return &Refused{reasons}
}

func refuse(c Cause, text, next string) error {
	return &Refused{[]Reason{{Cause: c, Text: text, Next: next}}}
}

// Allowed are the flags that the user gave to overrule a refusal, without dashes. There is no flag that overrules all of them.
type Allowed []string

// Flags that overrule one refusal each. A store's objections may name more.
const (
	AllowLive     = "allow-live"
	AllowStateful = "allow-stateful"
	AllowSkip     = "allow-skip"
	AllowNewGroup = "new-group"
	NewCluster    = "new-cluster"
	Overwrite     = "overwrite"
	CreateGroup   = "create-group"
)

// Has tells whether the flag was given.
func (a Allowed) Has(flag string) bool {
	for _, f := range a {
		if f == flag {
			return true
		}
	}
	return false
}
