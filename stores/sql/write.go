package sql

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/offsetctl/offsetctl/internal/sqldb"
	"github.com/offsetctl/offsetctl/offset"
)

// errRefused ends a transaction because one of the changes cannot be made: its result says why.
var errRefused = errors.New("refused")

// Write makes all changes in one transaction, or none.
func (s *Store) Write(ctx context.Context, group string, changes []offset.Change) []offset.Result[offset.Stored] {
	if len(changes) == 0 {
		return nil
	}
	if out := s.impossible(group, changes); out != nil {
		return out
	}
	out, err := s.transaction(ctx, group, changes, func(context.Context, *sqldb.Conn) error { return nil })
	if err == nil {
		return out
	}
	err = s.db.Explain("writing group "+group, err)
	out = make([]offset.Result[offset.Stored], len(changes))
	for i := range out {
		out[i].Err = err
	}
	return out
}

// transaction makes the changes, after what first does, or answers why not: each of them, or an error about all.
func (s *Store) transaction(ctx context.Context, group string, changes []offset.Change, first func(context.Context, *sqldb.Conn) error) (out []offset.Result[offset.Stored], err error) {
	err = s.db.Tx(ctx, func(ctx context.Context, c *sqldb.Conn) (err error) {
		if err := first(ctx, c); err != nil {
			return err
		}
		out, err = s.WriteIn(ctx, c, group, changes)
		return err
	}, func(ctx context.Context, c *sqldb.Conn) (bool, error) {
		now, done, err := s.decide(ctx, c, group, changes, out)
		if errors.Is(err, offset.ErrMoved) {
			out = now
		}
		return done, err
	})
	if errors.Is(err, errRefused) || errors.Is(err, offset.ErrMoved) && len(out) == len(changes) && failed(out) {
		return out, nil
	}
	return out, err
}

func failed(rs []offset.Result[offset.Stored]) bool {
	return slices.ContainsFunc(rs, func(r offset.Result[offset.Stored]) bool { return r.Err != nil })
}

// impossible answers for changes of which one can never be made; nothing is sent then.
func (s *Store) impossible(group string, changes []offset.Change) []offset.Result[offset.Stored] {
	out := make([]offset.Result[offset.Stored], len(changes))
	whole := s.writable()
	if whole == nil {
		whole = s.holdsGroup(s.db.Dialect, group)
	}
	for i, c := range changes {
		if out[i].Err = whole; whole == nil {
			out[i].Err = s.possible(c)
		}
	}
	if !failed(out) {
		return nil
	}
	return untouched(out)
}

// possible says why a change can never be made, or nil.
func (s *Store) possible(c offset.Change) error {
	if err := s.holdsPartition(s.db.Dialect, c.Partition); err != nil {
		return err
	}
	created := c.From.Version == absent && c.To.State != offset.Absent
	removed := c.From.Version != absent && c.To.State == offset.Absent
	if created || removed {
		if err := s.unmade(); err != nil {
			return offset.As(offset.ErrUnsupported, err)
		}
	}
	if c.To.State == offset.Absent {
		return nil
	}
	if _, err := s.cell(c.From, c.To); err != nil {
		return fmt.Errorf("%s: %w", c.Partition, err)
	}
	return nil
}

// untouched says of each change without an error that another stopped it.
func untouched(out []offset.Result[offset.Stored]) []offset.Result[offset.Stored] {
	for i := range out {
		if out[i].Err == nil {
			out[i].Err = offset.ErrUntouched
		}
	}
	return out
}

// WriteIn makes the changes inside a transaction of sqldb.DB.Tx on this store's Database. Where a change cannot be made, the
// results say why, the error is not nil, and the transaction must end with it; so must it with any other error.
func (s *Store) WriteIn(ctx context.Context, c *sqldb.Conn, group string, changes []offset.Change) ([]offset.Result[offset.Stored], error) {
	if out := s.impossible(group, changes); out != nil {
		return out, errRefused
	}
	now, err := s.lock(ctx, c, group, changes)
	if err != nil {
		return nil, err
	}
	out := make([]offset.Result[offset.Stored], len(changes))
	for i, x := range changes {
		if out[i] = now[i]; now[i].Err == nil && now[i].Value.Version != x.From.Version {
			out[i].Err = offset.ErrMoved
		}
	}
	if failed(out) {
		return untouched(out), errRefused
	}
	var todo edit
	for i, x := range changes {
		if out[i].Value, err = s.plan(&todo, x); err != nil {
			return nil, err
		}
	}
	return out, s.apply(ctx, c, group, todo)
}

