package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fileStore is a file: store in the operator's folder.
func fileStore(t *testing.T, c *cluster) (o *operator, path string) {
	t.Helper()
	o = c.operator()
	path = filepath.Join(o.dir, "jobs", "offsets.json")
	c.must(os.Mkdir(filepath.Dir(path), 0o755))
	o.env = append(o.env, "OFFSETCTL_STORE=file:"+path)
	return o, path
}

// entries makes a file's text; a value stands as it is written.
func entries(topic string, values map[int]string) string {
	var lines []string
	for p := range 100 {
		if v, ok := values[p]; ok {
			lines = append(lines, fmt.Sprintf(`{"group":"g","topic":%q,"partition":%d,"next":%s,"written":1,"committed":%q}`, topic, p, v, time.Now().UTC().Format(time.RFC3339Nano)))
		}
	}
	return `{"schema":"offsetctl/offsets/1","generation":1,"offsets":[` + strings.Join(lines, ",\n") + "]}\n"
}

// TestFileStore and BR-12, BR-32: every verdict of a file, its repair, its undo, and copies from and into it.
func TestFileStore(t *testing.T) {
	t.Parallel()
	c := kafkaCluster(t, "kafka44")
	topic := c.topic("f", 12, "retention.ms", "-1")
	for p := range int32(12) {
		c.produce(topic, p, 100, 0)
	}
	c.deleteTo(topic, 0, 20)
	o, path := fileStore(t, c)
	o.exits(2, "inspect", "-g", "g").says("offsets.json", "store init")
	o.exits(0, "store", "init", "--store", "file:"+path).says("was created")
	o.exits(0, "store", "init", "--store", "file:"+path).says("is there already")
	values := map[int]string{0: "5", 1: "300", 2: "50", 3: "-3", 4: `"75"`, 5: "null", 6: "9223372036854775808", 7: "12.0", 8: "1e2", 9: "9223372036854775807", 15: "44"}
	text := entries(topic, values)
	c.must(os.WriteFile(path, []byte(text), 0o644))
	c.must(os.Chmod(path, 0o640))
	rows := o.inspect("g")
	for p, want := range map[int]string{0: "head-overflow", 1: "tail-overflow", 2: "ok", 3: "invalid", 4: "invalid", 5: "invalid", 6: "invalid", 7: "invalid", 8: "invalid", 9: "tail-overflow", 10: "absent", 15: "orphan"} {
		if got := rows[fmt.Sprintf("%s:%d", topic, p)].Verdict; got != want {
			t.Errorf("partition %d is %s, want %s", p, got, want)
		}
	}
	o.verdict(rows, topic+":9", "tail-overflow", 9223372036854775807)
	o.exits(4, "reset", "-g", "g", "-t", topic, "--repair", "--yes", "--settle", "0").says("--on-invalid", "--on-tail-overflow")
	o.exits(0, "reset", "-g", "g", "-t", topic, "--repair", "--on-invalid", "earliest", "--on-tail-overflow", "latest", "--prune", "--yes", "--settle", "0").says("written 12 of 12")
	o.exits(0, "inspect", "-g", "g", "--stale-after", "0")
	if i, err := os.Stat(path); err != nil || i.Mode().Perm() != 0o640 {
		t.Errorf("the file's mode became %v (%v)", i.Mode(), err)
	}
	o.exits(0, "undo", "--yes", "--settle", "0").says("written 12 of 12")
	again := o.inspect("g")
	for p, r := range rows {
		if a := again[p]; a.Verdict != r.Verdict || a.Stored.Next != r.Stored.Next {
			t.Errorf("%s was %s %d, and after the undo is %s %d", p, r.Verdict, r.Stored.Next, a.Verdict, a.Stored.Next)
		}
	}
	o.exits(0, "copy", "--from", "file:"+path, "--from-group", "g", "--to", c.url(), "--to-group", c.name, "-t", topic+":2", "--yes", "--new-group").says("written 1 of 1")
	plain := c.operator()
	plain.verdict(plain.inspect(c.name), topic+":2", "ok", 50)
	o.exits(0, "copy", "--from", c.url(), "--from-group", c.name, "--to", "file:"+path, "--to-group", "a/b c", "-t", topic+":2", "--yes", "--new-group", "--settle", "0").says("written 1 of 1")
	o.verdict(o.inspect("a/b c"), topic+":2", "ok", 50)
}

