package repair

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// Log is where a journal's lines lie: a directory (OpenDir), or a table of a database. It is safe for several processes at once
// and knows nothing of what the lines say.
type Log interface {
	// Create begins an entry with its first line, which is durable when Create returns. Ids grow, from 1, and are never used twice.
	Create(ctx context.Context, line []byte) (id int64, err error)
	// Append adds a line to an entry that this process has created; it is durable when Append returns.
	Append(ctx context.Context, id int64, line []byte) error
	// Release says that this process appends no more.
	Release(id int64) error
	// Read answers one entry's lines; fs.ErrNotExist when there is none. busy: a living process has not released it, where that can
	// be told. A line that was cut off is left out, and cut is true.
	Read(ctx context.Context, id int64) (lines [][]byte, busy, cut bool, err error)
	// IDs lists the entries, newest first.
	IDs(ctx context.Context) ([]int64, error)
	// Try tells whether an entry could be created, and creates none.
	Try(ctx context.Context) error
	// Name is where it is, for messages: without secrets.
	Name() string
}

// ErrNoEntry: the journal has no entry with this id.
var ErrNoEntry = errors.New("is not in the journal")

const entrySchema = "offsetctl.journal/v1"

// Entry is one write as the journal has it.
type Entry struct {
	ID     int64     `json:"id"`
	At     time.Time `json:"at"` // when it began
	Kind   Kind      `json:"kind"`
	Undoes int64     `json:"undoes,omitempty"`
	Origin
	To     string       `json:"to,omitempty"`
	Groups []EntryGroup `json:"groups"`
	Ended  time.Time    `json:"ended,omitzero"` // zero: the process ended before it recorded an end
	Busy   bool         `json:"busy,omitempty"` // it is being written right now
	Cut    bool         `json:"cut,omitempty"`  // its last line was cut off
	Done   []Outcome    `json:"outcomes"`       // what was recorded; rows without one were not tried or not recorded

	at map[rowKey]int // of Done
}

// EntryGroup is what one entry wrote, or was about to write, in one group.
type EntryGroup struct {
	Group   string          `json:"group"`
	Delete  bool            `json:"delete,omitempty"` // the group itself
	Changes []offset.Change `json:"changes"`
	Kept    []byte          `json:"kept,omitempty"` // of a Keeper
}

// begin, results and end are the lines of an entry.
type beginLine struct {
	Schema string    `json:"schema"`
	At     time.Time `json:"at"`
	Kind   Kind      `json:"kind"`
	Undoes int64     `json:"undoes,omitempty"`
	Origin
	To     string       `json:"to,omitempty"`
	Groups []EntryGroup `json:"groups"`
}

type laterLine struct {
	At       time.Time `json:"at"`
	Outcomes []Outcome `json:"outcomes,omitempty"`
	End      bool      `json:"end,omitempty"`
}

// Journal remembers every write before it is sent.
type Journal struct{ log Log }

// NewJournal is the journal in l.
func NewJournal(l Log) *Journal { return &Journal{l} }

// Name is where it is.
func (j *Journal) Name() string { return j.log.Name() }

// Try tells whether it could be written, without writing.
func (j *Journal) Try(ctx context.Context) error { return j.log.Try(ctx) }

func (j *Journal) begin(ctx context.Context, b beginLine) (int64, error) {
	b.Schema = entrySchema
	line, err := json.Marshal(b)
	if err != nil {
		return 0, err
	}
	return j.log.Create(ctx, line)
}

func (j *Journal) record(ctx context.Context, id int64, l laterLine) error {
	line, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return j.log.Append(ctx, id, line)
}

