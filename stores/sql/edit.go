package sql

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/offsetctl/offsetctl/internal/sqldb"
	"github.com/offsetctl/offsetctl/offset"
)

// edit is what a transaction does to rows that it has locked, each list in the order of the keys.
type edit struct {
	make, change []put
	remove       []offset.Partition
}

// put is a row that is to be there.
type put struct {
	p       offset.Partition
	cell    cell
	to      offset.Stored
	version int64
}

// plan adds one change and answers what will be there.
func (s *Store) plan(e *edit, x offset.Change) (offset.Stored, error) {
	there := x.From.Version != absent
	if x.To.State == offset.Absent {
		if there {
			e.remove = append(e.remove, x.Partition)
		}
		return offset.Stored{State: offset.Absent, Version: absent}, nil
	}
	c, err := s.cell(x.From, x.To)
	if err != nil {
		return offset.Stored{}, err
	}
	r := put{p: x.Partition, cell: c, to: x.To}
	after := s.stored(c)
	after.Version = offset.Version(c.version())
	if s.own {
		r.version = nextVersion(x.From.Version)
		now := s.env.Now().UTC().Truncate(time.Millisecond)
		r.to.Committed = now
		after.LeaderEpoch, after.TopicID, after.Metadata, after.Owner, after.Committed = x.To.LeaderEpoch, x.To.TopicID, x.To.Metadata, x.To.Owner, now
		after.Version = offset.Version(strconv.FormatInt(r.version, 10)+"/") + after.Version
	}
	if there {
		e.change = append(e.change, r)
	} else {
		e.make = append(e.make, r)
	}
	return after, nil
}

func (s *Store) apply(ctx context.Context, c *sqldb.Conn, group string, e edit) error {
	if err := s.insert(ctx, c, group, e.make, false); err != nil {
		return err
	}
	// Every row of ours is named in full, so that rows that are there can be changed by one statement.
	if s.own {
		if err := s.insert(ctx, c, group, e.change, true); err != nil {
			return err
		}
	} else if err := s.update(ctx, c, group, e.change); err != nil {
		return err
	}
	for chunk := range slices.Chunk(e.remove, maxRows) {
		q := s.db.Build("DELETE FROM ").Table(s.table)
		s.where(q, group, chunk)
		if err := s.exactly(ctx, c, q, len(chunk)); err != nil {
			return err
		}
	}
	return nil
}

// exactly runs a statement that must hit so many rows: more are rows of names that the database takes for the same.
func (s *Store) exactly(ctx context.Context, c *sqldb.Conn, q *sqldb.Query, want int) error {
	n, err := c.Exec(ctx, q)
	if err != nil {
		return err
	}
	if n != int64(want) {
		return fmt.Errorf("%w: a statement for %d rows of table %s hit %d; look for triggers, and for names that differ in case alone", offset.ErrUnsupported, want, s.table, n)
	}
	return nil
}

// maxCases of one UPDATE: the server compares every row with each of them.
const maxCases = 100

// update changes the position alone: other columns are the job's. A statement is about one topic, so that it cannot hit the row of
// a name that the database takes for the same without hitting one row too many; and about values of one form, for a CASE has one type.
func (s *Store) update(ctx context.Context, c *sqldb.Conn, group string, rows []put) error {
	for len(rows) > 0 {
		n := 1
		for n < min(len(rows), maxCases) && rows[n].with(rows[0]) {
			n++
		}
		q := s.db.Build("UPDATE ").Table(s.table).Add(" SET ").Ident(s.off.Name).Add(" = ")
		s.cases(q, rows[:n])
		ps := make([]offset.Partition, n)
		for i, r := range rows[:n] {
			ps[i] = r.p
		}
		s.where(q, group, ps)
		if err := s.exactly(ctx, c, q, n); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// with tells whether two rows may be changed by one statement.
func (r put) with(o put) bool {
	return r.p.Topic == o.p.Topic && r.p.Broker == o.p.Broker && r.cell.form == o.cell.form
}

// cases writes the new value, which differs from row to row.
func (s *Store) cases(q *sqldb.Query, rows []put) {
	if len(rows) == 1 || rows[0].cell.form == null {
		rows[0].cell.add(q, s.db.Dialect, s.off.kind)
		return
	}
	q.Add("CASE ").Ident(s.part.Name)
	for _, r := range rows {
		q.Add(" WHEN ").Arg(s.part.index(r.p.Index)).Add(" THEN ")
		r.cell.add(q, s.db.Dialect, s.off.kind)
	}
	q.Add(" ELSE ").Ident(s.off.Name).Add(" END")
}

// insert makes rows. over: they are there and locked, and get new values; what we do not own they keep.
func (s *Store) insert(ctx context.Context, c *sqldb.Conn, group string, rows []put, over bool) error {
	columns := s.columns()
	for chunk := range slices.Chunk(rows, maxRows) {
		q := s.db.Build("INSERT INTO ").Table(s.table).Add(" (").Idents(columns...).Add(") VALUES ")
		for i, r := range chunk {
			if i > 0 {
				q.Add(", ")
			}
			s.values(q, group, r)
		}
		if over {
			s.overwrite(q, columns[len(s.keyColumns()):])
		}
		if _, err := c.Exec(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// values writes one row, in the order of columns.
func (s *Store) values(q *sqldb.Query, group string, r put) {
	q.Add("(")
	if s.group.set() {
		q.Arg(s.group.arg(group)).Add(", ")
	}
	q.Arg(s.topic.arg(r.p.Topic)).Add(", ")
	if s.broker.set() {
		q.Arg(s.broker.arg(r.p.Broker)).Add(", ")
	}
	q.Arg(s.part.index(r.p.Index)).Add(", ")
	r.cell.add(q, s.db.Dialect, s.off.kind)
	if s.own {
		to := r.to
		q.Add(", ").Args(int64(to.LeaderEpoch.Wire()), to.TopicID, []byte(to.Metadata), to.Owner, r.version, to.Committed.UnixMilli())
	}
	q.Add(")")
}

func (s *Store) overwrite(q *sqldb.Query, columns []string) {
	mysql := s.db.Dialect == sqldb.MySQL
	if mysql {
		q.Add(" ON DUPLICATE KEY UPDATE ")
	} else {
		q.Add(" ON CONFLICT (").Idents(s.keyColumns()...).Add(") DO UPDATE SET ")
	}
	for i, name := range columns {
		if i > 0 {
			q.Add(", ")
		}
		if q.Ident(name); mysql {
			q.Add(" = VALUES(").Ident(name).Add(")")
		} else {
			q.Add(" = excluded.").Ident(name)
		}
	}
}
