// Package inspect gathers what is known of groups (Survey) and says what is wrong with them (Classify, pure).
package inspect

import (
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// Ask is what to look at. Now and Progress come from the caller: nothing here reads a clock or prints.
type Ask struct {
	Groups    []string                    // sorted, literal; nil: every group of the store
	Topics    []string                    // sorted, literal; nil: every topic that a group has something stored for
	AllTopics bool                        // with Topics nil: every topic of the cluster that is not internal
	Vanished  bool                        // Topics were named some time ago: one that does not exist by now has no lines, and that is no error
	Select    func(offset.Partition) bool // which partitions are meant; nil: all. The others of a topic still decide Line.Beside
	Isolation offset.Isolation
	Now       time.Time
	Stale     time.Duration        // age of the oldest unread record that makes a position stale; 0: not asked
	At        time.Time            // a reset's --to-time: Line.AtTime; zero: not asked
	Prove     bool                 // prove the log starts that are the server's word alone: what a plan's numbers need
	TimeLag   bool                 // also the oldest unread record's age, retention and forecast
	Expected  []string             // broker names that should be there
	LastSeen  map[string]time.Time // when an earlier run last saw a broker that is expected for that reason, by name
	Brokers   []string             // sorted; with Select: the only brokers that are asked about, so that a missing one of the others does not matter; nil: all
	Since     *Sample              // an earlier look: where a position has not moved, the oldest unread record is looked for, because a lag of nothing but markers and holes is none
	Progress  func(stage string, done, total int)
}

// Line is one partition of one group with everything that was measured of it.
type Line struct {
	Group     string
	Partition offset.Partition
	Exists    bool // false is proof: there is no such partition, and a stored position is an orphan
	Selected  bool // Ask.Select wants it
	Beside    bool // another partition of the topic is stored
	Unsure    bool // without Beside: of some partition of the topic it could not be read whether it is stored
	Stored    offset.Result[offset.Stored]
	Log       offset.Result[offset.Log] // Times and Epochs of it are spread over the fields below
	TopicID   string                    // the topic's id today, "" where the broker has none

	StaleAt  int64     // first offset at or after Now - Stale, or NoRecord; only with Ask.Stale
	AtTime   int64     // first offset at or after Ask.At, or NoRecord; only with Ask.At
	EpochEnd int64     // where the committed leader epoch ends; -1: not known, or nothing had to be asked
	WroteAt  int64     // first offset whose timestamp is after Stored.Committed by more than clocks may differ; NoRecord: none, or not asked
	Before   time.Time // timestamp of the record before the stored position, where a doubt made somebody look
	Wrote    time.Time // when the position was committed, where the store or a doubt told
	Oldest   time.Time // timestamp of the oldest unread record; with TimeLag, or where the position may be stale; zero: none or not known
	NoUnread bool      // somebody looked: at and after the position no record is left, so the lag is markers and holes

	LogAppend  bool   // with Ask.At: the topic's timestamps are set by the broker
	LeaderText string // why there is no leader, as far as the metadata tells
	Ambiguous  string // the brokers that a position stored without one could belong to
	Stuck      string // why the store would not write this position, whatever the target, as far as it knows beforehand
}

// View is what decides where a job starts, or a reset goes.
func (l *Line) View() offset.View {
	return offset.View{Partition: l.Partition, Bounds: l.Log.Value.Bounds, Stored: l.Stored.Value, Beside: l.Beside, Unsure: l.Unsure, AtTime: l.AtTime}
}

// GroupLine is one group as the broker knows it. A store without members has groups that the broker may not know.
type GroupLine struct {
	Name  string
	Group offset.Result[offset.Group]
	Err   error // nothing could be read of what it stored
	Gaps  []error
	Near  string // a group with a name much like it, where this one does not exist

	Elsewhere bool // nothing is stored for the topics that were named, and something for others; only of a store that is not the broker's
}

// Survey is everything that was measured, nothing judged. Lines are sorted by group and partition; a group without any line has nothing stored.
type Survey struct {
	Ask       Ask
	Taken     time.Time
	Topology  offset.Topology
	Groups    []GroupLine // sorted; one for each asked or found
	Lines     []Line
	Retention map[string]offset.Result[offset.Retention] // by topic; only with TimeLag or At
	Caps      offset.Caps                                // of the store
	Own       bool                                       // the store is the broker's own
	Gaps      []error                                    // what may be missing, of the whole
}
