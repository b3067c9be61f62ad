package sql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest"
)

// server is one real database server in the tests.
type server struct {
	name   string // of the test server
	scheme string
	driver string
	dsn    func(addr string) string
	// userTable has columns that compare by bytes, a position as text, and one column that is the job's own.
	userTable string
	bad       map[string][]byte // of userTable
}

const (
	mysqlUserTable = "(id BIGINT AUTO_INCREMENT PRIMARY KEY, `group` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE %[1]s NOT NULL, topic VARCHAR(255) CHARACTER SET utf8mb4 COLLATE %[1]s NOT NULL, " +
		"partid INT NOT NULL, `offset` VARCHAR(40) CHARACTER SET utf8mb4, note VARCHAR(10) DEFAULT 'kept', UNIQUE(`group`, topic, partid))"
	postgresUserTable = `(id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "group" TEXT NOT NULL, topic TEXT NOT NULL, partid INT NOT NULL, "offset" VARCHAR(40), note TEXT DEFAULT 'kept', UNIQUE("group", topic, partid))`
)

var servers = []server{
	{"mariadb", "mysql", "mysql", mysqlDSN, fmt.Sprintf(mysqlUserTable, "utf8mb4_nopad_bin"), badText},
	{"mysql8", "mysql", "mysql", mysqlDSN, fmt.Sprintf(mysqlUserTable, "utf8mb4_0900_bin"), badText},
	{"postgres", "postgres", "pgx", postgresDSN, postgresUserTable, badText},
}

func mysqlDSN(addr string) string {
	return "app:app-secret@tcp(" + addr + ")/test?interpolateParams=true&sql_mode=%27STRICT_ALL_TABLES%27"
}
func postgresDSN(addr string) string {
	return "postgres://app:app-secret@" + addr + "/test?sslmode=disable&default_query_exec_mode=exec"
}

// database is a server that runs, and a connection of another program.
type database struct {
	server
	addr string
	db   *sql.DB
}

// on runs a test on every real server.
func on(t *testing.T, f func(*testing.T, database)) {
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) { f(t, connect(t, s)) })
	}
}

func connect(t *testing.T, s server) database {
	t.Helper()
	addr := testservers.Need(t, s.name).Addr["plain"]
	db, err := sql.Open(s.driver, s.dsn(addr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return database{s, addr, db}
}

// address is the database's address through addr, which may be a proxy's.
func (d database) address(addr, options string) string {
	return d.scheme + "://app:app-secret@" + addr + "/test" + options
}

// table makes a name that no other test uses, and drops the table at the end.
func (d database) table(t testing.TB, label string) string {
	name := "t_" + label + "_" + unique()
	t.Cleanup(func() { exec(t, d.db, "DROP TABLE IF EXISTS "+name) })
	return name
}

// ownTable makes one of our tables and answers its name.
func (d database) ownTable(t testing.TB, label string) string {
	name := d.table(t, label)
	if _, err := Init(context.Background(), quiet(), parse(t, d.address(d.addr, "?table="+name))); err != nil {
		t.Fatal(err)
	}
	return name
}

// bind writes a statement's question marks as the server wants them.
func (d database) bind(q string) string {
	for n := 1; d.driver == "pgx" && strings.Contains(q, "?"); n++ {
		q = strings.Replace(q, "?", fmt.Sprintf("$%d", n), 1)
	}
	return q
}

// name is a group or topic as the server's own-table column wants it.
func (d database) name(s string) any {
	if d.driver == "mysql" {
		return []byte(s)
	}
	return s
}

func TestOwnTable(t *testing.T) {
	on(t, func(t *testing.T, d database) {
		table := d.ownTable(t, "own")
		empty := "''"
		if d.driver == "pgx" {
			empty = "''::bytea"
		}
		offsettest.RunStore(t, offsettest.Store{
			Open: func(t testing.TB, env offset.Env) offset.Store {
				return open(t, env, d.address(d.addr, "?table="+table))
			},
			Caps: ownCaps,
			Poke: func(t testing.TB, group string, p offset.Partition, raw []byte) {
				key := []any{d.name(group), d.name(p.Topic), d.name(p.Broker), int64(p.Index)}
				exec(t, d.db, d.bind("DELETE FROM "+table+" WHERE grp=? AND topic=? AND broker=? AND part=?"), key...)
				if raw != nil {
					exec(t, d.db, d.bind("INSERT INTO "+table+" VALUES(?,?,?,?,"+string(raw)+",-1,'',"+empty+",'',1,1)"), key...)
				}
			},
			Bad:     map[string][]byte{"negative": []byte("-1")},
			Refuses: func(name string, _ bool) bool { return d.driver == "pgx" && (name == "a\x00b" || name == "a\xffb") },
			Cut: func(t testing.TB, env offset.Env) (offset.Store, func(bool)) {
				p := newProxy(t, d.addr)
				return open(t, env, d.address(p.addr, "?table="+table)), p.cutCommit
			},
			Down: func(t testing.TB, env offset.Env) (offset.Store, error) {
				p := newProxy(t, d.addr)
				s := open(t, env, d.address(p.addr, "?table="+table))
				p.close()
				return s, nil
			},
			Rounds: 1000,
		})
	})
}

func TestUsersTable(t *testing.T) {
	on(t, func(t *testing.T, d database) {
		table := d.table(t, "user")
		exec(t, d.db, "CREATE TABLE "+table+" "+d.userTable)
		q := func(s string) string {
			if d.driver == "mysql" {
				return strings.ReplaceAll(s, `"`, "`")
			}
			return s
		}
		offsettest.RunStore(t, offsettest.Store{
			Open: func(t testing.TB, env offset.Env) offset.Store {
				return open(t, env, d.address(d.addr, "?table="+table+"&group=group&topic=topic&partition=partid&offset=offset"))
			},
			Caps: userCaps,
			Poke: func(t testing.TB, group string, p offset.Partition, raw []byte) {
				key := []any{group, p.Topic, int64(p.Index)}
				if raw == nil {
					exec(t, d.db, q(d.bind("DELETE FROM "+table+` WHERE "group"=? AND topic=? AND partid=?`)), key...)
					return
				}
				over := ` ON CONFLICT ("group", topic, partid) DO UPDATE SET "offset"=excluded."offset"`
				if d.driver == "mysql" {
					over = " ON DUPLICATE KEY UPDATE `offset`=VALUES(`offset`)"
				}
				exec(t, d.db, q(d.bind("INSERT INTO "+table+`("group", topic, partid, "offset") VALUES(?,?,?,?)`+over)), append(key, string(raw))...)
			},
			Bad: d.bad,
			Refuses: func(name string, _ bool) bool {
				return name == "a\xffb" || name == "a\x00b" && d.driver == "pgx"
			},
			Cut: func(t testing.TB, env offset.Env) (offset.Store, func(bool)) {
				p := newProxy(t, d.addr)
				return open(t, env, d.address(p.addr, "?table="+table+"&group=group&topic=topic&partition=partid&offset=offset")), p.cutCommit
			},
			Rounds: 1000,
		})
	})
}
