package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// bounds makes a topic of six partitions on the real Kafka, each with records 20 to 99.
func bounds(c *cluster, suffix string) string {
	c.t.Helper()
	topic := c.topic(suffix, 6, "retention.ms", "-1")
	for p := range int32(6) {
		c.produce(topic, p, 100, 0)
		c.deleteTo(topic, p, 20)
	}
	return topic
}

// TestSQLOwnTable: every verdict of a table of our own, its repair, and its undo.
func TestSQLOwnTable(t *testing.T) {
	everyEngine(t, func(t *testing.T, d *database) {
		c := kafkaCluster(t, "kafka44")
		topic, group := bounds(c, "orders"), c.name
		again := c.topic("again", 1, "retention.ms", "-1")
		c.produce(again, 0, 50, 0)
		for p := range int32(4) {
			c.commit(group, topic, p, 50, -1, "meta")
		}
		c.commit(group, again, 0, 45, -1, "")
		table := d.name("own")
		store := d.url("?table=" + table)
		o := c.operator("OFFSETCTL_STORE=" + store)
		o.exits(2, "inspect", "-g", group).says("table", "store init", "!"+appSecret)
		o.exits(0, "store", "init", "--store", store).says("was created", "!"+appSecret)
		o.exits(0, "store", "init", "--store", store).says("is there already")
		o.exits(0, "check", "-g", group, "-t", topic, "--can", "reset").says("ok +store", "!FAIL", "!"+appSecret)
		o.exits(1, "inspect", "-g", group)

		o.exits(0, "copy", "--from", c.url(), "--from-group", group, "--to", store, "-t", topic, "-t", again, "--yes", "--new-group", "--settle", "0").says("written 5 of 5", "!"+appSecret)
		rows := o.inspect(group)
		o.verdict(rows, topic+":0", "ok", 50)
		o.verdict(rows, topic+":4", "absent", -1)

		o.exits(0, "copy", "--from", store, "--from-group", group, "--to-group", group+"-2", "--to", c.url(), "-t", topic, "--yes", "--new-group").
			says("written 4 of 4")
		plain := c.operator()
		plain.verdict(plain.inspect(group+"-2"), topic+":0", "ok", 50)
		_, err := c.adm.DeleteTopic(c.ctx, again)
		c.must(err)
		c.topic("again", 1, "retention.ms", "-1")
		c.produce(again, 0, 16, 0)
		d.exec("UPDATE " + table + " SET off = 5 WHERE part = 0 AND off = 50")
		d.exec("UPDATE " + table + " SET off = 300 WHERE part = 1")
		d.exec("UPDATE " + table + " SET off = -7 WHERE part = 2")
		d.exec("UPDATE " + table + " SET part = 9 WHERE part = 3")
		before := d.rows("SELECT topic, part, off FROM " + table + " ORDER BY topic, part")
		rows = o.inspect(group)
		o.verdict(rows, topic+":0", "head-overflow", 5)
		o.verdict(rows, topic+":1", "tail-overflow", 300)
		o.verdict(rows, topic+":2", "invalid", -1)
		o.verdict(rows, topic+":3", "absent", -1)
		o.verdict(rows, topic+":9", "orphan", 50)
		o.verdict(rows, again+":0", "tail-overflow", 45)
		o.exits(1, "inspect", "-g", group).says("already lost 15", "200 past the log end", "29 past the log end", "made again|another topic|recreated", "!"+appSecret)

		o.exits(4, "reset", "-g", group, "--all-topics", "--repair", "--yes", "--settle", "0").says("--on-tail-overflow", "--on-invalid")
		d.has("SELECT topic, part, off FROM "+table+" ORDER BY topic, part", before...)
		o.exits(0, "reset", "-g", group, "--all-topics", "--repair", "--on-tail-overflow", "latest", "--on-invalid", "earliest", "--prune", "--yes", "--settle", "0").
			says("written 8 of 8", "!"+appSecret)
		d.has("SELECT part, off FROM "+table+" ORDER BY part, off", "0 16", "0 20", "1 100", "2 20", "3 20", "4 20", "5 20")
		o.exits(0, "inspect", "-g", group)
		o.exits(0, "undo", "--yes", "--settle", "0").says("written 8 of 8")
		d.has("SELECT topic, part, off FROM "+table+" ORDER BY topic, part", before...)
		rows = o.inspect(group)
		o.verdict(rows, topic+":2", "invalid", -1)
		o.verdict(rows, topic+":9", "orphan", 50)

		o.keepsSecrets(appSecret)
	})
}

