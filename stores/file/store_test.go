package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest"
)

func quiet() offset.Env { return offset.Env{Log: slog.New(slog.DiscardHandler), Now: time.Now} }

func parseAddress(t testing.TB, path string) address.Address {
	t.Helper()
	a, err := address.Parse("file:"+path, []address.Form{Form})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func open(t testing.TB, env offset.Env, path string) *Store {
	t.Helper()
	s, err := Open(context.Background(), env, parseAddress(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return s.(*Store)
}

// create makes an empty file in a new folder.
func create(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if _, err := Init(context.Background(), quiet(), parseAddress(t, path)); err != nil {
		t.Fatal(err)
	}
	return path
}

// poke changes an entry as another program does that keeps to the lock.
func poke(t testing.TB, path, group string, p offset.Partition, raw []byte) {
	s := &Store{quiet(), path, unsynced}
	err := s.locked(context.Background(), func() error {
		d, err := s.load(context.Background())
		if err != nil {
			return err
		}
		d.Generation++
		if raw == nil {
			d.put(group, offset.Change{Partition: p, To: offset.Stored{State: offset.Absent}}, time.Now())
		} else {
			d.put(group, offset.Change{Partition: p, To: offset.Stored{State: offset.Invalid, Raw: raw}}, time.Now())
		}
		return s.replace(context.Background(), d)
	})
	if err != nil {
		t.Error(err)
	}
}

// unsynced spares the disk where thousands of writes are only to be in order.
func unsynced(*os.File) error { return nil }

var bad = map[string][]byte{
	"negative": []byte("-1"), "text": []byte(`"abc"`), "number as text": []byte(`"12"`), "null": []byte("null"), "point": []byte("12.0"), "exponent": []byte("1e6"),
	"too large": []byte("9223372036854775808"), "object": []byte(`{"a":1}`), "empty": []byte(`""`), "minus zero": []byte("-0"),
}

func TestStore(t *testing.T) {
	path := create(t, "o.json")
	offsettest.RunStore(t, offsettest.Store{
		Open: func(t testing.TB, env offset.Env) offset.Store {
			s := open(t, env, path)
			s.sync = unsynced
			return s
		},
		Caps: offset.Caps{Atomic: true, Together: offset.PerGroup, Fence: true, Delete: true, Metadata: true, CommitTime: true, Queues: true},
		Poke: func(t testing.TB, group string, p offset.Partition, raw []byte) { poke(t, path, group, p, raw) },
		Bad:  bad,
		Down: func(t testing.TB, env offset.Env) (offset.Store, error) {
			return Open(context.Background(), env, parseAddress(t, t.TempDir()+"/no/such.json"))
		},
		Rounds: rounds(),
	})
}

func rounds() int {
	if testing.Short() {
		return 50
	}
	return 1000
}

// sample writes a few entries and answers the path and the file.
func sample(t testing.TB) (string, []byte) {
	path := create(t, "o.json")
	poke(t, path, "g", offset.Partition{Topic: "t", Index: 0}, []byte("10"))
	poke(t, path, "g", offset.Partition{Topic: "t", Index: 1}, []byte("20"))
	poke(t, path, "中\xff", offset.Partition{Topic: "a<b>&\u2028", Broker: "broker-a"}, []byte(`"abc"`))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, text
}

var one = []offset.Partition{{Topic: "t", Index: 0}}

// Torn at any byte, or garbled: the reason and the path are said, nothing is called absent, and the file stays as it is.
func TestBR30(t *testing.T) {
	path, whole := sample(t)
	texts := map[string][]byte{
		"no UTF-8":       bytes.Replace(whole, []byte(`"t"`), []byte("\"\xff\""), 1),
		"half surrogate": bytes.Replace(whole, []byte(`"t"`), []byte(`"\ud800"`), 1),
		"twice":          bytes.Replace(whole, []byte(`"partition":1`), []byte(`"partition":0`), 1),
		"unknown field":  bytes.Replace(whole, []byte(`"next":10`), []byte(`"next":10,"colour":1`), 1),
		"other schema":   bytes.Replace(whole, []byte("offsets/1"), []byte("offsets/9"), 1),
		"something else": []byte(`{"a": 1}`),
		"a list":         []byte("[]"),
		"followed":       append(bytes.Clone(whole), "{}"...),
		"no offset":      bytes.Replace(whole, []byte(`,"next":10`), nil, 1),
		"negative index": bytes.Replace(whole, []byte(`"partition":1`), []byte(`"partition":-1`), 1),
		"zeros":          make([]byte, len(whole)),
	}
	for n := range len(bytes.TrimRight(whole, "\n")) {
		texts[fmt.Sprintf("torn at byte %d", n)] = whole[:n]
	}
	for what, text := range texts {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, quiet(), path)
		a := s.Read(context.Background(), []offset.Query{{Group: "g", Expect: one}})[0]
		if a.Err == nil || !strings.Contains(a.Err.Error(), path) || !strings.Contains(a.Err.Error(), "store init") {
			t.Fatalf("%s: read as %+v", what, a)
		}
		r := s.Write(context.Background(), "g", []offset.Change{{Partition: one[0], From: offset.Stored{Version: absent}, To: offset.Stored{State: offset.Set, Next: 1}}})[0]
		if r.Err == nil {
			t.Fatalf("%s: written over", what)
		}
		if _, err := Init(context.Background(), quiet(), parseAddress(t, path)); err == nil {
			t.Fatalf("%s: init takes it for a good file", what)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, text) {
			t.Fatalf("%s: the file is %q by now, %v", what, now, err)
		}
	}
}

// Large numbers come and go digit for digit.
func TestBR12(t *testing.T) {
	path := create(t, "o.json")
	for i, x := range []string{"2623027957", "9007199254740993", "9223372036854775807", "9223372036854775808", "12.0", "1e6"} {
		p := offset.Partition{Topic: "t", Index: int32(i)}
		poke(t, path, "g", p, []byte(x))
		v := open(t, quiet(), path).Read(context.Background(), []offset.Query{{Group: "g", Expect: []offset.Partition{p}}})[0].Expected[0].Value
		if i < 3 && fmt.Sprint(v.Next) != x || i >= 3 && (v.State != offset.Invalid || string(v.Raw) != x) {
			t.Errorf("%s reads as %+v", x, v)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `"next":9223372036854775807`) {
		t.Errorf("%s, %v", text, err)
	}
}

// One odd value is one invalid partition, and a reset of it writes it alone.
func TestBR32(t *testing.T) {
	path := create(t, "o.json")
	for i, x := range []string{"120", `""`, `"75\n"`, "", "null", `"abc"`} {
		if x != "" {
			poke(t, path, "g", offset.Partition{Topic: "t", Index: int32(i)}, []byte(x))
		}
	}
	s := open(t, quiet(), path)
	var at []offset.Partition
	for i := range int32(6) {
		at = append(at, offset.Partition{Topic: "t", Index: i})
	}
	got := s.Read(context.Background(), []offset.Query{{Group: "g", Expect: at}})[0].Expected
	for i, want := range []offset.State{offset.Set, offset.Invalid, offset.Invalid, offset.Absent, offset.Invalid, offset.Invalid} {
		if got[i].Value.State != want {
			t.Errorf("%s is %s", at[i], got[i].Value.State)
		}
	}
	r := s.Write(context.Background(), "g", []offset.Change{{Partition: at[1], From: got[1].Value, To: offset.Stored{State: offset.Set}}})
	if r[0].Err != nil {
		t.Fatal(r[0].Err)
	}
	now := s.Read(context.Background(), []offset.Query{{Group: "g", Expect: at}})[0].Expected
	for i := range at {
		if i != 1 && now[i].Value.Version != got[i].Value.Version {
			t.Errorf("%s changed with its neighbour", at[i])
		}
	}
}

// Half of the new file fits on the disk: the old one stays, and nothing is left beside it.
func TestFullDisk(t *testing.T) {
	if path := os.Getenv("OFFSETCTL_FULL_DISK"); path != "" {
		limit := syscall.Rlimit{Cur: 100, Max: 100}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			t.Fatal(err)
		}
		s := open(t, quiet(), path)
		a := s.Read(context.Background(), []offset.Query{{Group: "g", Expect: one}})[0]
		r := s.Write(context.Background(), "g", []offset.Change{{Partition: one[0], From: a.Expected[0].Value, To: offset.Stored{State: offset.Set, Next: 1}}})[0]
		if !errors.Is(r.Err, syscall.EFBIG) {
			t.Fatalf("a write that does not fit answers %v", r.Err)
		}
		return
	}
	path, whole := sample(t)
	c := exec.Command(os.Args[0], "-test.run=^TestFullDisk$")
	c.Env = append(os.Environ(), "OFFSETCTL_FULL_DISK="+path)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, whole) {
		t.Errorf("the file is %q by now, %v", now, err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 2 { // the file and its lock
		t.Errorf("beside it lie %v, %v", entries, err)
	}
	if err := explain("f", "writing", &os.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC}); !strings.Contains(err.Error(), "disk is full") {
		t.Error(err)
	}
}

// The new file has the old one's mode, and a link stays a link.
func TestKeepsModeAndLink(t *testing.T) {
	path, _ := sample(t)
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.json")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	s := open(t, quiet(), link)
	a := s.Read(context.Background(), []offset.Query{{Group: "g", Expect: one}})[0]
	if r := s.Write(context.Background(), "g", []offset.Change{{Partition: one[0], From: a.Expected[0].Value, To: offset.Stored{State: offset.Set, Next: 1}}})[0]; r.Err != nil {
		t.Fatal(r.Err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
}

func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(context.Background(), quiet(), parseAddress(t, dir)); !errors.Is(err, offset.ErrConfig) {
		t.Errorf("a folder: %v", err)
	}
	none := filepath.Join(dir, "none.json")
	if _, err := Open(context.Background(), quiet(), parseAddress(t, none)); !errors.Is(err, offset.ErrUnknownName) || !strings.Contains(err.Error(), "store init") {
		t.Errorf("no file: %v", err)
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("opening creates it")
	}
	path, _ := sample(t)
	said, err := Init(context.Background(), quiet(), parseAddress(t, path))
	if err != nil || !strings.Contains(said, "already") {
		t.Errorf("%q, %v", said, err)
	}
	// Somebody holds the lock and does not give it back.
	holder := &Store{quiet(), path, unsynced}
	err = holder.locked(context.Background(), func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		r := open(t, quiet(), path).Write(ctx, "g", []offset.Change{{Partition: one[0], From: offset.Stored{Version: absent}, To: offset.Stored{State: offset.Set}}})
		return r[0].Err
	})
	if err == nil || !strings.Contains(err.Error(), "another writer holds") {
		t.Errorf("a lock that is held: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	_, whole := sample(f)
	f.Add(whole)
	for _, b := range bad {
		f.Add(bytes.Replace(whole, []byte("10"), b, 1))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := parse(text)
		if err != nil {
			return
		}
		again, err := d.print()
		if err != nil {
			t.Fatalf("%q is read and cannot be written: %v", text, err)
		}
		e, err := parse(again)
		if err != nil {
			t.Fatalf("%q is written as %q: %v", text, again, err)
		}
		a, _ := json.Marshal(d)
		b, _ := json.Marshal(e)
		if !bytes.Equal(a, b) {
			t.Fatalf("%s became %s", a, b)
		}
	})
}
