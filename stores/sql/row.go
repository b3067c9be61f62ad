package sql

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/internal/sqldb"
	"github.com/offsetctl/offsetctl/offset"
)

// absent is the version of a row that is not there.
const absent offset.Version = "absent"

// row is one row as it was read.
type row struct {
	group string
	p     offset.Partition
	s     offset.Stored
	twice bool  // there is more than one row like it
	bad   error // it names no partition
}

// scanner reads rows of the columns that the layout lists, one after another.
func (l layout) scanner() func(scan func(...any) error) (row, error) {
	vs := make([]any, len(l.columns()))
	to := make([]any, len(vs))
	for i := range vs {
		to[i] = &vs[i]
	}
	return func(scan func(...any) error) (row, error) {
		if err := scan(to...); err != nil {
			return row{}, err
		}
		return l.row(vs), nil
	}
}

// row is what the values of one row say.
func (l layout) row(vs []any) (r row) {
	ok := true
	i := 0
	next := func(c column) cell {
		i++
		return cellOf(vs[i-1], c)
	}
	name := func(c column) string {
		if !c.set() {
			return ""
		}
		n, there := next(c).name()
		ok = ok && (there || c.Name == l.broker.Name) // NULL in place of a broker's name is none
		return n
	}
	r.group, r.p.Topic, r.p.Broker = name(l.group), name(l.topic), name(l.broker)
	part := next(l.part)
	var number bool
	if r.p.Index, number = part.index(); !number || !ok {
		r.bad = fmt.Errorf("table %s has a row that names no partition: topic %q, partition %q", l.table, r.p.Topic, part.text)
	}
	off := next(l.off)
	r.s = l.stored(off)
	r.s.Version = offset.Version(off.version())
	if l.own {
		l.ownRow(&r.s, vs[i:])
	}
	return r
}

// ownRow reads what only our own table has: epoch, topic_id, metadata, owner, version, updated.
func (l layout) ownRow(s *offset.Stored, vs []any) {
	num := func(v any) int64 {
		n, _ := strconv.ParseInt(cellOf(v, column{kind: integer}).text, 10, 64)
		return n
	}
	str := func(v any) string { return cellOf(v, column{kind: text}).text }
	s.LeaderEpoch, s.TopicID, s.Metadata, s.Owner = offset.EpochOf(int32(num(vs[0]))), str(vs[1]), str(vs[2]), str(vs[3])
	s.Version = offset.Version(strconv.FormatInt(num(vs[4]), 10)+"/") + s.Version
	s.Committed = time.UnixMilli(num(vs[5])).UTC()
}

// nextVersion is the version of our own row after the one that has v. It grows, by a step that no two writers choose alike, so
// that a row's version also tells who wrote it; a row made anew begins anywhere.
func nextVersion(v offset.Version) int64 {
	old, _, ok := strings.Cut(string(v), "/")
	n, err := strconv.ParseInt(old, 10, 64)
	if !ok || err != nil || n < 0 || n > 1<<62 {
		return 1 + rand.Int64N(1<<50)
	}
	return n + 1 + rand.Int64N(1<<30)
}

// fold sorts rows and makes one of those that name the same partition: which of them holds nobody can say. Of a group's rows
// those that name no partition come last.
func fold(rows []row) []row {
	slices.SortStableFunc(rows, func(a, b row) int {
		if c := strings.Compare(a.group, b.group); c != 0 {
			return c
		}
		if (a.bad != nil) != (b.bad != nil) {
			if a.bad != nil {
				return 1
			}
			return -1
		}
		return a.p.Compare(b.p)
	})
	out := rows[:0]
	for i := 0; i < len(rows); {
		j := i + 1
		for j < len(rows) && rows[j].group == rows[i].group && rows[j].p == rows[i].p && rows[j].bad == nil {
			j++
		}
		r := rows[i]
		if j > i+1 && r.bad == nil {
			r = joined(rows[i:j])
		}
		out = append(out, r)
		i = j
	}
	return out
}

func joined(rows []row) row {
	var all, versions []string
	for _, r := range rows {
		raw := string(r.s.Raw)
		if r.s.State == offset.Set && r.s.Raw == nil {
			raw = strconv.FormatInt(r.s.Next, 10)
		}
		all = append(all, raw)
		versions = append(versions, string(r.s.Version))
	}
	slices.Sort(all)
	slices.Sort(versions)
	sum := sha256.Sum256([]byte(strings.Join(versions, "\x00")))
	r := rows[0]
	r.twice = true
	r.s = offset.Stored{State: offset.Invalid, Version: offset.Version(doubled + hex.EncodeToString(sum[:])),
		Raw: fmt.Appendf(nil, "%d rows: %s", len(rows), strings.Join(all, ", "))}
	return r
}

// where writes the condition for partitions of a group, sorted.
func (l layout) where(q *sqldb.Query, group string, ps []offset.Partition) {
	q.Add(" WHERE ")
	if l.group.set() {
		q.Ident(l.group.Name).Add(" = ").Arg(l.group.arg(group)).Add(" AND ")
	}
	q.Add("(")
	for i := 0; i < len(ps); {
		j := i + 1
		for j < len(ps) && ps[j].Topic == ps[i].Topic && ps[j].Broker == ps[i].Broker {
			j++
		}
		if i > 0 {
			q.Add(" OR ")
		}
		q.Ident(l.topic.Name).Add(" = ").Arg(l.topic.arg(ps[i].Topic))
		l.whereBroker(q, ps[i].Broker)
		q.Add(" AND ").Ident(l.part.Name).Add(" IN (")
		for k, p := range ps[i:j] {
			if k > 0 {
				q.Add(", ")
			}
			q.Arg(l.part.index(p.Index))
		}
		q.Add(")")
		i = j
	}
	q.Add(")")
}

func (l layout) whereBroker(q *sqldb.Query, broker string) {
	switch {
	case !l.broker.set():
	case broker == "" && !l.broker.NotNull:
		q.Add(" AND (").Ident(l.broker.Name).Add(" = ").Arg(l.broker.arg("")).Add(" OR ").Ident(l.broker.Name).Add(" IS NULL)")
	default:
		q.Add(" AND ").Ident(l.broker.Name).Add(" = ").Arg(l.broker.arg(broker))
	}
}
