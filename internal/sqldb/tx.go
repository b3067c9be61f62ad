package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// How long things may take that no context bounds: a write is not cut in half because somebody lost patience.
const (
	commitTime   = 10 * time.Second // for the answer to a COMMIT
	rollbackTime = 3 * time.Second
	decideTime   = 20 * time.Second // for finding out what became of a COMMIT
	lockWait     = 3 * time.Second  // for a row that somebody else has locked
)

// Conn is one connection inside a transaction.
type Conn struct {
	db  *DB
	sql *sql.Conn
	key int64 // of the transaction, where the server lets one wait for it
}

// Exec runs a statement and answers how many rows it matched.
func (c *Conn) Exec(ctx context.Context, q *Query) (int64, error) {
	c.db.env.Call(c.db.name, q.verb())
	r, err := c.sql.ExecContext(ctx, q.String(), q.args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// Query reads; each is called for every row.
func (c *Conn) Query(ctx context.Context, q *Query, each func(scan func(...any) error) error) error {
	c.db.env.Call(c.db.name, q.verb())
	rows, err := c.sql.QueryContext(ctx, q.String(), q.args...)
	return walk(rows, err, each)
}

// SQL is the connection itself, for statements that are prepared once.
func (c *Conn) SQL() *sql.Conn { return c.sql }

// command runs a statement without arguments.
func (c *Conn) command(ctx context.Context, call, text string) error {
	c.db.env.Call(c.db.name, call)
	_, err := c.sql.ExecContext(ctx, text)
	return err
}

// discard keeps the connection from being used again.
func (c *Conn) discard() {
	_ = c.sql.Raw(func(any) error { return driver.ErrBadConn })
}

// Tx runs do between BEGIN and COMMIT, by statements on one connection: database/sql's own Commit cannot be given up on MySQL,
// and on a pool PostgreSQL's driver repeats statements whose answer is lost.
//
// When Tx answers nil, it is committed. Where the server threw the transaction out for the sake of another (a deadlock), all of
// it is tried again, a bounded number of times. Where the answer to COMMIT was lost, decide finds out by a locking read, in a
// transaction of its own after the first one has ended, whether do's work is there; where it is not, all of it is tried once
// more. offset.ErrOutcome means that this could not be found out; after any other error nothing was written.
// An error of do, and of decide, comes back as it is.
func (d *DB) Tx(ctx context.Context, do func(context.Context, *Conn) error, decide func(context.Context, *Conn) (bool, error)) error {
	again := true
	for n := 1; ; n++ {
		key := rand.Int64()
		sent, err := d.attempt(ctx, key, do)
		switch {
		case err == nil:
			return nil
		case sent:
			done, derr := d.settle(ctx, key, decide)
			if derr != nil {
				return derr
			}
			if done {
				return nil
			}
			if !again || ctx.Err() != nil {
				return err
			}
			again = false
			continue
		case n >= classOf(err).tries() || ctx.Err() != nil:
			return err
		}
		if pause(ctx, n) != nil {
			return err
		}
	}
}

// pause lets the other transaction end; the time is random, so that two do not meet again and again.
func pause(ctx context.Context, n int) error {
	t := time.NewTimer(time.Duration(1+rand.IntN(20*n)) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attempt is one run. sent: COMMIT was sent, and it is not known what became of it.
func (d *DB) attempt(ctx context.Context, key int64, do func(context.Context, *Conn) error) (sent bool, err error) {
	c, err := d.begin(ctx, key)
	if err != nil {
		return false, err
	}
	defer func() { _ = c.sql.Close() }()
	err = do(ctx, c)
	if err == nil {
		err = ctx.Err() // the last moment at which to give up
	}
	if err != nil {
		c.rollback(ctx)
		return false, err
	}
	return c.commit(ctx)
}

func (d *DB) begin(ctx context.Context, key int64) (*Conn, error) {
	s, err := d.sql.Conn(ctx)
	if err != nil {
		return nil, err
	}
	c := &Conn{db: d, sql: s, key: key}
	if err := c.command(ctx, "BEGIN", d.beginning(key)); err != nil {
		c.rollback(ctx)
		_ = s.Close()
		return nil, err
	}
	return c, nil
}

// beginning starts a transaction. On PostgreSQL it also takes a lock of its own that ends with it: whoever asks for the same one
// later waits until the transaction has ended, also for rows that it made and nobody else can see yet.
func (d Dialect) beginning(key int64) string {
	switch d {
	case Postgres:
		return fmt.Sprintf("BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = %d; SELECT pg_advisory_xact_lock(%d)", lockWait.Milliseconds(), key)
	case SQLite:
		return "BEGIN IMMEDIATE"
	}
	return "START TRANSACTION"
}

func (c *Conn) rollback(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
	defer cancel()
	if err := c.command(ctx, "ROLLBACK", "ROLLBACK"); err != nil {
		c.discard()
	}
}

// commit answers unknown where no server has said what became of it.
func (c *Conn) commit(ctx context.Context) (unknown bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
	defer cancel()
	for {
		err = c.command(ctx, "COMMIT", "COMMIT")
		// SQLite without WAL: a reader is in the way, and the transaction is still there to be committed.
		if err == nil || classOf(err) != locked || c.db.Dialect != SQLite || pause(ctx, 10) != nil {
			break
		}
	}
	switch {
	case err == nil:
		return false, nil
	case answered(err):
		c.rollback(ctx)
		return false, err
	}
	c.discard()
	return true, err
}

// settle finds out what became of a COMMIT.
func (d *DB) settle(ctx context.Context, key int64, decide func(context.Context, *Conn) (bool, error)) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), decideTime)
	defer cancel()
	for {
		done, err := d.look(ctx, key, decide)
		if err == nil || !classOf(err).worthWaiting() {
			return done, err
		}
		if pause(ctx, 20) != nil {
			return false, fmt.Errorf("%w: the connection was lost after COMMIT was sent, and looking again failed: %w", offset.ErrOutcome, err)
		}
	}
}

func (d *DB) look(ctx context.Context, key int64, decide func(context.Context, *Conn) (bool, error)) (done bool, err error) {
	c, err := d.begin(ctx, key)
	if err != nil {
		return false, err
	}
	defer func() { _ = c.sql.Close() }()
	done, err = decide(ctx, c)
	c.rollback(ctx)
	return done, err
}

// Peek runs f in a transaction that is rolled back, so that it locks and looks and changes nothing.
func (d *DB) Peek(ctx context.Context, f func(context.Context, *Conn) error) error {
	_, err := d.look(ctx, rand.Int64(), func(ctx context.Context, c *Conn) (bool, error) { return true, f(ctx, c) })
	return err
}

// answered tells whether a server has spoken, so that the outcome is known.
func answered(err error) bool {
	switch classOf(err) {
	case lost, away, other, cancelled:
		return false
	}
	return true
}
