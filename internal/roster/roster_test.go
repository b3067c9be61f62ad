package roster

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

var day = time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC)

func names(t *testing.T, d Dir, servers ...string) (out []string) {
	t.Helper()
	seen, err := d.Seen(servers)
	if err != nil {
		t.Fatal(err)
	}
	for n := range seen {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

func TestRemembersByAnySharedServer(t *testing.T) {
	d := Dir(filepath.Join(t.TempDir(), "brokers"))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(d.See([]string{"ns1:9876", "ns2:9876"}, []string{"broker-b", "broker-a"}, day))
	must(d.See([]string{"other:9876"}, []string{"broker-x"}, day))
	must(d.See([]string{"ns2:9876", "ns3:9876"}, []string{"broker-a"}, day.Add(time.Hour)))
	for _, s := range []string{"ns1:9876", "ns2:9876", "ns3:9876"} {
		if got := names(t, d, s); !slices.Equal(got, []string{"broker-a", "broker-b"}) {
			t.Errorf("%s: %v", s, got)
		}
	}
	if got := names(t, d, "nobody:9876"); got != nil {
		t.Error(got)
	}
	seen, err := d.Seen([]string{"ns1:9876"})
	must(err)
	if !seen["broker-a"].Equal(day.Add(time.Hour)) || !seen["broker-b"].Equal(day) {
		t.Error(seen)
	}
	known, err := d.Forget([]string{"ns3:9876"}, "broker-b")
	if must(err); !known || !slices.Equal(names(t, d, "ns1:9876"), []string{"broker-a"}) {
		t.Error(known, names(t, d, "ns1:9876"))
	}
	if known, err := d.Forget([]string{"ns1:9876"}, "broker-b"); err != nil || known {
		t.Error("forgotten twice:", known, err)
	}
}

func TestSeeingAgainSoonWritesNothing(t *testing.T) {
	d := Dir(t.TempDir())
	servers := []string{"ns1:9876"}
	if err := d.See(servers, []string{"broker-a"}, day); err != nil {
		t.Fatal(err)
	}
	file := d.fileOf(servers)
	if err := os.Chmod(string(d), 0o500); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.See(servers, []string{"broker-a"}, day.Add(30*time.Second)); err != nil {
		t.Error(err)
	}
	if after, err := os.Stat(file); err != nil || !os.SameFile(before, after) {
		t.Error("written anew:", err)
	}
}

func TestGarbageIsSaidAndKept(t *testing.T) {
	d := Dir(t.TempDir())
	file := filepath.Join(string(d), "x.json")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Seen([]string{"ns1:9876"}); err == nil {
		t.Error("taken for a list")
	}
	if err := d.See([]string{"ns1:9876"}, []string{"broker-a"}, day); err == nil {
		t.Error("written over")
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "{" {
		t.Error(string(b), err)
	}
	if err := Dir("").See([]string{"ns1:9876"}, []string{"broker-a"}, day); err != nil {
		t.Error(err)
	}
}