// TestSQLSeedTable: a job's table without a group and without a key. Rows that are there are moved in place and
// their other columns kept; rows are neither made nor deleted, for nothing would keep a second one out.
func TestSQLSeedTable(t *testing.T) {
	everyEngine(t, func(t *testing.T, d *database) {
		c := kafkaCluster(t, "kafka44")
		topic := bounds(c, "orders")
		table := d.table("seed", seedColumns)
		store := d.url("?table=" + table + seedOptions)
		for p, at := range map[int]string{0: "5", 1: "300", 2: "50", 3: "-3", 5: "NULL", 9: "44"} {
			d.exec(fmt.Sprintf(`INSERT INTO %s (topic, partid, "offset", note) VALUES ('%s', %d, %s, 'job''s')`, table, topic, p, at))
		}
		content := `SELECT partid, "offset", note FROM ` + table + " ORDER BY partid, note"
		o := c.operator("OFFSETCTL_STORE=" + store)
		s := o.run("inspect", "-o", "json")
		if s.code != 1 || !strings.Contains(s.out, "head-overflow") {
			t.Fatal(s)
		}
		rows := o.inspect("any")
		o.verdict(rows, topic+":0", "head-overflow", 5)
		o.verdict(rows, topic+":1", "tail-overflow", 300)
		o.verdict(rows, topic+":2", "ok", 50)
		o.verdict(rows, topic+":3", "invalid", -1)
		o.verdict(rows, topic+":4", "absent", -1)
		o.verdict(rows, topic+":5", "invalid", -1)
		o.verdict(rows, topic+":9", "orphan", 44)

		o.exits(0, "reset", "-g", "any", "-t", topic+":0", "-t", topic+":3,5", "--repair", "--on-invalid", "earliest", "--yes", "--settle", "0").says("written 3 of 3")
		d.has(content, "0 20 job's", "1 300 job's", "2 50 job's", "3 20 job's", "5 20 job's", "9 44 job's")
		o.exits(0, "undo", "--yes", "--settle", "0")
		d.has(content, "0 5 job's", "1 300 job's", "2 50 job's", "3 -3 job's", "5 NULL job's", "9 44 job's")

		for _, x := range []struct {
			args []string
			want string
		}{{[]string{"-t", topic + ":4", "--repair"}, "no unique key.*ADD UNIQUE"}, {[]string{"-t", topic + ":2", "--to-absent"}, "cannot delete a position"}} {
			s := o.run(append([]string{"reset", "-g", "any", "--yes", "--settle", "0"}, x.args...)...)
			if s.code != 4 {
				t.Errorf("a row without a key: %s", s)
			}
			s.says(x.want, "refused, nothing written")
		}
		o.exits(1, "inspect", "-g", "any", "-t", topic+":4", "-o", "json").says("no reset can write it: rows of table .*ADD UNIQUE", "!--repair")
		o.exits(4, "groups", "delete", "any", "--yes", "--settle", "0").says("no column for groups")
		d.exec(fmt.Sprintf(`INSERT INTO %s (topic, partid, "offset", note) VALUES ('%s', 2, 51, 'second')`, table, topic))
		o.exits(1, "inspect", "-g", "any", "-t", topic+":2").says("invalid", "2 rows: 50, 51", "!--to-earliest")
		o.exits(1, "inspect", "-g", "any", "-t", topic+":2", "-o", "json").says("no reset can write it: table .* has more than one row")
		s = o.run("reset", "-g", "any", "-t", topic+":2", "--to-earliest", "--yes", "--settle", "0")
		if s.code != 4 {
			t.Errorf("two rows for one partition: %s", s)
		}
		s.says("more than one row", topic+":2", "refused, nothing written")
		o.exits(0, "history").says("!reset -g any -t " + topic + ":[24]")
		d.has(content, "0 5 job's", "1 300 job's", "2 50 job's", "2 51 second", "3 -3 job's", "5 NULL job's", "9 44 job's")
		o.keepsSecrets(appSecret)
	})
}

