package sqldb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/offset"
)

// Table is what the database says of one table.
type Table struct {
	Name    string
	View    bool
	Engine  string // MySQL's storage engine; "" elsewhere
	Columns []Column
	Unique  [][]string // the columns of each key under which no two rows are the same
}

// Column is one column of a table.
type Column struct {
	Name      string
	Type      string // the bare type's name in lower case: bigint, varchar, int8, text
	Scale     int    // digits after the point of a decimal
	Collation string // "" where bytes or numbers are compared
	Folding   bool   // the collation takes different bytes for the same
	NotNull   bool
	Default   bool // a row can be made without naming it
}

// Column finds a column by name: as it is written, else in any case, where just one fits.
func (t Table) Column(name string) (Column, bool) {
	var found []Column
	for _, c := range t.Columns {
		if c.Name == name {
			return c, true
		}
		if strings.EqualFold(c.Name, name) {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		return Column{}, false
	}
	return found[0], true
}

// Names lists the columns.
func (t Table) Names() []string {
	out := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = c.Name
	}
	return out
}

// UniqueBy tells whether no two rows agree in all these columns.
func (t Table) UniqueBy(columns ...string) bool {
	return slices.ContainsFunc(t.Unique, func(key []string) bool {
		return !slices.ContainsFunc(key, func(c string) bool { return !slices.Contains(columns, c) })
	})
}

// Transactional tells whether a transaction on the table can be taken back.
func (t Table) Transactional() bool {
	return t.Engine == "" || slices.Contains([]string{"innodb", "rocksdb", "ndbcluster", "tokudb", "xpand"}, strings.ToLower(t.Engine))
}

// Table looks a table up. One that is not there is an offset.ErrUnknownName.
func (d *DB) Table(ctx context.Context, name string) (Table, error) {
	t := Table{Name: name}
	var err error
	switch d.Dialect {
	case MySQL:
		err = d.mysqlTable(ctx, &t)
	case Postgres:
		err = d.postgresTable(ctx, &t)
	case SQLite:
		err = d.sqliteTable(ctx, &t)
	}
	if err != nil {
		return Table{}, d.Explain("looking at table "+name, err)
	}
	if len(t.Columns) == 0 {
		return Table{}, fmt.Errorf("%s: table %s %w, or this user may not see it", d.name, name, offset.ErrUnknownName)
	}
	return t, nil
}

// keys collects rows of (key, column), in order.
func (t *Table) keys(scan func(...any) error, last *string) error {
	var key, column string
	if err := scan(&key, &column); err != nil {
		return err
	}
	if key != *last || len(t.Unique) == 0 {
		t.Unique = append(t.Unique, nil)
		*last = key
	}
	t.Unique[len(t.Unique)-1] = append(t.Unique[len(t.Unique)-1], column)
	return nil
}

func (d *DB) mysqlTable(ctx context.Context, t *Table) error {
	of := func(q *Query) *Query {
		schema, table, ok := strings.Cut(t.Name, ".")
		if !ok {
			return q.Add(" table_schema = DATABASE() AND table_name = ").Arg(t.Name)
		}
		return q.Add(" table_schema = ").Arg(schema).Add(" AND table_name = ").Arg(table)
	}
	q := of(d.Build(`SELECT column_name, data_type, COALESCE(numeric_scale, 0), COALESCE(collation_name, ''), is_nullable = 'NO',
		is_nullable = 'YES' OR column_default IS NOT NULL OR extra LIKE '%auto_increment%' OR extra LIKE '%GENERATED%'
		FROM information_schema.columns WHERE`)).Add(" ORDER BY ordinal_position")
	err := d.Query(ctx, q, func(scan func(...any) error) error {
		var c Column
		if err := scan(&c.Name, &c.Type, &c.Scale, &c.Collation, &c.NotNull, &c.Default); err != nil {
			return err
		}
		c.Type = strings.ToLower(c.Type)
		c.Folding = c.Collation != "" && !strings.HasSuffix(c.Collation, "_bin")
		t.Columns = append(t.Columns, c)
		return nil
	})
	if err != nil || len(t.Columns) == 0 {
		return err
	}
	var last string
	q = of(d.Build("SELECT index_name, COALESCE(column_name, '') FROM information_schema.statistics WHERE non_unique = 0 AND")).Add(" ORDER BY index_name, seq_in_index")
	if err := d.Query(ctx, q, func(scan func(...any) error) error { return t.keys(scan, &last) }); err != nil {
		return err
	}
	q = of(d.Build("SELECT COALESCE(engine, ''), table_type = 'VIEW' FROM information_schema.tables WHERE"))
	return d.Query(ctx, q, func(scan func(...any) error) error { return scan(&t.Engine, &t.View) })
}

