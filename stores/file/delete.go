package file

import (
	"context"
	"fmt"
	"slices"

	"github.com/offsetctl/offsetctl/offset"
)

// DeletesGroups is nil: every entry names its group.
func (s *Store) DeletesGroups() error { return nil }

// DeleteGroup deletes the entries that were read of the group, if they still are all that it has.
func (s *Store) DeleteGroup(ctx context.Context, group string, had []offset.Change) ([]offset.Result[offset.Stored], error) {
	out := make([]offset.Result[offset.Stored], len(had))
	err := s.change(ctx, group, had, out, func(d document) error {
		for _, e := range d.group(group) {
			_, known := slices.BinarySearchFunc(had, e.partition(), func(c offset.Change, p offset.Partition) int { return c.Partition.Compare(p) })
			if !known {
				return fmt.Errorf("file %s: group %q %w: it has a position of %s by now; nothing was deleted", s.path, group, offset.ErrMoved, e.partition())
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
