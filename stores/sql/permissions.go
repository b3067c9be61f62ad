package sql

import (
	"context"
	"errors"
	"fmt"

	"github.com/offsetctl/offsetctl/internal/sqldb"
	"github.com/offsetctl/offsetctl/offset"
)

// right is a statement that needs one right and touches no row.
type right struct {
	name string
	q    *sqldb.Query
}

// Permissions tries, in a transaction that is rolled back, statements that touch no row.
func (s *Store) Permissions(ctx context.Context, _ string, _ []string, write bool) []offset.Permission {
	never := s.writable()
	var out []offset.Permission
	for _, r := range s.rights(write && never == nil) {
		p := offset.Permission{Right: fmt.Sprintf("table %s: %s", s.table, r.name)}
		err := s.db.Explain("trying "+r.name, s.db.Peek(ctx, r.try))
		p.Granted = err == nil
		if err != nil && !errors.Is(err, offset.ErrDenied) {
			p.Err = err
		}
		out = append(out, p)
	}
	if write && never != nil {
		out = append(out, offset.Permission{Right: fmt.Sprintf("table %s: UPDATE (%v)", s.table, never)})
	}
	return out
}

func (r right) try(ctx context.Context, c *sqldb.Conn) error {
	if r.name == "SELECT" {
		return c.Query(ctx, r.q, func(func(...any) error) error { return nil })
	}
	_, err := c.Exec(ctx, r.q)
	return err
}

// rights are those that inspecting, or with write resetting, needs.
func (s *Store) rights(write bool) []right {
	columns, none := s.columns(), " WHERE 1 = 0"
	on := func(text string) *sqldb.Query { return s.db.Build(text).Table(s.table) }
	out := []right{{"SELECT", s.db.Build("SELECT ").Idents(columns...).Add(" FROM ").Table(s.table).Add(none)}}
	if !write {
		return out
	}
	out = append(out, right{"UPDATE", on("UPDATE ").Add(" SET ").Ident(s.off.Name).Add(" = ").Ident(s.off.Name).Add(none)})
	if s.unmade() != nil {
		return out
	}
	return append(out,
		right{"INSERT", on("INSERT INTO ").Add(" (").Idents(columns...).Add(") SELECT ").Idents(columns...).Add(" FROM ").Table(s.table).Add(none)},
		right{"DELETE", on("DELETE FROM ").Add(none)})
}