// TestFileTorn: a file that is no longer whole is named and left as it is, whatever is asked.
func TestFileTorn(t *testing.T) {
	t.Parallel()
	c := kafkaCluster(t, "kafka44")
	topic := c.topic("f", 1, "retention.ms", "-1")
	c.produce(topic, 0, 100, 0)
	whole := entries(topic, map[int]string{0: "50"})
	head, list, _ := strings.Cut(whole, "[")
	for name, text := range map[string]string{
		"empty": "", "cut": whole[:len(whole)/2], "more behind": whole + "{}", "another schema": strings.Replace(whole, "offsets/1", "offsets/9", 1),
		"no JSON": "\x00\x01\x02", "no positions": "{}", "twice": head + "[" + strings.TrimSuffix(list, "]}\n") + "," + list,
	} {
		t.Run(name, func(t *testing.T) {
			o, path := fileStore(t, c)
			o.t = t
			c.must(os.WriteFile(path, []byte(text), 0o644))
			for _, args := range [][]string{{"inspect", "-g", "g"}, {"reset", "-g", "g", "-t", topic, "--to-earliest", "--yes", "--settle", "0"}, {"store", "init", "--store", "file:" + path}} {
				s := o.run(args...)
				if s.code != 3 && s.code != 4 {
					t.Errorf("%s: %s", name, s)
				}
				s.says("offsets.json.*torn or garbled and was left as it is")
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != text {
				t.Errorf("the file became %q (%v)", now, err)
			}
		})
	}
}

// limited runs a command that cannot make a file longer than so many blocks of 512 bytes, as on a disk that is full.
func (o *operator) limited(blocks int, args ...string) *said {
	o.t.Helper()
	return o.by([]string{"/bin/sh", "-c", fmt.Sprintf(`ulimit -f %d; exec "$@"`, blocks), "sh"}, args...)
}

// bound runs a command with no more rights over files than their modes give, also where the tests are root's.
func (o *operator) bound(args ...string) *said {
	o.t.Helper()
	if os.Getuid() != 0 {
		return o.run(args...)
	}
	return o.by([]string{"setpriv", "--bounding-set", "-dac_override,-dac_read_search"}, args...)
}

// by runs a command by way of another.
func (o *operator) by(way []string, args ...string) *said {
	o.t.Helper()
	c := exec.Command(way[0], append(append(way[1:], "offsetctl"), args...)...)
	var out, errs bytes.Buffer
	c.Env, c.Dir, c.Stdout, c.Stderr = o.env, o.dir, &out, &errs
	_ = c.Run()
	return &said{o.t, "offsetctl " + strings.Join(args, " "), out.String(), errs.String(), c.ProcessState.ExitCode()}
}

// TestFileFullDisk: there is no room for the new file, for the journal's entry, or for its result.
func TestFileFullDisk(t *testing.T) {
	t.Parallel()
	c := kafkaCluster(t, "kafka44")
	topic := c.topic("f", 20, "retention.ms", "-1")
	for p := range int32(20) {
		c.produce(topic, p, 100, 0)
	}
	o, path := fileStore(t, c)
	values := map[int]string{}
	for p := range 80 {
		values[p] = "50"
	}
	text := entries(topic, values)
	c.must(os.WriteFile(path, []byte(text), 0o644))
	reset := []string{"reset", "-g", "g", "-t", topic + ":0", "--to-earliest", "--yes", "--settle", "0"}
	same := func() {
		t.Helper()
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("the file became %q (%v)", now, err)
		}
		for _, pattern := range []string{filepath.Join(o.dir, "jobs", ".offsets*"), o.journal("try-*")} {
			if left, _ := filepath.Glob(pattern); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		}
	}
	if s := o.limited(0, reset...); s.code != 4 {
		t.Errorf("no room for the journal: %s", s)
	} else {
		s.says("journal .* cannot be written, so nothing would be")
	}
	same()
	s := o.limited(6, reset...) // the entry has room, the file has not
	if s.code != 3 {
		t.Errorf("no room for the new file: %s", s)
	}
	s.says("offsets.json", "nothing was written", "!panic")
	same()
	o.exits(0, "history", "1").says("failed")
	o.exits(0, reset...).says("written 1 of 1")

	// The entry has room, its result has none. The entry holds the reason twice: the command names it too.
	c.must(os.WriteFile(path, []byte(entries(topic, map[int]string{0: "50"})), 0o644))
	o.exits(0, append(reset, "--reason", "x")...)
	entry, err := os.ReadFile(o.journal("000003.jsonl"))
	c.must(err)
	begin := bytes.IndexByte(entry, '\n') + 1
	blocks := begin/512 + 2
	o.exits(0, "undo", "--yes", "--settle", "0")
	s = o.limited(blocks, append(reset, "--reason", strings.Repeat("x", (blocks*512-begin-20)/2))...)
	if s.code != 3 {
		t.Errorf("no room for the result: %s", s)
	}
	s.says("written 1 of 1, read back", "the journal could not record the result", "undo 5")
	o.exits(0, "history", "5").says("was written: 0 is there")
	o.exits(0, "undo", "5", "--yes", "--settle", "0").says("written 1 of 1")
	o.verdict(o.inspect("g"), topic+":0", "ok", 50)
}

