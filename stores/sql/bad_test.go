package sql

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
)

// refused holds that an address cannot be opened, for a reason of this kind that says these words and no secret.
func refused(t *testing.T, text string, kind error, words ...string) {
	t.Helper()
	s, err := OpenTable(context.Background(), quiet(), parse(t, text))
	if err == nil {
		_ = s.Close()
		t.Errorf("%s was opened", text)
		return
	}
	says(t, text, err, kind, words...)
}

func says(t *testing.T, what string, err, kind error, words ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: %v; it should be: %v", what, err, kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: %q does not say %q", what, err, w)
		}
	}
	if text := err.Error(); strings.Contains(text, "secret") || strings.Contains(text, "\n") || len(text) > 600 {
		t.Errorf("%s: a secret, several lines, or a novel: %q", what, text)
	}
}

func TestBadSQLite(t *testing.T) {
	dir := t.TempDir()
	none := filepath.Join(dir, "none.db")
	refused(t, "sqlite:"+none, offset.ErrUnknownName, none, "store init")
	if _, err := os.Stat(none); err == nil {
		t.Error("a mistyped path was created")
	}
	garbled := filepath.Join(dir, "garbled.db")
	if err := os.WriteFile(garbled, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, "sqlite:"+garbled, offset.ErrConfig, "no SQLite database")

	path, db := sqliteFile(t, "CREATE TABLE mine (topic TEXT, part INT, pos REAL, ok BIGINT)", "CREATE VIEW v AS SELECT topic, part, ok FROM mine", "CREATE TABLE offsetctl_offsets (grp BLOB)")
	at := sqliteAddress(path)
	refused(t, at+"?table=other&topic=topic&partition=part&offset=ok", offset.ErrUnknownName, "table other")
	refused(t, at+"?table=mine&topic=tpc&partition=part&offset=ok", offset.ErrConfig, `"tpc"`, "topic=", "topic, part, pos, ok")
	refused(t, at+"?table=mine&topic=topic&partition=part&offset=pos", offset.ErrConfig, "column pos", "bigint")
	refused(t, at+"?table=mine&topic=part&partition=part&offset=ok", offset.ErrConfig, "a name cannot lie")
	refused(t, at, offset.ErrConfig, "topic, broker, part")
	refused(t, at+"?table=mine&topic=topic", offset.ErrConfig, "partition= and offset=")
	refused(t, at+"?group=g", offset.ErrConfig, "topic=")
	refused(t, at+"?table=mine&topic=topic&partition=part&offset=ok&value=first", offset.ErrConfig, "next or last")

	// What is written where a number should be.
	exec(t, db, "INSERT INTO mine VALUES('t',0,0,1.5),('t',1,0,'12x'),('t',2,0,x'3132'),('t','x',0,1),('t',-1,0,1),('t',3,0,9223372036854775807)")
	s := open(t, quiet(), at+"?table=mine&topic=topic&partition=part&offset=ok")
	a := s.Read(context.Background(), []offset.Query{{Group: "g", Expect: ps("t", 0, 1, 2, 3)}})[0]
	for i, want := range []string{"1.5", "12x", "12"} {
		if v := a.Expected[i].Value; (v.State != offset.Invalid || string(v.Raw) != want) && (v.State != offset.Set || v.Next != 12) {
			t.Errorf("row %d: %+v", i, v)
		}
	}
	if len(a.Gaps) != 2 || a.Expected[3].Value.Next != 9223372036854775807 {
		t.Errorf("%+v", a)
	}
	ch := change(t, s, ps("t", 0), 7)
	write(t, s, ch)
	write(t, s, []offset.Change{ch[0].Undo(get(t, s, ps("t", 0)...)[0])})
	var kind string
	if err := db.QueryRow("SELECT typeof(ok) || ok FROM mine WHERE part=0").Scan(&kind); err != nil || kind != "real1.5" {
		t.Errorf("undo of 1.5 left %s, %v", kind, err)
	}

	v := open(t, quiet(), at+"?table=v&topic=topic&partition=part&offset=ok")
	says(t, "a view", v.Write(context.Background(), "g", change(t, v, ps("t", 3), 1))[0].Err, offset.ErrUnsupported, "view")
	if w := v.Warnings(context.Background()); len(w) != 1 {
		t.Errorf("warnings: %v", w)
	}
}

