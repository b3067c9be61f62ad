package inspect_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/brokers/kafka"
	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
)

// server is a topic and a group of this test on a real broker.
type server struct {
	t            *testing.T
	cl           *kgo.Client
	adm          *kadm.Client
	broker       offset.Broker
	topic, group string
}

func onBrokers(t *testing.T, partitions int32, f func(r *server)) {
	for _, name := range []string{"kafka44", "kafka39", "kafka28"} {
		t.Run(name, func(t *testing.T) {
			hosts := testservers.Need(t, name).Addr["plain"]
			cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(hosts, ",")...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
			if err != nil {
				t.Fatal(err)
			}
			defer cl.Close()
			id := strings.ToLower(rand.Text()[:10])
			r := &server{t: t, cl: cl, adm: kadm.NewClient(cl), topic: "inspect-" + id, group: "inspect-" + id}
			// Old timestamps are part of the test, so retention must not act on them.
			never := "-1"
			if _, err := r.adm.CreateTopic(t.Context(), partitions, 1, map[string]*string{"retention.ms": &never}, r.topic); err != nil {
				t.Fatal(err)
			}
			defer func() { _, _ = r.adm.DeleteTopics(context.Background(), r.topic) }()
			r.waitForLeaders(partitions)
			a, err := address.Parse("kafka://"+hosts, []address.Form{kafka.Form})
			if err != nil {
				t.Fatal(err)
			}
			if r.broker, err = kafka.Open(t.Context(), offset.Env{Log: slog.New(slog.DiscardHandler), Now: time.Now}, a); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = r.broker.Close() }()
			f(r)
		})
	}
}

