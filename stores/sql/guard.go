package sql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/offset"
)

// unmade says why rows of the table are neither made nor deleted, or nil: a second one would not be kept out, or an undo could not
// make them again.
func (s *Store) unmade() error {
	switch {
	case !s.keyed:
		return fmt.Errorf("rows of table %s are neither made nor deleted, for no unique key would keep a second one out; ALTER TABLE %s ADD UNIQUE (%s)",
			s.table, s.db.QuoteTable(s.table), s.quoted(s.keyColumns()))
	case s.needs != nil:
		return fmt.Errorf("rows of table %s are neither made nor deleted, for one needs a value in %s, which only its job knows; give it a default",
			s.table, strings.Join(s.needs, ", "))
	}
	return nil
}

// doubled is the version of what more than one row names.
const doubled = "rows#"

// several says that more than one row names a partition.
func (s *Store) several(p offset.Partition, raw []byte) string {
	return fmt.Sprintf("%s: table %s has more than one row for it (%s); delete all but one, and add a unique key on (%s)", p, s.table, raw, s.quoted(s.keyColumns()))
}

// Guard says beforehand of which changes it is known already that Write would refuse them. It asks nobody.
func (s *Store) Guard(_ context.Context, group string, changes []offset.Change) []offset.Objection {
	if err := s.refusesGroup(group); err != nil {
		return []offset.Objection{{Text: err.Error()}}
	}
	var out []offset.Objection
	for _, c := range changes {
		err := s.refuses(c)
		if err == nil {
			continue
		}
		if o := (offset.Objection{Text: err.Error()}); !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	return out
}

// Refuses says of one change what Guard says.
func (s *Store) Refuses(group string, c offset.Change) error {
	if err := s.refusesGroup(group); err != nil {
		return err
	}
	return s.refuses(c)
}

func (s *Store) refusesGroup(group string) error {
	if err := s.writable(); err != nil {
		return err
	}
	return s.holdsGroup(s.db.Dialect, group)
}

func (s *Store) refuses(c offset.Change) error {
	if strings.HasPrefix(string(c.From.Version), doubled) {
		return errors.New(s.several(c.Partition, c.From.Raw))
	}
	return s.possible(c)
}