func TestInit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.db")
	refused(t, "sqlite:"+path, offset.ErrUnknownName)
	for i, want := range []string{"was created", "there already"} {
		said, err := Init(context.Background(), quiet(), parse(t, "sqlite:"+path))
		if err != nil || !strings.Contains(said, want) {
			t.Errorf("init %d says %q, %v", i+1, said, err)
		}
	}
	s := open(t, quiet(), "sqlite:"+path)
	for _, p := range s.Permissions(context.Background(), "g", nil, true) {
		if !p.Granted || p.Err != nil {
			t.Errorf("%+v", p)
		}
	}
	_, err := Init(context.Background(), quiet(), parse(t, "sqlite:"+path+"?table=t&topic=a&partition=b&offset=c"))
	says(t, "init of a job's table", err, offset.ErrConfig, "its job's")
	_, err = Init(context.Background(), quiet(), parse(t, "sqlite:"+t.TempDir()+"/no/such/dir.db"))
	says(t, "init in a folder that is not there", err, offset.ErrUnknownName)
	on(t, func(t *testing.T, d database) {
		table := d.table(t, "init")
		refused(t, d.address(d.addr, "?table="+table), offset.ErrUnknownName, "offsetctl store init --store '"+d.scheme)
		for i, want := range []string{"was created", "there already"} {
			said, err := Init(context.Background(), quiet(), parse(t, d.address(d.addr, "?table="+table)))
			if err != nil || !strings.Contains(said, want) {
				t.Errorf("init %d says %q, %v", i+1, said, err)
			}
		}
	})
}

func TestBadServer(t *testing.T) {
	on(t, func(t *testing.T, d database) {
		a := d.scheme + "://"
		refused(t, a+"app:app-secret@127.0.0.1:1/test", offset.ErrUnreachable, "127.0.0.1:1", "refused")
		refused(t, a+"app:wrong-secret@"+d.addr+"/test", offset.ErrDenied, "user")
		refused(t, a+"app:app-secret@"+d.addr+"/nowhere", kindOfNowhere(d), "nowhere")
		refused(t, a+d.addr+"/test", offset.ErrConfig, "no user")
		refused(t, a+"app:app-secret@"+d.addr, offset.ErrConfig, "no database")
		table := d.table(t, "bad")
		exec(t, d.db, "CREATE TABLE "+table+" (topic VARCHAR(50), part INT, dbl DOUBLE PRECISION, dec2 DECIMAL(12,2), pos INT, day DATE, pad CHAR(9), UNIQUE(topic, part))")
		with := func(options string) string { return d.address(d.addr, "?table="+table+options) }
		refused(t, with("&topic=topic&partition=part&offset=dbl"), offset.ErrConfig, "dbl", "bigint")
		refused(t, with("&topic=topic&partition=part&offset=dec2"), offset.ErrConfig, "dec2", "2 digits")
		refused(t, with("&topic=topic&partition=part&offset=day"), offset.ErrConfig, "day")
		refused(t, with("&topic=topic&partition=part&offset=nope"), offset.ErrConfig, `"nope"`)
		if d.driver == "pgx" {
			refused(t, with("&topic=pad&partition=part&offset=pos"), offset.ErrConfig, "pads")
		}
		s := open(t, quiet(), with("&topic=topic&partition=part&offset=pos"))
		exec(t, d.db, "INSERT INTO "+table+"(topic, part, pos) VALUES('t',0,10)")
		r := s.Write(context.Background(), "g", change(t, s, ps("t", 0), 1<<40))[0]
		says(t, "a number that an INT does not hold", r.Err, offset.ErrUnsupported, "column")
		r = s.Write(context.Background(), "g", change(t, s, ps(strings.Repeat("t", 60), 0), 1))[0]
		says(t, "a name that the column does not hold", r.Err, offset.ErrUnsupported, "column")
		if got := get(t, s, ps("t", 0)...)[0]; got.Next != 10 {
			t.Errorf("it is %d by now", got.Next)
		}
		exec(t, d.db, "DROP TABLE "+table)
		a0 := s.Read(context.Background(), []offset.Query{{Group: "g", Expect: ps("t", 0)}})[0]
		says(t, "a table that was dropped", a0.Err, offset.ErrUnknownName, table)
	})
}

