package hbase

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/hbase/hrpc"
)

// rowWrite is the changes to one row, from the first look to the last.
type rowWrite struct {
	key    []byte
	topic  string
	cells  []*cellWrite
	view   rowView    // as it was read last
	first  *cellWrite // the cell that a new row was begun with
	hidden bool       // a write that went through cannot be seen
}

// cellWrite is one change.
type cellWrite struct {
	change    offset.Change
	out       *offset.Result[offset.Stored]
	qualifier []byte
	put       []byte     // nil: it shall be absent
	now       *hrpc.Cell // as it was read last; nil: not there
	empty     bool       // the last call went into an empty cell
	marker    int64      // the timestamp that was deleted up to
	attempt   attempt    // what came of the last call
	unsure    bool       // an earlier call may still be carried out
	settled   bool       // out has the answer
}

// attempt is what came of one call.
type attempt struct {
	sent, done bool
	err        error
}

func newRowWrite(key []byte, topic string, changes []offset.Change, out []offset.Result[offset.Stored]) *rowWrite {
	r := &rowWrite{key: key, topic: topic}
	for i := range changes {
		r.cells = append(r.cells, &cellWrite{change: changes[i], out: &out[i]})
	}
	return r
}

// open are the cells without an answer.
func (r *rowWrite) open() (cells []*cellWrite) {
	for _, c := range r.cells {
		if !c.settled {
			cells = append(cells, c)
		}
	}
	return cells
}

func (r *rowWrite) finished() bool { return len(r.open()) == 0 }

// fail answers all open cells with an error that changed nothing.
func (r *rowWrite) fail(err error) {
	for _, c := range r.open() {
		c.fail(err)
	}
}

func (c *cellWrite) fail(err error) {
	c.settled = true
	c.out.Err = fmt.Errorf("%s: %w", c.change.Partition, err)
}

// moved answers that somebody else was there, and what is there now.
func (c *cellWrite) moved(s *Store) {
	c.settled = true
	c.out.Value = s.stored(c.now)
	c.out.Err = fmt.Errorf("%s %w", c.change.Partition, offset.ErrMoved)
}

func (c *cellWrite) succeed(s *Store) {
	c.settled = true
	c.out.Value, c.out.Err = s.stored(c.now), nil
	c.out.Value.Note = c.note(s)
}

// note tells that readers will not see what a job writes there for a while: HBase shows the newest timestamp, and a marker hides
// all up to its own.
func (c *cellWrite) note(s *Store) string {
	at, what := c.marker, "deleted cell"
	if c.now != nil {
		at, what = c.now.Time, "cell"
	}
	when := time.UnixMilli(at).UTC()
	if when.Sub(s.now()) < skew {
		return ""
	}
	return fmt.Sprintf("the %s's timestamp, %s, lies in the future: what a job writes there before then is not seen", what, when.Format(time.RFC3339))
}

// skew is how far clocks differ without a word.
const skew = time.Minute

// overtaken answers a write that went through, and another one came after it. The answer is ours all the same: with the other's
// version the caller would overwrite, next time, what it has never seen.
func (c *cellWrite) overtaken(s *Store) {
	c.settled = true
	c.out.Value = s.stored(nil)
	if c.put != nil {
		c.out.Value = s.stored(&hrpc.Cell{Value: c.put})
		c.out.Value.Committed = time.Time{} // not known
	}
	c.out.Err = nil
}

// untouched answers the cells that go with one that failed.
func (r *rowWrite) untouched(s *Store) {
	for _, c := range r.open() {
		c.fail(offset.ErrUntouched)
		c.out.Value = s.stored(c.now)
	}
}

// plan compares what is there with what was read for the plan, and works out what to write. Nothing is sent where any cell of
// the row cannot be written.
func (r *rowWrite) plan(s *Store, got hrpc.RowResult) {
	if got.Err != nil {
		r.fail(got.Err)
		return
	}
	if err := r.look(got.Row); err != nil {
		r.fail(err)
		return
	}
	for _, c := range r.cells {
		if !c.holds(s) {
			c.moved(s)
		} else if err := c.encode(s, r.view); err != nil {
			c.fail(err)
			r.untouched(s)
			return
		} else if c.now == nil && c.put == nil {
			c.succeed(s) // absent it is
		}
	}
	if !s.cellwise.Load() && r.anyMoved() {
		r.untouched(s)
	}
}

// look takes in what was read.
func (r *rowWrite) look(row hrpc.Row) error {
	r.view = view(row, r.topic)
	for _, c := range r.cells {
		column, err := r.view.find(c.change.Partition)
		if err != nil {
			return err
		}
		c.now = nil
		if column != nil {
			c.now = &column.cell
		}
	}
	return nil
}

func (r *rowWrite) anyMoved() bool {
	for _, c := range r.cells {
		if errors.Is(c.out.Err, offset.ErrMoved) {
			return true
		}
	}
	return false
}

func (c *cellWrite) encode(s *Store, v rowView) (err error) {
	if c.now != nil {
		c.qualifier = c.now.Qualifier
	} else if c.qualifier, err = column(c.change.Partition, v.form()); err != nil {
		return err
	}
	if c.change.To.State == offset.Absent {
		return nil
	}
	from := c.change.From
	if c.now != nil { // the bytes themselves tell the encoding best; they are From's where the write goes ahead
		from = s.stored(c.now)
	}
	c.put, err = s.dialect.Bytes(from, c.change.To, v.encoding(s.dialect))
	return err
}

// holds tells whether the value that the change starts from is there.
func (c *cellWrite) holds(s *Store) bool { return s.stored(c.now).Version == c.change.From.Version }

// arrived tells whether the value that was wanted is there.
func (c *cellWrite) arrived() bool {
	if c.now == nil || c.put == nil {
		return c.now == nil && c.put == nil
	}
	return bytes.Equal(c.now.Value, c.put)
}

// send tries the row's open cells: together where the servers can, else each for itself.
func (r *rowWrite) send(ctx context.Context, s *Store) {
	open := r.open()
	for _, c := range open {
		c.unsure = c.unsure || errors.Is(c.attempt.err, offset.ErrOutcome)
		c.attempt, c.empty = attempt{}, c.now == nil
	}
	if s.cellwise.Load() {
		var wg sync.WaitGroup
		for _, c := range open {
			wg.Go(func() { r.try(ctx, s, []*cellWrite{c}) })
		}
		wg.Wait()
		return
	}
	// A row without any cell passes no filter. Its first cell is made alone, and is then part of the others' condition; judge
	// takes it away again where the others cannot follow.
	if len(r.view.columns)+len(r.view.odd) == 0 && len(open) > 1 {
		r.first = open[0]
		if r.try(ctx, s, open[:1]) {
			r.tryAfter(ctx, s, open[1:])
		}
		return
	}
	r.try(ctx, s, open)
}

func (r *rowWrite) try(ctx context.Context, s *Store, cells []*cellWrite) bool {
	return record(ctx, s, cells, r.mutation(s, cells))
}

// tryAfter makes the other cells of a new row.
func (r *rowWrite) tryAfter(ctx context.Context, s *Store, cells []*cellWrite) {
	m := r.mutation(s, cells)
	m.Filter = true
	m.When = append(m.When, hrpc.Expect{Qualifier: r.first.qualifier, Value: r.first.put})
	record(ctx, s, cells, m)
}

func record(ctx context.Context, s *Store, cells []*cellWrite, m hrpc.Mutation) bool {
	done, err := s.mutate(ctx, m)
	for _, c := range cells {
		c.attempt = attempt{sent: true, done: done, err: err}
	}
	return done && err == nil
}
