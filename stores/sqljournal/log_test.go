package sqljournal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/internal/sqldb"
	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/repair"
)

var _ repair.Log = (*Log)(nil)

func env() offset.Env { return offset.Env{Log: slog.New(slog.DiscardHandler), Now: time.Now} }

func parse(t testing.TB, s string) address.Address {
	t.Helper()
	a, err := address.Parse(s, Forms)
	if err == nil {
		a, err = a.Reveal(address.Secrets{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// everyDatabase runs a test on a database of its own.
func everyDatabase(t *testing.T, f func(t *testing.T, open func() *Log)) {
	everyAddress(t, func(t *testing.T, a address.Address) {
		f(t, func() *Log { return opened(t, env(), a) })
	})
}

func opened(t *testing.T, e offset.Env, a address.Address) *Log {
	t.Helper()
	l, err := Open(t.Context(), e, a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// everyAddress runs a test with the address of a database of its own.
func everyAddress(t *testing.T, f func(t *testing.T, a address.Address)) {
	for name, addr := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "journal.db") },
		"mariadb":  func(t *testing.T) string { return database(t, "mysql://root@%s/%s", "mariadb", "test") },
		"postgres": func(t *testing.T) string { return database(t, "postgres://postgres@%s/%s", "postgres", "postgres") },
	} {
		t.Run(name, func(t *testing.T) { f(t, parse(t, addr(t))) })
	}
}

// database makes a database that nobody else uses and answers its address.
func database(t *testing.T, format, server, first string) string {
	t.Helper()
	host := testservers.Need(t, server).Addr["plain"]
	name := "journal_" + strings.ToLower(rand.Text()[:10])
	root := parse(t, fmt.Sprintf(format, host, first))
	if err := run(t.Context(), root, "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = run(context.Background(), root, "DROP DATABASE "+name) })
	return fmt.Sprintf(format, host, name)
}

// run executes statements as the user of an address.
func run(ctx context.Context, a address.Address, texts ...string) error {
	db, err := sqldb.Open(ctx, env(), a)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	for _, text := range texts {
		if err := db.Query(ctx, db.Build(text), func(func(...any) error) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

func TestLines(t *testing.T) {
	everyDatabase(t, func(t *testing.T, open func() *Log) {
		l := open()
		ctx := t.Context()
		if ids, err := l.IDs(ctx); err != nil || ids != nil {
			t.Fatalf("of no table: %v, %v", ids, err)
		}
		if _, _, _, err := l.Read(ctx, 1); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("of no table: %v", err)
		}
		if err := l.Try(ctx); err != nil {
			t.Fatal(err)
		}
		large := []byte(strings.Repeat("\x00\xff'\"", 1<<18)) // a megabyte that is no text
		for want := int64(1); want <= 2; want++ {
			if id, err := l.Create(ctx, large); err != nil || id != want {
				t.Fatalf("entry %d, %v", id, err)
			}
		}
		for i := range 3 {
			if err := l.Append(ctx, 2, fmt.Append(nil, i)); err != nil {
				t.Fatal(err)
			}
		}
		other := open()
		lines, busy, cut, err := other.Read(ctx, 2)
		if err != nil || busy || cut || len(lines) != 4 || !slices.Equal(lines[0], large) || string(lines[3]) != "2" {
			t.Errorf("%d lines, %v", len(lines), err)
		}
		if ids, err := other.IDs(ctx); err != nil || !slices.Equal(ids, []int64{2, 1}) {
			t.Errorf("%v, %v", ids, err)
		}
		if err := other.Append(ctx, 2, nil); err == nil {
			t.Error("appended to what another process began")
		}
		if err := l.Release(2); err != nil {
			t.Fatal(err)
		}
		if err := l.Append(ctx, 2, nil); err == nil {
			t.Error("appended to what was released")
		}
		if _, _, _, err := l.Read(ctx, 7); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	})
}

// TestNoTable: the server's own answer tells that nobody has made the table yet; it is not asked once more.
func TestNoTable(t *testing.T) {
	everyAddress(t, func(t *testing.T, a address.Address) {
		var asked atomic.Int32
		e := env()
		e.Trace = func(string, string) { asked.Add(1) }
		l := opened(t, e, a)
		asked.Store(0)
		if ids, err := l.IDs(t.Context()); err != nil || ids != nil || asked.Load() != 1 {
			t.Errorf("%v, %v, %d questions", ids, err, asked.Load())
		}
		asked.Store(0)
		if _, _, _, err := l.Read(t.Context(), 1); !errors.Is(err, fs.ErrNotExist) || asked.Load() != 1 {
			t.Errorf("%v, %d questions", err, asked.Load())
		}
	})
}

// TestForbiddenTable: a journal that this user may not see is not an empty one.
func TestForbiddenTable(t *testing.T) {
	for name, x := range map[string]struct{ format, first, create, grant string }{
		"mariadb":  {"mysql://%s@%s/%s", "test", "CREATE USER '%s'@'%%' IDENTIFIED BY 'pw'", "GRANT SELECT ON other TO '%s'@'%%'"},
		"postgres": {"postgres://%s@%s/%s", "postgres", "CREATE USER %s PASSWORD 'pw'", "GRANT SELECT ON other TO %s"},
	} {
		t.Run(name, func(t *testing.T) {
			super := map[string]string{"mariadb": "root", "postgres": "postgres"}[name]
			a := parse(t, database(t, fmt.Sprintf(x.format, super, "%s", "%s"), name, x.first))
			if _, err := opened(t, env(), a).Create(t.Context(), []byte("{}")); err != nil {
				t.Fatal(err)
			}
			user := "u" + strings.ToLower(rand.Text()[:8])
			if err := run(t.Context(), a, fmt.Sprintf(x.create, user), "CREATE TABLE other (id int)", fmt.Sprintf(x.grant, user)); err != nil {
				t.Fatal(err)
			}
			l := opened(t, env(), parse(t, fmt.Sprintf(x.format, user+":pw", a.Hosts[0], a.Path)))
			if ids, err := l.IDs(t.Context()); !errors.Is(err, offset.ErrDenied) {
				t.Errorf("%v, %v", ids, err)
			}
			if _, _, _, err := l.Read(t.Context(), 1); !errors.Is(err, offset.ErrDenied) {
				t.Error(err)
			}
			if err := l.Try(t.Context()); !errors.Is(err, offset.ErrDenied) {
				t.Error(err)
			}
		})
	}
}

func TestIDsOfManyMachines(t *testing.T) {
	everyDatabase(t, func(t *testing.T, open func() *Log) {
		const writers, each = 4, 10
		var mu sync.Mutex
		var ids []int64
		var wg sync.WaitGroup
		for range writers {
			l := open()
			wg.Go(func() {
				for range each {
					id, err := l.Create(t.Context(), []byte("{}"))
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					ids = append(ids, id)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		slices.Sort(ids)
		if len(ids) != writers*each || len(slices.Compact(slices.Clone(ids))) != writers*each || ids[len(ids)-1] != writers*each {
			t.Errorf("got %v", ids)
		}
	})
}

// The journal itself, over a table.
func TestJournal(t *testing.T) {
	everyDatabase(t, func(t *testing.T, open func() *Log) {
		j := repair.NewJournal(open())
		if _, err := j.Entry(t.Context(), 3); !errors.Is(err, repair.ErrNoEntry) {
			t.Errorf("got %v", err)
		}
		if c, err := j.LastCluster(t.Context(), "sqlite:x"); err != nil || c != "" {
			t.Errorf("%q, %v", c, err)
		}
		if es, gaps, err := j.History(t.Context(), repair.Filter{}); err != nil || es != nil || gaps != nil {
			t.Errorf("%v, %v, %v", es, gaps, err)
		}
	})
}

func TestADatabaseThatIsNotThere(t *testing.T) {
	_, err := Open(t.Context(), env(), parse(t, "mysql://root@127.0.0.1:1/test"))
	if !errors.Is(err, offset.ErrUnreachable) {
		t.Errorf("got %v", err)
	}
	if _, err = Open(t.Context(), env(), parse(t, "sqlite:"+filepath.Join(t.TempDir(), "no", "such", "dir", "journal.db"))); err == nil {
		t.Error("opened a file in a directory that is not there")
	}
}
