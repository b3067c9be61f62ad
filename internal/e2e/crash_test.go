package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// running is a command that has not ended yet.
type running struct {
	o        *operator
	cmd      *exec.Cmd
	out, err bytes.Buffer
}

func (o *operator) start(args ...string) *running {
	o.t.Helper()
	r := &running{o: o, cmd: exec.Command("offsetctl", args...)}
	r.cmd.Env, r.cmd.Dir, r.cmd.Stdout, r.cmd.Stderr = o.env, o.dir, &r.out, &r.err
	if err := r.cmd.Start(); err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	return r
}

// journal is a file of the operator's journal.
func (o *operator) journal(name string) string {
	return filepath.Join(o.dir, ".local", "state", "offsetctl", "journal", name)
}

// kill ends it as nothing else does: by SIGKILL.
func (r *running) kill() {
	r.o.t.Helper()
	_ = r.cmd.Process.Kill()
	if err := r.cmd.Wait(); err == nil {
		r.o.t.Fatal("it ended before it was killed")
	}
}

func (r *running) signal(s syscall.Signal) {
	r.o.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.o.t.Fatal(err)
	}
}

// ends waits for its end and wants this exit code.
func (r *running) ends(code int) *said {
	r.o.t.Helper()
	late := time.AfterFunc(patience, func() { _ = r.cmd.Process.Kill() })
	defer late.Stop()
	_ = r.cmd.Wait()
	s := &said{r.o.t, strings.Join(r.cmd.Args, " "), r.out.String(), r.err.String(), r.cmd.ProcessState.ExitCode()}
	if s.code != code {
		r.o.t.Fatalf("exit code %d, want %d: %s", s.code, code, s)
	}
	return s
}

// victim is a place with one position, 10, that a write to 40 is killed at.
type victim struct {
	o     *operator
	c     *cluster
	topic string
	group string
	gate  *gate
	match func([]byte) bool
	now   func() int64 // what is stored, seen from outside
}

// sqlEngines are those that a gate can stand before.
var sqlEngines = []string{"mariadb", "mysql8", "postgres"}

// victims are a Kafka group and a table on each of the engines, behind a gate.
func victims(t *testing.T, engines []string, f func(t *testing.T, v *victim)) {
	t.Run("kafka group", func(t *testing.T) {
		t.Parallel()
		c := kafkaCluster(t, "kafka44")
		v := &victim{c: c, topic: c.topic("t", 1, "retention.ms", "-1"), group: c.name, match: commitsOffsets, gate: kafkaGate(t, c.addr)}
		c.produce(v.topic, 0, 100, 0)
		c.commit(v.group, v.topic, 0, 10, -1, "")
		v.o = newOperator(t, "OFFSETCTL_BROKER=kafka://"+v.gate.addr)
		v.now = func() int64 {
			os, err := c.adm.FetchOffsets(c.ctx, v.group)
			c.must(err)
			o, _ := os.Lookup(v.topic, 0)
			return o.At
		}
		f(t, v)
	})
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			c, d := kafkaCluster(t, "kafka44"), openDatabase(t, engine)
			v := &victim{c: c, topic: c.topic("t", 1, "retention.ms", "-1"), group: "g", match: commits, gate: newGate(t, d.addr)}
			c.produce(v.topic, 0, 100, 0)
			table := d.table("crash", keyedColumns)
			d.exec(fmt.Sprintf(`INSERT INTO %s (grp, topic, partid, "offset") VALUES ('g', '%s', 0, '10')`, table, v.topic))
			v.o = c.operator("OFFSETCTL_STORE=" + d.at(v.gate.addr, "?table="+table+keyedOptions))
			v.now = func() (n int64) {
				_, err := fmt.Sscan(d.rows(`SELECT "offset" FROM ` + table)[0], &n)
				c.must(err)
				return n
			}
			f(t, v)
		})
	}
}

// plan saves a plan that moves the position to 40 and answers its file.
func (v *victim) plan() string {
	v.o.t.Helper()
	v.o.exits(0, "reset", "-g", v.group, "-t", v.topic, "--to-offset", "40", "--allow-skip", "--plan-out", "plan.json")
	return "plan.json"
}

func (v *victim) stored(want int64) {
	v.o.t.Helper()
	if got := v.now(); got != want {
		v.o.t.Errorf("%d is stored, want %d", got, want)
	}
}

