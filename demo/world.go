// Package demo is a small world with every fault in it: an embedded Kafka and an SQLite table of offsets.
// It is what the demo command shows and what the short tests of the command line run against.
package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// World is the running demo: addresses to point offsetctl at.
type World struct {
	Broker string // kafka://127.0.0.1:PORT
	Store  string // sqlite:PATH?…, a job's own table
	Config string // a contexts file in which group etl's offsets are in the table

	cluster *kfake.Cluster
	client  *kgo.Client
	adm     *kadm.Client
	now     time.Time
	open    []*kgo.Client // an open transaction and a live member, until Close
}

// Start makes the world; its files lie in dir. Timestamps of records are counted back from now.
func Start(ctx context.Context, dir string, now time.Time) (*World, error) {
	// A cluster whose id is the same each time: journals and stores are bound to it.
	c, err := kfake.NewCluster(kfake.NumBrokers(2), kfake.ClusterID("offsetctl-demo"),
		kfake.BrokerConfigs(map[string]string{"group.initial.rebalance.delay.ms": "0", "transaction.max.timeout.ms": "86400000"}))
	if err != nil {
		return nil, fmt.Errorf("the embedded broker does not start: %w", err)
	}
	w := &World{Broker: "kafka://" + c.ListenAddrs()[0], cluster: c, now: now}
	w.client, err = kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(20*time.Millisecond))
	if err == nil {
		w.adm = kadm.NewClient(w.client)
		err = w.build(ctx, dir)
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

func (w *World) build(ctx context.Context, dir string) error {
	for _, step := range []func(context.Context) error{w.topics, w.records, w.groups, w.transaction, w.member, w.faults} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("the demo's world: %w", err)
		}
	}
	if err := w.table(ctx, dir); err != nil {
		return err
	}
	w.Config = filepath.Join(dir, "config.yaml")
	text := fmt.Sprintf("current-context: demo\ncontexts:\n  demo:\n    broker: %s\n    stores:\n      etl: %q\n", w.Broker, w.Store)
	return os.WriteFile(w.Config, []byte(text), 0o600)
}

// Close ends the world. Its files stay.
func (w *World) Close() {
	for _, c := range w.open {
		c.Close()
	}
	if w.client != nil {
		w.client.Close()
	}
	w.cluster.Close()
}

const week = "604800000"

func (w *World) topics(ctx context.Context) error {
	keep := map[string]*string{"retention.ms": kmsg.StringPtr(week)}
	for topic, n := range map[string]int32{"orders": 6, "payments": 1, "refunds": 1, "ledger": 1, "clicks": 1, "audit": 1} {
		if _, err := w.adm.CreateTopic(ctx, n, 1, keep, topic); err != nil {
			return err
		}
	}
	return nil
}

// log is one partition of the world: records written evenly from oldest to newest ago.
type log struct {
	topic          string
	part           int32
	n              int
	oldest, newest time.Duration
	start          int64 // what lies before it was deleted, as by retention
}

