package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"

	"github.com/offsetctl/offsetctl/offset"
)

// class is what an error means, whoever says it.
type class uint8

const (
	other      class = iota // not from a database
	refused                 // the server's answer, none of those below
	collided                // thrown out for the sake of another transaction
	locked                  // waited in vain for somebody else's lock
	exists                  // a row with this key is there
	denied                  // wrong user, password or rights
	readOnly                // a replica, or a file that may not be written
	noDatabase              // also a file that cannot be opened
	noTable
	noColumn
	unfit    // a value that the column does not take
	crowded  // too many connections
	starting // or shutting down
	full     // the disk
	broken   // no database, or a damaged one
	cancelled
	lost // the connection, in the middle
	away // no connection can be made
)

// tries tells how often a whole transaction is tried that ends like this before anything was committed. A row that was made in
// the meantime is seen by the next try.
func (c class) tries() int {
	switch c {
	case collided, crowded:
		return 6
	case locked, exists, lost:
		return 3
	}
	return 1
}

// worthWaiting: a look at the outcome may succeed later.
func (c class) worthWaiting() bool { return c.tries() > 1 || c == starting || c == away }

func classOf(err error) class {
	var my *mysql.MySQLError
	var pg *pgconn.PgError
	var lite *sqlite.Error
	var connect *pgconn.ConnectError
	var op *net.OpError
	switch {
	case err == nil:
		return other
	case errors.As(err, &my):
		return mysqlClass(my.Number)
	case errors.As(err, &pg):
		return postgresClass(pg.Code)
	case errors.As(err, &lite):
		return sqliteClass(lite.Code())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return cancelled
	case errors.As(err, &connect), errors.As(err, &op) && op.Op == "dial":
		return away
	case errors.Is(err, mysql.ErrInvalidConn), errors.Is(err, driver.ErrBadConn), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		op != nil, strings.Contains(err.Error(), "conn closed"):
		return lost
	case strings.HasPrefix(err.Error(), "unable to encode"), strings.Contains(err.Error(), "cannot find encode plan"):
		return unfit
	}
	return other
}

// Exists tells whether a statement failed because a row with its key is there.
func Exists(err error) bool { return classOf(err) == exists }

// NoTable tells whether a statement failed because its table is not there.
func NoTable(err error) bool { return classOf(err) == noTable }

// meaning is what a person is told: the kind for exit codes, what is wrong, and the next step.
type meaning struct {
	kind       error
	text, next string
}

var meanings = map[class]meaning{
	collided:   {nil, "the server threw the transaction out for the sake of another, again and again; nothing was written", "try again when fewer write there"},
	locked:     {nil, "another transaction holds the lock; nothing was written", "find out who holds it, or try again later"},
	exists:     {offset.ErrMoved, "a row with this key was made in the meantime", "look again"},
	denied:     {offset.ErrDenied, "the server refuses this user", "look at user, password and rights"},
	readOnly:   {offset.ErrDenied, "it is read-only: a replica, or a file or server that may not be written", "name the primary, or make it writable"},
	noDatabase: {offset.ErrUnknownName, "the database is not there", "look at the address; \"offsetctl store init\" creates a table, and an SQLite file with it"},
	noTable:    {offset.ErrUnknownName, "the table is not there, or this user may not see it", "look at table=, or create it with \"offsetctl store init\""},
	noColumn:   {offset.ErrConfig, "the table has other columns", "name its columns by topic=, partition=, offset="},
	unfit:      {offset.ErrUnsupported, "a column does not take the value; nothing was written", "look at the column's type and length"},
	crowded:    {offset.ErrUnreachable, "it has no connection left", "try again later"},
	starting:   {offset.ErrUnreachable, "it is starting up or shutting down", "try again in a moment"},
	full:       {nil, "its disk is full; nothing was written", "make room"},
	broken:     {offset.ErrConfig, "the file is damaged, or no SQLite database", "look at the path"},
	cancelled:  {nil, "it took too long, or was given up", "try again with a longer --timeout"},
	lost:       {offset.ErrUnreachable, "the connection was lost", "look whether the server runs"},
	away:       {offset.ErrUnreachable, "no connection can be made", "look at host, port and TLS, and whether the server runs"},
	refused:    {nil, "the server refuses the statement", "its own words say why"},
}

// Explain says in one sentence what went wrong while doing something, of which kind it is, and what to do next. Errors that
// have a kind already, and those that come from no database, keep it.
func (d *DB) Explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	for _, kind := range []error{offset.ErrMoved, offset.ErrUntouched, offset.ErrOutcome, offset.ErrUnsupported, offset.ErrConfig, offset.ErrUnknownName} {
		if errors.Is(err, kind) {
			return fmt.Errorf("%s: %s: %w", d.name, doing, err)
		}
	}
	c := classOf(err)
	m, ok := meanings[c]
	if !ok {
		m = meaning{text: "it failed"}
		if transport(err) {
			m = meanings[away]
		}
	}
	if c == denied && d.Dialect != SQLite && !d.encrypted {
		m.next += "; a user who must come encrypted gets the same answer without tls=on"
	}
	cause := plainError{err}
	switch {
	case m.kind == nil && m.next == "":
		return fmt.Errorf("%s: %s: %s: %w", d.name, doing, m.text, cause)
	case m.kind == nil:
		return fmt.Errorf("%s: %s: %s (%w); %s", d.name, doing, m.text, cause, m.next)
	}
	return fmt.Errorf("%s: %s: %s (%w); %s", d.name, doing, m.text, offset.As(m.kind, cause), m.next)
}

// transport tells errors of TLS from those of programs.
func transport(err error) bool {
	text := err.Error()
	return strings.Contains(text, "tls:") || strings.Contains(text, "x509:") || strings.Contains(text, "TLS")
}

// plainError is an error in one line.
type plainError struct{ err error }

func (p plainError) Error() string { return strings.Join(strings.Fields(p.err.Error()), " ") }
func (p plainError) Unwrap() error { return p.err }

func configError(name string, err error) error {
	return fmt.Errorf("%s: %w", name, offset.As(offset.ErrConfig, err))
}
