package sql

import (
	"context"
	"errors"
	"slices"

	"github.com/offsetctl/offsetctl/offset"
)

// What goes into one statement: servers limit parameters and the memory for conditions.
const (
	maxGroups = 500
	maxTopics = 1000
	maxRows   = 500
)

// Read asks for all groups in one statement (for every 500 groups).
func (s *Store) Read(ctx context.Context, qs []offset.Query) []offset.Answer {
	out := make([]offset.Answer, len(qs))
	ask := make([]int, 0, len(qs)) // the queries that can be asked
	for i, q := range qs {
		out[i].Expected = make([]offset.Result[offset.Stored], len(q.Expect))
		if out[i].Err = s.holdsGroup(s.db.Dialect, q.Group); out[i].Err == nil {
			ask = append(ask, i)
		}
	}
	for chunk := range slices.Chunk(ask, maxGroups) {
		s.readSome(ctx, qs, chunk, out)
	}
	return out
}

func (s *Store) readSome(ctx context.Context, qs []offset.Query, ask []int, out []offset.Answer) {
	rows, err := s.fetch(ctx, qs, ask)
	if err != nil {
		err = s.db.Explain("reading table "+s.table, err)
	}
	for _, i := range ask {
		if out[i].Err = err; err == nil {
			s.answer(qs[i], rows, &out[i])
		}
	}
}

// fetch reads the rows of the groups, of no more topics than are needed.
func (s *Store) fetch(ctx context.Context, qs []offset.Query, ask []int) (rows []row, err error) {
	q := s.db.Build("SELECT ").Idents(s.columns()...).Add(" FROM ").Table(s.table)
	glue := " WHERE "
	if s.group.set() {
		groups := make([]any, len(ask))
		for k, i := range ask {
			groups[k] = s.group.arg(qs[i].Group)
		}
		q.Add(glue).Ident(s.group.Name).Add(" IN (").Args(groups...).Add(")")
		glue = " AND "
	}
	topics, all := s.topics(qs, ask)
	switch {
	case all:
	case len(topics) == 0:
		return nil, nil
	default:
		q.Add(glue).Ident(s.topic.Name).Add(" IN (").Args(topics...).Add(")")
	}
	next := s.scanner()
	err = s.db.Query(ctx, q, func(scan func(...any) error) error {
		r, err := next(scan)
		rows = append(rows, r)
		return err
	})
	return fold(rows), err
}

// topics are those that are asked about; all: every topic is.
func (s *Store) topics(qs []offset.Query, ask []int) (topics []any, all bool) {
	var names []string
	for _, i := range ask {
		if qs[i].Topics == nil {
			return nil, true
		}
		names = append(names, qs[i].Topics...)
		for _, p := range qs[i].Expect {
			names = append(names, p.Topic)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > maxTopics {
		return nil, true
	}
	for _, n := range names {
		if s.holds(s.db.Dialect, s.topic, n) == nil {
			topics = append(topics, s.topic.arg(n))
		}
	}
	return topics, false
}

// answer picks a query's rows: names are compared here, byte by byte, whatever the database takes for equal.
func (s *Store) answer(q offset.Query, rows []row, out *offset.Answer) {
	if s.group.set() {
		from, _ := slices.BinarySearchFunc(rows, q.Group, func(r row, g string) int { return compareNames(r.group, g) })
		to := from
		for to < len(rows) && rows[to].group == q.Group {
			to++
		}
		rows = rows[from:to]
	}
	for k, p := range q.Expect {
		out.Expected[k].Value = offset.Stored{State: offset.Absent, Version: absent}
		out.Expected[k].Err = s.holdsPartition(s.db.Dialect, p)
	}
	k := 0
	for _, r := range rows {
		if r.bad != nil {
			out.Gaps = append(out.Gaps, r.bad)
			continue
		}
		for k < len(q.Expect) && q.Expect[k].Compare(r.p) < 0 {
			k++
		}
		switch {
		case k < len(q.Expect) && q.Expect[k] == r.p:
			out.Expected[k].Value = r.s
		case q.Topics == nil || slices.Contains(q.Topics, r.p.Topic):
			out.Others = append(out.Others, offset.Entry{Partition: r.p, Result: offset.Result[offset.Stored]{Value: r.s}})
		}
	}
	if len(out.Gaps) > 3 {
		out.Gaps = append(out.Gaps[:3], errors.New("and more rows like these"))
	}
}

func compareNames(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