// TestBR32SQLValueKinds and BR-12, BR-40: what a text column may hold, read, judged and put back byte for byte.
func TestBR32SQLValueKinds(t *testing.T) {
	everyEngine(t, func(t *testing.T, d *database) {
		c := kafkaCluster(t, "kafka44")
		topic := c.topic("kinds", 12, "retention.ms", "-1")
		for p := range int32(12) {
			c.produce(topic, p, 200, 0)
		}
		table := d.table("kinds", keyedColumns)
		store := d.url("?table=" + table + keyedOptions)
		values := []string{"'120'", "''", "'75\n'", "", "'abc'", "'-1'", "'9223372036854775808'", "'12.0'", "'1e6'", "NULL", "'9223372036854775807'", "'9007199254740993'"}
		for p, v := range values {
			if v != "" {
				d.exec(fmt.Sprintf(`INSERT INTO %s (grp, topic, partid, "offset") VALUES ('g', '%s', %d, %s)`, table, topic, p, v))
			}
		}
		o := c.operator("OFFSETCTL_STORE=" + store)
		rows := o.inspect("g")
		for p, want := range []struct {
			verdict string
			at      int64
		}{{"ok", 120}, {"invalid", -1}, {"ok", 75}, {"absent", -1}, {"invalid", -1}, {"invalid", -1}, {"invalid", -1}, {"invalid", -1}, {"invalid", -1}, {"invalid", -1},
			{"tail-overflow", 9223372036854775807}, {"tail-overflow", 9007199254740993}} {
			o.verdict(rows, fmt.Sprintf("%s:%d", topic, p), want.verdict, want.at)
		}
		o.exits(1, "inspect", "-g", "g").says("9223372036854775807", "9007199254740993", `"abc"`, "!e\\+")
		o.exits(1, "inspect", "-g", "g", "-o", "json").says(`"next": ?9223372036854775807`, `"next": ?9007199254740993`)
		content := `SELECT partid, "offset", note FROM ` + table + " ORDER BY partid"
		before := d.rows(content)
		o.exits(0, "reset", "-g", "g", "-t", topic+":1", "--to-earliest", "--yes", "--settle", "0").says("written 1 of 1")
		o.exits(0, "undo", "--yes", "--settle", "0")
		d.has(content, before...)
		o.exits(0, "reset", "-g", "g", "-t", topic, "--repair", "--on-invalid", "earliest", "--on-tail-overflow", "latest", "--yes", "--settle", "0").says("written 10 of 10")
		o.exits(0, "inspect", "-g", "g")
		o.exits(0, "undo", "--yes", "--settle", "0")
		d.has(content, before...)
		d.has(`SELECT partid FROM `+table+` WHERE "offset" IS NULL`, "9") // not the word
	})
}

// TestBR10LastProcessed: a job that stores the last record that it has done.
func TestBR10LastProcessed(t *testing.T) {
	everyEngine(t, func(t *testing.T, d *database) {
		c := kafkaCluster(t, "kafka44")
		topic := c.topic("last", 2, "retention.ms", "-1")
		c.produce(topic, 0, 4, 0)
		c.produce(topic, 1, 4, 0)
		table := d.table("last", `(topic VARCHAR(200) NOT NULL, partid INT NOT NULL, "offset" BIGINT, UNIQUE(topic, partid))`)
		d.exec(fmt.Sprintf(`INSERT INTO %s VALUES ('%s', 0, 3), ('%s', 1, -1)`, table, topic, topic))
		content := `SELECT partid, "offset" FROM ` + table + " ORDER BY partid"
		last, next := d.url("?table="+table+seedOptions+"&value=last"), d.url("?table="+table+seedOptions)
		o := c.operator("OFFSETCTL_STORE=" + last)
		rows := o.inspect("g")
		o.verdict(rows, topic+":0", "ok", 4)
		o.verdict(rows, topic+":1", "ok", 0)
		if l := rows[topic+":1"].Lag; l == nil || *l != 4 {
			t.Errorf("lag of a partition of which nothing was done: %v", l)
		}
		undeclared := c.operator("OFFSETCTL_STORE=" + next)
		o.verdict(undeclared.inspect("g"), topic+":0", "ok", 3)

		o.exits(0, "reset", "-g", "g", "-t", topic, "--to-latest", "--yes", "--settle", "0")
		d.has(content, "0 3", "1 3")
		o.exits(0, "reset", "-g", "g", "-t", topic, "--to-earliest", "--yes", "--settle", "0")
		d.has(content, "0 -1", "1 -1")
		o.exits(0, "undo", "--yes", "--settle", "0")
		d.has(content, "0 3", "1 3")
		d.exec(`UPDATE ` + table + ` SET "offset" = -1 WHERE partid = 1`)
		own := d.url("?table=" + d.name("copied"))
		o.exits(0, "store", "init", "--store", own)
		o.exits(0, "copy", "--from", last, "--from-group", "g", "--to", own, "-t", topic, "--yes", "--new-group", "--settle", "0").says("written 2 of 2")
		copied := c.operator("OFFSETCTL_STORE=" + own)
		rows = copied.inspect("g")
		o.verdict(rows, topic+":0", "ok", 4)
		o.verdict(rows, topic+":1", "ok", 0)
	})
}

