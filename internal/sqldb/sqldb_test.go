package sqldb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
)

var forms = []address.Form{
	{Schemes: []string{"mysql"}, Port: 3306, Path: true, User: true, TLS: true},
	{Schemes: []string{"postgres"}, Port: 5432, Path: true, User: true, TLS: true},
	{Schemes: []string{"sqlite"}, Opaque: true},
}

func parse(t testing.TB, text string) address.Address {
	t.Helper()
	a, err := address.Parse(text, forms)
	if err != nil {
		t.Fatal(err)
	}
	if a, err = a.Reveal(address.Secrets{}); err != nil {
		t.Fatal(err)
	}
	return a
}

func env() offset.Env { return offset.Env{Log: slog.New(slog.DiscardHandler), Now: time.Now} }

func open(t testing.TB, text string) *DB {
	t.Helper()
	d, err := Open(context.Background(), env(), parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// everywhere runs a test on a new SQLite file and on every real server.
func everywhere(t *testing.T, f func(*testing.T, string)) {
	t.Run("sqlite", func(t *testing.T) {
		a := "sqlite:" + filepath.Join(t.TempDir(), "x.db")
		d, err := Create(context.Background(), env(), parse(t, a))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		f(t, a)
	})
	for _, s := range []struct{ name, scheme string }{{"mariadb", "mysql"}, {"mysql8", "mysql"}, {"postgres", "postgres"}} {
		t.Run(s.name, func(t *testing.T) {
			f(t, s.scheme+"://app:app-secret@"+testservers.Need(t, s.name).Addr["plain"]+"/test")
		})
	}
}

// run runs statements in one transaction.
func run(t testing.TB, d *DB, statements ...string) {
	t.Helper()
	err := d.Tx(context.Background(), func(ctx context.Context, c *Conn) error {
		for _, s := range statements {
			if _, err := c.Exec(ctx, d.Build(s)); err != nil {
				return err
			}
		}
		return nil
	}, never(t))
	if err != nil {
		t.Fatal(err)
	}
}

func never(t testing.TB) func(context.Context, *Conn) (bool, error) {
	return func(context.Context, *Conn) (bool, error) {
		t.Error("the outcome of a COMMIT was looked for")
		return false, nil
	}
}

func number(t testing.TB, d *DB, q string) (n int64) {
	t.Helper()
	if err := d.Query(context.Background(), d.Build(q), func(scan func(...any) error) error { return scan(&n) }); err != nil {
		t.Fatal(err)
	}
	return n
}

func table(t testing.TB, d *DB, columns string) string {
	t.Helper()
	name := fmt.Sprintf("t_sqldb_%d", time.Now().UnixNano())
	run(t, d, "CREATE TABLE "+name+" "+columns)
	t.Cleanup(func() { run(t, d, "DROP TABLE "+name) })
	return name
}

func TestSameHandle(t *testing.T) {
	everywhere(t, func(t *testing.T, a string) {
		one, two := open(t, a), open(t, a)
		if !one.Same(two) {
			t.Error("two handles on one address are not the same")
		}
		if err := one.Close(); err != nil {
			t.Fatal(err)
		}
		if err := one.Close(); err != nil { // a second time closes nothing
			t.Fatal(err)
		}
		if number(t, two, "SELECT 7") != 7 {
			t.Error("closing one handle closes the other")
		}
	})
}

func TestSQLitePaths(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"plain.db", "odd?x#y.db", "100%.db", "a b+c&d=e.db", "中文.db"} {
		path := filepath.Join(dir, name)
		text := "sqlite:" + strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23").Replace(path)
		if d, err := Open(context.Background(), env(), parse(t, text)); !errors.Is(err, offset.ErrUnknownName) {
			t.Errorf("%s: opened %v, %v", name, d, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: opening creates it", name)
		}
		d, err := Create(context.Background(), env(), parse(t, text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		run(t, d, "CREATE TABLE x (n INTEGER)")
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var mode string
		if err := d.Query(context.Background(), d.Build("PRAGMA journal_mode"), func(scan func(...any) error) error { return scan(&mode) }); err != nil || mode != "wal" {
			t.Errorf("%s: journal mode %s, %v", name, mode, err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 5 {
		t.Errorf("%d files, %v", len(entries), err)
	}
}

// Two transactions that lock two rows in opposite order: one is thrown out, and tried again as a whole.
func TestDeadlock(t *testing.T) {
	everywhere(t, func(t *testing.T, a string) {
		d := open(t, a)
		name := table(t, d, "(id INT PRIMARY KEY, n BIGINT NOT NULL)")
		run(t, d, "INSERT INTO "+name+" VALUES(1,0),(2,0)")
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() {
				for range 10 {
					err := d.Tx(context.Background(), func(ctx context.Context, c *Conn) error {
						for k := range 2 {
							q := d.Build("UPDATE " + name + " SET n=n+1 WHERE id=").Arg(int64(1 + (i+k)%2))
							if _, err := c.Exec(ctx, q); err != nil {
								return err
							}
							time.Sleep(2 * time.Millisecond)
						}
						return nil
					}, never(t))
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if n := number(t, d, "SELECT SUM(n) FROM "+name); n != 40 {
			t.Errorf("20 transactions of 2 steps counted %d", n)
		}
	})
}

// An error, a panic-free way out, or a context that is done: nothing of the transaction stays.
func TestRollback(t *testing.T) {
	everywhere(t, func(t *testing.T, a string) {
		d := open(t, a)
		name := table(t, d, "(id INT PRIMARY KEY)")
		mine := errors.New("mine")
		err := d.Tx(context.Background(), func(ctx context.Context, c *Conn) error {
			if _, err := c.Exec(ctx, d.Build("INSERT INTO "+name+" VALUES(1)")); err != nil {
				return err
			}
			return mine
		}, never(t))
		if !errors.Is(err, mine) {
			t.Errorf("it answers %v", err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		err = d.Tx(ctx, func(ctx context.Context, c *Conn) error {
			_, err := c.Exec(ctx, d.Build("INSERT INTO "+name+" VALUES(2)"))
			cancel()
			return err
		}, never(t))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it answers %v", err)
		}
		if n := number(t, d, "SELECT COUNT(*) FROM "+name); n != 0 {
			t.Errorf("%d rows stayed", n)
		}
	})
}

func TestTable(t *testing.T) {
	everywhere(t, func(t *testing.T, a string) {
		d := open(t, a)
		name := table(t, d, "(id INT PRIMARY KEY, a VARCHAR(20) NOT NULL, b VARCHAR(20), c INT DEFAULT 1, UNIQUE(a, b))")
		x, err := d.Table(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(x.Names(), " "); got != "id a b c" {
			t.Errorf("columns %s", got)
		}
		if !x.UniqueBy("id") || !x.UniqueBy("b", "a") || x.UniqueBy("a") || !x.UniqueBy("a", "b", "c") || x.View || !x.Transactional() {
			t.Errorf("%+v", x)
		}
		col, ok := x.Column("A")
		if !ok || !col.NotNull || col.Default {
			t.Errorf("column a: %+v", col)
		}
		if col, _ := x.Column("c"); col.NotNull || !col.Default {
			t.Errorf("column c: %+v", col)
		}
		run(t, d, "CREATE VIEW v_"+name+" AS SELECT id FROM "+name)
		t.Cleanup(func() { run(t, d, "DROP VIEW v_"+name) })
		if v, err := d.Table(context.Background(), "v_"+name); err != nil || !v.View {
			t.Errorf("%+v, %v", v, err)
		}
		if _, err := d.Table(context.Background(), "no_"+name); !errors.Is(err, offset.ErrUnknownName) {
			t.Errorf("a table that is not there: %v", err)
		}
		// Partial and expression keys keep nothing out.
		if d.Dialect != MySQL {
			run(t, d, "CREATE UNIQUE INDEX p_"+name+" ON "+name+"(c) WHERE c > 5", "CREATE UNIQUE INDEX e_"+name+" ON "+name+"(a, lower(b))")
			if x, err = d.Table(context.Background(), name); err != nil || x.UniqueBy("c") || x.UniqueBy("a") {
				t.Errorf("%+v, %v", x, err)
			}
		}
	})
}

func TestQuote(t *testing.T) {
	for _, x := range []struct {
		d    Dialect
		in   string
		want string
	}{
		{MySQL, "a`b", "`a``b`"}, {Postgres, `a"b`, `"a""b"`}, {SQLite, "offset", `"offset"`},
		{MySQL, "db.t", "`db`.`t`"}, {Postgres, ".t", `".t"`},
	} {
		if got := x.d.QuoteTable(x.in); got != x.want {
			t.Errorf("%s is written %s, not %s", x.in, got, x.want)
		}
	}
	q := Postgres.Build("SELECT ").Idents("a?", "b").Add(" FROM ").Table("t").Add(" WHERE x IN (").Args(1, 2).Add(") AND y=").Arg(3)
	if q.String() != `SELECT "a?", "b" FROM "t" WHERE x IN ($1, $2) AND y=$3` || len(q.args) != 3 {
		t.Error(q.String())
	}
}

// The values of statements are never taken for SQL, whatever is in them and in the identifiers beside them.
func TestValuesAreData(t *testing.T) {
	everywhere(t, func(t *testing.T, a string) {
		d := open(t, a)
		column := "odd ? ` \" ' name"
		name := fmt.Sprintf("t_odd_%d", time.Now().UnixNano())
		q := d.Build("CREATE TABLE ").Table(name).Add(" (").Ident(column).Add(" VARCHAR(100))")
		run(t, d, q.String())
		t.Cleanup(func() { run(t, d, "DROP TABLE "+name) })
		for _, v := range []string{"' OR '1'='1", `\`, `\'; DROP TABLE x; --`, "?", "$1", "中文 🙂"} {
			err := d.Tx(context.Background(), func(ctx context.Context, c *Conn) error {
				_, err := c.Exec(ctx, d.Build("INSERT INTO ").Table(name).Add(" (").Ident(column).Add(") VALUES (").Arg(v).Add(")"))
				return err
			}, never(t))
			if err != nil {
				t.Fatalf("%q: %v", v, err)
			}
			var got []string
			err = d.Query(context.Background(), d.Build("SELECT ").Ident(column).Add(" FROM ").Table(name).Add(" WHERE ").Ident(column).Add(" = ").Arg(v), func(scan func(...any) error) error {
				var s string
				err := scan(&s)
				got = append(got, s)
				return err
			})
			if err != nil || len(got) != 1 || got[0] != v {
				t.Errorf("%q came back as %q, %v", v, got, err)
			}
		}
	})
}
