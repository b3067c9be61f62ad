// Package fake runs an in-process Kafka in a process of its own, so that what a measured program costs is not mixed with what
// its server costs. A program or test binary that starts one calls ServeIfAsked first: the server is the same binary again.
package fake

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Shape is what a cluster holds. One group has a position in every partition; of several, each has one in every partition of
// one topic.
type Shape struct {
	Topics     int           // at least 1
	Partitions int           // of each topic
	Groups     int           // at least 1
	Records    int           // in each partition
	Delay      time.Duration // added to each round trip; only a cluster of Start has it
}

// Topic is the name of a topic of every shape; names are as long as they are in production.
func Topic(i int) string { return fmt.Sprintf("team-a.payments.orders.v1.%04d", i) }

// Group is the name of a group of every shape.
func Group(i int) string { return fmt.Sprintf("group-%04d", i) }

// Fill makes topics, records and positions in a cluster, which need not be a fake one.
func (s Shape) Fill(ctx context.Context, brokers ...string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(20*time.Millisecond), kgo.ProducerLinger(10*time.Millisecond))
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	if err := s.topics(ctx, admin); err != nil {
		return fmt.Errorf("topics: %w", err)
	}
	if err := s.records(ctx, client); err != nil {
		return fmt.Errorf("records: %w", err)
	}
	for g := range s.Groups {
		if err := s.commit(ctx, admin, g); err != nil {
			return fmt.Errorf("positions of %s: %w", Group(g), err)
		}
	}
	return nil
}

func (s Shape) topics(ctx context.Context, admin *kadm.Client) error {
	names := make([]string, s.Topics)
	for t := range names {
		names[t] = Topic(t)
		// One at a time: brokers refuse ten thousand partitions in one request.
		if _, err := admin.CreateTopic(ctx, int32(s.Partitions), 1, nil, names[t]); err != nil {
			return err
		}
	}
	for { // a new partition has no leader for a moment
		ready := true
		topics, err := admin.ListTopics(ctx, names...)
		if err != nil {
			return err
		}
		for _, t := range topics {
			ready = ready && t.Err == nil && len(t.Partitions) == s.Partitions
			for _, p := range t.Partitions {
				ready = ready && p.Leader >= 0
			}
		}
		if ready {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (s Shape) records(ctx context.Context, client *kgo.Client) error {
	if s.Records == 0 {
		return nil
	}
	for t := range s.Topics {
		records := make([]*kgo.Record, 0, s.Partitions*s.Records)
		for p := range s.Partitions {
			for range s.Records {
				records = append(records, &kgo.Record{Topic: Topic(t), Partition: int32(p), Value: []byte("v")})
			}
		}
		if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
			return err
		}
	}
	return nil
}

// commit stores position 0 of a group everywhere it reads. Large commits go in parts: a broker writes each as one batch.
func (s Shape) commit(ctx context.Context, admin *kadm.Client, g int) error {
	for t := range s.Topics {
		if s.Groups > 1 && t != g%s.Topics {
			continue
		}
		offsets := kadm.Offsets{}
		for p := range s.Partitions {
			offsets.Add(kadm.Offset{Topic: Topic(t), Partition: int32(p), LeaderEpoch: -1})
		}
		if err := retried(ctx, func() error { return admin.CommitAllOffsets(ctx, Group(g), offsets) }); err != nil {
			return err
		}
	}
	return nil
}

// retried lets a fresh cluster make its offsets topic, and its group coordinator load.
func retried(ctx context.Context, f func() error) error {
	for try := 0; ; try++ {
		err := f()
		if err == nil || try == 20 || ctx.Err() != nil {
			return err
		}
		time.Sleep(250 * time.Millisecond)
	}
}

// Empty deletes what Fill has made.
func (s Shape) Empty(ctx context.Context, brokers ...string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		return err
	}
	defer client.Close()
	groups := make([]string, s.Groups)
	for g := range groups {
		groups[g] = Group(g)
	}
	admin := kadm.NewClient(client)
	if _, err := admin.DeleteGroups(ctx, groups...); err != nil {
		return err
	}
	names := make([]string, s.Topics)
	for t := range names {
		names[t] = Topic(t)
	}
	deleted, err := admin.DeleteTopics(ctx, names...)
	if err != nil {
		return err
	}
	return deleted.Error()
}