// waitForLeaders: a topic that was made a moment ago has none yet.
func (r *server) waitForLeaders(partitions int32) {
	for range 200 {
		ends, err := r.adm.ListEndOffsets(r.t.Context(), r.topic)
		if err == nil && len(ends[r.topic]) == int(partitions) && ends.Error() == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	r.t.Fatal("the topic has no leaders")
}

func (r *server) produce(partition int32, n int, at time.Time) {
	r.t.Helper()
	rs := make([]*kgo.Record, n)
	for i := range rs {
		rs[i] = &kgo.Record{Topic: r.topic, Partition: partition, Value: []byte(fmt.Sprint(i)), Timestamp: at}
	}
	if err := r.cl.ProduceSync(r.t.Context(), rs...).FirstErr(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *server) commit(o kadm.Offset) {
	r.t.Helper()
	o.Topic = r.topic
	var os kadm.Offsets
	os.Add(o)
	if err := r.adm.CommitAllOffsets(r.t.Context(), r.group, os); err != nil {
		r.t.Fatal(err)
	}
}

func (r *server) look(a inspect.Ask, p inspect.Policy) *inspect.Report {
	r.t.Helper()
	a.Groups, a.Now = []string{r.group}, time.Now()
	sv, err := inspect.Take(r.t.Context(), r.broker, r.broker.Offsets(), true, a)
	if err != nil {
		r.t.Fatal(err)
	}
	return inspect.Classify(sv, p)
}

// TestFaultsOnBrokers makes each fault that one group can have on a single node, and looks at it with named and with stored topics.
func TestFaultsOnBrokers(t *testing.T) {
	onBrokers(t, 8, func(r *server) {
		now, old := time.Now(), time.Now().Add(-41*time.Hour)
		for p := range int32(7) {
			r.produce(p, 100, now)
		}
		var cut kadm.Offsets
		cut.Add(kadm.Offset{Topic: r.topic, Partition: 1, At: 40})
		if _, err := r.adm.DeleteRecords(t.Context(), cut); err != nil {
			r.t.Fatal(err)
		}
		r.commit(kadm.Offset{Partition: 0, At: 100, LeaderEpoch: -1})
		r.commit(kadm.Offset{Partition: 1, At: 10, LeaderEpoch: -1})
		r.commit(kadm.Offset{Partition: 2, At: 170, LeaderEpoch: -1})
		r.commit(kadm.Offset{Partition: 3, At: -1, LeaderEpoch: -1})
		r.commit(kadm.Offset{Partition: 4, At: 90, LeaderEpoch: 99})
		r.commit(kadm.Offset{Partition: 5, At: 60, LeaderEpoch: 0})
		r.produce(7, 10, old)
		r.commit(kadm.Offset{Partition: 7, At: 3, LeaderEpoch: -1})
		wants := []want{
			{p: "0", verdict: inspect.OK},
			{p: "1", verdict: inspect.HeadOverflow, lag: 60, lost: 30},
			{p: "2", verdict: inspect.TailOverflow, lag: -1, ahead: 70},
			{p: "3", verdict: inspect.Invalid, lag: -1},
			{p: "4", verdict: inspect.Diverged, lag: 10},
			{p: "5", verdict: inspect.OK, lag: 40},
			{p: "6", verdict: inspect.Absent, lag: 100},
			{p: "7", verdict: inspect.Stale, lag: 7},
		}
		for i := range wants {
			wants[i].p = r.topic + ":" + wants[i].p
		}
		for name, topics := range map[string][]string{"stored topics": nil, "named topics": {r.topic}} {
			r.t.Run(name, func(t *testing.T) {
				rep := r.look(inspect.Ask{Topics: topics, Stale: 24 * time.Hour, TimeLag: true}, inspect.Policy{StaleAfter: 24 * time.Hour})
				check(t, rep, wants...)
				exits(t, rep, 1)
				if x := row(t, rep, r.topic+":7"); x.Oldest.UnixMilli() != old.UnixMilli() {
					t.Errorf("oldest unread record is from %v", x.Oldest)
				}
			})
		}
	})
}

// TestOpenTransactionOnBrokers: records of an open transaction are beyond the reach, and a lag of nothing but a marker is not stale.
func TestOpenTransactionOnBrokers(t *testing.T) {
	onBrokers(t, 1, func(r *server) {
		tx, err := kgo.NewClient(kgo.SeedBrokers(r.cl.OptValue(kgo.SeedBrokers).([]string)...), kgo.TransactionalID(r.group), kgo.DefaultProduceTopic(r.topic))
		if err != nil {
			r.t.Fatal(err)
		}
		defer tx.Close()
		old := time.Now().Add(-41 * time.Hour)
		send := func(n int) {
			if err := tx.BeginTransaction(); err != nil {
				r.t.Fatal(err)
			}
			for range n {
				if err := tx.ProduceSync(r.t.Context(), &kgo.Record{Value: []byte("x"), Timestamp: old}).FirstErr(); err != nil {
					r.t.Fatal(err)
				}
			}
		}
		end := func() {
			if err := tx.EndTransaction(r.t.Context(), kgo.TryCommit); err != nil {
				r.t.Fatal(err)
			}
		}
		send(5)
		end()
		r.commit(kadm.Offset{At: 5, LeaderEpoch: -1}) // before the marker at 5
		day := inspect.Ask{Stale: 24 * time.Hour}
		p := r.topic + ":0"
		var rep *inspect.Report
		for range 100 { // the broker moves its last stable offset a moment later
			if rep = r.look(day, inspect.Policy{StaleAfter: day.Stale}); row(r.t, rep, p).Lag == 1 {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		check(r.t, rep, want{p: p, verdict: inspect.OK, lag: 1})
		send(3)
		r.commit(kadm.Offset{At: 6, LeaderEpoch: -1})
		rep = r.look(day, inspect.Policy{StaleAfter: day.Stale})
		check(r.t, rep, want{p: p, verdict: inspect.OK})
		if x := row(r.t, rep, p); x.Held != 3 {
			r.t.Errorf("%d held", x.Held)
		}
		rep = r.look(inspect.Ask{Isolation: offset.ReadUncommitted}, inspect.Policy{})
		check(r.t, rep, want{p: p, verdict: inspect.OK, lag: 3})
		end()
	})
}
