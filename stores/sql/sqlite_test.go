package sql

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest"
)

// parse reads an address as the command line does.
func parse(t testing.TB, text string) address.Address {
	t.Helper()
	a, err := address.Parse(text, []address.Form{MySQLForm, PostgresForm, SQLiteForm})
	if err != nil {
		t.Fatal(err)
	}
	if a, err = a.Reveal(address.Secrets{}); err != nil {
		t.Fatal(err)
	}
	return a
}

// open opens a store that must be there.
func open(t testing.TB, env offset.Env, text string) *Store {
	t.Helper()
	s, err := OpenTable(context.Background(), env, parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sqliteFile makes a database with the statements run in it, and answers its path and a connection of another program.
func sqliteFile(t testing.TB, statements ...string) (string, *sql.DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "odd ?#%.db")
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23").Replace(path)+"?_pragma=busy_timeout(20000)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	if len(statements) == 0 {
		if _, err := Init(context.Background(), quiet(), parse(t, sqliteAddress(path))); err != nil {
			t.Fatal(err)
		}
	}
	return path, db
}

func sqliteAddress(path string) string {
	return "sqlite:" + strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23", " ", "%20").Replace(path)
}

var (
	ownCaps  = offset.Caps{Atomic: true, Together: offset.PerGroup, Fence: true, Delete: true, Metadata: true, CommitTime: true, Queues: true}
	userCaps = offset.Caps{Atomic: true, Together: offset.PerGroup, Delete: true}
)

func TestSQLiteOwnTable(t *testing.T) {
	path, db := sqliteFile(t)
	offsettest.RunStore(t, offsettest.Store{
		Open: func(t testing.TB, env offset.Env) offset.Store { return open(t, env, sqliteAddress(path)) },
		Caps: ownCaps,
		Poke: func(t testing.TB, group string, p offset.Partition, raw []byte) {
			key := []any{[]byte(group), []byte(p.Topic), []byte(p.Broker), p.Index}
			exec(t, db, "DELETE FROM offsetctl_offsets WHERE grp=? AND topic=? AND broker=? AND part=?", key...)
			if raw != nil {
				exec(t, db, "INSERT INTO offsetctl_offsets VALUES(?,?,?,?,CAST(? AS INTEGER),-1,'',x'','',1,1)", append(key, string(raw))...)
			}
		},
		Bad: map[string][]byte{"negative": []byte("-1")},
		Down: func(t testing.TB, env offset.Env) (offset.Store, error) {
			return Open(context.Background(), env, parse(t, "sqlite:"+t.TempDir()+"/none.db"))
		},
		Rounds: rounds(),
	})
}

// rounds of the race; each one syncs the disk twice.
func rounds() int {
	if testing.Short() {
		return 50
	}
	return 1000
}

func TestSQLiteUsersTable(t *testing.T) {
	path, db := sqliteFile(t, `CREATE TABLE "my ""offsets" (id INTEGER PRIMARY KEY, "group" TEXT, topic TEXT, partid INT, "offset" TEXT, note TEXT DEFAULT 'kept', UNIQUE("group", topic, partid))`)
	offsettest.RunStore(t, offsettest.Store{
		Open: func(t testing.TB, env offset.Env) offset.Store {
			return open(t, env, sqliteAddress(path)+`?table=my%20"offsets&group=group&topic=topic&partition=partid&offset=offset`)
		},
		Caps: userCaps,
		Poke: func(t testing.TB, group string, p offset.Partition, raw []byte) {
			if raw == nil {
				exec(t, db, `DELETE FROM "my ""offsets" WHERE "group"=? AND topic=? AND partid=?`, group, p.Topic, p.Index)
				return
			}
			exec(t, db, `INSERT INTO "my ""offsets"("group", topic, partid, "offset") VALUES(?,?,?,?) ON CONFLICT DO UPDATE SET "offset"=excluded."offset"`, group, p.Topic, p.Index, string(raw))
		},
		Bad:    badText,
		Rounds: rounds(),
	})
}

// A job's table with a column for RocketMQ's brokers, in which Kafka's partitions have none.
func TestSQLiteUsersTableWithBrokers(t *testing.T) {
	path, db := sqliteFile(t, `CREATE TABLE job (grp TEXT, topic TEXT, broker TEXT, part INT, off INT, UNIQUE(grp, topic, broker, part))`)
	caps := userCaps
	caps.Queues = true
	offsettest.RunStore(t, offsettest.Store{
		Open: func(t testing.TB, env offset.Env) offset.Store {
			return open(t, env, sqliteAddress(path)+"?table=job&group=grp&topic=topic&broker=broker&partition=part&offset=off")
		},
		Caps: caps,
		Poke: func(t testing.TB, group string, p offset.Partition, raw []byte) {
			broker := any(p.Broker)
			if p.Broker == "" && p.Index%2 == 0 {
				broker = nil // as some jobs write it
			}
			exec(t, db, `DELETE FROM job WHERE grp=? AND topic=? AND COALESCE(broker, '')=? AND part=?`, group, p.Topic, p.Broker, p.Index)
			if raw != nil {
				exec(t, db, `INSERT INTO job VALUES(?,?,?,?,?)`, group, p.Topic, broker, p.Index, string(raw))
			}
		},
		Bad:    map[string][]byte{"letters": []byte("abc"), "negative": []byte("-1"), "empty": {}},
		Rounds: 50,
	})
}

// badText are values of a text column that are no position.
var badText = map[string][]byte{
	"empty": {}, "letters": []byte("abc"), "negative": []byte("-1"), "sentinel": []byte("-1001"), "point": []byte("12.0"), "exponent": []byte("1e6"),
	"too large": []byte("9223372036854775808"), "two": []byte("1 2"), "range": []byte("1|2"), "word": []byte("NULL"), "emoji": []byte("🙂"),
}

func exec(t testing.TB, db *sql.DB, q string, args ...any) {
	t.Helper()
	if _, err := db.Exec(q, args...); err != nil {
		t.Errorf("%s: %v", q, err)
	}
}
