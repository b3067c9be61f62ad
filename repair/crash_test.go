package repair

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/offsetctl/offsetctl/inspect/inspecttest"
	"github.com/offsetctl/offsetctl/offset"
)

// disk is a store that outlives its process: a file of positions of one group, replaced by rename.
type disk struct {
	path string
	caps offset.Caps
}

func (d disk) load() map[string]offset.Stored {
	m := map[string]offset.Stored{}
	if b, err := os.ReadFile(d.path); err == nil {
		if err := json.Unmarshal(b, &m); err != nil {
			panic(err)
		}
	}
	return m
}

func (d disk) save(m map[string]offset.Stored) {
	b, err := json.Marshal(m)
	if err == nil {
		err = os.WriteFile(d.path+".new", b, 0o600)
	}
	if err == nil {
		err = os.Rename(d.path+".new", d.path)
	}
	if err != nil {
		panic(err)
	}
}

func (d disk) get(m map[string]offset.Stored, p offset.Partition) offset.Stored {
	if s, ok := m[p.String()]; ok {
		s.Version = offset.Version(fmt.Sprint(s.Next))
		return s
	}
	return offset.Stored{State: offset.Absent, Version: "none"}
}

func (d disk) Caps() offset.Caps { return d.caps }
func (d disk) Close() error      { return nil }
func (d disk) Groups(context.Context) ([]string, []error, error) {
	return []string{"billing"}, nil, nil
}

func (d disk) Read(_ context.Context, qs []offset.Query) []offset.Answer {
	m := d.load()
	out := make([]offset.Answer, len(qs))
	for i, q := range qs {
		for _, p := range q.Expect {
			out[i].Expected = append(out[i].Expected, offset.Result[offset.Stored]{Value: d.get(m, p)})
		}
	}
	return out
}

func (d disk) Write(_ context.Context, _ string, cs []offset.Change) []offset.Result[offset.Stored] {
	m := d.load()
	out := make([]offset.Result[offset.Stored], len(cs))
	for i, c := range cs {
		if d.get(m, c.Partition).Version != c.From.Version {
			out[i].Err = offset.ErrMoved
			continue
		}
		m[c.Partition.String()] = offset.Stored{State: offset.Set, Next: c.To.Next}
		out[i].Value = d.get(m, c.Partition)
	}
	d.save(m)
	return out
}

// crashWorld has three topics; the store keeps each for itself, so that a write has three parts.
func crashWorld(t testing.TB, dir string) (*inspecttest.World, disk) {
	w := external()
	w.Caps.Together = offset.PerTopic
	for _, topic := range []string{"a", "b", "c"} {
		partitions(w, topic, 1)
	}
	d := disk{filepath.Join(dir, "positions.json"), w.Caps}
	if _, err := os.Stat(d.path); err != nil {
		d.save(map[string]offset.Stored{"a:0": set(50), "b:0": set(50), "c:0": set(50)})
	}
	return w, d
}

// TestMain lets a test run itself again as a process that is killed at a point.
func TestMain(m *testing.M) {
	if point := os.Getenv("REPAIR_CRASH_AT"); point != "" {
		os.Exit(crash(point, os.Getenv("REPAIR_CRASH_DIR")))
	}
	os.Exit(m.Run())
}

// crash applies a plan and dies at the point, as by kill -9.
func crash(point, dir string) int {
	w, d := crashWorld(nil, dir)
	die := func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }
	f := &faulty{Store: d}
	n := 0
	f.write = func(ctx context.Context, g string, cs []offset.Change) []offset.Result[offset.Stored] {
		n++
		if point == fmt.Sprintf("before write %d", n) {
			die()
		}
		out := d.Write(ctx, g, cs)
		if point == fmt.Sprintf("after write %d", n) {
			die()
		}
		return out
	}
	f.read = func(ctx context.Context, qs []offset.Query) []offset.Answer {
		if point == "before reading back" && n == 3 {
			die()
		}
		return d.Read(ctx, qs)
	}
	r := runner(crashing{}, w, f)
	r.Journal = NewJournal(OpenDir(filepath.Join(dir, "journal")))
	b, err := os.ReadFile(filepath.Join(dir, "plan.json"))
	if err != nil {
		return 1
	}
	p, err := Decode(b)
	if err != nil {
		return 1
	}
	if _, err = r.Apply(context.Background(), p); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// crashing is a testing.TB for runner outside of a test.
type crashing struct{ testing.TB }

func (crashing) TempDir() string { return os.TempDir() }

