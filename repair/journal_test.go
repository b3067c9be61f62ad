package repair

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/inspect/inspecttest"
	"github.com/offsetctl/offsetctl/offset"
)

func begun(at time.Time, group, topic string) beginLine {
	o := here
	return beginLine{At: at, Kind: KindReset, Origin: o, Groups: []EntryGroup{{Group: group, Changes: []offset.Change{{Partition: offset.Partition{Topic: topic}, From: set(1), To: set(2)}}}}}
}

func TestIDsOfManyProcesses(t *testing.T) {
	dir := t.TempDir()
	const writers, each = 8, 25
	var mu sync.Mutex
	var ids []int64
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			d := OpenDir(dir) // one of its own, as a process has
			for range each {
				id, err := NewJournal(d).begin(t.Context(), begun(noon, "g", "t"))
				if err != nil {
					t.Error(err)
					return
				}
				if err := d.Release(id); err != nil {
					t.Error(err)
				}
				mu.Lock()
				ids = append(ids, id)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(ids)
	if len(ids) != writers*each || ids[0] != 1 || ids[len(ids)-1] != writers*each || len(slices.Compact(ids)) != writers*each {
		t.Errorf("%d ids, from %d to %d", len(ids), ids[0], ids[len(ids)-1])
	}
}

func TestEntryThatIsBeingWritten(t *testing.T) {
	dir := t.TempDir()
	d := OpenDir(dir)
	j := NewJournal(d)
	id, err := j.begin(t.Context(), begun(noon, "g", "t"))
	if err != nil {
		t.Fatal(err)
	}
	other := NewJournal(OpenDir(dir))
	e, err := other.Entry(t.Context(), id)
	if err != nil || !e.Busy || e.Settled() {
		t.Fatalf("%+v, %v", e, err)
	}
	w := external()
	if _, err := MakeUndo(e, survey(t, w, inspect.Ask{}), UndoOptions{Origin: here}); err == nil || !strings.Contains(err.Error(), "right now") {
		t.Errorf("undone while it is written: %v", err)
	}
	if err := d.Release(id); err != nil {
		t.Fatal(err)
	}
	if e, err = other.Entry(t.Context(), id); err != nil || e.Busy || !e.Ended.IsZero() {
		t.Errorf("%+v, %v", e, err)
	}
	if err := j.record(t.Context(), id, laterLine{}); err == nil {
		t.Error("appended to an entry that was released")
	}
}

// A machine that stops, or a disk that is full, cuts the last line at any byte.
func TestLinesThatWereCutOff(t *testing.T) {
	w := external()
	partitions(w, "orders", 2)
	r := runner(t, w, nil)
	a, err := r.Apply(t.Context(), mustPlan(t, report(t, w), to(20)))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(r.Journal.Name(), "000001.jsonl")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	first := len(lines[0])
	for n := range whole {
		if err := os.WriteFile(file, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := r.Journal.Entry(t.Context(), a.Journal)
		switch {
		case n < first:
			if err == nil || !strings.Contains(err.Error(), "before anything was sent") {
				t.Fatalf("cut at %d: %+v, %v", n, e, err)
			}
			continue
		case err != nil:
			t.Fatalf("cut at %d: %v", n, err)
		case !e.Ended.IsZero() || len(e.Groups[0].Changes) != 2:
			t.Fatalf("cut at %d: %+v", n, e)
		}
		if onLineEnd := slices.Contains([]int{first, first + len(lines[1])}, n); e.Cut == onLineEnd {
			t.Fatalf("cut at %d: cut is %v", n, e.Cut)
		}
		if got := Truth(e, survey(t, w, inspect.Ask{})); got[0].Status != Written || got[1].Status != Written {
			t.Fatalf("cut at %d: the truth is %+v", n, got)
		}
	}
}

func TestHistory(t *testing.T) {
	d := OpenDir(t.TempDir())
	j := NewJournal(d)
	if es, gaps, err := j.History(t.Context(), Filter{}); err != nil || es != nil || gaps != nil {
		t.Errorf("of no journal at all: %v, %v, %v", es, gaps, err)
	}
	for i, g := range []string{"a", "b", "a"} {
		id, err := j.begin(t.Context(), begun(noon.Add(time.Duration(i)*time.Hour), g, "t"+g))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Release(id); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(d.Name(), "000004.jsonl"), []byte("no JSON\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.Name(), "000005.jsonl"), []byte("{\"schema\":\"offsetctl.journal/v2\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.Name(), "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		f    Filter
		want string
	}{
		"all":      {Filter{}, "[3 2 1]"},
		"by group": {Filter{Groups: []string{"a"}}, "[3 1]"},
		"by topic": {Filter{Topics: []string{"tb"}}, "[2]"},
		"since":    {Filter{Since: noon.Add(time.Hour)}, "[3 2]"},
		"limit":    {Filter{Limit: 1}, "[3]"},
		"store":    {Filter{Store: "elsewhere"}, "[]"},
	} {
		es, gaps, err := j.History(t.Context(), c.f)
		var ids []int64
		for _, e := range es {
			ids = append(ids, e.ID)
		}
		if got := fmt.Sprint(ids); err != nil || got != c.want || len(gaps) != 2 {
			t.Errorf("%s: %s, %v, %v", name, got, gaps, err)
		}
	}
	if _, err := j.Entry(t.Context(), 9); !errors.Is(err, ErrNoEntry) {
		t.Errorf("got %v", err)
	}
	if _, err := j.Entry(t.Context(), 5); err == nil || !strings.Contains(err.Error(), "newer program") {
		t.Errorf("got %v", err)
	}
}

func TestTryLeavesNothingBehind(t *testing.T) {
	d := OpenDir(filepath.Join(t.TempDir(), "new", "journal"))
	if err := d.Try(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(d.Name())
	if err != nil || len(files) != 0 {
		t.Errorf("%v, %v", files, err)
	}
	if info, err := os.Stat(d.Name()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// Nothing that is secret has a place in an entry or a plan; what is there is what was passed in.
func TestJournalFilesAreTheUsersAlone(t *testing.T) {
	w := external()
	partitions(w, "orders", 1)
	r := runner(t, w, nil)
	if _, err := r.Apply(t.Context(), mustPlan(t, report(t, w), to(20))); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(r.Journal.Name(), "000001.jsonl"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestTruth(t *testing.T) {
	w := external()
	for i, next := range []int64{20, 50, 33} {
		p := fmt.Sprintf("orders:%d", i)
		w.Log(p, 0, 100)
		w.Commit("billing", p, next)
	}
	e := &Entry{ID: 1, Groups: []EntryGroup{{Group: "billing"}}}
	for _, p := range []string{"orders:0", "orders:1", "orders:2", "orders:3", "gone:0"} {
		e.Groups[0].Changes = append(e.Groups[0].Changes, offset.Change{Partition: inspecttest.P(p), From: set(50), To: set(20)})
	}
	w.Log("orders:3", 0, 100)
	w.Store("billing", "orders:3", offset.Result[offset.Stored]{Err: offset.ErrUnreachable})
	var got []string
	for _, o := range Truth(e, survey(t, w, inspect.Ask{})) {
		got = append(got, o.Status.String())
		if o.Text == "" {
			t.Errorf("%s: says nothing", o.Partition)
		}
	}
	if want := []string{"written", "failed", "moved", "NOT KNOWN", "NOT KNOWN"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	e.Done, e.Ended = []Outcome{{Group: "billing", Partition: inspecttest.P("orders:2"), Status: Written}}, noon
	if got := Truth(e, survey(t, w, inspect.Ask{}))[2]; got.Status != Written {
		t.Errorf("what was recorded does not hold: %+v", got)
	}
}
