package e2e

import (
	"fmt"
	"testing"
)

// TestSQLDeleteGroup: a group of a table goes as it was read, comes back by undo, and its neighbours are left alone.
func TestSQLDeleteGroup(t *testing.T) {
	everyEngine(t, func(t *testing.T, d *database) {
		c := kafkaCluster(t, "kafka44")
		topic := c.topic("orders", 3, "retention.ms", "-1")
		for p := range int32(3) {
			c.produce(topic, p, 100, 0)
			c.commit(c.name, topic, p, 40+int64(p), -1, "")
		}
		table := d.name("own")
		store := d.url("?table=" + table)
		o := c.operator("OFFSETCTL_STORE=" + store)
		o.exits(0, "store", "init", "--store", store)
		for _, group := range []string{"job", "job%"} {
			o.exits(0, "copy", "--from", c.url(), "--from-group", c.name, "--to", store, "--to-group", group, "-t", topic, "--yes", "--new-group", "--settle", "0").
				says("undo: offsetctl .*--store .*"+table, "!"+appSecret)
		}
		content := "SELECT part, off FROM " + table + " ORDER BY part"
		o.exits(4, "groups", "delete", c.name, "--yes", "--settle", "0").says("has nothing stored", "!"+appSecret)
		o.exits(0, "groups", "delete", "job%", "--dry-run").says("deletes 3 positions")
		o.exits(0, "groups", "delete", "job%", "--yes", "--settle", "0").says("written 3 of 3")
		d.has(content, "0 40", "1 41", "2 42")
		o.exits(0, "groups").says("job", "!job%")
		o.exits(0, "undo", "--yes", "--settle", "0").says("written 3 of 3")
		d.has(content, "0 40", "0 40", "1 41", "1 41", "2 42", "2 42")

		o.exits(0, "groups", "delete", "job", "--plan-out", "plan.json")
		d.exec("UPDATE " + table + " SET off = 77 WHERE part = 1")
		o.exits(4, "apply", "plan.json", "--yes", "--settle", "0").says("changed from 41 to 77|has moved")
		d.has(content, "0 40", "0 40", "1 77", "1 77", "2 42", "2 42")
		o.keepsSecrets(appSecret)
	})
}

// TestSQLDeleteGroupOfAJob: of a job's own table only where a row that was deleted could be made again.
func TestSQLDeleteGroupOfAJob(t *testing.T) {
	everyEngine(t, func(t *testing.T, d *database) {
		c := kafkaCluster(t, "kafka44")
		topic := c.topic("orders", 2, "retention.ms", "-1")
		table := d.table("keyed", keyedColumns)
		for p := range int32(2) {
			c.produce(topic, p, 100, 0)
			d.exec(fmt.Sprintf(`INSERT INTO %s (grp, topic, partid, "offset") VALUES ('job', '%s', %d, '5%d'), ('other', '%s', %d, '6')`, table, topic, p, p, topic, p))
		}
		o := c.operator("OFFSETCTL_STORE=" + d.url("?table="+table+keyedOptions))
		content := `SELECT grp, partid, "offset" FROM ` + table + " ORDER BY grp, partid"
		before := d.rows(content)
		o.exits(0, "groups", "delete", "job", "--yes", "--settle", "0").says("written 2 of 2")
		d.has(content, "other 0 6", "other 1 6")
		o.exits(0, "undo", "--yes", "--settle", "0").says("written 2 of 2")
		d.has(content, before...)

		d.exec("ALTER TABLE " + table + " ADD COLUMN host VARCHAR(20) NOT NULL DEFAULT 'x'")
		o.exits(0, "groups", "delete", "job", "--dry-run")
		if d.scheme == "sqlite" {
			return // it can take no default away
		}
		d.exec("ALTER TABLE " + table + " ALTER COLUMN host DROP DEFAULT")
		o.exits(4, "groups", "delete", "job", "--yes", "--settle", "0").says("needs a value in host")
		o.exits(4, "reset", "-g", "job", "-t", topic, "--to-absent", "--yes", "--settle", "0").says("cannot delete a position")
		o.exits(0, "reset", "-g", "job", "-t", topic+":0", "--to-offset", "7", "--yes", "--settle", "0").says("written 1 of 1")
	})
}