// TestFileOnAFullDisk: the same on a disk that is really full, where one of its own can be mounted.
func TestFileOnAFullDisk(t *testing.T) {
	t.Parallel()
	c := kafkaCluster(t, "kafka44")
	topic := c.topic("f", 1, "retention.ms", "-1")
	c.produce(topic, 0, 100, 0)
	o, path := fileStore(t, c)
	script := `set -e
mount -t tmpfs -o size=64k tmpfs "$1"; shift
printf '%s' "$1" > "$2"; f=$2; shift; shift
head -c 200000 /dev/zero > "$(dirname "$f")/fill" 2>/dev/null || true
code=0; "$@" || code=$?
cat "$f" >&3; exit $code`
	text := entries(topic, map[int]string{0: "50"})
	r, w, err := os.Pipe()
	c.must(err)
	cmd := exec.Command("unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", filepath.Dir(path), text, path,
		"offsetctl", "reset", "-g", "g", "-t", topic, "--to-earliest", "--yes", "--settle", "0")
	var out, errs bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = o.env, o.dir, &out, &errs, []*os.File{w}
	err = cmd.Run()
	_ = w.Close()
	s := &said{t, "reset on a full disk", out.String(), errs.String(), cmd.ProcessState.ExitCode()}
	if strings.Contains(s.err, "mount:") || strings.Contains(s.err, "unshare:") {
		t.Skipf("a disk of its own cannot be mounted here; TestFileFullDisk shows the same by a limit: %s", s.err)
	}
	if s.code != 3 {
		t.Errorf("%v: %s", err, s)
	}
	s.says("offsets.json.*(the disk is full|no space left)", "nothing was written")
	var now bytes.Buffer
	_, err = now.ReadFrom(r)
	c.must(err)
	if now.String() != text {
		t.Errorf("the file became %q", now.String())
	}
}

// TestFileUnwritable: a folder that may not be written, as somebody who may not; and one that is not there.
func TestFileUnwritable(t *testing.T) {
	t.Parallel()
	c := kafkaCluster(t, "kafka44")
	topic := c.topic("f", 1, "retention.ms", "-1")
	c.produce(topic, 0, 100, 0)
	o, path := fileStore(t, c)
	o.exits(2, "inspect", "-g", "g", "--store", "file:"+filepath.Join(o.dir, "nowhere", "f.json"), "--broker", c.url()).says("nowhere/f.json", "look at the path")
	o.exits(2, "store", "init", "--store", "file:"+filepath.Join(o.dir, "nowhere", "f.json")).says("nowhere")
	c.must(os.WriteFile(path, []byte(entries(topic, map[int]string{0: "50"})), 0o644))
	dir := filepath.Dir(path)
	c.must(os.Chmod(dir, 0o555))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	o.verdict(o.inspect("g"), topic+":0", "ok", 50)
	o.exits(0, "check", "-g", "g", "-t", topic, "--can", "inspect").says("file .*offsets.json: read")
	s := o.bound("check", "-g", "g", "-t", topic, "--can", "reset")
	if s.code != 5 {
		t.Errorf("exit code %d: %s", s.code, s)
	}
	s.says("file .*offsets.json: read", "folder .*: make a file and put it in the place of offsets.json .permission denied.: not permitted")
	s = o.bound("reset", "-g", "g", "-t", topic, "--to-earliest", "--yes", "--settle", "0")
	if s.code != 5 {
		t.Errorf("exit code %d: %s", s.code, s)
	}
	s.says("offsets.json", "denied|permission", "rights of the file and its folder")
	c.must(os.Chmod(path, 0))
	s = o.bound("inspect", "-g", "g")
	if s.code != 5 && s.code != 3 {
		t.Errorf("exit code %d: %s", s.code, s)
	}
	s.says("offsets.json", "rights of the file")
	c.must(os.Chmod(path, 0o644))
	o.verdict(o.inspect("g"), topic+":0", "ok", 50)
	c.must(os.RemoveAll(filepath.Join(o.dir, ".local")))
	c.must(os.Mkdir(filepath.Join(o.dir, ".local"), 0o500))
	if s = o.bound("reset", "-g", "g", "-t", topic, "--to-earliest", "--yes", "--settle", "0"); s.code != 4 {
		t.Errorf("an unwritable journal: exit code %d: %s", s.code, s)
	}
	s.says("journal .*cannot be written, so nothing would be")
	o.verdict(o.inspect("g"), topic+":0", "ok", 50)
}
