package inspect

import (
	"fmt"
	"slices"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// Verdict says what is wrong with a position. A smaller one is worse.
type Verdict uint8

// Verdicts, worst first.
const (
	Unknown            Verdict = iota // could not be measured
	Invalid                           // what is stored is no position
	TailOverflow                      // past the log end
	HeadOverflow                      // before the log start
	Diverged                          // a valid number, but evidence that the log is not the one that was read
	MixedSubscriptions                // clients of one group subscribe to different topics or tags
	Orphan                            // stored, no such partition
	Absent                            // the partition exists, nothing is stored
	Stalled                           // unread records and no movement
	Rewound                           // moved backwards
	Stale                             // the oldest unread record, or the last commit, is too old
	Lagging                           // more unread records than allowed
	OK
)

var verdictNames = []string{"unknown", "invalid", "tail-overflow", "head-overflow", "diverged", "mixed-subscriptions",
	"orphan", "absent", "stalled", "rewound", "stale", "lagging", "ok"}

// Verdicts lists all of them, worst first.
func Verdicts() []Verdict {
	out := make([]Verdict, len(verdictNames))
	for i := range out {
		out[i] = Verdict(i)
	}
	return out
}

func (v Verdict) String() string { return verdictNames[v] }

// MarshalText writes the verdict's name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(verdictNames[v]), nil }

// UnmarshalText reads what MarshalText writes.
func (v *Verdict) UnmarshalText(b []byte) error {
	i := slices.Index(verdictNames, string(b))
	if i < 0 {
		return fmt.Errorf("%q is no verdict", b)
	}
	*v = Verdict(i)
	return nil
}

// Loss are the verdicts that mean lost, skipped or repeated records: what --fail-on loss stands for.
var Loss = []Verdict{Invalid, TailOverflow, HeadOverflow, Diverged, MixedSubscriptions}

// Finding is one thing that is wrong.
type Finding struct {
	Verdict Verdict  `json:"verdict"`
	Text    string   `json:"text"`              // one plain sentence
	Restart string   `json:"restart,omitempty"` // what a restart would do, where that is worse than nothing
	Proof   bool     `json:"proof,omitempty"`   // of diverged: proven; otherwise a doubt
	Asked   bool     `json:"asked,omitempty"`   // a limit that was asked for is passed: it counts whatever --fail-on says
	Repairs []Repair `json:"repairs,omitempty"` // one, or several to choose from; none: Text says why

	cause cause
}

// Repair is one command and what it costs.
type Repair struct {
	Effect string   `json:"effect"` // "keeps", "reads", "skips", "rereads", "forgets"
	Count  int64    `json:"count"`  // records
	Args   []string `json:"args"`   // behind "offsetctl" and the global flags: reset -g billing …
}

// Row is a judged Line, which it shares with the Survey.
type Row struct {
	*Line
	Verdict   Verdict // the worst of Findings; OK where there are none
	Findings  []Finding
	Lag       int64         // reach - max(stored, start); meaningful only with LagKnown
	LagKnown  bool          // measured, and neither past the end nor an orphan
	Lost      int64         // records between the stored position and the log start
	Ahead     int64         // of a position past the log end, by how much
	Held      int64         // records between the reach and the high watermark: an open transaction has them
	GoneIn    time.Duration // until the oldest unread record falls to retention; only with GoneKnown
	GoneKnown bool
	Consume   offset.Result[offset.Resolution] // what consume would do with its defaults
	Owner     *offset.Member                   // the member that the partition is assigned to
	Detail    string                           // the short words beside the verdict
	Move      *Move                            // only in a report that was compared with an earlier look
}

// GroupReport is one judged group.
type GroupReport struct {
	GroupLine
	Verdict    Verdict   // the worst of its rows and findings
	Findings   []Finding // of the group as a whole
	Rows       []Row
	Counts     [OK + 1]int // rows by verdict, and group findings
	Lag        int64       // sum over rows where it is known, without retry topics
	RetryLag   int64       // the same of RocketMQ's retry topics
	Unmeasured int         // rows whose lag could not be measured
	Lost       int64
	Nothing    bool     // neither position nor doubt: nothing at all is stored
	Notes      []string // what is no finding and matters: a framework that keeps its offsets elsewhere, members that could not be looked at

	owned []owned
}

// Report is the judged Survey.
type Report struct {
	Survey     *Survey
	Groups     []GroupReport
	Findings   []Finding // of the cluster: a broker that should be there is missing
	Verdict    Verdict
	Incomplete bool // something is unknown
	Policy     Policy
}
