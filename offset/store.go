package offset

import (
	"context"
	"slices"
	"time"
)

// Extent is how far all-or-nothing reaches in one Write.
type Extent uint8

// Reaches of all-or-nothing.
const (
	EachAlone Extent = iota
	PerTopic         // the partitions of one topic: an HBase row
	PerGroup
)

// Caps is what a store can do. The conformance suite proves every field both ways.
type Caps struct {
	Atomic     bool          // From is checked inside the write; otherwise just before and just after
	Together   Extent        // what is all or nothing
	Fence      bool          // every write changes Version, also one of the same number: the last to write is alone
	Delete     bool          // a position can be made absent again
	Metadata   bool          // keeps Metadata and LeaderEpoch
	CommitTime bool          // fills Committed
	LastRead   bool          // fills LastRead where it can be known: whether unread records are old needs no look-up by time
	Queues     bool          // keeps Partition.Broker
	Members    bool          // the server itself knows who consumes: a broker's own store
	Whole      bool          // a topic's positions mean something only as a complete set: a write names every partition
	Settle     time.Duration // a write is final only after it, then look again (a broker's flush, a query that may be running)
}

// Query asks for what one group has stored.
type Query struct {
	Group  string
	Topics []string    // literal names, sorted; nil: every topic of the group; empty: none but those of Expect
	Expect []Partition // each of these is asked by name: only so can absence be proved
}

// Answer is what a store has for a Query.
type Answer struct {
	Expected []Result[Stored] // one for each of Query.Expect
	Others   []Entry          // what else there is under Query.Topics, sorted; it proves nothing about what it does not list
	Gaps     []error          // why Others may be short
	Err      error            // nothing is known of this group
}

// Store keeps positions. It is safe for concurrent use, prints nothing and knows no policy. offsettest.RunStore is the contract:
//
//  1. Read and Write answer all they were asked, in order, also when ctx is done.
//  2. Absent needs positive proof. Any doubt is an error.
//  3. Read asks for all its queries in the fewest round trips that the server allows.
//  4. Write looks at From.Version alone, writes, and answers what is there then, with its new Version: read back, or known because
//     the write itself is proof (rows affected inside a transaction).
//  5. When an answer is lost Write looks: equal to To is success, equal to From may be tried once more, else ErrMoved or ErrOutcome.
//  6. Names are data: byte-equal, never a pattern, never a prefix. What the layout cannot hold is ErrUnsupported before anything is written.
type Store interface {
	Caps() Caps
	Groups(ctx context.Context) (groups []string, gaps []error, err error)
	Read(ctx context.Context, qs []Query) []Answer
	Write(ctx context.Context, group string, changes []Change) []Result[Stored]
	Close() error
}

// Keeper is a Store whose undo is more than values: Spark's log files. The journal holds what Keep answers before the Write;
// Restore puts it back, or answers ErrMoved when somebody went on from there.
type Keeper interface {
	Keep(ctx context.Context, group string, changes []Change) ([]byte, error)
	Restore(ctx context.Context, group string, kept []byte) error
}

// Guarded is a Store that can tell beforehand what speaks against a write. It tells; repair decides.
type Guarded interface {
	Guard(ctx context.Context, group string, changes []Change) []Objection
}

// Objection is one reason against a write.
type Objection struct {
	Text  string // one sentence
	Allow string // the flag that overrules it, without dashes ("allow-pending"); "" when nothing can
}

// Refuser is a Store that knows of some changes by itself, asking nobody, that it can never make.
type Refuser interface {
	// Refuses says why c can never be written, or answers nil.
	Refuses(group string, c Change) error
}

// Warner is a Store or Broker that knows of dangers to the whole of it (a Redis that may evict, a table without transactions).
type Warner interface {
	Warnings(ctx context.Context) []Warning
}

// Warning is one danger and the step that leads out of it.
type Warning struct{ Text, Next string }

// GroupDeleter is a Store that can delete a whole group with all its positions.
type GroupDeleter interface {
	// DeletesGroups is nil, or says why no group can be deleted here: a table without a group column is one group, however it
	// is called. It asks nobody.
	DeletesGroups() error
	// DeleteGroup deletes the group. had is all that it had when it was read, sorted, each to become Absent. A Store with
	// Caps.Atomic deletes it only as it was read: where a position has moved, or one is there that is not among had, that stays,
	// as far as Caps.Together reaches nothing is deleted, and the answer has ErrMoved. It answers one result for each of had, as
	// Write does, or an error about the group as a whole; neither: all of it is deleted.
	DeleteGroup(ctx context.Context, group string, had []Change) ([]Result[Stored], error)
}

// GroupCreator is a Store that must be told to make a group before it keeps anything for it (an Objection says so).
type GroupCreator interface {
	CreateGroup(ctx context.Context, group string) error
}

// Permitter is a Store or Broker that can tell what the user may do without doing it.
type Permitter interface {
	// Permissions answers one line for each right that inspecting or resetting the group's topics needs.
	Permissions(ctx context.Context, group string, topics []string, write bool) []Permission
}

// Permission is one right: what it is needed for, and whether the user has it. Err: it could not be told.
type Permission struct {
	Right   string // "topic orders: READ"
	Only    string // what alone needs it, where the main job does not: "retention"; its lack is no failure
	Granted bool
	Err     error
}

// CommitTimer is a Store that can find out when positions were written, at a price: asked only where a doubt depends on it.
type CommitTimer interface {
	// CommitTimes answers when each position of the group was written; a zero time without an error: not found.
	CommitTimes(ctx context.Context, group string, at []Partition) []Result[time.Time]
}

// Untouched says of every result without an error that it was left alone because another failed, and answers whether one did:
// what a store that writes all or nothing answers.
func Untouched(rs []Result[Stored]) bool {
	if !slices.ContainsFunc(rs, func(r Result[Stored]) bool { return r.Err != nil }) {
		return false
	}
	for i := range rs {
		if rs[i].Err == nil {
			rs[i].Err = ErrUntouched
		}
	}
	return true
}