func (d *DB) postgresTable(ctx context.Context, t *Table) error {
	// to_regclass follows the search path and reads the name as it is quoted.
	q := d.Build(`SELECT a.attname, ty.typname, CASE WHEN ty.typname = 'numeric' AND a.atttypmod > 0 THEN (a.atttypmod - 4) & 65535 ELSE 0 END,
		COALESCE(co.collname, ''), COALESCE(NOT co.collisdeterministic, false) OR ty.typname = 'citext', a.attnotnull,
		NOT a.attnotnull OR a.atthasdef OR a.attidentity <> '', c.relkind IN ('v', 'm')
		FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type ty ON ty.oid = a.atttypid LEFT JOIN pg_collation co ON co.oid = a.attcollation
		WHERE c.oid = to_regclass(`).Arg(d.QuoteTable(t.Name)).Add(") AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum")
	err := d.Query(ctx, q, func(scan func(...any) error) error {
		var c Column
		if err := scan(&c.Name, &c.Type, &c.Scale, &c.Collation, &c.Folding, &c.NotNull, &c.Default, &t.View); err != nil {
			return err
		}
		t.Columns = append(t.Columns, c)
		return nil
	})
	if err != nil || len(t.Columns) == 0 {
		return err
	}
	var last string
	q = d.Build(`SELECT i.indexrelid::text, a.attname FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY k(n, at)
		JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.n
		WHERE i.indrelid = to_regclass(`).Arg(d.QuoteTable(t.Name)).Add(`) AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
		AND k.at <= i.indnkeyatts ORDER BY i.indexrelid, k.at`)
	return d.Query(ctx, q, func(scan func(...any) error) error { return t.keys(scan, &last) })
}

func (d *DB) sqliteTable(ctx context.Context, t *Table) error {
	var primary []string
	q := d.Build(`SELECT name, lower(type), "notnull", "notnull" = 0 OR dflt_value IS NOT NULL OR pk > 0, pk FROM pragma_table_info(`).Arg(t.Name).Add(")")
	err := d.Query(ctx, q, func(scan func(...any) error) error {
		var c Column
		var pk int
		if err := scan(&c.Name, &c.Type, &c.NotNull, &c.Default, &pk); err != nil {
			return err
		}
		if pk > 0 {
			primary = append(primary, c.Name)
		}
		c.Type, _, _ = strings.Cut(c.Type, "(")
		c.Type = strings.TrimSpace(c.Type)
		t.Columns = append(t.Columns, c)
		return nil
	})
	if err != nil || len(t.Columns) == 0 {
		return err
	}
	if primary != nil {
		t.Unique = append(t.Unique, primary)
	}
	if err := d.sqliteKeys(ctx, t); err != nil {
		return err
	}
	q = d.Build("SELECT count(*) > 0 FROM sqlite_schema WHERE type = 'view' AND name = ").Arg(t.Name)
	return d.Query(ctx, q, func(scan func(...any) error) error { return scan(&t.View) })
}

// sqliteKeys also finds what columns fold: only a key says by which collation its columns are compared.
func (d *DB) sqliteKeys(ctx context.Context, t *Table) error {
	var last string
	q := d.Build(`SELECT l.name, COALESCE(x.name, ''), upper(x.coll) FROM pragma_index_list(`).Arg(t.Name).
		Add(`) l CROSS JOIN pragma_index_xinfo(l.name) x WHERE l."unique" = 1 AND l.partial = 0 AND x.key = 1 ORDER BY l.name, x.seqno`)
	return d.Query(ctx, q, func(scan func(...any) error) error {
		var key, column, collation string
		if err := scan(&key, &column, &collation); err != nil {
			return err
		}
		for i := range t.Columns {
			if t.Columns[i].Name == column && collation != "BINARY" {
				t.Columns[i].Collation, t.Columns[i].Folding = collation, true
			}
		}
		return t.keys(func(to ...any) error {
			*to[0].(*string), *to[1].(*string) = key, column
			return nil
		}, &last)
	})
}
