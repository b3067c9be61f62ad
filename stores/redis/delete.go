package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/offsetctl/offsetctl/offset"
)

var _ offset.GroupDeleter = (*Store)(nil)

// DeletesGroups says no where the keys name no groups.
func (s *Store) DeletesGroups() error {
	if s.grouped() {
		return nil
	}
	return fmt.Errorf("deleting a group %w: key= has no {group}, so that all positions are one group's, however it is called", offset.ErrUnsupported)
}

// DeleteGroup deletes a group's positions as they were read, and with the last one of a key the key. It refuses where a key of the
// group holds what is no position.
func (s *Store) DeleteGroup(ctx context.Context, group string, had []offset.Change) ([]offset.Result[offset.Stored], error) {
	if err := s.DeletesGroups(); err != nil {
		return nil, err
	}
	found, err := s.all(ctx, group)
	switch {
	case err != nil:
		return nil, err
	case len(found)+len(had) == 0:
		return nil, fmt.Errorf("group %s %w in %s", group, offset.ErrUnknownName, s.name)
	}
	if err := others(group, found, had); err != nil {
		return nil, fmt.Errorf("%w; nothing was deleted", err)
	}
	out := s.write(ctx, group, had, true)
	if slices.ContainsFunc(out, func(r offset.Result[offset.Stored]) bool { return r.Err != nil }) {
		return out, nil
	}
	if found, err = s.all(ctx, group); err == nil {
		err = others(group, found, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("what was read is deleted, and not all of the group: %w", errors.Join(offset.ErrOutcome, err))
	}
	return out, nil
}

// all lists the positions of a group. What is doubtful is an error.
func (s *Store) all(ctx context.Context, group string) ([]offset.Entry, error) {
	a := s.Read(ctx, []offset.Query{{Group: group}})[0]
	if a.Err != nil {
		return nil, a.Err
	}
	if err := errors.Join(a.Gaps...); err != nil {
		return nil, fmt.Errorf("deleting group %s %w: %w; look what it is, and delete it first", group, offset.ErrUnsupported, err)
	}
	return a.Others, nil
}

// others tells of a position that is not among had.
func others(group string, found []offset.Entry, had []offset.Change) error {
	for _, e := range found {
		if !slices.ContainsFunc(had, func(c offset.Change) bool { return c.Partition == e.Partition }) {
			return fmt.Errorf("group %s %w: it has a position of %s by now", group, offset.ErrMoved, e.Partition)
		}
	}
	return nil
}
