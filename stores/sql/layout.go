package sql

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/internal/sqldb"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/value"
)

// layout is how positions lie in a table.
type layout struct {
	table  string
	own    bool
	group  column // not set: the table is one group
	topic  column
	broker column // not set: brokers cannot be kept
	part   column
	off    column
	keyed  bool     // no two rows for one partition
	needs  []string // other columns without which no row can be made
	number value.Dialect
	shape  sqldb.Table
}

// kind of a column is how values go into it.
type kind uint8

const (
	none    kind = iota
	integer      // any whole number
	decimal      // a whole number without a binary form
	text         // characters
	binary       // bytes
)

type column struct {
	sqldb.Column
	kind kind
}

func (c column) set() bool { return c.kind != none }

// ownColumns are those of our own table, in order.
var ownColumns = []string{"grp", "topic", "broker", "part", "off", "epoch", "topic_id", "metadata", "owner", "version", "updated"}

// tableName is the table that an address means, and whether it is one of our own.
func tableName(a address.Address) (name string, own bool, err error) {
	name, own = a.Get("table"), !a.Has("topic") && !a.Has("partition") && !a.Has("offset")
	switch {
	case own && (a.Has("group") || a.Has("broker") || a.Has("value")):
		err = misfit("group=, broker= and value= describe a job's own table: name its columns by topic=, partition=, offset= too")
	case !own && (name == "" || a.Get("topic") == "" || a.Get("partition") == "" || a.Get("offset") == ""):
		err = misfit("a job's own table needs table=, topic=, partition= and offset=")
	case !slices.Contains([]string{"", "next", "last"}, a.Get("value")):
		err = misfit("value=%s: it is next or last", a.Get("value"))
	case name == "":
		name = OwnTable
	}
	return name, own, err
}

// misfit is an address or a table that cannot work as it is.
func misfit(format string, args ...any) error {
	return offset.As(offset.ErrConfig, fmt.Errorf(format, args...))
}

// lay finds the layout of a table that is there, or says why it cannot be used.
func lay(d sqldb.Dialect, a address.Address, t sqldb.Table, own bool) (layout, error) {
	l := layout{table: t.Name, own: own, shape: t, number: value.Dialect{Accept: value.Text, New: value.Text, Last: a.Get("value") == "last"}}
	names := map[string]string{"group": a.Get("group"), "topic": a.Get("topic"), "broker": a.Get("broker"), "partition": a.Get("partition"), "offset": a.Get("offset")}
	if own {
		names = map[string]string{"group": "grp", "topic": "topic", "broker": "broker", "partition": "part", "offset": "off"}
		if err := l.checkOwn(); err != nil {
			return layout{}, err
		}
	}
	for _, x := range []struct {
		option string
		to     *column
		check  func(sqldb.Dialect, sqldb.Column) (kind, error)
	}{
		{"group", &l.group, nameKind}, {"topic", &l.topic, nameKind}, {"broker", &l.broker, nameKind},
		{"partition", &l.part, numberKind}, {"offset", &l.off, numberKind},
	} {
		name := names[x.option]
		if name == "" {
			continue
		}
		c, ok := t.Column(name)
		if !ok {
			return layout{}, misfit("table %s has no column %q for %s=; it has %s", t.Name, name, x.option, strings.Join(t.Names(), ", "))
		}
		k, err := x.check(d, c)
		if err != nil {
			return layout{}, misfit("table %s, column %s: %w", t.Name, c.Name, err)
		}
		*x.to = column{c, k}
	}
	l.keyed = t.UniqueBy(l.keyColumns()...)
	for _, c := range t.Columns {
		if !c.Default && !slices.ContainsFunc(l.columns(), func(known string) bool { return strings.EqualFold(known, c.Name) }) {
			l.needs = append(l.needs, c.Name)
		}
	}
	if own && !l.keyed {
		return layout{}, misfit("table %s has lost its primary key (%s): make it again", t.Name, strings.Join(l.keyColumns(), ", "))
	}
	return l, nil
}

