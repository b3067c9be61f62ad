package offset

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Kind of target.
type Kind uint8

// Targets of a start policy or a reset.
const (
	ToEarliest Kind = iota + 1
	ToLatest        // the reach of the isolation
	ToOffset        // Target.Offset
	ToOffsets       // Target.Offsets
	ToTime          // View.AtTime
	ToShift         // stored + Target.Offset
	ToCurrent       // stored, written anew
)

// Target is where a job should start or a reset should go.
type Target struct {
	Kind    Kind
	Offset  int64
	Offsets map[Partition]int64
	Time    time.Time // for texts; what was found is View.AtTime
}

// Outside says what a job does with a position outside the log.
type Outside uint8

// Choices for a position outside the log.
const (
	Stop Outside = iota
	GoStart
	GoEnd
)

// Rule is a job's start rule, or a reset.
type Rule struct {
	Target       Target
	Reset        bool // a reset: Target decides over anything stored, invalid values too
	IgnoreStored bool // of a job: Target decides over anything valid
	Isolation    Isolation
	Head         Outside // of a job: a position, stored or given, below the log start
	Tail         Outside // of a job: stored above the high watermark
	Clamp        bool    // a given number outside the log goes to the nearer bound
}

// View is all that Resolve looks at; every field was measured.
type View struct {
	Partition Partition
	Bounds    Bounds
	Stored    Stored
	Beside    bool  // another partition of the topic is stored, selected or not
	Unsure    bool  // without Beside: that could not be read of all of them
	AtTime    int64 // for ToTime: first offset at or after it, or NoRecord
}

// Resolution is a number inside the log and what going there costs.
// Stored + Lost + Skipped - Replayed = Next for every stored position inside the log or below it.
type Resolution struct {
	Next     int64  `json:"next"`
	Wanted   int64  `json:"wanted"`   // before it was moved into the log
	Lost     int64  `json:"lost"`     // gone from the log before they were read
	Skipped  int64  `json:"skipped"`  // there, and not going to be read
	Replayed int64  `json:"replayed"` // going to be read again
	Why      string `json:"why"`
}

// Obstacle is what kept Resolve from deciding.
type Obstacle uint8

// Obstacles.
const (
	NoTarget Obstacle = iota
	StoredUnknown
	StoredInvalid
	HeadOverflow    // stored below the log start, and the rule stops there
	TailOverflow    // stored above the high watermark, and the rule stops there
	GivenOutside    // a given number outside the log
	NothingStored   // nothing to shift or to keep
	NotInGivenSet   // a reset's explicit map leaves the partition out
	ShiftOverflowed // stored + shift is no 64-bit number
)

// ErrStop is what every StopError is: a person must decide.
var ErrStop = errors.New("not decided")

// StopError says why there is no answer for one partition.
type StopError struct {
	Partition Partition
	Obstacle  Obstacle
	Reason    string
}

func (e *StopError) Error() string { return e.Partition.String() + ": " + e.Reason }

// Is makes errors.Is(err, ErrStop) true.
func (e *StopError) Is(target error) bool { return target == ErrStop }

// RetryPrefix begins the name of a RocketMQ group's retry topic.
const RetryPrefix = "%RETRY%"

// Resolve answers where to start. The same rule and view always give the same answer: a concrete number inside the log,
// never a symbol. Its error is a *StopError.
func Resolve(r Rule, v View) (Resolution, error) {
	s := v.Stored
	c := resolving{r, v}
	switch {
	case s.State == Unknown:
		return c.stop(StoredUnknown, "what is stored is not known")
	case r.Reset:
		return c.target()
	case s.State == Invalid:
		return c.stop(StoredInvalid, "what is stored is no position")
	case s.State == Absent && strings.HasPrefix(v.Partition.Topic, RetryPrefix):
		return c.start("log start: retry topic")
	case r.IgnoreStored && !c.leftOut():
		return c.target()
	case s.State == Set && s.Next < v.Bounds.Start:
		return c.head(s.Next, "stored")
	case s.State == Set && s.Next > v.Bounds.End:
		return c.tail(s.Next)
	case s.State == Set:
		return c.at(s.Next, s.Next, "stored"), nil
	case v.Beside:
		return c.start("log start: added or expired, other partitions of the topic are stored")
	case c.leftOut():
		return c.start("log start: not among the given offsets")
	case v.Unsure && r.Target.Kind != ToEarliest:
		return c.stop(StoredUnknown, "nothing is stored, and whether other partitions of the topic are could not be read")
	}
	return c.target()
}

type resolving struct {
	r Rule
	v View
}

// leftOut: an explicit map does not say anything of this partition.
func (c resolving) leftOut() bool {
	_, ok := c.r.Target.Offsets[c.v.Partition]
	return c.r.Target.Kind == ToOffsets && !ok
}