// After a kill -9 at any point the journal knows that the write began, and the store says what is true; going on and going back
// both end where they should.
func TestKilledWhileWriting(t *testing.T) {
	for point, written := range map[string]int{"before write 1": 0, "after write 1": 1, "before write 2": 1, "after write 2": 2, "before write 3": 2, "after write 3": 3, "before reading back": 3} {
		for _, way := range []string{"go on", "go back"} {
			t.Run(point+", "+way, func(t *testing.T) {
				dir := t.TempDir()
				w, d := crashWorld(t, dir)
				r := runner(t, w, d)
				r.Journal = NewJournal(OpenDir(filepath.Join(dir, "journal")))
				sv, err := r.Look(t.Context(), []Rows{{"billing", []offset.Partition{{Topic: "a"}, {Topic: "b"}, {Topic: "c"}}}})
				if err != nil {
					t.Fatal(err)
				}
				p := mustPlan(t, classified(sv), to(20))
				if err := os.WriteFile(filepath.Join(dir, "plan.json"), encoded(t, p), 0o600); err != nil {
					t.Fatal(err)
				}
				killed(t, point, dir)

				e, err := r.Journal.Entry(t.Context(), 1)
				if err != nil {
					t.Fatal(err)
				}
				if e.Busy || !e.Ended.IsZero() || e.Settled() {
					t.Errorf("the journal says %+v", e)
				}
				if sv, err = r.Look(t.Context(), e.Rows()); err != nil {
					t.Fatal(err)
				}
				got := []Status{}
				for _, o := range Truth(e, sv) {
					got = append(got, o.Status)
				}
				want := slices.Repeat([]Status{Written}, written)
				for len(want) < 3 {
					want = append(want, Failed)
				}
				if !slices.Equal(got, want) {
					t.Errorf("the truth is %v, want %v", got, want)
				}
				if way == "go on" {
					goOn(t, r, p, d, written)
				} else {
					goBack(t, r, e, d)
				}
			})
		}
	}
}

func killed(t *testing.T, point, dir string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "REPAIR_CRASH_AT="+point, "REPAIR_CRASH_DIR="+dir)
	out, err := cmd.CombinedOutput()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err == nil || !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("it was to be killed %s and ended with %v: %s", point, err, out)
	}
}

func goOn(t *testing.T, r *Run, p *Plan, d disk, written int) {
	t.Helper()
	if a := apply(t, r, p); a.Count(AlreadyThere) != written || a.Count(Written) != 3-written {
		t.Errorf("went on with %v", statuses(a))
	}
	for p, s := range d.load() {
		if s.Next != 20 {
			t.Errorf("%s has %d", p, s.Next)
		}
	}
}

func goBack(t *testing.T, r *Run, e *Entry, d disk) {
	t.Helper()
	sv, err := r.Look(t.Context(), e.Rows())
	if err != nil {
		t.Fatal(err)
	}
	p, err := MakeUndo(e, sv, UndoOptions{Origin: here})
	if err != nil {
		t.Fatal(err)
	}
	apply(t, r, p)
	for p, s := range d.load() {
		if s.Next != 50 {
			t.Errorf("%s has %d", p, s.Next)
		}
	}
}

// Two operators apply different plans at the same moment: one of them wins all of it, the other one nothing.
func TestTwoWritersNeverBothWin(t *testing.T) {
	w := external()
	dir := t.TempDir()
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	for round := range rounds {
		partitions(w, "orders", 3)
		rep := report(t, w)
		plans := []*Plan{mustPlan(t, rep, to(10)), mustPlan(t, rep, to(20))}
		errs := make([]error, 2)
		var wg sync.WaitGroup
		for i, p := range plans {
			r := runner(t, w, nil)
			r.Journal = NewJournal(OpenDir(dir))
			wg.Go(func() { _, errs[i] = r.Apply(t.Context(), p) })
		}
		wg.Wait()
		winner := slices.Index(errs, nil)
		if winner < 0 || errs[1-winner] == nil {
			t.Fatalf("round %d: %v", round, errs)
		}
		if c := reasons(errs[1-winner]); len(c) == 0 || c[0].Cause != CauseMoved && c[0].Cause != CauseLive {
			t.Fatalf("round %d: the loser got %v", round, errs[1-winner]) // depending on where it found out
		}
		for i := range 3 {
			wantStored(t, w, fmt.Sprintf("orders:%d", i), []int64{10, 20}[winner])
		}
	}
	es, gaps, err := NewJournal(OpenDir(dir)).History(t.Context(), Filter{})
	if err != nil || gaps != nil {
		t.Fatal(gaps, err)
	}
	won := 0
	for _, e := range es {
		if strings.HasPrefix(e.Done[0].Status.String(), "written") {
			won++
		}
	}
	if won != rounds {
		t.Errorf("the journal has %d winners", won)
	}
}
