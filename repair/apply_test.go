package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/inspect/inspecttest"
	"github.com/offsetctl/offsetctl/offset"
)

// faulty is a store whose writes and reads can be bent.
type faulty struct {
	offset.Store
	write func(ctx context.Context, group string, cs []offset.Change) []offset.Result[offset.Stored]
	read  func(ctx context.Context, qs []offset.Query) []offset.Answer
}

func (f *faulty) Write(ctx context.Context, group string, cs []offset.Change) []offset.Result[offset.Stored] {
	if f.write != nil {
		return f.write(ctx, group, cs)
	}
	return f.Store.Write(ctx, group, cs)
}

func (f *faulty) Read(ctx context.Context, qs []offset.Query) []offset.Answer {
	if f.read != nil {
		return f.read(ctx, qs)
	}
	return f.Store.Read(ctx, qs)
}

// partitions makes orders:0 … with logs of 0 to 100 and 50 stored in each.
func partitions(w *inspecttest.World, topic string, n int) {
	for i := range n {
		p := fmt.Sprintf("%s:%d", topic, i)
		w.Log(p, 0, 100)
		w.Commit("billing", p, 50)
	}
}

func statuses(a *Applied) (out []string) {
	for _, o := range a.Outcomes {
		out = append(out, fmt.Sprintf("%s %s", o.Partition, o.Status))
	}
	return out
}

