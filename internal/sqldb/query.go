package sqldb

import (
	"strconv"
	"strings"
)

// Dialect is the SQL that a server speaks.
type Dialect uint8

// Dialects. MySQL stands for MariaDB too.
const (
	MySQL Dialect = iota + 1
	Postgres
	SQLite
)

// Quote writes an identifier, whatever is in it.
func (d Dialect) Quote(name string) string {
	if d == MySQL {
		return "`" + strings.ReplaceAll(name, "`", "``") + "`"
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// QuoteTable writes a table's name, in front of which a schema (MySQL: database) and a dot may stand. An SQLite file has none: there
// a dot is part of the name.
func (d Dialect) QuoteTable(name string) string {
	if schema, table, ok := strings.Cut(name, "."); ok && schema != "" && table != "" && d != SQLite {
		return d.Quote(schema) + "." + d.Quote(table)
	}
	return d.Quote(name)
}

// Locking ends a SELECT whose rows nobody else may change until the transaction ends. SQLite needs none: there a transaction has
// locked the whole database.
func (d Dialect) Locking() string {
	if d == SQLite {
		return ""
	}
	return " FOR UPDATE"
}

// Query is one statement. Values only ever go in by Arg, identifiers only by Ident and Table.
type Query struct {
	d    Dialect
	text strings.Builder
	args []any
}

// Build begins a statement.
func (d Dialect) Build(text string) *Query {
	q := &Query{d: d}
	return q.Add(text)
}

// Add writes SQL.
func (q *Query) Add(text string) *Query {
	q.text.WriteString(text)
	return q
}

// Ident writes one identifier, quoted.
func (q *Query) Ident(name string) *Query { return q.Add(q.d.Quote(name)) }

// Idents writes a list of identifiers, quoted, with commas between them.
func (q *Query) Idents(names ...string) *Query {
	for i, n := range names {
		if i > 0 {
			q.Add(", ")
		}
		q.Ident(n)
	}
	return q
}

// Table writes a table's name, quoted.
func (q *Query) Table(name string) *Query { return q.Add(q.d.QuoteTable(name)) }

// Arg writes a placeholder for a value.
func (q *Query) Arg(v any) *Query {
	q.args = append(q.args, v)
	if q.d == Postgres {
		return q.Add("$" + strconv.Itoa(len(q.args)))
	}
	return q.Add("?")
}

// Args writes placeholders with commas between them.
func (q *Query) Args(vs ...any) *Query {
	for i, v := range vs {
		if i > 0 {
			q.Add(", ")
		}
		q.Arg(v)
	}
	return q
}

func (q *Query) String() string { return q.text.String() }

// verb is the statement's first word, for traces.
func (q *Query) verb() string {
	word, _, _ := strings.Cut(q.text.String(), " ")
	return word
}
