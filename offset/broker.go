package offset

import (
	"context"
	"time"
)

// Topology is what a cluster says it has.
type Topology struct {
	Cluster string   // its own id; "" where it has none
	Product string   // "Kafka 4.4.0", as far as the cluster tells
	Brokers []Server // sorted by name
	Topics  []Topic  // sorted by name; each asked one is there
	Whole   bool     // proven: nothing is left out for want of rights
	Gaps    []error  // what may be missing, and why
}

// Server is one broker of a cluster as it advertises itself.
type Server struct {
	Name string // RocketMQ broker name, Kafka node id
	Addr string // the advertised host:port
	Err  error  // it is expected and does not answer
}

// Expecter is a Broker whose metadata leaves no trace of a server that is gone: half a cluster looks like a healthy small one.
// It has to be told which servers should be there; Topology then lists those that are not with an error. Expect adds to what is
// expected already, and answers how many that are in all.
type Expecter interface {
	Expect(names []string) int
}

// Topic is one topic with its logs.
type Topic struct {
	Name, ID string // ID is "" where the broker has none
	Internal bool
	Logs     []LogInfo // sorted
	Err      error     // ErrDenied, ErrUnknownName
}

// LogInfo is what the metadata says of one log.
type LogInfo struct {
	Partition Partition
	Leader    string // the server that leads it; "" when there is none
	Epoch     Epoch  // current leader epoch
	Err       error  // ErrNoLeader
}

// Bounds of a log: Start <= Stable <= End, End exclusive. A position is inside when Start <= position <= End, whatever the isolation.
type Bounds struct {
	Start  int64 `json:"start"`  // log start
	Stable int64 `json:"stable"` // last stable offset
	End    int64 `json:"end"`    // high watermark
}

// Reach is where a reader of this isolation stops: Stable or End.
func (b Bounds) Reach(i Isolation) int64 {
	if i == ReadUncommitted {
		return b.End
	}
	return b.Stable
}

// Inside tells whether a job could read on at n.
func (b Bounds) Inside(n int64) bool { return b.Start <= n && n <= b.End }

// Isolation decides what "latest" is, the lag, and where reading stops; never what is inside.
type Isolation uint8

// Isolations; read-committed is the default on Kafka.
const (
	ReadCommitted Isolation = iota
	ReadUncommitted
)

func (i Isolation) String() string {
	if i == ReadUncommitted {
		return "read-uncommitted"
	}
	return "read-committed"
}

// LogQuery asks for one log's bounds, and for what else can be had in the same round trip.
type LogQuery struct {
	Partition Partition
	Times     []time.Time // of each: the first offset, in offset order, whose timestamp is at or after it
	Epochs    []int32     // of each leader epoch: where it ends
	Prove     bool        // prove Start by reading there, where the server's word may be stale (Log.Unproven); costs a request a log
}

// Log is the answer to a LogQuery.
type Log struct {
	Bounds
	Current   Epoch   // of the log end
	Times     []int64 // one for each of LogQuery.Times; NoRecord where there is none
	EpochEnds []int64 // one for each of LogQuery.Epochs; -1 where it is not known
	Unproven  bool    // Start is the server's word alone and may be stale: records from it on may be gone. LogQuery.Prove tells
}

// NoRecord is no offset and is never stored.
const NoRecord int64 = -1

// Position is a place in a log.
type Position struct {
	Partition   Partition
	Offset      int64
	Uncommitted bool // Peek: also records of transactions that are open or were given up, where the broker has such
}

// Record is one record of a log.
type Record struct {
	Offset     int64
	Time       time.Time // Kafka: the record's timestamp; RocketMQ: its store time
	LogAppend  bool      // Time was set by the broker when it appended the record
	Key, Value []byte    // nil and empty differ
	Headers    []Header
	Tag        string // RocketMQ
}

// Header is one header or property of a record.
type Header struct {
	Key   string
	Value []byte
}

// Phase of a group. Dead is not a phase: brokers call living groups of another kind that.
type Phase uint8

// Phases of a group.
const (
	PhaseUnknown Phase = iota
	Missing
	Empty
	Live
)

var phaseNames = []string{"unknown", "missing", "empty", "live"}

func (p Phase) String() string { return phaseNames[p] }

// MarshalText writes the phase's name.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Group is a consumer group as the broker knows it.
type Group struct {
	Name, Kind string // classic, consumer, share, streams; push, pull, pop, broadcast
	State      string // the broker's own word: Stable, PreparingRebalance, …
	Protocol   string // the protocol type that the members named ("consumer", "connect"); "" for commits without members
	Phase      Phase
	Members    []Member
}

// Member is one client of a group.
type Member struct {
	ID, Client, Host, Version string
	Instance                  string // a static member's group.instance.id
	Subscribes                []Subscription
	Owns                      []Partition // sorted
	Err                       error       // what it subscribes to and owns could not be asked
}

// Subscription is a topic, and on RocketMQ the filter, that a member wants.
type Subscription struct{ Topic, Filter string }

// Broker answers what a cluster has. Rules 1 to 3 of Store hold.
type Broker interface {
	Topology(ctx context.Context, topics []string) (Topology, error) // nil: all topics
	Logs(ctx context.Context, qs []LogQuery) []Result[Log]           // everything side by side: one round trip to each server
	Peek(ctx context.Context, at []Position) []Result[*Record]       // first record at or after; nil: none. Joins no group
	Retention(ctx context.Context, topics []string) []Result[Retention]
	Groups(ctx context.Context) (groups []Group, gaps []error, err error) // names, kinds, phases
	Describe(ctx context.Context, groups []string) []Result[Group]
	Offsets() Store // the broker's own, on the same connections
	Close() error
}

// Prober is a Broker that can try each of its servers at the address that the server advertises; Server.Err says why one cannot be
// reached there.
type Prober interface {
	Probe(ctx context.Context) []Server
}

// Retention is how long a topic keeps its records.
type Retention struct {
	Time      time.Duration // 0: no limit by time
	Bytes     int64         // of one partition; 0: no limit by size
	Compacted bool          // older records of a key vanish at any time
	LogAppend bool          // timestamps are set by the broker, otherwise by the producer
}