// TestKilledBeforeTheWrite: the journal has the entry, the store nothing. What is true is said, and the plan can be applied.
func TestKilledBeforeTheWrite(t *testing.T) {
	victims(t, sqlEngines, func(t *testing.T, v *victim) {
		plan := v.plan()
		v.gate.stop(before, v.match)
		r := v.o.start("apply", plan, "--yes", "--allow-skip", "--settle", "0")
		v.gate.wait()
		r.kill()
		v.gate.cutAll()
		v.stored(10)
		v.o.exits(0, "history").says("NOT RECORDED")
		v.o.exits(0, "history", "1").says("was not written: 10 is there as before")
		v.o.run("undo", "1", "--yes", "--settle", "0").says("!written 1 of 1", "nothing|already")
		v.stored(10)
		v.o.exits(0, "apply", plan, "--yes", "--allow-skip", "--settle", "0").says("written 1 of 1")
		v.stored(40)
		v.o.keepsSecrets(appSecret)
	})
}

// TestKilledAfterTheWrite: the server has done it, and the program that asked is dead.
func TestKilledAfterTheWrite(t *testing.T) {
	victims(t, sqlEngines, func(t *testing.T, v *victim) {
		plan := v.plan()
		v.gate.stop(after, v.match)
		r := v.o.start("apply", plan, "--yes", "--allow-skip", "--settle", "0")
		v.gate.wait()
		v.c.until("the server has written", func() bool { return v.now() == 40 })
		r.kill()
		v.gate.cutAll()
		v.o.exits(0, "history", "1").says("was written: 40 is there")
		v.o.exits(0, "apply", plan, "--yes", "--allow-skip", "--settle", "0").says("already there", "!written 1 of 1")
		v.stored(40)
		v.o.exits(0, "undo", "1", "--yes", "--settle", "0").says("written 1 of 1")
		v.stored(10)
	})
}

// TestInterruptedInTheMiddle: SIGINT while the server works on a write. The write is not cut; what was written is said.
func TestInterruptedInTheMiddle(t *testing.T) {
	victims(t, sqlEngines, func(t *testing.T, v *victim) {
		v.gate.stop(after, v.match)
		r := v.o.start("reset", "-g", v.group, "-t", v.topic, "--to-offset", "40", "--allow-skip", "--yes", "--settle", "2s")
		v.gate.wait()
		r.signal(syscall.SIGINT)
		time.Sleep(200 * time.Millisecond)
		v.gate.release()
		if v.group == "g" { // a table: the last look is still to come
			r.ends(130).says("interrupted", "written 1 of 1", "journal 1")
		} else {
			r.ends(0).says("written 1 of 1")
		}
		v.stored(40)
		v.o.exits(0, "undo", "1", "--yes", "--settle", "0").says("written 1 of 1")
		v.stored(10)
	})
}

// TestConnectionLostInTheWrite: the connection goes before the server has the request, or before its answer comes. What is
// said, success or failure, is what is there.
func TestConnectionLostInTheWrite(t *testing.T) {
	for name, at := range map[string]moment{"request": cutIn, "answer": cutOut} {
		t.Run(name, func(t *testing.T) {
			victims(t, sqlEngines, func(t *testing.T, v *victim) {
				v.gate.stop(at, v.match)
				r := v.o.start("reset", "-g", v.group, "-t", v.topic, "--to-offset", "40", "--allow-skip", "--yes", "--settle", "0")
				v.gate.wait()
				r.ends(0).says("written 1 of 1, read back")
				v.stored(40)
				v.o.exits(0, "history", "1").says("written", "!NOT KNOWN")
			})
		})
	}
}

// TestServerGoneInTheWrite: nobody answers any more after the write was sent. It is not known, said so, and found out later.
// The program looks for the outcome for 20 s, so not every engine is shown both ways.
func TestServerGoneInTheWrite(t *testing.T) {
	for _, x := range []struct {
		name, engine string
		at           moment
	}{{"before", "mariadb", downIn}, {"after", "postgres", downOut}} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			victims(t, []string{x.engine}, func(t *testing.T, v *victim) {
				v.gate.stop(x.at, v.match)
				r := v.o.start("reset", "-g", v.group, "-t", v.topic, "--to-offset", "40", "--allow-skip", "--yes", "--settle", "0", "--timeout", "8s")
				v.gate.wait()
				r.ends(3).says("NOT KNOWN", "!"+appSecret, "undo 1")
				v.gate.reopen()
				if x.at == downOut {
					v.stored(40)
					v.o.exits(0, "history", "1").says("was written: 40 is there")
					v.o.exits(0, "undo", "1", "--yes", "--settle", "0").says("written 1 of 1")
				} else {
					v.o.exits(0, "history", "1").says("was not written: 10 is there as before")
				}
				v.stored(10)
			})
		})
	}
}

