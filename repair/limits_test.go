package repair

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

func TestNothingIsSentWithoutAJournal(t *testing.T) {
	w := external()
	partitions(w, "orders", 1)
	p := mustPlan(t, report(t, w), to(20))
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, l := range map[string]Log{"no directory": OpenDir(file), "a full disk": fullDisk{OpenDir(t.TempDir())}} {
		r := runner(t, w, nil)
		r.Journal = NewJournal(l)
		_, err := r.Apply(t.Context(), p)
		wantRefused(t, err, CauseJournal, "nothing is written without a journal")
		if w.Count("write") != 0 {
			t.Errorf("%s: written nevertheless", name)
		}
		if r.Journal.Try(t.Context()) == nil && name == "no directory" {
			t.Errorf("%s: trying says it could be written", name)
		}
	}
}

type fullDisk struct{ *Dir }

func (fullDisk) Create(context.Context, []byte) (int64, error) {
	return 0, errors.New("no space left on device")
}

// fillsUp is a disk that is full once the write has begun.
type fillsUp struct{ *Dir }

func (fillsUp) Append(context.Context, int64, []byte) error {
	return errors.New("no space left on device")
}

func TestResultsThatCannotBeRecordedAreSaid(t *testing.T) {
	w := external()
	partitions(w, "orders", 1)
	r := runner(t, w, nil)
	r.Journal = NewJournal(fillsUp{OpenDir(t.TempDir())})
	a, err := r.Apply(t.Context(), mustPlan(t, report(t, w), to(20)))
	if !errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), "no space left") || a.JournalErr == nil {
		t.Fatalf("got %v", err)
	}
	wantStatuses(t, a, "orders:0 written")
	e, err := r.Journal.Entry(t.Context(), a.Journal)
	if err != nil || !e.Ended.IsZero() || e.Settled() {
		t.Fatalf("%+v, %v", e, err)
	}
	if got := Truth(e, survey(t, w, inspect.Ask{})); got[0].Status != Written {
		t.Errorf("the truth is %+v", got)
	}
}

func TestObjectionsOfTheStore(t *testing.T) {
	w := external()
	partitions(w, "orders", 1)
	p := mustPlan(t, report(t, w), to(20))
	w.Objections = []offset.Objection{{Text: "a batch is pending", Allow: "allow-pending"}}
	r := runner(t, w, nil)
	_, err := r.Apply(t.Context(), p)
	wantRefused(t, err, CauseObjection, "a batch is pending", "--allow-pending")
	r.Allowed = Allowed{"allow-pending"}
	if _, err := r.Apply(t.Context(), p); err != nil {
		t.Error(err)
	}
	w.Objections = []offset.Objection{{Text: "the query is running"}}
	_, err = r.Apply(t.Context(), mustPlan(t, report(t, w), to(30)))
	wantRefused(t, err, CauseObjection, "the query is running")
}

func TestAStoreOfAnotherCluster(t *testing.T) {
	w := external()
	partitions(w, "orders", 1)
	r := runner(t, w, nil)
	if _, err := r.Apply(t.Context(), mustPlan(t, report(t, w), to(20))); err != nil {
		t.Fatal(err)
	}
	w.Cluster = "c2"
	p := mustPlan(t, report(t, w), to(30))
	_, err := r.Apply(t.Context(), p)
	wantRefused(t, err, CauseCluster, "last used with cluster c1", "--new-cluster")
	r.Allowed = Allowed{NewCluster}
	if _, err := r.Apply(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	r.Allowed = nil // from now on it belongs to the new one
	if _, err := r.Apply(t.Context(), mustPlan(t, report(t, w), to(40))); err != nil {
		t.Error(err)
	}
}

func TestWaitEmpty(t *testing.T) {
	w := ownStore()
	partitions(w, "orders", 1)
	w.Group(live)
	r := runner(t, w, nil)
	err := r.WaitEmpty(t.Context(), []string{"billing"}, 3*time.Second)
	wantRefused(t, err, CauseLive, "billing-7 10.2.0.7")
	if n := w.Count("describe"); n != 7 {
		t.Errorf("asked %d times in 3 s", n)
	}
	wait := r.Wait
	r.Wait = func(ctx context.Context, d time.Duration) error {
		w.Group(offset.Group{Name: "billing", Kind: "classic", State: "Empty", Phase: offset.Empty})
		return wait(ctx, d)
	}
	if err := r.WaitEmpty(t.Context(), []string{"billing"}, 3*time.Second); err != nil {
		t.Error(err)
	}
	w.Group(live)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.WaitEmpty(ctx, []string{"billing"}, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestInterruptedBeforeAnythingWasSent(t *testing.T) {
	w := external()
	partitions(w, "orders", 1)
	r := runner(t, w, nil)
	ctx, cancel := context.WithCancel(t.Context())
	r.Wait = func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() }
	_, err := r.Apply(ctx, mustPlan(t, report(t, w), to(20)))
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "nothing was written") || w.Count("write") != 0 {
		t.Errorf("got %v", err)
	}
}

func TestInterruptedBeforeTheLastLook(t *testing.T) {
	w := external()
	partitions(w, "orders", 1)
	r := runner(t, w, nil)
	ctx, cancel := context.WithCancel(t.Context())
	w.OnCall = func(call string) {
		if call == "write" {
			cancel()
		}
	}
	a, err := r.Apply(ctx, mustPlan(t, report(t, w), to(20)))
	if !errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), "before the last look") || !a.Interrupted || !a.NotLooked {
		t.Errorf("%+v, %v", a, err)
	}
	wantStatuses(t, a, "orders:0 written")
}

func TestGroupsAreMadeWhereTheStoreNeedsIt(t *testing.T) {
	w := external()
	w.Log("orders:0", 0, 10)
	m := &maker{faulty: faulty{Store: w.Positions()}}
	p := mustPlan(t, report(t, w, "orders"), to(5))
	r := runner(t, w, m)
	r.Allowed = Allowed{CreateGroup}
	m.err = offset.ErrDenied
	a, err := r.Apply(t.Context(), p)
	if !errors.Is(err, offset.ErrDenied) || errors.Is(err, ErrIncomplete) || w.Count("write") != 0 {
		t.Errorf("got %v", err)
	}
	wantStatuses(t, a, "orders:0 failed")
	m.err = nil
	if _, err := r.Apply(t.Context(), p); err != nil || m.made != 2 {
		t.Errorf("made %d times, %v", m.made, err)
	}
}

type maker struct {
	faulty
	made int
	err  error
}

func (m *maker) CreateGroup(context.Context, string) error { m.made++; return m.err }

func TestPartsOfAWrite(t *testing.T) {
	var cs []offset.Change
	for _, topic := range []string{"a", "b"} {
		for i := range int32(600) {
			cs = append(cs, offset.Change{Partition: offset.Partition{Topic: topic, Index: i}})
		}
	}
	for together, want := range map[offset.Extent][]int{offset.PerGroup: {1200}, offset.PerTopic: {600, 600}, offset.EachAlone: {1000, 200}} {
		var got []int
		for _, p := range parts(cs, together) {
			got = append(got, len(p))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d: %v", together, got)
		}
	}
}
