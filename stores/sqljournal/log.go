// Package sqljournal keeps the lines of a journal in a table of MySQL, MariaDB, PostgreSQL or SQLite, where several machines
// share one history. It knows nothing of what the lines say: repair.NewJournal takes it as its Log.
package sqljournal

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/internal/sqldb"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/sql"
)

// Forms are the addresses of the databases that can hold a journal.
var Forms = []address.Form{sql.MySQLForm, sql.PostgresForm, sql.SQLiteForm}

// Table is the journal's name in its database. The first write makes it.
const Table = "offsetctl_journal"

// Log is a journal's lines in a database. It is safe for concurrent use, by several processes too.
//
// A database does not know whether a process still lives, so no entry is ever busy: of two people who take the same write back
// at once, the store's own check of what it finds decides.
type Log struct {
	db *sqldb.DB

	mu   sync.Mutex
	next map[int64]int // of an entry that was begun here: the number of its next line
}

// Open connects to the database; an SQLite file is made where there is none.
func Open(ctx context.Context, env offset.Env, a address.Address) (*Log, error) {
	db, err := sqldb.Create(ctx, env, a)
	if err != nil {
		return nil, err
	}
	return &Log{db: db, next: map[int64]int{}}, nil
}

// Close gives the connections back.
func (l *Log) Close() error { return l.db.Close() }

// Name is the database, without secrets.
func (l *Log) Name() string { return l.db.Name() }

var columns = map[sqldb.Dialect]string{
	sqldb.MySQL:    ` (id BIGINT NOT NULL, seq INT NOT NULL, token VARBINARY(32) NOT NULL, line LONGBLOB NOT NULL, PRIMARY KEY (id, seq)) ENGINE=InnoDB`,
	sqldb.Postgres: ` (id bigint NOT NULL, seq integer NOT NULL, token text NOT NULL, line bytea NOT NULL, PRIMARY KEY (id, seq))`,
	sqldb.SQLite:   ` (id INTEGER NOT NULL, seq INTEGER NOT NULL, token TEXT NOT NULL, line BLOB NOT NULL, PRIMARY KEY (id, seq)) STRICT`,
}

// tries bounds how often another process may be faster with an id.
const tries = 50

// Create begins an entry with the smallest id above all others. It is committed when Create returns.
func (l *Log) Create(ctx context.Context, line []byte) (int64, error) {
	for n := 1; ; n++ {
		id, err := l.create(ctx, line)
		switch {
		case err == nil:
			l.mu.Lock()
			l.next[id] = 1
			l.mu.Unlock()
			return id, nil
		case n < tries && noTable(err): // it may be there by now: somebody else begins, too
			if err := l.makeTable(ctx); err != nil {
				return 0, err
			}
		case !sqldb.Exists(err) || n == tries:
			return 0, l.db.Explain("writing the journal", err)
		}
	}
}

func (l *Log) create(ctx context.Context, line []byte) (id int64, err error) {
	token := rand.Text()
	err = l.db.Tx(ctx, func(ctx context.Context, c *sqldb.Conn) error {
		q := l.db.Build("SELECT COALESCE(MAX(id), 0) + 1 FROM ").Table(Table)
		if err := c.Query(ctx, q, func(scan func(...any) error) error { return scan(&id) }); err != nil {
			return err
		}
		return l.insert(ctx, c, id, 0, token, line)
	}, func(ctx context.Context, c *sqldb.Conn) (bool, error) { return l.has(ctx, c, id, 0, token) })
	return id, err
}

func (l *Log) insert(ctx context.Context, c *sqldb.Conn, id int64, seq int, token string, line []byte) error {
	_, err := c.Exec(ctx, l.db.Build("INSERT INTO ").Table(Table).Add(" (id, seq, token, line) VALUES (").Args(id, seq, token, line).Add(")"))
	return err
}

