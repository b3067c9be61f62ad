package repair

import (
	"context"
	"crypto/rand"
	stdsql "database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/brokers/kafka"
	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/file"
	"github.com/offsetctl/offsetctl/stores/sql"
	"github.com/offsetctl/offsetctl/stores/sqljournal"
)

// place is a real broker and a real store, and names that nobody else uses.
type place struct {
	broker offset.Broker
	store  offset.Store
	own    bool
	addr   string

	admin        *kadm.Client
	client       *kgo.Client
	topic, group string
}

func driverEnv() offset.Env { return offset.Env{Log: slog.New(slog.DiscardHandler), Now: time.Now} }

func parseAddress(t testing.TB, s string, forms ...address.Form) address.Address {
	t.Helper()
	a, err := address.Parse(s, forms)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

var (
	fakeAndReal = []string{"fake", "kafka44"}
	allStores   = []string{"group", "sqlite", "file"}
)

// everyPlace runs a test with each broker and each store.
func everyPlace(t *testing.T, brokers, stores []string, f func(t *testing.T, p *place)) {
	hosts := map[string]func(t *testing.T) []string{
		"fake": func(t *testing.T) []string {
			c, err := kfake.NewCluster(kfake.NumBrokers(1))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Close)
			return c.ListenAddrs()
		},
		"kafka44": func(t *testing.T) []string {
			return strings.Split(testservers.Need(t, "kafka44").Addr["plain"], ",")
		},
	}
	for _, name := range brokers {
		t.Run(name, func(t *testing.T) {
			addrs := hosts[name](t)
			for _, store := range stores {
				t.Run(store, func(t *testing.T) { f(t, openPlace(t, addrs, store)) })
			}
		})
	}
}

