package sql

import (
	"context"
	"fmt"
	"slices"

	"github.com/offsetctl/offsetctl/internal/sqldb"
	"github.com/offsetctl/offsetctl/offset"
)

// DeletesGroups needs a table that tells groups apart, and one where an undo can make the rows again.
func (s *Store) DeletesGroups() error {
	switch {
	case s.writable() != nil:
		return s.writable()
	case !s.group.set():
		return fmt.Errorf("deleting a group %w: table %s has no column for groups (group=), so that all its rows are one group, whatever it is called",
			offset.ErrUnsupported, s.table)
	case s.unmade() != nil:
		return offset.As(offset.ErrUnsupported, s.unmade())
	}
	return nil
}

// DeleteGroup deletes the rows that were read of the group, if they still are all that it has, in one transaction. A row that is
// made at the same time stays.
func (s *Store) DeleteGroup(ctx context.Context, group string, had []offset.Change) ([]offset.Result[offset.Stored], error) {
	if err := s.DeletesGroups(); err != nil {
		return nil, err
	}
	if err := s.holdsGroup(s.db.Dialect, group); err != nil {
		return nil, err
	}
	if out := s.impossible(group, had); out != nil {
		return out, nil
	}
	out, err := s.transaction(ctx, group, had, func(ctx context.Context, c *sqldb.Conn) error { return s.nothingElse(ctx, c, group, had) })
	if err != nil {
		return nil, s.db.Explain("deleting group "+group, err)
	}
	return out, nil
}

// nothingElse is an error where the group has a row that is not among had.
func (s *Store) nothingElse(ctx context.Context, c *sqldb.Conn, group string, had []offset.Change) error {
	q := s.db.Build("SELECT ").Idents(s.columns()...).Add(" FROM ").Table(s.table).
		Add(" WHERE ").Ident(s.group.Name).Add(" = ").Arg(s.group.arg(group))
	next := s.scanner()
	return c.Query(ctx, q, func(scan func(...any) error) error {
		r, err := next(scan)
		switch {
		case err != nil:
			return err
		case r.group != group: // of a name that the database takes for the same
			return nil
		case r.bad != nil:
			return offset.As(offset.ErrUnsupported, fmt.Errorf("nothing was deleted: %w; delete that row first", r.bad))
		}
		_, known := slices.BinarySearchFunc(had, r.p, func(c offset.Change, p offset.Partition) int { return c.Partition.Compare(p) })
		if !known {
			return fmt.Errorf("the group %w: it has a position of %s by now; nothing was deleted", offset.ErrMoved, r.p)
		}
		return nil
	})
}
