package hbase

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/offsetctl/offsetctl/offset"
)

var _ offset.GroupDeleter = (*Store)(nil)

// DeletesGroups is nil: each group has rows of its own.
func (s *Store) DeletesGroups() error { return nil }

// DeleteGroup deletes the columns that were read of a group, if they still are all that it has; a row without columns is none.
// It refuses where a row of the group holds what is no position. Rows that may be of a group with | in its name stay.
func (s *Store) DeleteGroup(ctx context.Context, group string, had []offset.Change) ([]offset.Result[offset.Stored], error) {
	found, err := s.positions(ctx, group)
	switch {
	case err != nil:
		return nil, err
	case len(found)+len(had) == 0:
		return nil, fmt.Errorf("group %s %w in the HBase table", group, offset.ErrUnknownName)
	}
	if err := unread(found, had); err != nil {
		return nil, fmt.Errorf("group %s %w; nothing was deleted", group, err)
	}
	out := s.Write(ctx, group, had)
	if slices.ContainsFunc(out, func(r offset.Result[offset.Stored]) bool { return r.Err != nil }) {
		return out, nil
	}
	if found, err = s.positions(ctx, group); err == nil {
		err = unread(found, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("what was read of group %s is deleted, and not all of it: %w", group, errors.Join(offset.ErrOutcome, err))
	}
	return out, nil
}

// positions lists a group's partitions. A column that is none, or stands for one beside another, is an error.
func (s *Store) positions(ctx context.Context, group string) (found []offset.Partition, err error) {
	rows, _, err := s.rows(ctx, offset.Query{Group: group})
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if len(r.view.odd) > 0 {
			return nil, fmt.Errorf("deleting group %s %w: the row of topic %s has a column %q, which is no partition; look what it is, and delete it first",
				group, offset.ErrUnsupported, r.topic, r.view.odd[0])
		}
		for _, c := range r.view.columns {
			if _, err := r.view.find(c.partition); err != nil {
				return nil, fmt.Errorf("deleting group %s %w: %w", group, offset.ErrUnsupported, err)
			}
			found = append(found, c.partition)
		}
	}
	return found, nil
}

// unread tells of a position that is not among had.
func unread(found []offset.Partition, had []offset.Change) error {
	for _, p := range found {
		if !slices.ContainsFunc(had, func(c offset.Change) bool { return c.Partition == p }) {
			return fmt.Errorf("%w: it has a position of %s by now", offset.ErrMoved, p)
		}
	}
	return nil
}
