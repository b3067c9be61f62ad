package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/offset"
)

// sqliteOpening never creates the file unless it is told to: a mistyped path is an error, not an empty database.
func sqliteOpening(a address.Address, create bool) (opening, error) {
	path, err := filepath.Abs(a.Path)
	if err != nil {
		return opening{}, configError("sqlite:"+a.Path, err)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	mode := "rw"
	if create {
		mode = "rwc"
	}
	dsn := "file:" + escapePath(path) + "?mode=" + mode + "&_txlock=immediate&_pragma=busy_timeout(" + fmt.Sprint(lockWait.Milliseconds()) + ")&_pragma=synchronous(FULL)"
	return opening{SQLite, "sqlite\x00" + mode + "\x00" + path, "sqlite:" + a.Path, false, func() (*sql.DB, error) { return sql.Open("sqlite", dsn) }}, nil
}

// escapePath keeps what is special in a URI from ending the path.
func escapePath(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23").Replace(filepath.ToSlash(path))
}

// Create is Open that makes an SQLite file which is not there, with a write-ahead log: a reader is then never in a writer's way.
// What exists keeps its journal mode.
func Create(ctx context.Context, env offset.Env, a address.Address) (*DB, error) {
	if a.Scheme != "sqlite" {
		return Open(ctx, env, a)
	}
	if _, err := os.Stat(a.Path); err == nil {
		return Open(ctx, env, a)
	}
	p, err := acquire(a, true)
	if err != nil {
		return nil, err
	}
	d := &DB{pool: p, env: env}
	defer func() { _ = d.Close() }()
	var mode string
	env.Call(p.name, "PRAGMA")
	if err := p.sql.QueryRowContext(ctx, "PRAGMA journal_mode=WAL").Scan(&mode); err != nil {
		return nil, d.Explain("creating it", err)
	}
	if mode != "wal" {
		return nil, fmt.Errorf("%s: %w: it keeps journal mode %q where wal was asked for; put it on a local file system", d.name, offset.ErrUnsupported, mode)
	}
	return Open(ctx, env, a)
}

// sqliteClass is of a primary result code.
func sqliteClass(code int) class {
	switch code & 0xff {
	case 5, 6: // BUSY, LOCKED
		return locked
	case 3, 23: // PERM, AUTH
		return denied
	case 8: // READONLY
		return readOnly
	case 9: // INTERRUPT
		return cancelled
	case 11, 26: // CORRUPT, NOTADB
		return broken
	case 13: // FULL
		return full
	case 14: // CANTOPEN
		return noDatabase
	case 18, 20: // TOOBIG, MISMATCH
		return unfit
	case 19: // CONSTRAINT
		if code == 1555 || code == 2067 { // PRIMARYKEY, UNIQUE
			return exists
		}
		return unfit
	}
	return refused
}
