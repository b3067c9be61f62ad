package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// rounds is how often two resets race; the drivers' own tests run a thousand without a process each.
const rounds = 12

// race lets two resets of ten positions from one state start at once, round by round: one wins with all of them, or none does.
func race(t *testing.T, c *cluster, topic, store string, now func() []string) {
	a := c.operator("OFFSETCTL_STORE=" + store)
	b := c.operator("OFFSETCTL_STORE=" + store)
	a.exits(0, "reset", "-g", "g", "-t", topic, "--to-offset", "10", "--allow-skip", "--yes", "--new-group", "--settle", "0")
	at := 10
	wins := [2]int{}
	for n := range rounds {
		to := [2]int{11 + 2*n, 12 + 2*n}
		var rs [2]*running
		for i, o := range []*operator{a, b} {
			parts := topic + ":0-9"
			if i == 1 { // the other way round: rows must be locked in one order
				parts = topic + ":9,8,7,6,5,4,3,2,1,0"
			}
			rs[i] = o.start("reset", "-g", "g", "-t", parts, "--to-offset", fmt.Sprint(to[i]), "--if-stored", fmt.Sprint(at), "--allow-skip", "--yes", "--settle", "0")
		}
		won := -1
		for i, r := range rs {
			_ = r.cmd.Wait()
			text := r.out.String() + r.err.String()
			switch code := r.cmd.ProcessState.ExitCode(); {
			case code == 0 && won < 0:
				won = i
			case code == 0:
				t.Fatalf("round %d: both won: %s", n, text)
			case code != 4 || !strings.Contains(text, "refused, nothing written"):
				t.Errorf("round %d: the loser ends with %d: %s", n, code, text)
			}
		}
		if won < 0 {
			t.Fatalf("round %d: nobody won: %s%s", n, rs[0].err.String(), rs[1].err.String())
		}
		wins[won]++
		at = to[won]
		rows := now()
		if len(rows) != 10 {
			t.Fatalf("round %d: %d rows: %q", n, len(rows), rows)
		}
		for _, r := range rows {
			if r != fmt.Sprint(at) {
				t.Fatalf("round %d: a mixture, %d won: %q", n, at, rows)
			}
		}
	}
	t.Logf("wins: %v", wins)
}

// TestBR34RaceOfTwoResets and BR-37: our table and a user's on each engine.
func TestBR34RaceOfTwoResets(t *testing.T) {
	everyEngine(t, func(t *testing.T, d *database) {
		c := kafkaCluster(t, "kafka44")
		topic := c.topic("t", 10, "retention.ms", "-1")
		for p := range int32(10) {
			c.produce(topic, p, 60, 0)
		}
		own, user := d.name("own"), d.table("user", keyedColumns)
		c.operator().exits(0, "store", "init", "--store", d.url("?table="+own))
		race(t, c, topic, d.url("?table="+own), func() []string { return d.rows("SELECT off FROM " + own) })
		race(t, c, topic, d.url("?table="+user+keyedOptions), func() []string { return d.rows(`SELECT "offset" FROM ` + user) })
	})
}

func TestBR34RaceOnAFile(t *testing.T) {
	t.Parallel()
	c := kafkaCluster(t, "kafka44")
	topic := c.topic("t", 10, "retention.ms", "-1")
	for p := range int32(10) {
		c.produce(topic, p, 60, 0)
	}
	path := filepath.Join(t.TempDir(), "offsets.json")
	c.operator().exits(0, "store", "init", "--store", "file:"+path)
	race(t, c, topic, "file:"+path, func() (out []string) {
		var doc struct {
			Offsets []struct{ Next json.Number }
		}
		b, err := os.ReadFile(path)
		c.must(err)
		c.must(json.Unmarshal(b, &doc))
		for _, e := range doc.Offsets {
			out = append(out, e.Next.String())
		}
		return out
	})
}

// TestJobThatRuns: a job without membership moves while we look, or writes over what we wrote.
func TestJobThatRuns(t *testing.T) {
	everyEngine(t, func(t *testing.T, d *database) {
		c := kafkaCluster(t, "kafka44")
		topic := c.topic("t", 1, "retention.ms", "-1")
		c.produce(topic, 0, 100, 0)
		table := d.table("live", keyedColumns)
		d.exec(fmt.Sprintf(`INSERT INTO %s (grp, topic, partid, "offset") VALUES ('g', '%s', 0, '10')`, table, topic))
		content := `SELECT "offset" FROM ` + table
		o := c.operator("OFFSETCTL_STORE=" + d.url("?table="+table+keyedOptions))

		r := o.start("reset", "-g", "g", "-t", topic, "--to-earliest", "--yes", "--settle", "3s")
		c.until("it waits", func() bool { return d.rows(content)[0] == "10" })
		time.Sleep(time.Second)
		d.exec("UPDATE " + table + ` SET "offset" = '11'`)
		r.ends(4).says(`moved from 10 to 11`, "a job is running", "stop it and repeat")
		d.has(content, "11")

		r = o.start("reset", "-g", "g", "-t", topic, "--to-earliest", "--yes", "--settle", "2s")
		c.until("it has written", func() bool { return d.rows(content)[0] == "0" })
		d.exec("UPDATE " + table + ` SET "offset" = '12'`)
		r.ends(3).says("overwritten by a live job", "undo 1")
		d.has(content, "12")
		o.exits(0, "history", "1").says("overwritten")
		o.exits(0, "history").says("0 of 1, 1 overwritten")
		o.exits(4, "undo", "1", "--yes", "--settle", "0").says("MOVED", "--also-moved")
		d.has(content, "12")
	})
}
