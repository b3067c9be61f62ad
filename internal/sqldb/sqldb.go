// Package sqldb is what the SQL store and the SQL sinks share: database handles by address, the dialects of MySQL and MariaDB,
// PostgreSQL and SQLite, transactions whose outcome is always told, and errors as one sentence.
package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/offset"
)

// DB is a handle on one database. It is safe for concurrent use.
type DB struct {
	*pool
	env  offset.Env
	once sync.Once
}

// pool is what all handles on one database have in common.
type pool struct {
	Dialect
	key   string
	name  string
	sql   *sql.DB
	users int

	encrypted bool
}

var (
	poolsMu sync.Mutex
	pools   = map[string]*pool{}
)

// Open connects to the database of an address (its secrets revealed). Handles whose scheme, place, user and TLS options
// agree share their connections. Errors are explained already.
func Open(ctx context.Context, env offset.Env, a address.Address) (*DB, error) {
	p, err := acquire(a, false)
	if err != nil {
		return nil, err
	}
	d := &DB{pool: p, env: env}
	d.env.Call(p.name, "connect")
	if err := p.sql.PingContext(ctx); err != nil {
		_ = d.Close()
		return nil, d.Explain("connecting", err)
	}
	return d, nil
}

// acquire answers the pool of an address. No connection is made yet.
func acquire(a address.Address, create bool) (*pool, error) {
	o, err := opener(a, create)
	if err != nil {
		return nil, err
	}
	poolsMu.Lock()
	defer poolsMu.Unlock()
	p := pools[o.key]
	if p == nil {
		db, err := o.open()
		if err != nil {
			return nil, configError(o.name, err)
		}
		db.SetMaxIdleConns(4)
		p = &pool{Dialect: o.dialect, key: o.key, name: o.name, sql: db, encrypted: o.encrypted}
		pools[o.key] = p
	}
	p.users++
	return p, nil
}

// opening is how the pool of an address is made.
type opening struct {
	dialect   Dialect
	key, name string
	encrypted bool
	open      func() (*sql.DB, error)
}

func opener(a address.Address, create bool) (opening, error) {
	switch a.Scheme {
	case "mysql":
		return mysqlOpening(a)
	case "postgres":
		return postgresOpening(a)
	case "sqlite":
		return sqliteOpening(a, create)
	}
	return opening{}, offset.As(offset.ErrConfig, fmt.Errorf("%s is no address of an SQL database", a.Scheme))
}

// serverKey tells connections apart: who logs in where, and how.
func serverKey(a address.Address) string {
	parts := append([]string{a.Scheme, a.Path}, a.Hosts...)
	for _, o := range []string{"user", "password", "tls", "ca", "cert", "key", "server-name"} {
		parts = append(parts, o+"="+a.Get(o))
	}
	return strings.Join(parts, "\x00")
}

// serverName is what errors and traces call the database.
func serverName(a address.Address) string {
	return a.Scheme + "://" + strings.Join(a.Hosts, ",") + "/" + a.Path
}

// login refuses an address that leaves the user or the database to the environment.
func login(a address.Address) error {
	switch {
	case a.Get("user") == "":
		return configError(serverName(a), fmt.Errorf("it names no user; write %s://USER@%s/%s and password=env:NAME", a.Scheme, a.Hosts[0], a.Path))
	case a.Path == "":
		return configError(serverName(a), fmt.Errorf("it names no database; write %s://…@%s/DATABASE", a.Scheme, a.Hosts[0]))
	}
	return nil
}

// Close gives the handle back; the last one closes the connections.
func (d *DB) Close() (err error) {
	d.once.Do(func() {
		poolsMu.Lock()
		defer poolsMu.Unlock()
		if d.users--; d.users == 0 {
			delete(pools, d.key)
			err = d.pool.sql.Close()
		}
	})
	return err
}

// Same tells whether one transaction can span what both handles do.
func (d *DB) Same(o *DB) bool { return d.pool == o.pool }

// Name is the database in errors: the address without options.
func (d *DB) Name() string { return d.name }

// Query reads outside a transaction; each is called for every row.
func (d *DB) Query(ctx context.Context, q *Query, each func(scan func(...any) error) error) error {
	d.env.Call(d.name, q.verb())
	rows, err := d.sql.QueryContext(ctx, q.String(), q.args...)
	return walk(rows, err, each)
}

func walk(rows *sql.Rows, err error, each func(scan func(...any) error) error) error {
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