// Entry answers one entry; ErrNoEntry when there is none.
func (j *Journal) Entry(ctx context.Context, id int64) (*Entry, error) {
	lines, busy, cut, err := j.log.Read(ctx, id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%d %w %s", id, ErrNoEntry, j.Name())
	}
	if err != nil {
		return nil, fmt.Errorf("journal %s, entry %d: %w", j.Name(), id, err)
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("journal %s, entry %d was cut off before anything was sent", j.Name(), id)
	}
	var b beginLine
	if err := json.Unmarshal(lines[0], &b); err != nil {
		return nil, fmt.Errorf("journal %s, entry %d cannot be read: %w", j.Name(), id, err)
	}
	if b.Schema != entrySchema {
		return nil, fmt.Errorf("journal %s, entry %d has the schema %q: a newer program wrote it", j.Name(), id, b.Schema)
	}
	e := &Entry{ID: id, At: b.At, Kind: b.Kind, Undoes: b.Undoes, Origin: b.Origin, To: b.To, Groups: b.Groups, Busy: busy, Cut: cut}
	for _, line := range lines[1:] {
		var l laterLine
		if err := json.Unmarshal(line, &l); err != nil {
			e.Cut = true
			break
		}
		e.take(l)
	}
	return e, nil
}

// take adds what a later line says; it wins over an earlier one about the same row.
func (e *Entry) take(l laterLine) {
	at := e.index()
	for _, o := range l.Outcomes {
		if i, ok := at[rowKey{o.Group, o.Partition}]; ok {
			e.Done[i] = o
			continue
		}
		at[rowKey{o.Group, o.Partition}] = len(e.Done)
		e.Done = append(e.Done, o)
	}
	if l.End {
		e.Ended = l.At
	}
}

// Outcome answers what was recorded of a row; ok is false where nothing was.
func (e *Entry) Outcome(group string, p offset.Partition) (o Outcome, ok bool) {
	i, ok := e.index()[rowKey{group, p}]
	if !ok {
		return Outcome{}, false
	}
	return e.Done[i], true
}

// index finds rows in Done.
func (e *Entry) index() map[rowKey]int {
	if e.at == nil || len(e.at) != len(e.Done) {
		e.at = make(map[rowKey]int, len(e.Done))
		for i, o := range e.Done {
			e.at[rowKey{o.Group, o.Partition}] = i
		}
	}
	return e.at
}

// Settled tells whether the journal alone says what became of every row.
func (e *Entry) Settled() bool {
	return !e.Ended.IsZero() && !slices.ContainsFunc(e.Done, func(o Outcome) bool { return o.Status == NotKnown })
}

// Filter narrows a history. Empty fields narrow nothing.
type Filter struct {
	Groups, Topics []string
	Store          string
	Since          time.Time
	Limit          int
}

func (f Filter) match(e *Entry) bool {
	if f.Store != "" && f.Store != e.Store || e.At.Before(f.Since) {
		return false
	}
	if len(f.Groups) > 0 && !slices.ContainsFunc(e.Groups, func(g EntryGroup) bool { return slices.Contains(f.Groups, g.Group) }) {
		return false
	}
	return len(f.Topics) == 0 || slices.ContainsFunc(e.Groups, func(g EntryGroup) bool {
		return slices.ContainsFunc(g.Changes, func(c offset.Change) bool { return slices.Contains(f.Topics, c.Partition.Topic) })
	})
}

// History lists entries, newest first. gaps are entries that could not be read; nothing of them is known.
func (j *Journal) History(ctx context.Context, f Filter) (out []*Entry, gaps []error, err error) {
	ids, err := j.log.IDs(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("journal %s: %w", j.Name(), err)
	}
	for _, id := range ids {
		e, err := j.Entry(ctx, id)
		if err != nil {
			gaps = append(gaps, err)
			continue
		}
		if f.match(e) {
			out = append(out, e)
		}
		if f.Limit > 0 && len(out) == f.Limit {
			break
		}
	}
	return out, gaps, nil
}

// LastCluster answers the cluster that the store was last written with; "" when this journal knows of none.
func (j *Journal) LastCluster(ctx context.Context, store string) (string, error) {
	es, _, err := j.History(ctx, Filter{Store: store, Limit: 1})
	if err != nil || len(es) == 0 {
		return "", err
	}
	return es[0].Cluster, nil
}