func wantStatuses(t *testing.T, a *Applied, want ...string) {
	t.Helper()
	if got := statuses(a); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestApplyWritesReadsBackAndIsJournalled(t *testing.T) {
	w := external()
	partitions(w, "orders", 3)
	w.Commit("billing", "orders:2", 20)
	p := mustPlan(t, report(t, w), to(20))
	r := runner(t, w, nil)
	r.Origin.Reason = "INC-4711"
	a, err := r.Apply(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	wantStatuses(t, a, "orders:0 written", "orders:1 written", "orders:2 unchanged")
	if got := a.Sentence(); got != "written 2 of 2, read back; 1 unchanged" {
		t.Errorf("%q", got)
	}
	if a.Journal != 1 || !a.Idle || a.Interrupted {
		t.Errorf("%+v", a)
	}
	wantStored(t, w, "orders:0", 20)
	e, err := r.Journal.Entry(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if e.Reason != "INC-4711" || e.User != "anna" || e.Cluster != "c1" || e.Kind != KindReset || e.Ended.IsZero() || e.Busy || !e.Settled() {
		t.Errorf("%+v", e)
	}
	if c := e.Groups[0].Changes; len(c) != 2 || c[0].From.Next != 50 || c[0].To.Next != 20 {
		t.Errorf("%+v", c)
	}
	if o, ok := e.Outcome("billing", inspecttest.P("orders:1")); !ok || o.Status != Written || o.Now.Next != 20 {
		t.Errorf("%+v", o)
	}
}

func TestApplyAgainGoesOnWhereItStopped(t *testing.T) {
	w := external()
	w.Caps.Together = offset.PerTopic
	partitions(w, "orders", 2)
	partitions(w, "payments", 1)
	partitions(w, "refunds", 2)
	w.WriteErr("payments:0", fmt.Errorf("region moved: %w", offset.ErrUnreachable))
	p := mustPlan(t, report(t, w), to(20))
	r := runner(t, w, nil)
	a, err := r.Apply(t.Context(), p)
	if !errors.Is(err, ErrIncomplete) || errors.Is(err, ErrRefused) {
		t.Fatalf("got %v", err)
	}
	wantStatuses(t, a, "orders:0 written", "orders:1 written", "payments:0 failed", "refunds:0 not tried", "refunds:1 not tried")
	w.WriteErr("payments:0", nil)
	a, err = r.Apply(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	wantStatuses(t, a, "orders:0 already there", "orders:1 already there", "payments:0 written", "refunds:0 written", "refunds:1 written")
	if e, _ := r.Journal.Entry(t.Context(), 2); e == nil || len(e.Groups[0].Changes) != 3 {
		t.Errorf("the second entry has %+v", e)
	}
	a, err = r.Apply(t.Context(), p)
	if err != nil || a.Journal != 0 || a.Count(AlreadyThere) != 5 {
		t.Errorf("a third time: %+v, %v", a, err)
	}
}

// BR-18, the race: a member joins between the check and the commit.
func TestBR18MemberJoinsBetweenCheckAndWrite(t *testing.T) {
	w := ownStore()
	partitions(w, "orders", 2)
	p := mustPlan(t, report(t, w), to(20))
	w.OnCall = func(call string) {
		if call == "write" {
			w.Group(live)
		}
	}
	r := runner(t, w, nil)
	a, err := r.Apply(t.Context(), p)
	wantRefused(t, err, CauseLive, "group billing became active")
	if !errors.Is(err, offset.ErrLive) {
		t.Errorf("%v is not of its kind", err)
	}
	wantStatuses(t, a, "orders:0 live", "orders:1 live")
	wantStored(t, w, "orders:0", 50)

	w.OnCall = nil
	writes := w.Count("write")
	_, err = r.Apply(t.Context(), p)
	wantRefused(t, err, CauseLive, "billing-7 10.2.0.7")
	if w.Count("write") != writes {
		t.Error("a write was sent to a live group")
	}
}

// BR-20: a store that says yes and keeps the old value, or refuses one partition, is found out, and each partition is named.
func TestBR20ReadBackComparesEachPartition(t *testing.T) {
	w := external()
	w.Caps.Together = offset.EachAlone
	for i, b := range []offset.Bounds{{Start: 5, End: 50}, {Start: 0, End: 40}, {Start: 70, End: 90}} {
		p := fmt.Sprintf("orders:%d", i)
		w.Log(p, b.Start, b.End)
		w.Commit("billing", p, b.End)
	}
	p := mustPlan(t, report(t, w), toEarliest)
	f := &faulty{Store: w.Positions()}
	f.write = func(ctx context.Context, g string, cs []offset.Change) []offset.Result[offset.Stored] {
		res := f.Store.Write(ctx, g, []offset.Change{cs[0], cs[2]})
		return []offset.Result[offset.Stored]{res[0], {Value: cs[1].To}, res[1]}
	}
	a, err := runner(t, w, f).Apply(t.Context(), p)
	if !errors.Is(err, ErrIncomplete) {
		t.Fatalf("got %v", err)
	}
	wantStatuses(t, a, "orders:0 written", "orders:1 differs", "orders:2 written")
	if got := a.Outcomes[1].Text; got != "orders:1: the store said yes to 0, and 40 is still there" {
		t.Errorf("%q", got)
	}
	wantStored(t, w, "orders:0", 5)
	wantStored(t, w, "orders:2", 70)

	w.Commit("billing", "orders:0", 50)
	w.WriteErr("orders:1", errors.New("coordinator not available"))
	p = mustPlan(t, report(t, w), toEarliest)
	a, err = runner(t, w, nil).Apply(t.Context(), p)
	if !errors.Is(err, ErrIncomplete) {
		t.Fatalf("got %v", err)
	}
	wantStatuses(t, a, "orders:0 written", "orders:1 failed", "orders:2 unchanged")
	if !strings.Contains(a.Outcomes[1].Text, "coordinator not available") {
		t.Errorf("%q", a.Outcomes[1].Text)
	}
}

// BR-22: a store without members is looked at twice before and once after; a job that runs is found both times.
func TestBR22LiveJobOnAStoreWithoutMembers(t *testing.T) {
	w := external()
	partitions(w, "orders", 1)
	p := mustPlan(t, report(t, w), to(20))
	r := runner(t, w, nil)
	wait := r.Wait
	r.Wait = func(ctx context.Context, d time.Duration) error {
		w.Commit("billing", "orders:0", 60)
		return wait(ctx, d)
	}
	_, err := r.Apply(t.Context(), p)
	wantRefused(t, err, CauseLive, "moved from 50 to 60 within 10s", "stop it")
	if w.Count("write") != 0 {
		t.Error("written nevertheless")
	}
	if ids, _ := r.Journal.log.IDs(t.Context()); len(ids) != 0 {
		t.Errorf("journalled as %v", ids)
	}

	w.Commit("billing", "orders:0", 50)
	p = mustPlan(t, report(t, w), to(20))
	waits := 0
	r.Wait = func(ctx context.Context, d time.Duration) error {
		if waits++; waits == 2 { // after the write
			w.Commit("billing", "orders:0", 61)
		}
		return wait(ctx, d)
	}
	a, err := r.Apply(t.Context(), p)
	if !errors.Is(err, ErrIncomplete) {
		t.Fatalf("got %v", err)
	}
	wantStatuses(t, a, "orders:0 overwritten")
	if got := a.Outcomes[0].Text; !strings.Contains(got, "overwritten by a live job") || !strings.Contains(got, "61") {
		t.Errorf("%q", got)
	}
	e, err := r.Journal.Entry(t.Context(), a.Journal)
	if err != nil || e.Done[0].Status != Overwritten {
		t.Errorf("the journal says %+v, %v", e.Done, err)
	}
}

func TestBrokersNeedNoSecondLookUnlessDurable(t *testing.T) {
	w := ownStore()
	partitions(w, "orders", 1)
	r := runner(t, w, nil)
	var waits []time.Duration
	wait := r.Wait
	r.Wait = func(ctx context.Context, d time.Duration) error { waits = append(waits, d); return wait(ctx, d) }
	if _, err := r.Apply(t.Context(), mustPlan(t, report(t, w), to(20))); err != nil || waits != nil {
		t.Errorf("waited %v, %v", waits, err)
	}
	w.Caps.Settle = 6 * time.Second
	if a, err := r.Apply(t.Context(), mustPlan(t, report(t, w), to(30))); err != nil || waits != nil || a.Volatile != 6*time.Second {
		t.Errorf("waited %v, %v, %+v", waits, err, a)
	}
	r.Durable = true
	if a, err := r.Apply(t.Context(), mustPlan(t, report(t, w), to(40))); err != nil || !slices.Equal(waits, []time.Duration{6 * time.Second}) || a.Volatile != 0 {
		t.Errorf("waited %v, %v, %+v", waits, err, a)
	}
}

// BR-33: whatever is cut, every row is old or new and the report names which.
func TestBR33CutBetweenTwoWrites(t *testing.T) {
	for cut := range 3 {
		w := external()
		w.Caps.Together = offset.PerTopic
		for _, topic := range []string{"a", "b", "c"} {
			partitions(w, topic, 2)
		}
		ctx, cancel := context.WithCancel(t.Context())
		f := &faulty{Store: w.Positions()}
		n := 0
		f.write = func(c context.Context, g string, cs []offset.Change) []offset.Result[offset.Stored] {
			if n++; n > cut {
				cancel()
				if c.Err() != nil {
					t.Error("an interruption reached into a write")
				}
			}
			return f.Store.Write(c, g, cs)
		}
		r := runner(t, w, f)
		a, err := r.Apply(ctx, mustPlan(t, report(t, w), to(20)))
		cancel()
		if cut < 2 && (!errors.Is(err, ErrIncomplete) || !a.Interrupted) {
			t.Fatalf("cut in write %d: %+v, %v", cut, a, err)
		}
		for i, o := range a.Outcomes {
			next := w.Stored("billing", o.Partition.String()).Next
			if want := map[bool]Status{true: Written, false: NotTried}[i/2 <= cut]; o.Status != want || next != map[Status]int64{Written: 20, NotTried: 50}[want] {
				t.Errorf("cut in write %d: %s is %s with %d", cut, o.Partition, o.Status, next)
			}
		}
		if got := a.Sentence(); !strings.HasPrefix(got, fmt.Sprintf("written %d of 6", (cut+1)*2)) {
			t.Errorf("%q", got)
		}
		if e, err := r.Journal.Entry(t.Context(), a.Journal); err != nil || e.Ended.IsZero() {
			t.Errorf("the journal has no end: %+v, %v", e, err)
		}
	}
}

// BR-34: the check of what was read is part of the write; another writer's progress is never lost, and no flag overrules that.
func TestBR34AnotherWriterBetweenReadAndWrite(t *testing.T) {
	w := external()
	partitions(w, "orders", 2)
	p := mustPlan(t, report(t, w), to(5))
	w.OnCall = func(call string) {
		if call == "write" {
			w.OnCall = nil
			w.Commit("billing", "orders:0", 57)
		}
	}
	r := runner(t, w, nil)
	r.Allowed = Allowed{AllowLive, AllowStateful, AllowSkip, Overwrite, NewCluster}
	a, err := r.Apply(t.Context(), p)
	wantRefused(t, err, CauseMoved, "orders:0 changed from 50 to 57 since the plan")
	wantStatuses(t, a, "orders:0 moved", "orders:1 untouched")
	wantStored(t, w, "orders:0", 57)
	wantStored(t, w, "orders:1", 50)
	_, err = r.Apply(t.Context(), p)
	wantRefused(t, err, CauseMoved, "orders:0 changed from 50 to 57 since the plan")
}

func TestLostAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		lands bool
		blind bool
		want  string
	}{
		"it landed":               {lands: true, want: "orders:0 written"},
		"it may still land":       {want: "orders:0 NOT KNOWN"},
		"it cannot be read back":  {lands: true, blind: true, want: "orders:0 NOT KNOWN"},
		"nothing is known at all": {blind: true, want: "orders:0 NOT KNOWN"},
	} {
		w := external()
		partitions(w, "orders", 1)
		p := mustPlan(t, report(t, w), to(20))
		f := &faulty{Store: w.Positions()}
		f.write = func(ctx context.Context, g string, cs []offset.Change) []offset.Result[offset.Stored] {
			if c.lands {
				f.Store.Write(ctx, g, cs)
			}
			if c.blind {
				w.ReadErr("billing", errors.New("region moved"))
			}
			return []offset.Result[offset.Stored]{{Err: offset.ErrOutcome}}
		}
		a, err := runner(t, w, f).Apply(t.Context(), p)
		wantStatuses(t, a, c.want)
		if (err == nil) != (c.want == "orders:0 written") || err != nil && !errors.Is(err, ErrIncomplete) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatIsThereAndMayBeLostAgainIsNotCalledWritten(t *testing.T) {
	w := external()
	partitions(w, "orders", 2)
	p := mustPlan(t, report(t, w), to(20))
	s := &faulty{Store: w.Positions()}
	s.write = func(ctx context.Context, group string, cs []offset.Change) []offset.Result[offset.Stored] {
		out := s.Store.Write(ctx, group, cs)
		out[1].Err = fmt.Errorf("no replica has it: %w, %w", offset.ErrOutcome, offset.ErrVolatile)
		return out
	}
	a, err := runner(t, w, s).Apply(t.Context(), p)
	if !errors.Is(err, ErrIncomplete) {
		t.Errorf("got %v", err)
	}
	wantStatuses(t, a, "orders:0 written", "orders:1 NOT KNOWN")
	if o := a.Outcomes[1]; !strings.Contains(o.Text, "no replica has it") || o.Now == nil || o.Now.Next != 20 {
		t.Errorf("%+v", o)
	}
}

func TestAWrittenYesThatCannotBeReadBackIsNotKnown(t *testing.T) {
	w := external()
	partitions(w, "orders", 1)
	p := mustPlan(t, report(t, w), to(20))
	w.OnCall = func(call string) {
		if call == "write" {
			w.ReadErr("billing", errors.New("region moved"))
		}
	}
	a, err := runner(t, w, nil).Apply(t.Context(), p)
	wantStatuses(t, a, "orders:0 NOT KNOWN")
	if !errors.Is(err, ErrIncomplete) || !strings.Contains(a.Outcomes[0].Text, "region moved") {
		t.Errorf("%v, %q", err, a.Outcomes[0].Text)
	}
}

// deadlines notes how long a write may take.
type deadlines struct {
	offset.Store
	left time.Duration
}

func (d *deadlines) Write(ctx context.Context, group string, cs []offset.Change) []offset.Result[offset.Stored] {
	if at, ok := ctx.Deadline(); ok {
		d.left = time.Until(at)
	}
	return d.Store.Write(ctx, group, cs)
}

// The members of a live group are watched for longer than one step takes otherwise.
func TestAWriteToALiveGroupMayTakeLonger(t *testing.T) {
	for _, live := range []bool{false, true} {
		w := ownStore()
		partitions(w, "orders", 1)
		r := runner(t, w, nil)
		d := &deadlines{Store: r.Store}
		r.Store, r.Timeout = d, 30*time.Second
		if live {
			r.Allowed = Allowed{AllowLive}
		}
		if _, err := r.Apply(t.Context(), mustPlan(t, report(t, w), to(20))); err != nil {
			t.Fatal(err)
		}
		if d.left <= 0 || d.left > 30*time.Second != live {
			t.Errorf("live %v: %s", live, d.left)
		}
	}
}