func (l layout) checkOwn() error {
	var missing []string
	for _, name := range ownColumns {
		if _, ok := l.shape.Column(name); !ok {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		return misfit("table %s is none that \"offsetctl store init\" made, it has no column %s; if it is a job's own, name its columns by topic=, partition=, offset=",
			l.table, strings.Join(missing, ", "))
	}
	return nil
}

func (l layout) keyColumns() (out []string) {
	for _, c := range []column{l.group, l.topic, l.broker, l.part} {
		if c.set() {
			out = append(out, c.Name)
		}
	}
	return out
}

// columns are those that are read, in the order of layout.row.
func (l layout) columns() []string {
	if l.own {
		return ownColumns
	}
	return append(l.keyColumns(), l.off.Name)
}

// nameKind judges a column that holds names.
func nameKind(d sqldb.Dialect, c sqldb.Column) (kind, error) {
	switch k := columnKind(d, c.Type); {
	case k == text, k == binary:
		return k, nil
	case c.Type == "bpchar", c.Type == "binary":
		return none, fmt.Errorf("its type pads names with blanks or zeros; make it varchar")
	}
	return none, fmt.Errorf("a name cannot lie in a column of type %s", c.Type)
}

// numberKind judges a column that holds numbers.
func numberKind(d sqldb.Dialect, c sqldb.Column) (kind, error) {
	switch k := columnKind(d, c.Type); {
	case c.Scale > 0:
		return none, fmt.Errorf("it has %d digits after the point; make it bigint", c.Scale)
	case k != none:
		return k, nil
	}
	return none, fmt.Errorf("its type %s does not keep every 64-bit number as it is; make it bigint", c.Type)
}

var kinds = map[sqldb.Dialect]map[string]kind{
	sqldb.MySQL: {
		"tinyint": integer, "smallint": integer, "mediumint": integer, "int": integer, "bigint": integer, "decimal": decimal,
		"char": text, "varchar": text, "tinytext": text, "text": text, "mediumtext": text, "longtext": text,
		"varbinary": binary, "tinyblob": binary, "blob": binary, "mediumblob": binary, "longblob": binary,
	},
	sqldb.Postgres: {"int2": integer, "int4": integer, "int8": integer, "numeric": decimal, "text": text, "varchar": text, "citext": text, "bytea": binary},
}

func columnKind(d sqldb.Dialect, name string) kind {
	if d != sqldb.SQLite {
		return kinds[d][name]
	}
	// SQLite's own rule of affinity, in its order.
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
	}
	switch {
	case has("int"):
		return integer
	case has("char", "clob", "text"):
		return text
	case has("blob"):
		return binary
	case has("real", "floa", "double"):
		return none
	}
	return integer
}

// holds tells whether a column can hold a name, byte for byte.
func (l layout) holds(d sqldb.Dialect, c column, name string) error {
	if c.kind != text || d == sqldb.SQLite {
		return nil
	}
	if !utf8.ValidString(name) {
		return fmt.Errorf("%q %w: column %s holds text, and this is no UTF-8", name, offset.ErrUnsupported, c.Name)
	}
	if d == sqldb.Postgres && strings.Contains(name, "\x00") {
		return fmt.Errorf("%q %w: a text column of PostgreSQL holds no zero byte", name, offset.ErrUnsupported)
	}
	return nil
}

// holdsGroup and holdsPartition tell whether a row could be named like this.
func (l layout) holdsGroup(d sqldb.Dialect, group string) error {
	if !l.group.set() {
		return nil
	}
	return l.holds(d, l.group, group)
}

func (l layout) holdsPartition(d sqldb.Dialect, p offset.Partition) error {
	if p.Broker != "" && !l.broker.set() {
		return fmt.Errorf("%s %w: table %s keeps no brokers; name their column by broker=", p, offset.ErrUnsupported, l.table)
	}
	if p.Broker != "" {
		if err := l.holds(d, l.broker, p.Broker); err != nil {
			return err
		}
	}
	return l.holds(d, l.topic, p.Topic)
}

// arg is a name as a value for its column.
func (c column) arg(name string) any {
	if c.kind == binary {
		return []byte(name)
	}
	return name
}

// index is a partition's number as a value for its column.
func (c column) index(n int32) any {
	switch c.kind {
	case text:
		return fmt.Sprint(n)
	case binary:
		return fmt.Append(nil, n)
	}
	return int64(n)
}
