package e2e

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/internal/testservers"
)

// reader makes a user who may only read a table, and answers the beginning of an address of his.
func (d *database) reader(server testservers.Server, table string) string {
	d.t.Helper()
	name := d.name("u")
	driver, create := "pgx", "CREATE USER %s PASSWORD '"+appSecret+"'"
	if d.scheme == "mysql" {
		driver, create = "mysql", "CREATE USER '%s'@'%%' IDENTIFIED BY '"+appSecret+"'"
	}
	root, err := sql.Open(driver, server.Vars["root-dsn"])
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	short := "r" + name[len(name)-12:]
	if _, err = root.Exec(fmt.Sprintf(create, short)); err != nil {
		d.t.Fatal(err)
	}
	if d.scheme == "postgres" { // by the table's owner
		d.exec("GRANT SELECT ON " + table + " TO " + short)
	} else if _, err = root.Exec("GRANT SELECT ON test." + table + " TO '" + short + "'@'%'"); err != nil {
		d.t.Fatal(err)
	}
	return d.scheme + "://" + short + ":" + appSecret + "@" + d.addr + "/test"
}

// TestSQLRights: who may only read can inspect; a reset is refused by name of the right, and nothing is written.
func TestSQLRights(t *testing.T) {
	for _, engine := range []string{"mariadb", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			d, c := openDatabase(t, engine), kafkaCluster(t, "kafka44")
			topic := c.topic("t", 1, "retention.ms", "-1")
			c.produce(topic, 0, 100, 0)
			table := d.table("rights", keyedColumns)
			d.exec(fmt.Sprintf(`INSERT INTO %s (grp, topic, partid, "offset") VALUES ('g', '%s', 0, '50')`, table, topic))
			o := c.operator("OFFSETCTL_STORE=" + d.reader(testservers.Need(t, engine), table) + "?table=" + table + keyedOptions)
			o.verdict(o.inspect("g"), topic+":0", "ok", 50)
			o.exits(5, "reset", "-g", "g", "-t", topic, "--to-earliest", "--yes", "--settle", "0").says("denied", "user, password and rights", "!"+appSecret)
			d.has(`SELECT "offset" FROM `+table, "50")
			o.exits(5, "check", "-g", "g", "-t", topic, "--can", "reset").says("FAIL")
			o.exits(0, "check", "-g", "g", "-t", topic, "--can", "inspect").says("!FAIL")
			o.keepsSecrets(appSecret)
		})
	}
}

// TestSQLiteFile: a file that is not there, is none, may not be written, is locked, or has no room.
func TestSQLiteFile(t *testing.T) {
	t.Parallel()
	d, c := openDatabase(t, "sqlite"), kafkaCluster(t, "kafka44")
	topic := c.topic("t", 1, "retention.ms", "-1")
	c.produce(topic, 0, 100, 0)
	table := d.table("lite", keyedColumns)
	d.exec(fmt.Sprintf(`INSERT INTO %s (grp, topic, partid, "offset") VALUES ('g', '%s', 0, '50')`, table, topic))
	content := `SELECT "offset" FROM ` + table
	o := c.operator()
	at := func(path string) []string {
		return []string{"--broker", c.url(), "--store", "sqlite:" + path + "?table=" + table + keyedOptions}
	}
	reset := func(path string) []string {
		return append([]string{"reset", "-g", "g", "-t", topic, "--to-earliest", "--yes", "--settle", "0"}, at(path)...)
	}
	missing := filepath.Join(o.dir, "missing.db")
	oneSentence(o.exits(2, append([]string{"inspect", "-g", "g"}, at(missing)...)...).says("missing.db.*not there", "store init"))
	if _, err := os.Stat(missing); err == nil {
		t.Error("inspect made the file")
	}
	garbage := o.file("garbage.db", strings.Repeat("no database ", 1000))
	oneSentence(o.exits(2, append([]string{"inspect", "-g", "g"}, at(garbage)...)...).says("garbage.db.*no SQLite database"))
	if b, err := os.ReadFile(garbage); err != nil || !strings.HasPrefix(string(b), "no database no database") {
		t.Errorf("the file became %q (%v)", b, err)
	}

	tx, err := d.db.Begin()
	c.must(err)
	_, err = tx.Exec("UPDATE " + table + " SET note = 'job'")
	c.must(err)
	begun := time.Now()
	s := o.exits(3, reset(d.addr)...)
	s.says("holds the lock; nothing was written|lock")
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("it waited %s for the lock", took)
	}
	c.must(tx.Rollback())
	d.has(content, "50")

	if s := o.limited(2, reset(d.addr)...); s.code == 0 {
		t.Errorf("no room, and written: %s", s)
	} else {
		s.says("(?i)full|too large|i/o|room", "!panic")
	}
	d.has(content, "50")
	c.must(os.Chmod(d.addr, 0o444))
	c.must(os.Chmod(filepath.Dir(d.addr), 0o555))
	s = o.bound(append([]string{"inspect", "-g", "g", "-o", "json"}, at(d.addr)...)...)
	if s.code != 0 {
		t.Errorf("a file that may only be read: %s", s)
	}
	if s = o.bound(reset(d.addr)...); s.code != 5 {
		t.Errorf("a file that may only be read: %s", s)
	}
	s.says("read-only")
	c.must(os.Chmod(filepath.Dir(d.addr), 0o755))
	d.has(content, "50")
}