// Decide answers, after a COMMIT of unknown outcome, whether what WriteIn answered is in force; it belongs into the second
// function of sqldb.DB.Tx. Its error is an offset.ErrMoved where others have written there since.
func (s *Store) Decide(ctx context.Context, c *sqldb.Conn, group string, changes []offset.Change, wrote []offset.Result[offset.Stored]) (bool, error) {
	_, done, err := s.decide(ctx, c, group, changes, wrote)
	return done, err
}

func (s *Store) decide(ctx context.Context, c *sqldb.Conn, group string, changes []offset.Change, wrote []offset.Result[offset.Stored]) ([]offset.Result[offset.Stored], bool, error) {
	now, err := s.lock(ctx, c, group, changes)
	if err != nil {
		return nil, false, err
	}
	ours, before := 0, 0
	for i, x := range changes {
		switch v := now[i].Value.Version; {
		case now[i].Err != nil:
		case v == wrote[i].Value.Version:
			ours++
		case v == x.From.Version:
			before++
		}
	}
	switch {
	case ours == len(changes), s.own && ours > 0: // nobody else chooses our versions: what differs was written later
		return nil, true, nil
	case ours+before == len(changes):
		return nil, false, nil
	}
	for i, x := range changes {
		if now[i].Err == nil && now[i].Value.Version != x.From.Version {
			now[i].Err = offset.ErrMoved
		}
	}
	return untouched(now), false, fmt.Errorf("the connection was lost, and others have written since: %w", offset.ErrMoved)
}

// lock reads the rows of the changes and keeps everybody else from changing them until the transaction ends.
func (s *Store) lock(ctx context.Context, c *sqldb.Conn, group string, changes []offset.Change) ([]offset.Result[offset.Stored], error) {
	var rows []row
	for chunk := range slices.Chunk(changes, maxRows) {
		q := s.db.Build("SELECT ").Idents(s.columns()...).Add(" FROM ").Table(s.table)
		s.where(q, group, partitions(chunk))
		q.Add(s.db.Locking())
		next := s.scanner()
		err := c.Query(ctx, q, func(scan func(...any) error) error {
			r, err := next(scan)
			rows = append(rows, r)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	out := make([]offset.Result[offset.Stored], len(changes))
	for i := range out {
		out[i].Value = offset.Stored{State: offset.Absent, Version: absent}
	}
	for _, r := range fold(rows) {
		s.place(r, group, changes, out)
	}
	return out, nil
}

// place gives a row to the change that it belongs to. A row that the database takes for another name's stops them all: a
// statement that means one would change both.
func (s *Store) place(r row, group string, changes []offset.Change, out []offset.Result[offset.Stored]) {
	i, found := slices.BinarySearchFunc(changes, r.p, func(c offset.Change, p offset.Partition) int { return c.Partition.Compare(p) })
	switch {
	case r.bad != nil:
	case found && (r.group == group || !s.group.set()):
		out[i].Value = r.s
		if r.twice {
			out[i].Err = offset.As(offset.ErrUnsupported, errors.New(s.several(r.p, r.s.Raw)))
		}
	default:
		for i, c := range changes {
			if c.Partition.Index == r.p.Index {
				out[i].Err = offset.As(offset.ErrUnsupported, fmt.Errorf("the database takes the rows of %s and %s for the same; give the columns %s a binary collation",
					s.named(r.group, r.p), s.named(group, c.Partition), s.quoted(s.keyColumns())))
			}
		}
	}
}

// named is a row as a person would name it.
func (s *Store) named(group string, p offset.Partition) string {
	if !s.group.set() {
		return p.String()
	}
	return fmt.Sprintf("%s of group %q", p, group)
}

func partitions(changes []offset.Change) []offset.Partition {
	out := make([]offset.Partition, len(changes))
	for i, c := range changes {
		out[i] = c.Partition
	}
	return out
}