// TestBR24SQLNames: groups and topics are byte for byte what they are called; no pattern, no prefix, no neighbour.
func TestBR24SQLNames(t *testing.T) {
	everyEngine(t, func(t *testing.T, d *database) {
		c := kafkaCluster(t, "kafka44")
		events, near := c.topic("order_events", 1, "retention.ms", "-1"), c.topic("orderXevents", 1, "retention.ms", "-1")
		c.produce(events, 0, 30, 0)
		c.produce(near, 0, 30, 0)
		own := "?table=" + d.name("names")
		user := "?table=" + d.table("names", keyedColumns)
		c.operator().exits(0, "store", "init", "--store", d.url(own))
		for _, options := range []string{own, user + keyedOptions} {
			o := c.operator("OFFSETCTL_STORE=" + d.url(options))
			groups := []string{"a", "a:b", "a/b", "a*", "a_c", "axc", "a%", "a'b\"", "A", "é"}
			for _, g := range groups {
				o.exits(0, "reset", "-g", g, "-t", events, "-t", near, "--to-offset", "10", "--allow-skip", "--yes", "--new-group", "--settle", "0").says("written 2 of 2")
			}
			moved := []string{"a", "a_c", "a*", "a%", "a'b\""}
			for _, g := range moved {
				o.exits(0, "reset", "-g", g, "-t", events, "--to-earliest", "--yes", "--settle", "0").says("written 1 of 1")
			}
			for _, g := range groups {
				want := int64(10)
				for _, m := range moved {
					if g == m {
						want = 0
					}
				}
				rows := o.inspect(g)
				o.verdict(rows, events+":0", "ok", want)
				o.verdict(rows, near+":0", "ok", 10)
			}
		}
	})
}

// TestBR36SQLCollation: the database takes two names for one; neither is the other's position, and neither is written.
func TestBR36SQLCollation(t *testing.T) {
	for _, x := range []struct{ server, column string }{
		{"mariadb", "VARCHAR(200) COLLATE utf8mb4_general_ci"}, {"mysql8", "VARCHAR(200) COLLATE utf8mb4_0900_ai_ci"}, {"sqlite", "TEXT COLLATE NOCASE"},
	} {
		t.Run(x.server, func(t *testing.T) {
			t.Parallel()
			d, c := openDatabase(t, x.server), kafkaCluster(t, "kafka44")
			lower, upper := c.topic("orders", 1, "retention.ms", "-1"), c.topic("Orders", 1, "retention.ms", "-1")
			c.produce(lower, 0, 50, 0)
			c.produce(upper, 0, 50, 0)
			table := d.name("folds")
			d.exec("CREATE TABLE " + table + " (topic " + x.column + ` NOT NULL, partid INT NOT NULL, "offset" BIGINT, UNIQUE(topic, partid))`)
			d.exec("INSERT INTO " + table + " VALUES ('" + upper + "', 0, 900)")
			o := c.operator("OFFSETCTL_STORE=" + d.url("?table="+table+seedOptions))
			o.verdict(o.inspect("g", "-t", lower), lower+":0", "absent", -1)
			s := o.run("reset", "-g", "g", "-t", lower, "--to-latest", "--yes", "--new-group", "--settle", "0")
			if s.code != 2 && s.code != 4 {
				t.Error(s)
			}
			s.says("for the same", "collation")
			d.has(`SELECT "offset" FROM `+table, "900")
		})
	}
}
