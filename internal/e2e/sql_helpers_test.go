package e2e

import (
	"database/sql"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/offsetctl/offsetctl/internal/testservers"
)

// appSecret is the password of the databases' user: it may stand nowhere but in an address.
const appSecret = "app-secret"

// database is one where a job keeps offsets, with a connection of the job's.
type database struct {
	t      testing.TB
	scheme string
	addr   string // of SQLite the file
	db     *sql.DB
}

// everyEngine runs f on each database, side by side.
func everyEngine(t *testing.T, f func(t *testing.T, d *database)) {
	for _, name := range []string{"mariadb", "mysql8", "postgres", "sqlite"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, openDatabase(t, name))
		})
	}
}

func openDatabase(t testing.TB, server string) *database {
	t.Helper()
	d := &database{t: t, scheme: server}
	var driver, dsn string
	switch server {
	case "sqlite":
		d.addr = filepath.Join(t.TempDir(), "job.db")
		driver, dsn = "sqlite", "file:"+d.addr+"?mode=rwc&_pragma=busy_timeout(5000)"
	case "postgres":
		d.addr = testservers.Need(t, server).Addr["plain"]
		driver, dsn = "pgx", "postgres://app:"+appSecret+"@"+d.addr+"/test?sslmode=disable&default_query_exec_mode=exec"
	default:
		d.scheme, d.addr = "mysql", testservers.Need(t, server).Addr["plain"]
		driver, dsn = "mysql", "app:"+appSecret+"@tcp("+d.addr+")/test?interpolateParams=true&sql_mode=%27STRICT_ALL_TABLES%27"
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	d.db = db
	t.Cleanup(func() { _ = db.Close() })
	return d
}

// at is the database's address at a host that may be a gate's.
func (d *database) at(addr, options string) string {
	if d.scheme == "sqlite" {
		return "sqlite:" + addr + options
	}
	return d.scheme + "://app:" + appSecret + "@" + addr + "/test" + options
}

func (d *database) url(options string) string { return d.at(d.addr, options) }

// quote writes "double quoted" identifiers as the database wants them.
func (d *database) quote(q string) string {
	if d.scheme == "mysql" {
		return strings.ReplaceAll(q, `"`, "`")
	}
	return q
}

func (d *database) exec(q string, args ...any) {
	d.t.Helper()
	if _, err := d.db.Exec(d.quote(q), args...); err != nil {
		d.t.Fatalf("%s: %v", q, err)
	}
}

// rows answers a query's rows, their values joined by blanks.
func (d *database) rows(q string) (out []string) {
	d.t.Helper()
	rs, err := d.db.Query(d.quote(q))
	if err != nil {
		d.t.Fatalf("%s: %v", q, err)
	}
	defer func() { _ = rs.Close() }()
	names, _ := rs.Columns()
	for rs.Next() {
		values, to := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range values {
			to[i] = &values[i]
		}
		if err := rs.Scan(to...); err != nil {
			d.t.Fatalf("%s: %v", q, err)
		}
		line := make([]string, len(values))
		for i, v := range values {
			if line[i] = v.String; !v.Valid {
				line[i] = "NULL"
			}
		}
		out = append(out, strings.Join(line, " "))
	}
	if err := rs.Err(); err != nil {
		d.t.Fatalf("%s: %v", q, err)
	}
	return out
}

// has wants a query to answer exactly these rows.
func (d *database) has(q string, want ...string) {
	d.t.Helper()
	if got := d.rows(q); strings.Join(got, "\n") != strings.Join(want, "\n") {
		d.t.Errorf("%s:\ngot  %q\nwant %q", q, got, want)
	}
}

// name is one that no other test uses; its table goes at the test's end.
func (d *database) name(label string) string {
	n := fmt.Sprintf("e2e_%s_%x", label, rand.Uint64())
	d.t.Cleanup(func() { _, _ = d.db.Exec("DROP TABLE IF EXISTS " + n) })
	return n
}

// table is a job's own: bytes are compared in names, and note is the job's column.
func (d *database) table(label, columns string) string {
	n := d.name(label)
	if d.scheme == "mysql" {
		columns += " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
	}
	d.exec("CREATE TABLE " + n + " " + columns)
	return n
}

// A job's table without a group and a key, and one with both.
const (
	seedColumns  = `(topic VARCHAR(200), partid INT, "offset" BIGINT, note VARCHAR(20) DEFAULT 'kept')`
	seedOptions  = "&topic=topic&partition=partid&offset=offset"
	keyedColumns = `(grp VARCHAR(200) NOT NULL, topic VARCHAR(200) NOT NULL, partid INT NOT NULL, "offset" VARCHAR(40), note VARCHAR(20) DEFAULT 'kept', UNIQUE(grp, topic, partid))`
	keyedOptions = "&group=grp" + seedOptions
)

// keepsSecrets looks through everything that the operator has on disk, journal and plans, for a secret.
func (o *operator) keepsSecrets(secret string) {
	o.t.Helper()
	err := filepath.WalkDir(o.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), secret) {
			o.t.Errorf("%s holds the secret: %s", path, b)
		}
		return err
	})
	if err != nil {
		o.t.Error(err)
	}
}