func (w *World) records(ctx context.Context) error {
	day := 24 * time.Hour
	for _, l := range []log{
		{"orders", 0, 880, 6 * day, time.Minute, 0},
		{"orders", 1, 740, 6 * day, time.Minute, 710},
		{"orders", 2, 870, 6 * day, time.Minute, 0},
		{"orders", 3, 890, 6 * day, 41 * time.Hour, 0},
		{"orders", 4, 748, 7*day - 14*time.Minute, time.Minute, 0},
		{"orders", 5, 300, 6 * day, time.Minute, 0},
		{"payments", 0, 410, 2 * day, time.Minute, 0},
		{"refunds", 0, 160, 5 * time.Hour, time.Minute, 0},
		{"ledger", 0, 500, 3 * time.Hour, time.Minute, 0},
		{"clicks", 0, 200, time.Hour, time.Minute, 0},
		{"audit", 0, 100, time.Hour, time.Minute, 0},
	} {
		if err := w.write(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

func (w *World) write(ctx context.Context, l log) error {
	rs := make([]*kgo.Record, l.n)
	for i := range rs {
		age := l.oldest - time.Duration(float64(l.oldest-l.newest)*float64(i)/float64(max(1, l.n-1)))
		rs[i] = &kgo.Record{Topic: l.topic, Partition: l.part, Timestamp: w.now.Add(-age), Key: fmt.Appendf(nil, "%s-%d", l.topic, i%7),
			Value: fmt.Appendf(nil, `{"n":%d}`, i)}
	}
	if err := w.client.ProduceSync(ctx, rs...).FirstErr(); err != nil {
		return fmt.Errorf("records of %s:%d: %w", l.topic, l.part, err)
	}
	if l.start == 0 {
		return nil
	}
	cut := kadm.Offsets{}
	cut.Add(kadm.Offset{Topic: l.topic, Partition: l.part, At: l.start})
	res, err := w.adm.DeleteRecords(ctx, cut)
	if err == nil {
		err = res.Error()
	}
	return err
}

// commit is one committed offset of the world; epoch -1 is none.
type commit struct {
	topic string
	part  int32
	at    int64
	epoch int32
}

func (w *World) groups(ctx context.Context) error {
	for group, cs := range map[string][]commit{
		"billing": {{"orders", 0, 874, -1}, {"orders", 1, 590, -1}, {"orders", 2, 870, -1}, {"orders", 3, 700, -1}, {"orders", 5, 300, -1},
			{"payments", 0, 400, -1}, {"refunds", 0, 220, -1}, {"ledger", 0, 480, 7}, {"clicks", 0, -1, -1}},
		"audit":    {{"audit", 0, 40, -1}},
		"payments": {{"payments", 0, 410, -1}},
	} {
		os := kadm.Offsets{}
		for _, c := range cs {
			os.Add(kadm.Offset{Topic: c.topic, Partition: c.part, At: c.at, LeaderEpoch: c.epoch})
		}
		res, err := w.adm.CommitOffsets(ctx, group, os)
		if err == nil {
			err = res.Error()
		}
		if err != nil {
			return fmt.Errorf("offsets of group %s: %w", group, err)
		}
	}
	return nil
}

// transaction leaves records at the end of orders:2 that a read-committed reader may not see yet.
func (w *World) transaction(ctx context.Context) error {
	c, err := kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.TransactionalID("demo"),
		kgo.TransactionTimeout(24*time.Hour), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	w.open = append(w.open, c)
	if err := c.BeginTransaction(); err != nil {
		return err
	}
	rs := make([]*kgo.Record, 14)
	for i := range rs {
		rs[i] = &kgo.Record{Topic: "orders", Partition: 2, Timestamp: w.now, Value: []byte(`{"open":true}`)}
	}
	return c.ProduceSync(ctx, rs...).FirstErr()
}

// member is a live consumer: its group shows how a reset is refused.
func (w *World) member(ctx context.Context) error {
	assigned := make(chan struct{}, 1)
	c, err := kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.ConsumerGroup("shop"), kgo.ConsumeTopics("payments"),
		kgo.ClientID("shop-7"), kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { assigned <- struct{}{} }))
	if err != nil {
		return err
	}
	w.open = append(w.open, c)
	select {
	case <-assigned:
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		fs := c.PollFetches(ctx)
		if err := fs.Err0(); err != nil {
			return err
		}
		if fs.NumRecords() > 0 {
			break
		}
	}
	return c.CommitUncommittedOffsets(ctx)
}

// faults leaves audit:0 without a leader.
func (w *World) faults(context.Context) error {
	w.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "audit", Partitions: []int32{0}, Err: kerr.LeaderNotAvailable, Count: -1},
		kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: "audit", Partitions: []int32{0}, Err: kerr.NotLeaderForPartition, Count: -1})
	return nil
}