// has tells whether a line whose COMMIT was not answered is there.
func (l *Log) has(ctx context.Context, c *sqldb.Conn, id int64, seq int, token string) (found bool, err error) {
	q := l.db.Build("SELECT token FROM ").Table(Table).Add(" WHERE id = ").Arg(id).Add(" AND seq = ").Arg(seq).Add(l.db.Locking())
	err = c.Query(ctx, q, func(scan func(...any) error) error {
		var t string
		err := scan(&t)
		found = t == token
		return err
	})
	return found, err
}

func (l *Log) makeTable(ctx context.Context) error {
	q := l.db.Build("CREATE TABLE IF NOT EXISTS ").Table(Table).Add(columns[l.db.Dialect])
	err := l.db.Tx(ctx, func(ctx context.Context, c *sqldb.Conn) error {
		_, err := c.Exec(ctx, q)
		return err
	}, func(ctx context.Context, _ *sqldb.Conn) (bool, error) {
		_, err := l.db.Table(ctx, Table)
		return err == nil, nil
	})
	if _, there := l.db.Table(ctx, Table); there == nil {
		return nil // made here, or by another process in the same moment
	}
	return l.db.Explain("creating table "+Table, err)
}

// noTable tells whether a statement failed because nobody has made the table yet. SQLite has no code of its own for it.
func noTable(err error) bool {
	return err != nil && (sqldb.NoTable(err) || strings.Contains(err.Error(), "no such table"))
}

// Append adds a line to an entry that was begun here. It is committed when Append returns.
func (l *Log) Append(ctx context.Context, id int64, line []byte) error {
	l.mu.Lock()
	seq, ok := l.next[id]
	if ok {
		l.next[id]++
	}
	l.mu.Unlock()
	if !ok {
		return fmt.Errorf("entry %d was not begun here", id)
	}
	token := rand.Text()
	err := l.db.Tx(ctx, func(ctx context.Context, c *sqldb.Conn) error { return l.insert(ctx, c, id, seq, token, line) },
		func(ctx context.Context, c *sqldb.Conn) (bool, error) { return l.has(ctx, c, id, seq, token) })
	return l.db.Explain("writing the journal", err)
}

// Release says that nothing more is appended to the entry here.
func (l *Log) Release(id int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.next, id)
	return nil
}

// Read answers one entry's lines; fs.ErrNotExist when there is none. Lines are whole or not there.
func (l *Log) Read(ctx context.Context, id int64) (lines [][]byte, busy, cut bool, err error) {
	q := l.db.Build("SELECT line FROM ").Table(Table).Add(" WHERE id = ").Arg(id).Add(" ORDER BY seq")
	err = l.db.Query(ctx, q, func(scan func(...any) error) error {
		var line []byte
		err := scan(&line)
		lines = append(lines, line)
		return err
	})
	if noTable(err) {
		err = nil
	}
	if err == nil && lines == nil {
		return nil, false, false, fs.ErrNotExist
	}
	return lines, false, false, l.db.Explain("reading the journal", err)
}

// IDs lists the entries, newest first.
func (l *Log) IDs(ctx context.Context) (ids []int64, err error) {
	q := l.db.Build("SELECT id FROM ").Table(Table).Add(" WHERE seq = 0 ORDER BY id DESC")
	err = l.db.Query(ctx, q, func(scan func(...any) error) error {
		var id int64
		err := scan(&id)
		ids = append(ids, id)
		return err
	})
	if noTable(err) {
		return nil, nil
	}
	return ids, l.db.Explain("reading the journal", err)
}

// Try writes a line and takes it back again.
func (l *Log) Try(ctx context.Context) error {
	try := func(ctx context.Context, c *sqldb.Conn) error {
		return l.insert(ctx, c, -1, 0, rand.Text(), []byte("{}"))
	}
	err := l.db.Peek(ctx, try)
	if noTable(err) {
		if err := l.makeTable(ctx); err != nil {
			return err
		}
		err = l.db.Peek(ctx, try)
	}
	return l.db.Explain("trying to write the journal", err)
}