func openPlace(t *testing.T, hosts []string, store string) *place {
	t.Helper()
	suffix := strings.ToLower(rand.Text()[:10])
	p := &place{topic: "repair-" + suffix, group: "job-" + suffix, addr: "kafka://" + strings.Join(hosts, ",")}
	var err error
	if p.broker, err = kafka.Open(t.Context(), driverEnv(), parseAddress(t, p.addr, kafka.Form)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.broker.Close() })
	if p.client, err = kgo.NewClient(kgo.SeedBrokers(hosts...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(20*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.client.Close)
	p.admin = kadm.NewClient(p.client)
	p.makeTopic(t)
	switch path := filepath.Join(t.TempDir(), "store"); store {
	case "group":
		p.store, p.own = p.broker.Offsets(), true
	case "sqlite":
		p.addr = "sqlite:" + path
		a := parseAddress(t, p.addr, sql.SQLiteForm)
		if _, err = sql.Init(t.Context(), driverEnv(), a); err == nil {
			p.store, err = sql.Open(t.Context(), driverEnv(), a)
		}
	case "file":
		p.addr = "file:" + path
		a := parseAddress(t, p.addr, file.Form)
		if _, err = file.Init(t.Context(), driverEnv(), a); err == nil {
			p.store, err = file.Open(t.Context(), driverEnv(), a)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.store.Close() })
	return p
}

// makeTopic makes three partitions of 100 records each.
func (p *place) makeTopic(t *testing.T) {
	t.Helper()
	rs, err := p.admin.CreateTopics(t.Context(), 3, 1, nil, p.topic)
	if err == nil {
		err = rs.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	var records []*kgo.Record
	for part := range int32(3) {
		for range 100 {
			records = append(records, &kgo.Record{Topic: p.topic, Partition: part, Value: []byte("v")})
		}
	}
	if err := p.client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func (p *place) part(i int32) offset.Partition { return offset.Partition{Topic: p.topic, Index: i} }

func (p *place) read(t testing.TB) (out []offset.Stored) {
	t.Helper()
	cs := []offset.Change{{Partition: p.part(0)}, {Partition: p.part(1)}, {Partition: p.part(2)}}
	for _, r := range read(t.Context(), p.store, p.group, cs) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		out = append(out, r.Value)
	}
	return out
}

// put writes past everything that repair does, as a job does.
func (p *place) put(t testing.TB, part int32, next int64) {
	t.Helper()
	from := p.read(t)[part]
	for _, r := range p.store.Write(t.Context(), p.group, []offset.Change{{Partition: p.part(part), From: from, To: set(next)}}) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}

func (p *place) run(t testing.TB, dir string) *Run {
	o := here
	o.Broker, o.Store, o.Cluster = p.addr, p.addr, ""
	c := &clock{noon}
	return &Run{Broker: p.broker, Store: p.store, Own: p.own, Journal: NewJournal(OpenDir(dir)), Origin: o,
		Now: time.Now, Wait: c.wait, Settle: time.Second, Timeout: time.Minute, Isolation: offset.ReadCommitted}
}

func (p *place) report(t testing.TB) *inspect.Report {
	t.Helper()
	sv, err := inspect.Take(t.Context(), p.broker, p.store, p.own, inspect.Ask{Groups: []string{p.group}, Topics: []string{p.topic}, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return classified(sv)
}

func (p *place) plan(t testing.TB, r *Run, o Options) *Plan {
	t.Helper()
	o.Origin = r.Origin
	plan, err := Make(p.report(t), o)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func positionsOf(ss []offset.Stored) (out []string) {
	for _, s := range ss {
		out = append(out, at(s))
	}
	return out
}

// The whole way on real drivers: plan, save, apply, once more, undo, with a partition that had nothing and one outside of the log.
func TestPlanApplyUndoOnDrivers(t *testing.T) {
	everyPlace(t, fakeAndReal, allStores, func(t *testing.T, p *place) {
		p.put(t, 0, 50)
		p.put(t, 1, 150) // past the end
		before := p.read(t)
		r := p.run(t, t.TempDir())
		plan, err := Decode(encoded(t, p.plan(t, r, to(20))))
		if err != nil {
			t.Fatal(err)
		}
		a := apply(t, r, plan)
		if got := positionsOf(p.read(t)); !slices.Equal(got, []string{"20", "20", "20"}) || a.Count(Written) != 3 {
			t.Fatalf("%v, %v", got, statuses(a))
		}
		if again := apply(t, r, plan); again.Count(AlreadyThere) != 3 {
			t.Errorf("once more: %v", statuses(again))
		}
		takeBack(t, r, a)
		for i, now := range p.read(t) {
			if !restored(now, before[i]) {
				t.Errorf("partition %d: before %+v, after the undo %+v", i, before[i], now)
			}
		}
	})
}

// takeBack undoes a write by a plan that has been a file.
func takeBack(t testing.TB, r *Run, a *Applied) {
	t.Helper()
	e, err := r.Journal.Entry(t.Context(), a.Journal)
	if err != nil {
		t.Fatal(err)
	}
	sv, err := r.Look(t.Context(), e.Rows())
	if err != nil {
		t.Fatal(err)
	}
	back, err := MakeUndo(e, sv, UndoOptions{Origin: r.Origin})
	if err == nil {
		back, err = Decode(encoded(t, back))
	}
	if err != nil {
		t.Fatal(err)
	}
	apply(t, r, back)
}

// BR-34 on real drivers: what a job wrote since the plan is never overwritten, before the write or in the middle of it.
func TestBR34OnDrivers(t *testing.T) {
	everyPlace(t, fakeAndReal, allStores, func(t *testing.T, p *place) {
		for i := range int32(3) {
			p.put(t, i, 50)
		}
		r := p.run(t, t.TempDir())
		plan := p.plan(t, r, to(20))
		p.put(t, 1, 51)
		_, err := r.Apply(t.Context(), plan)
		wantRefused(t, err, CauseMoved, "changed from 50 to 51 since the plan")
		if got := positionsOf(p.read(t)); !slices.Equal(got, []string{"50", "51", "50"}) {
			t.Errorf("got %v", got)
		}

		plan = p.plan(t, r, to(20))
		r.Store = &faulty{Store: p.store, write: func(ctx context.Context, g string, cs []offset.Change) []offset.Result[offset.Stored] {
			p.put(t, 1, 52) // after every look
			return p.store.Write(ctx, g, cs)
		}}
		a, err := r.Apply(t.Context(), plan)
		if err == nil {
			t.Fatal("nothing was noticed")
		}
		if now := p.read(t)[1]; now.Next != 52 || a.Outcomes[1].Status != Moved {
			t.Errorf("partition 1 has %s, %v", at(now), statuses(a))
		}
		if together := p.store.Caps().Together == offset.PerGroup; together && !errors.Is(err, ErrRefused) || !together && !errors.Is(err, ErrIncomplete) {
			t.Errorf("%v with %v", err, statuses(a))
		}
	})
}

// BR-34, store A: a job writes one partition while another one is being reset in the same cell, row set or file. Its progress is there
// afterwards, whether the reset went through or not.
func TestBR34OtherPartitionOfTheSameFile(t *testing.T) {
	everyPlace(t, []string{"fake"}, allStores, func(t *testing.T, p *place) {
		p.put(t, 0, 10)
		p.put(t, 1, 20)
		r := p.run(t, t.TempDir())
		plan := p.plan(t, r, Options{Target: offset.Target{Kind: offset.ToOffsets, Offsets: map[offset.Partition]int64{p.part(0): 10, p.part(1): 5, p.part(2): 0}}})
		r.Store = &faulty{Store: p.store, write: func(ctx context.Context, g string, cs []offset.Change) []offset.Result[offset.Stored] {
			p.put(t, 0, 15)
			return p.store.Write(ctx, g, cs)
		}}
		_, err := r.Apply(t.Context(), plan)
		now := p.read(t)
		if now[0].Next != 15 {
			t.Errorf("the job's 15 became %s", at(now[0]))
		}
		if err == nil && now[1].Next != 5 || err != nil && now[1].Next != 20 {
			t.Errorf("partition 1 has %s after %v", at(now[1]), err)
		}
	})
}

// BR-10: a store that keeps the last record done, not the next one to read, over the whole way.
func TestBR10LastProcessed(t *testing.T) {
	everyPlace(t, []string{"fake"}, []string{"group"}, func(t *testing.T, p *place) {
		path := filepath.Join(t.TempDir(), "jobs.db")
		db, err := stdsql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		if _, err := db.Exec("CREATE TABLE mine (topic TEXT, part INT, done INT, note TEXT DEFAULT 'kept', UNIQUE(topic, part)); INSERT INTO mine (topic, part, done) VALUES (?, 0, 99), (?, 1, -1), (?, 2, 3)", p.topic, p.topic, p.topic); err != nil {
			t.Fatal(err)
		}
		group, groupAddr := p.store, p.addr
		p.addr = "sqlite:" + path + "?table=mine&topic=topic&partition=part&offset=done&value=last"
		if p.store, err = sql.Open(t.Context(), driverEnv(), parseAddress(t, p.addr, sql.SQLiteForm)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.store.Close() })
		p.own, p.group = false, "mine"
		done := func() (out []int64) {
			for i := range 3 {
				var n int64
				if err := db.QueryRow("SELECT done FROM mine WHERE part = ? AND note = 'kept'", i).Scan(&n); err != nil {
					t.Fatal(err)
				}
				out = append(out, n)
			}
			return out
		}
		if got := positionsOf(p.read(t)); !slices.Equal(got, []string{"100", "0", "4"}) {
			t.Fatalf("read as %v", got)
		}
		r := p.run(t, t.TempDir())
		apply(t, r, p.plan(t, r, toLatest))
		if got := done(); !slices.Equal(got, []int64{99, 99, 99}) {
			t.Errorf("latest is %v", got)
		}
		apply(t, r, p.plan(t, r, toEarliest))
		if got := done(); !slices.Equal(got, []int64{-1, -1, -1}) {
			t.Errorf("earliest is %v", got)
		}
		from := p.report(t)
		c := CopyOptions{FromBroker: groupAddr, FromStore: p.addr}
		p.store, p.own, p.addr, p.group = group, true, groupAddr, "copy-"+p.topic
		r = p.run(t, t.TempDir())
		c.Origin = r.Origin
		plan, err := MakeCopy(from, p.report(t), c)
		if err != nil {
			t.Fatal(err)
		}
		apply(t, r, plan)
		if got := positionsOf(p.read(t)); !slices.Equal(got, []string{"0", "0", "0"}) {
			t.Errorf("copied as %v", got)
		}
	})
}

// BR-18 on a real broker: a group with a living member is refused before and, by the broker, within the write.
func TestBR18OnDrivers(t *testing.T) {
	everyPlace(t, fakeAndReal, []string{"group"}, func(t *testing.T, p *place) {
		p.put(t, 0, 50)
		r := p.run(t, t.TempDir())
		plan := p.plan(t, r, to(20))
		member := p.join(t)
		_, err := r.Apply(t.Context(), plan)
		wantRefused(t, err, CauseLive, "group "+p.group+" is live", "1 member", "--wait-empty")

		r.Wait = func(ctx context.Context, d time.Duration) error {
			member.Close() // leaves the group
			time.Sleep(20 * time.Millisecond)
			return ctx.Err()
		}
		if err := r.WaitEmpty(t.Context(), []string{p.group}, time.Minute); err != nil {
			t.Fatal(err)
		}
		apply(t, r, p.plan(t, r, to(20)))
		if now := p.read(t)[0]; now.Next != 20 {
			t.Errorf("stored %s", at(now))
		}
	})
}

// join makes a member and waits until the group is live.
func (p *place) join(t *testing.T) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(p.client.OptValue(kgo.SeedBrokers).([]string)...), kgo.ConsumerGroup(p.group), kgo.ConsumeTopics(p.topic), kgo.DisableAutoCommit())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if fs := c.PollRecords(t.Context(), 1); fs.Err() != nil {
		t.Fatal(fs.Err())
	}
	return c
}

// Two operators at once on stores that check within the write: never both win. (A broker's own store looks just before the
// commit; of two commits within a moment the later one stands.)
func TestTwoWritersOnDrivers(t *testing.T) {
	everyPlace(t, []string{"fake"}, []string{"sqlite", "file"}, func(t *testing.T, p *place) {
		dir := t.TempDir()
		rounds := 100
		if testing.Short() {
			rounds = 5
		}
		for round := range rounds {
			for i := range int32(3) {
				p.put(t, i, int64(50+round%2))
			}
			errs := make([]error, 2)
			var apply []func()
			for i, n := range []int64{10, 20} { // both plans are made before either is applied
				r := p.run(t, dir)
				plan := p.plan(t, r, to(n))
				apply = append(apply, func() { _, errs[i] = r.Apply(context.Background(), plan) })
			}
			var wg sync.WaitGroup
			for _, f := range apply {
				wg.Go(f)
			}
			wg.Wait()
			winner := slices.Index(errs, nil)
			if winner < 0 || !errors.Is(errs[1-winner], ErrRefused) {
				t.Fatalf("round %d: %v", round, errs)
			}
			want := fmt.Sprint([]int64{10, 20}[winner])
			if got := positionsOf(p.read(t)); !slices.Equal(got, []string{want, want, want}) {
				t.Fatalf("round %d: %v after %s won", round, got, want)
			}
		}
	})
}

// The journal may lie in a database, also in the one that holds the positions.
func TestJournalInADatabase(t *testing.T) {
	w := external()
	partitions(w, "orders", 2)
	l, err := sqljournal.Open(t.Context(), driverEnv(), parseAddress(t, "sqlite:"+filepath.Join(t.TempDir(), "journal.db"), sqljournal.Forms...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	r := runner(t, w, nil)
	r.Journal = NewJournal(l)
	a := apply(t, r, mustPlan(t, report(t, w), to(20)))
	e, err := r.Journal.Entry(t.Context(), a.Journal)
	if err != nil || !e.Settled() || len(e.Done) != 2 {
		t.Fatalf("%+v, %v", e, err)
	}
	p, err := undo(t, w, r, a.Journal, UndoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	apply(t, r, p)
	wantStored(t, w, "orders:0", 50)
	es, _, err := r.Journal.History(t.Context(), Filter{})
	if err != nil || len(es) != 2 || es[0].Undoes != 1 {
		t.Errorf("%+v, %v", es, err)
	}
	w.Cluster = "c2"
	_, err = r.Apply(t.Context(), mustPlan(t, report(t, w), to(20)))
	wantRefused(t, err, CauseCluster, "last used with cluster c1")
}
