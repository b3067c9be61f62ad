package sql

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/internal/sqldb"
	"github.com/offsetctl/offsetctl/offset"
)

// cell is one value as it lies in a column: what it is, and its text.
type cell struct {
	form form
	text string
}

// form tells values apart whose text is the same.
type form byte

const (
	null    form = '0'
	number  form = 'n'
	chars   form = 't'
	blob    form = 'b'
	floated form = 'f' // SQLite keeps one wherever somebody writes it
)

// nullRaw is what NULL is shown as; the version tells it from the text.
const nullRaw = "NULL"

// cellOf reads what the driver gives for a column.
func cellOf(v any, c column) cell {
	switch v := v.(type) {
	case nil:
		return cell{form: null}
	case int64:
		return cell{number, strconv.FormatInt(v, 10)}
	case uint64:
		return cell{number, strconv.FormatUint(v, 10)}
	case float64:
		return cell{floated, strconv.FormatFloat(v, 'g', -1, 64)}
	case []byte:
		return cell{c.textForm(blob), string(v)}
	case string:
		return cell{c.textForm(chars), v}
	case bool:
		return cell{chars, strconv.FormatBool(v)}
	case time.Time: // SQLite: a column declared as a date
		return cell{chars, v.Format(time.RFC3339Nano)}
	}
	return cell{chars, fmt.Sprint(v)}
}

// textForm is the form of a value that came as text or bytes: drivers give decimals and numbers like this too.
func (c column) textForm(as form) form {
	switch {
	case c.kind == decimal:
		return number
	case c.kind == text && as == blob:
		return chars
	}
	return as
}

// name is a cell that holds a name; ok is false for NULL.
func (c cell) name() (string, bool) { return c.text, c.form != null }

// index is a cell that holds a partition's number.
func (c cell) index() (int32, bool) { return offset.ParseIndex(c.text) }

// version is a cell's own part of a Version: equal for equal cells alone.
func (c cell) version() string {
	if len(c.text) <= 200 && !strings.ContainsFunc(c.text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return string(c.form) + ":" + c.text
	}
	sum := sha256.Sum256([]byte(c.text))
	return string(c.form) + "#" + hex.EncodeToString(sum[:])
}

// stored is what the cell means.
func (l layout) stored(c cell) offset.Stored {
	switch c.form {
	case null:
		return offset.Stored{State: offset.Invalid, Raw: []byte(nullRaw)}
	case floated:
		return offset.Stored{State: offset.Invalid, Raw: []byte(c.text)}
	}
	return l.number.Stored([]byte(c.text))
}

// cell is what a change puts into the offset column.
func (l layout) cell(from, to offset.Stored) (cell, error) {
	raw, err := l.number.Bytes(from, to, 0)
	if err != nil {
		return cell{}, err
	}
	c := cell{text: string(raw)}
	switch l.off.kind {
	case text:
		c.form = chars
	case binary:
		c.form = blob
	default:
		c.form = number
	}
	if to.Raw == nil && to.State == offset.Set {
		return c, nil
	}
	// An undo: what was read from here says what it was.
	_, was, _ := strings.Cut(string(to.Version), "/")
	if !l.own {
		was = string(to.Version)
	}
	if len(was) > 1 && (was[1] == ':' || was[1] == '#') {
		c.form = form(was[0])
	}
	if c.form == null {
		c.text = ""
	}
	return c, nil
}

// add writes the cell as a value into a statement.
func (c cell) add(q *sqldb.Query, d sqldb.Dialect, k kind) {
	switch c.form {
	case null:
		q.Add("NULL")
	case blob:
		q.Arg([]byte(c.text))
	case floated:
		f, err := strconv.ParseFloat(c.text, 64)
		if err != nil {
			q.Arg(c.text)
			return
		}
		q.Arg(f)
	case number:
		n, err := strconv.ParseInt(c.text, 10, 64)
		switch {
		case err == nil:
			q.Arg(n)
		case d == sqldb.Postgres && k == decimal:
			q.Add("CAST(").Arg(c.text).Add(" AS numeric)")
		default:
			q.Arg(c.text)
		}
	default:
		q.Arg(c.text)
	}
}