func (c resolving) target() (Resolution, error) {
	b, s := c.v.Bounds, c.v.Stored
	switch t := c.r.Target; t.Kind {
	case ToEarliest:
		return c.start("log start")
	case ToLatest:
		return c.end("end")
	case ToOffset:
		return c.given(t.Offset, "given")
	case ToOffsets:
		if c.leftOut() {
			return c.stop(NotInGivenSet, "it is not among the given offsets")
		}
		return c.given(t.Offsets[c.v.Partition], "given")
	case ToTime:
		if c.v.AtTime == NoRecord {
			return c.end("no record at or after the time: end")
		}
		// A record that retention took between two looks is not there any more.
		n := min(max(c.v.AtTime, b.Start), b.End)
		return c.at(n, n, "first record at or after the time"), nil
	case ToShift:
		if s.State != Set {
			return c.stop(NothingStored, "no position is stored that could be shifted")
		}
		if t.Offset > 0 && s.Next > math.MaxInt64-t.Offset || t.Offset < 0 && s.Next < math.MinInt64-t.Offset {
			return c.stop(ShiftOverflowed, fmt.Sprintf("stored %d shifted by %d is no offset", s.Next, t.Offset))
		}
		n, why := s.Next+t.Offset, fmt.Sprintf("stored %d shifted by %d", s.Next, t.Offset)
		if b := c.v.Bounds; c.r.Reset && !c.r.Clamp && !b.Inside(n) {
			return c.stop(GivenOutside, fmt.Sprintf("%s is %d, outside the log, which has %d to %d", why, n, b.Start, b.End))
		}
		return c.given(n, why)
	case ToCurrent:
		if s.State != Set {
			return c.stop(NothingStored, "no position is stored that could be kept")
		}
		return c.given(s.Next, "stored")
	}
	return c.stop(NoTarget, "no target was given")
}

func (c resolving) start(why string) (Resolution, error) {
	return c.at(c.v.Bounds.Start, c.v.Bounds.Start, why), nil
}

func (c resolving) end(why string) (Resolution, error) {
	n := c.v.Bounds.Reach(c.r.Isolation)
	return c.at(n, n, why), nil
}

// given is an explicit number: a job takes one below the log start as it takes a stored one.
func (c resolving) given(n int64, why string) (Resolution, error) {
	b := c.v.Bounds
	switch {
	case b.Inside(n):
		return c.at(n, n, why), nil
	case c.r.Clamp && n < b.Start:
		return c.at(b.Start, n, why+", moved to the log start"), nil
	case c.r.Clamp:
		return c.at(b.End, n, why+", moved to the end"), nil
	case n < b.Start && !c.r.Reset:
		return c.head(n, why)
	}
	return c.stop(GivenOutside, fmt.Sprintf("%s %d is outside the log, which has %d to %d", why, n, b.Start, b.End))
}

func (c resolving) head(n int64, why string) (Resolution, error) {
	b := c.v.Bounds
	switch c.r.Head {
	case GoStart:
		return c.at(b.Start, n, why+", moved to the log start"), nil
	case GoEnd:
		return c.at(b.Reach(c.r.Isolation), n, why+", moved to the end"), nil
	}
	return c.stop(HeadOverflow, fmt.Sprintf("%s %d is %d before the log start %d", why, n, distance(n, b.Start), b.Start))
}

func (c resolving) tail(n int64) (Resolution, error) {
	b := c.v.Bounds
	switch c.r.Tail {
	case GoStart:
		return c.at(b.Start, n, "stored, moved to the log start"), nil
	case GoEnd:
		return c.at(b.Reach(c.r.Isolation), n, "stored, moved to the end"), nil
	}
	return c.stop(TailOverflow, fmt.Sprintf("stored %d is %d past the log end %d", n, distance(b.End, n), b.End))
}

// at counts the cost of going to next.
func (c resolving) at(next, wanted int64, why string) Resolution {
	b, s := c.v.Bounds, c.v.Stored
	res := Resolution{Next: next, Wanted: wanted, Why: why}
	base := wanted
	if s.State == Set {
		base = s.Next
		from := min(max(s.Next, b.Start), b.End)
		res.Skipped, res.Replayed = max(0, next-from), max(0, from-next)
	}
	res.Lost = distance(base, b.Start)
	return res
}

func (c resolving) stop(o Obstacle, reason string) (Resolution, error) {
	return Resolution{}, &StopError{c.v.Partition, o, reason}
}

// distance is b - a where that is positive, and never overflows.
func distance(a, b int64) int64 {
	if a >= b {
		return 0
	}
	if d := b - a; d > 0 {
		return d
	}
	return math.MaxInt64
}
