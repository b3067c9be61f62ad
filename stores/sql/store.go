package sql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/internal/sqldb"
	"github.com/offsetctl/offsetctl/offset"
)

// Store is one table. It also is an offset.Warner, an offset.Permitter, an offset.GroupDeleter, an offset.Guarded and an offset.Refuser.
type Store struct {
	db  *sqldb.DB
	env offset.Env
	layout
}

var (
	_ offset.Store        = (*Store)(nil)
	_ offset.Warner       = (*Store)(nil)
	_ offset.Permitter    = (*Store)(nil)
	_ offset.GroupDeleter = (*Store)(nil)
	_ offset.Guarded      = (*Store)(nil)
	_ offset.Refuser      = (*Store)(nil)
)

// Open connects and looks at the table.
func Open(ctx context.Context, env offset.Env, a address.Address) (offset.Store, error) {
	return OpenTable(ctx, env, a)
}

// OpenTable is Open for callers that write positions inside transactions of their own.
func OpenTable(ctx context.Context, env offset.Env, a address.Address) (*Store, error) {
	name, own, err := tableName(a)
	if err != nil {
		return nil, err
	}
	db, err := sqldb.Open(ctx, env, a)
	if err != nil {
		return nil, err
	}
	t, err := db.Table(ctx, name)
	if err == nil {
		var l layout
		if l, err = lay(db.Dialect, a, t, own); err == nil {
			return &Store{db, env, l}, nil
		}
		err = db.Explain("opening", err)
	} else if errors.Is(err, offset.ErrUnknownName) && own {
		err = fmt.Errorf("%w; create it with: offsetctl store init --store %s", err, a.Quoted())
	}
	_ = db.Close()
	return nil, err
}

// Close gives the connections back.
func (s *Store) Close() error { return s.db.Close() }

// Database is where the table lies: a sink whose handle is Same can write positions in its own transaction.
func (s *Store) Database() *sqldb.DB { return s.db }

// Caps tells what the table can do.
func (s *Store) Caps() offset.Caps {
	if s.own {
		return offset.Caps{Atomic: true, Together: offset.PerGroup, Fence: true, Delete: true, Metadata: true, CommitTime: true, Queues: true}
	}
	return offset.Caps{Atomic: true, Together: offset.PerGroup, Delete: s.unmade() == nil, Queues: s.broker.set()}
}

// Groups lists the groups of the table. A table without a group column is one group, called after the table.
func (s *Store) Groups(ctx context.Context) (groups []string, gaps []error, err error) {
	if !s.group.set() {
		return []string{s.table}, nil, nil
	}
	q := s.db.Build("SELECT DISTINCT ").Ident(s.group.Name).Add(" FROM ").Table(s.table)
	err = s.db.Query(ctx, q, func(scan func(...any) error) error {
		var v any
		if err := scan(&v); err != nil {
			return err
		}
		name, ok := cellOf(v, s.group).name()
		if !ok {
			gaps = append(gaps, fmt.Errorf("table %s has rows without a group (%s is NULL)", s.table, s.group.Name))
			return nil
		}
		groups = append(groups, name)
		return nil
	})
	if err != nil {
		return nil, nil, s.db.Explain("listing the groups of table "+s.table, err)
	}
	slices.Sort(groups)
	return slices.Compact(groups), gaps, nil // a folding collation answers one spelling of each: Warnings tells of it
}

// Warnings tells of what makes the table unfit for offsets.
func (s *Store) Warnings(context.Context) (out []offset.Warning) {
	add := func(text, next string) { out = append(out, offset.Warning{Text: text, Next: next}) }
	if s.shape.View {
		add(fmt.Sprintf("%s is a view: positions in it can be read and not reset", s.table), "name the table behind it")
		return out
	}
	if !s.shape.Transactional() {
		add(fmt.Sprintf("table %s has engine %s, which has no transactions: positions in it can be read and not reset", s.table, s.shape.Engine),
			"ALTER TABLE "+s.db.QuoteTable(s.table)+" ENGINE=InnoDB")
	}
	if !s.keyed {
		add(fmt.Sprintf("no unique key keeps table %s from having two rows for one partition: rows in it are neither created nor deleted", s.table),
			"ALTER TABLE "+s.db.QuoteTable(s.table)+" ADD UNIQUE ("+s.quoted(s.keyColumns())+")")
	}
	if s.needs != nil {
		add(fmt.Sprintf("a row of table %s needs a value in %s, which only its job knows: rows in it are neither created nor deleted", s.table, strings.Join(s.needs, ", ")),
			"give it a default")
	}
	for _, c := range []column{s.group, s.topic, s.broker} {
		if c.set() && c.Folding {
			add(fmt.Sprintf("column %s of table %s compares by %s, which takes names that differ in case or accents for one: where two such names meet nothing is reset", c.Name, s.table, c.Collation),
				"give the column a binary collation")
		}
	}
	return out
}

func (s *Store) quoted(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = s.db.Quote(n)
	}
	return strings.Join(out, ", ")
}

// writable says why nothing can be written, or nil.
func (s *Store) writable() error {
	switch {
	case s.shape.View:
		return fmt.Errorf("writing to %s %w: it is a view; name the table behind it", s.table, offset.ErrUnsupported)
	case !s.shape.Transactional():
		return fmt.Errorf("writing to table %s %w: its engine %s has no transactions; ALTER TABLE %s ENGINE=InnoDB",
			s.table, offset.ErrUnsupported, s.shape.Engine, s.db.QuoteTable(s.table))
	}
	return nil
}
