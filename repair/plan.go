package repair

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

// Kind is what a plan came from.
type Kind string

// Kinds of plans and journal entries.
const (
	KindReset  Kind = "reset"
	KindRepair Kind = "repair"
	KindCopy   Kind = "copy"
	KindUndo   Kind = "undo"
	KindDelete Kind = "delete-group"
)

// Origin says who wants a change, why, and where. Nothing in it is secret: addresses are those of address.Address.Identity.
type Origin struct {
	User    string `json:"user,omitempty"`
	Host    string `json:"host,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Command string `json:"command,omitempty"` // as typed, behind "offsetctl", without secrets
	Program string `json:"program,omitempty"` // "offsetctl 1.0.0"
	Broker  string `json:"broker"`
	Store   string `json:"store"`
	Cluster string `json:"cluster"` // the broker's own id; "" where it has none
}

// own tells whether the store is the broker's own: they have one address.
func (o Origin) own() bool { return o.Store == o.Broker }

// Plan is the unit of work and the plan file: what is there, what shall be there, and what it costs.
type Plan struct {
	Schema string    `json:"schema"`
	Kind   Kind      `json:"kind"`
	Made   time.Time `json:"made"` // when the survey was taken
	Origin
	Isolation   string    `json:"isolation"`
	To          string    `json:"to"`                  // where it goes, in a few words
	Time        time.Time `json:"time,omitzero"`       // what --to-time or --by-duration asked for
	TimesBy     string    `json:"timesBy,omitempty"`   // what Time went by: CreateTime, LogAppendTime
	Once        bool      `json:"once,omitempty"`      // asking the same again would go on from where it got to: --shift-by
	Undoes      int64     `json:"undoes,omitempty"`    // the journal entry that it takes back
	OneGiven    bool      `json:"oneGiven,omitempty"`  // one number was given for all partitions
	NewGroups   bool      `json:"newGroups,omitempty"` // some Group is New
	Asked       bool      `json:"asked,omitempty"`     // the target itself asks to skip: --to-latest, one offset, --shift-by, --on-tail-overflow
	Groups      []Group   `json:"groups"`              // sorted
	NotSelected []string  `json:"notSelected,omitempty"`
	Digest      string    `json:"digest"` // of all above, see Encode

	seen *inspect.Survey // what it was made from, or renewed by
}

// Seen is the survey that p was made from, or renewed by; nil for a plan that was read from a file.
func (p *Plan) Seen() *inspect.Survey { return p.seen }

// Group is what a plan does with one group, all of it in one Write where the store can.
type Group struct {
	Name   string `json:"group"`
	New    bool   `json:"new,omitempty"`    // nothing is stored, and the broker does not know it either
	Delete bool   `json:"delete,omitempty"` // the group itself goes, with all it stored
	Items  []Item `json:"items"`            // sorted by partition
	Kept   []byte `json:"kept,omitempty"`   // of an undo: what the store's Keep answered before the write
}

// Action is what a plan does with one partition.
type Action uint8

// Actions.
const (
	Keep   Action = iota // nothing; Note says why
	Write                // To is stored
	Delete               // To is Absent
)

var actionNames = []string{"keep", "write", "delete"}

func (a Action) String() string { return actionNames[a] }

// MarshalText writes the action's name.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (a *Action) UnmarshalText(b []byte) error {
	i := slices.Index(actionNames, string(b))
	if i < 0 {
		return fmt.Errorf("%q is no action", b)
	}
	*a = Action(i)
	return nil
}

// Item is what a plan does with one partition, and what it costs.
type Item struct {
	offset.Change
	Action  Action            `json:"action"`
	Effect  offset.Resolution `json:"effect"` // of Write; records
	Bounds  *offset.Bounds    `json:"bounds,omitempty"`
	Before  *offset.Stored    `json:"before,omitempty"`  // of a row that an undo leaves alone: what was there before the entry
	Written *offset.Stored    `json:"written,omitempty"` // of an undo: what the entry that it takes back wrote
	Note    string            `json:"note,omitempty"`
	Refused string            `json:"refused,omitempty"` // why this row alone stops the whole; never in a file

	there bool // Renew found it already there
}

// Totals are a plan's sums over the rows that change. They stop at the largest number instead of overflowing.
type Totals struct {
	Changes, Deletes, Keeps int // rows
	Refused                 int // rows that stand in the way; none of the others
	Replays, Skips, Lost    int64
	Forward                 int // rows that skip
}

// Totals adds p up.
func (p *Plan) Totals() (t Totals) {
	for it := range p.items() {
		switch {
		case it.Refused != "":
			t.Refused++
			continue
		case it.Action == Keep:
			t.Keeps++
			continue
		case it.Action == Delete:
			t.Deletes++
		}
		t.Changes++
		t.Replays = sum(t.Replays, it.Effect.Replayed)
		t.Skips = sum(t.Skips, it.Effect.Skipped)
		t.Lost = sum(t.Lost, it.Effect.Lost)
		if it.Effect.Skipped > 0 {
			t.Forward++
		}
	}
	return t
}

// Empty tells whether p changes nothing.
func (p *Plan) Empty() bool {
	return p.Totals().Changes == 0 && !slices.ContainsFunc(p.Groups, func(g Group) bool { return g.Delete })
}

// OneNumber answers the offset that was given for all of several changed partitions; ok is false otherwise.
func (p *Plan) OneNumber() (n int64, partitions int, ok bool) {
	for it := range p.items() {
		if it.Action != Write {
			continue
		}
		partitions++
		n = it.Effect.Wanted
	}
	return n, partitions, partitions > 1 && p.OneGiven
}

func (p *Plan) items() func(func(*Item) bool) {
	return func(yield func(*Item) bool) {
		for i := range p.Groups {
			for j := range p.Groups[i].Items {
				if !yield(&p.Groups[i].Items[j]) {
					return
				}
			}
		}
	}
}

// clone copies p so far that items can be changed.
func (p *Plan) clone() *Plan {
	q := *p
	q.Groups = slices.Clone(p.Groups)
	for i := range q.Groups {
		q.Groups[i].Items = slices.Clone(q.Groups[i].Items)
	}
	return &q
}

// changes are what a Write is handed. A store that keeps a topic only as a whole gets the rows that stay, too.
func (g *Group) changes(whole bool) []offset.Change {
	touched := map[string]bool{}
	for _, it := range g.Items {
		touched[it.Partition.Topic] = touched[it.Partition.Topic] || it.Action != Keep
	}
	var out []offset.Change
	for _, it := range g.Items {
		if it.Action != Keep || whole && touched[it.Partition.Topic] && it.From.State == offset.Set {
			out = append(out, it.Change)
		}
	}
	return out
}

// sum adds two counts of records.
func sum(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