// TestInterruptedBetweenGroups: a plan of three groups, each a transaction of its own; SIGINT while the first is written.
func TestInterruptedBetweenGroups(t *testing.T) {
	for _, engine := range []string{"mariadb", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			c, d := kafkaCluster(t, "kafka44"), openDatabase(t, engine)
			topic := c.topic("t", 1, "retention.ms", "-1")
			c.produce(topic, 0, 100, 0)
			table := d.table("groups", keyedColumns)
			for _, g := range []string{"a", "b", "c"} {
				d.exec(fmt.Sprintf(`INSERT INTO %s (grp, topic, partid, "offset") VALUES ('%s', '%s', 0, '10')`, table, g, topic))
			}
			content := `SELECT grp, "offset" FROM ` + table + " ORDER BY grp"
			gate := newGate(t, d.addr)
			o := c.operator("OFFSETCTL_STORE=" + d.at(gate.addr, "?table="+table+keyedOptions))
			o.exits(0, "reset", "-A", "-t", topic, "--to-earliest", "--plan-out", "plan.json")
			gate.stop(before, commits)
			r := o.start("apply", "plan.json", "--yes", "--settle", "0")
			gate.wait()
			r.signal(syscall.SIGINT)
			time.Sleep(200 * time.Millisecond)
			gate.release()
			r.ends(130).says("interrupted", "written 1 of 3", "2 not tried", "journal 1")
			d.has(content, "a 0", "b 10", "c 10")
			o.exits(0, "history", "1").says("written", "not tried")
			o.exits(0, "apply", "plan.json", "--yes", "--settle", "0").says("written 2 of 2", "1 already there")
			d.has(content, "a 0", "b 0", "c 0")
			o.exits(0, "undo", "2", "--yes", "--settle", "0").says("written 2 of 2")
			o.exits(0, "undo", "1", "--yes", "--settle", "0").says("written 1 of 1")
			d.has(content, "a 10", "b 10", "c 10")
		})
	}
}

// TestFileKilledBeforeTheWrite: somebody holds the file's lock; the program dies while it waits.
func TestFileKilledBeforeTheWrite(t *testing.T) {
	c := kafkaCluster(t, "kafka44")
	topic := c.topic("t", 1, "retention.ms", "-1")
	c.produce(topic, 0, 100, 0)
	o := c.operator()
	path := filepath.Join(o.dir, "offsets.json")
	o.env = append(o.env, "OFFSETCTL_STORE=file:"+path)
	o.exits(0, "store", "init", "--store", "file:"+path)
	o.exits(0, "reset", "-g", "g", "-t", topic, "--to-offset", "10", "--allow-skip", "--yes", "--new-group", "--settle", "0")
	before, err := os.ReadFile(path)
	c.must(err)
	o.exits(0, "reset", "-g", "g", "-t", topic, "--to-offset", "40", "--allow-skip", "--plan-out", "plan.json")
	l := flock.New(path + ".lock")
	c.must(l.Lock())
	r := o.start("apply", "plan.json", "--yes", "--allow-skip", "--settle", "0")
	c.until("the journal has the entry", func() bool {
		es, _ := filepath.Glob(o.journal("*2.jsonl"))
		return len(es) == 1
	})
	time.Sleep(100 * time.Millisecond)
	r.kill()
	c.must(l.Unlock())
	if now, _ := os.ReadFile(path); !bytes.Equal(now, before) {
		t.Errorf("the file changed: %s", now)
	}
	o.exits(0, "history", "2").says("was not written: 10 is there as before")
	o.exits(0, "apply", "plan.json", "--yes", "--allow-skip", "--settle", "0").says("written 1 of 1")
	o.verdict(o.inspect("g"), topic+":0", "ok", 40)
}