func kindOfNowhere(d database) error {
	if d.driver == "mysql" {
		return offset.ErrDenied // this user may not know
	}
	return offset.ErrUnknownName
}

// Somebody else holds the row: the wait ends, and nothing is written.
func TestLockedRow(t *testing.T) {
	on(t, func(t *testing.T, d database) {
		s := open(t, quiet(), d.address(d.addr, "?table="+d.ownTable(t, "locked")))
		write(t, s, change(t, s, ps("t", 0), 10))
		ch := change(t, s, ps("t", 0), 20)
		tx, err := d.db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec("UPDATE " + s.table + " SET owner='job'"); err != nil {
			t.Fatal(err)
		}
		r := s.Write(context.Background(), "g", ch)[0]
		if r.Err == nil || !strings.Contains(r.Err.Error(), "lock") {
			t.Errorf("it answers %v", r.Err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		write(t, s, ch)
	})
}

func TestRights(t *testing.T) {
	on(t, func(t *testing.T, d database) {
		table := d.ownTable(t, "rights")
		user := "u" + unique()[:12]
		dsn := "root:@unix(" + filepath.Join(testservers.Need(t, d.server.name).Dir, "run", "m.sock") + ")/test"
		grants := []string{"CREATE USER " + user + "@'%' IDENTIFIED BY 'reader-secret'", "GRANT SELECT ON test." + table + " TO " + user + "@'%'"}
		drop := []string{"DROP USER " + user + "@'%'"}
		if d.driver == "pgx" {
			dsn = strings.Replace(d.dsn(d.addr), "app:app-secret", "postgres", 1)
			grants = []string{"CREATE ROLE " + user + " LOGIN PASSWORD 'reader-secret'", "GRANT SELECT ON " + table + " TO " + user}
			drop = []string{"DROP OWNED BY " + user, "DROP ROLE " + user}
		}
		root, err := sql.Open(d.driver, dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = root.Close() })
		for _, g := range grants {
			exec(t, root, g)
		}
		t.Cleanup(func() {
			for _, q := range drop {
				exec(t, root, q)
			}
		})
		writer := open(t, quiet(), d.address(d.addr, "?table="+table))
		write(t, writer, change(t, writer, ps("t", 0), 10))
		s := open(t, quiet(), d.scheme+"://"+user+":reader-secret@"+d.addr+"/test?table="+table)
		if got := get(t, s, ps("t", 0)...)[0]; got.Next != 10 {
			t.Errorf("a reader reads %+v", got)
		}
		says(t, "a reader's write", s.Write(context.Background(), "g", change(t, s, ps("t", 0), 5))[0].Err, offset.ErrDenied, "rights")
		for _, p := range s.Permissions(context.Background(), "g", nil, true) {
			if p.Err != nil || p.Granted != strings.HasSuffix(p.Right, "SELECT") {
				t.Errorf("%+v", p)
			}
		}
	})
}

// A replica takes no writes: that is said, and positions can be read.
func TestReadOnlyServer(t *testing.T) {
	d := database{server: servers[0]}
	own := testservers.NeedOwn(t, "mariadb")
	d.addr = own.Addr["plain"]
	db, err := sql.Open(d.driver, strings.Replace(d.dsn(d.addr), "app:app-secret", "root:", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := Init(context.Background(), quiet(), parse(t, d.address(d.addr, ""))); err != nil {
		t.Fatal(err)
	}
	s := open(t, quiet(), d.address(d.addr, ""))
	write(t, s, change(t, s, ps("t", 0), 10))
	exec(t, db, "SET GLOBAL read_only=1")
	says(t, "a write to a replica", s.Write(context.Background(), "g", change(t, s, ps("t", 0), 5))[0].Err, offset.ErrDenied, "read-only", "primary")
	for _, p := range s.Permissions(context.Background(), "g", nil, true) {
		if p.Granted != strings.HasSuffix(p.Right, "SELECT") {
			t.Errorf("%+v", p)
		}
	}
	own.Kill("")
	says(t, "a server that was killed", s.Write(context.Background(), "g", []offset.Change{{Partition: ps("t", 0)[0], From: offset.Stored{Version: "1/n:10"}, To: set(1)}})[0].Err, offset.ErrUnreachable)
}

// MyISAM ignores ROLLBACK: it is read, warned of, and not written.
func TestEngineWithoutTransactions(t *testing.T) {
	d := connect(t, servers[0])
	table := d.table(t, "myisam")
	exec(t, d.db, "CREATE TABLE "+table+" (topic VARCHAR(50) COLLATE utf8mb4_bin, part INT, pos BIGINT, UNIQUE(topic, part)) ENGINE=MyISAM")
	exec(t, d.db, "INSERT INTO "+table+" VALUES('t',0,10)")
	s := open(t, quiet(), d.address(d.addr, "?table="+table+"&topic=topic&partition=part&offset=pos"))
	says(t, "MyISAM", s.Write(context.Background(), "g", change(t, s, ps("t", 0), 5))[0].Err, offset.ErrUnsupported, "ENGINE=InnoDB")
	if w := s.Warnings(context.Background()); len(w) != 1 || !strings.Contains(w[0].Text, "MyISAM") {
		t.Errorf("warnings: %v", w)
	}
}

// Encrypted, with the server's certificate looked at; a plain connection is never made instead.
func TestTLS(t *testing.T) {
	for _, x := range servers {
		if x.name == "mysql8" {
			continue // its own certificate names no host
		}
		t.Run(x.name, func(t *testing.T) {
			srv := testservers.Need(t, x.name)
			d := database{server: x, addr: srv.Addr["plain"]}
			files := "&ca=" + srv.Files["ca"]
			refused(t, d.address(d.addr, "?table=none_at_all"+files), offset.ErrUnknownName, "none_at_all")
			refused(t, d.address(d.addr, "?table=none_at_all&tls=insecure"), offset.ErrUnknownName, "none_at_all")
			refused(t, d.address(d.addr, "?tls=on"), offset.ErrUnreachable, "certificate")
			refused(t, d.address(d.addr, "?ca="+srv.Files["other-ca"]), offset.ErrUnreachable, "certificate")
			refused(t, d.address(d.addr, "?server-name=elsewhere"+files), offset.ErrUnreachable, "certificate")
		})
	}
}

// A thousand partitions of twenty topics are one statement to read and four to write.
func TestBR50(t *testing.T) {
	everywhere(t, "(topic VARCHAR(50), part INT, pos BIGINT, UNIQUE(topic, part))", "&topic=topic&partition=part&offset=pos", func(t *testing.T, p place) {
		own := strings.Replace(p.address, p.table+"&topic=topic&partition=part&offset=pos", "own_"+p.table, 1)
		if _, err := Init(context.Background(), quiet(), parse(t, own)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { exec(t, p.db, "DROP TABLE own_"+p.table) })
		var calls []string
		env := quiet()
		env.Trace = func(_, call string) { calls = append(calls, call) }
		s := open(t, env, own)
		var at []offset.Partition
		for _, topic := range "abcdefghijklmnopqrst" {
			for i := range int32(50) {
				at = append(at, offset.Partition{Topic: string(topic), Index: i})
			}
		}
		numbers := make([]int64, len(at))
		user := open(t, env, p.address)
		for _, x := range []struct {
			s    *Store
			most int
		}{{s, 6}, {s, 6}, {user, 6}, {user, 24}} { // rows that are made, rows that are changed: 500 a statement, of a job's table a topic
			ch := change(t, x.s, at, numbers...)
			calls = nil
			write(t, x.s, ch)
			if len(calls) > x.most {
				t.Errorf("writing 1000 positions takes %v", calls)
			}
			calls = nil
			for i, v := range get(t, x.s, at...) {
				if v.State != offset.Set || v.Next != numbers[i] {
					t.Fatalf("%s is %+v", at[i], v)
				}
				numbers[i] += int64(i)
			}
			if len(calls) != 1 {
				t.Errorf("reading 1000 positions takes %v", calls)
			}
		}
	})
}

func TestForms(t *testing.T) {
	for in, want := range map[string]string{
		"mariadb://u@h/d": "mysql://h:3306/d?user=u", "postgresql://u@h/d?table=s.t": "postgres://h:5432/d?table=s.t&user=u", "sqlite:x.db": "sqlite:x.db",
	} {
		a, err := address.Parse(in, []address.Form{MySQLForm, PostgresForm, SQLiteForm})
		if err != nil || a.String() != want {
			t.Errorf("%s is %s, %v", in, a, err)
		}
	}
}
