package offset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Epoch is a leader epoch that may be unknown. The zero value is "unknown": 0 is a real epoch, and a forgotten field
// must not be committed as one.
type Epoch struct{ plus1 int64 }

// EpochOf is a known epoch; a negative one is the unknown epoch.
func EpochOf(n int32) Epoch { return Epoch{int64(max(n, -1)) + 1} }

// Get answers the epoch and whether it is known; an unknown one is -1.
func (e Epoch) Get() (n int32, known bool) { return e.Wire(), e.plus1 > 0 }

// Wire is the epoch as Kafka writes it: -1 is unknown.
func (e Epoch) Wire() int32 { return int32(e.plus1 - 1) }

// MarshalJSON writes Wire.
func (e Epoch) MarshalJSON() ([]byte, error) { return json.Marshal(e.Wire()) }

// UnmarshalJSON reads what MarshalJSON writes; null is the unknown epoch.
func (e *Epoch) UnmarshalJSON(b []byte) error {
	n := int32(-1)
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	*e = EpochOf(n)
	return nil
}

// State says what is known of one stored position. Its zero value is Unknown, so a forgotten field is never a fact.
type State uint8

// The four states of a stored position.
const (
	Unknown State = iota // not measured
	Absent               // positively nothing there
	Set                  // Next is the position
	Invalid              // there is something that is no position; Raw has it
)

var stateNames = []string{"unknown", "absent", "set", "invalid"}

func (s State) String() string { return stateNames[s] }

// MarshalText writes the state's name.
func (s State) MarshalText() ([]byte, error) { return []byte(stateNames[s]), nil }

// UnmarshalText reads what MarshalText writes.
func (s *State) UnmarshalText(b []byte) error {
	i := slices.Index(stateNames, string(b))
	if i < 0 {
		return fmt.Errorf("%q is no state", b)
	}
	*s = State(i)
	return nil
}

// Version is a store's own proof that a value is the one that was read. Only the store that made it understands it.
// It is comparable, printable ASCII without secrets, at most 1 KiB, and good for days: it lies in plan files and the journal.
// An absent value has one too.
type Version string

// Stored is one stored position, as it is there.
type Stored struct {
	State       State     `json:"state"`
	Next        int64     `json:"next"`                 // next offset to read, whatever the store keeps; only when Set
	LeaderEpoch Epoch     `json:"leaderEpoch,omitzero"` // of the record before Next
	TopicID     string    `json:"topicId,omitempty"`    // of the topic that the position was read under, where the store keeps it
	Metadata    string    `json:"metadata,omitempty"`   // free text of a Kafka commit
	Owner       string    `json:"owner,omitempty"`      // who wrote it
	Committed   time.Time `json:"committed,omitzero"`   // when it was written
	LastRead    time.Time `json:"lastRead,omitzero"`    // timestamp of the record before Next, where the store tells it for nothing
	Pending     *Pending  `json:"pending,omitempty"`    // a later position that is not in force
	Evidence    *Evidence `json:"evidence,omitempty"`   // the store's own evidence that the log is another one by now
	Taken       bool      `json:"-"`                    // of what Write answers: live consumers were seen to read from here on; what is there later is their progress
	Note        string    `json:"-"`                    // of what Write answers: what the store came upon and did beside, one sentence; "": nothing
	Version     Version   `json:"version"`
	Raw         []byte    `json:"raw,omitzero"` // the bytes that are there, where they are more than Next in decimal; empty and nil differ
}

// Pending is an open transaction's commit, or a batch that was planned and not committed.
type Pending struct {
	Next int64  `json:"next"` // -1: not known
	What string `json:"what"`
}

// Evidence speaks for a log that is no longer the one that was read although the number looks valid.
type Evidence struct {
	Proof bool   `json:"proof"` // otherwise a doubt
	Text  string `json:"text"`  // one sentence
}

// Same tells whether a reader of the store would see the same in s and t.
func (s Stored) Same(t Stored) bool {
	return s.State == t.State && (s.State != Set || s.Next == t.Next) && s.Metadata == t.Metadata &&
		(s.State != Invalid || bytes.Equal(s.Raw, t.Raw))
}

// Result is the answer to one question. Value means nothing when Err is set.
type Result[T any] struct {
	Value T
	Err   error
}

// Entry is a stored position that a store found by itself.
type Entry struct {
	Partition Partition
	Result[Stored]
}

// Change is one wanted change. From is what was read, and From.Version must still hold. To is what shall be there:
// Absent deletes; Raw, when set, is written as it is (undo, also of an invalid value), and Version, where it is set too, is the
// one that it was read with, for stores where the bytes alone do not say what they were; otherwise Next is written in the
// encoding of From, with Metadata, LeaderEpoch, TopicID and Owner where the store keeps them.
type Change struct {
	Partition Partition `json:"partition"`
	From      Stored    `json:"from"`
	To        Stored    `json:"to"`
}

// Undo is the change that takes c back, where now is there.
func (c Change) Undo(now Stored) Change { return Change{c.Partition, now, c.From} }
