package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/brokers/kafka"
	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/internal/bench/fake"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestMain(m *testing.M) {
	fake.ServeIfAsked()
	os.Exit(m.Run())
}

// shapes grow in the partitions of one group and in groups: what a look costs must grow no faster.
var shapes = []struct {
	name  string
	shape fake.Shape
}{
	{"partitions=2500", fake.Shape{Topics: 10, Partitions: 250, Groups: 1}},
	{"partitions=5000", fake.Shape{Topics: 10, Partitions: 500, Groups: 1}},
	{"partitions=10000", fake.Shape{Topics: 10, Partitions: 1000, Groups: 1}},
	{"groups=250", fake.Shape{Topics: 50, Partitions: 20, Groups: 250}},
	{"groups=500", fake.Shape{Topics: 50, Partitions: 20, Groups: 500}},
	{"groups=1000", fake.Shape{Topics: 50, Partitions: 20, Groups: 1000}},
}

// BenchmarkInspect measures a look at a cluster in another process and its judgement, on open connections, beside kadm.Lag,
// which answers less.
func BenchmarkInspect(b *testing.B) {
	for _, s := range shapes {
		cluster, err := fake.Start(s.shape)
		if err != nil {
			b.Fatal(err)
		}
		var groups []string // nil: all
		if s.shape.Groups == 1 {
			groups = []string{fake.Group(0)}
		}
		lines := s.shape.Partitions * max(s.shape.Groups, s.shape.Topics)
		b.Run(s.name+"/offsetctl", func(b *testing.B) { benchmarkInspect(b, cluster.Brokers[0], groups, lines) })
		b.Run(s.name+"/kadm.Lag", func(b *testing.B) { benchmarkLag(b, cluster.Brokers[0], groups, lines) })
		if err := cluster.Stop(); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkInspect(b *testing.B, broker string, groups []string, lines int) {
	a, err := address.Parse("kafka://"+broker, []address.Form{kafka.Form})
	if err != nil {
		b.Fatal(err)
	}
	c, err := kafka.Open(b.Context(), offset.Env{Log: slog.New(slog.DiscardHandler), Now: time.Now}, a)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	defer reportCPU(b)()
	for b.Loop() {
		sv, err := inspect.Take(b.Context(), c, c.Offsets(), true, inspect.Ask{Groups: groups, Now: time.Now(), Stale: 24 * time.Hour})
		if err != nil {
			b.Fatal(err)
		}
		if r := inspect.Classify(sv, inspect.Policy{StaleAfter: 24 * time.Hour}); len(sv.Lines) != lines || r.Verdict != inspect.OK {
			b.Fatalf("%d lines, %v; want %d, ok", len(sv.Lines), r.Verdict, lines)
		}
	}
}

func benchmarkLag(b *testing.B, broker string, groups []string, lines int) {
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.MetadataMinAge(10*time.Millisecond))
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	defer reportCPU(b)()
	for b.Loop() {
		lags, err := admin.Lag(context.Background(), groups...)
		if err == nil {
			err = lags.Error()
		}
		got := 0
		for _, g := range lags {
			for _, t := range g.Lag {
				got += len(t)
			}
		}
		if err != nil || got != lines {
			b.Fatalf("%d partitions, %v; want %d", got, err, lines)
		}
	}
}

// reportCPU adds this process's processor time to what a benchmark reports: on a busy machine it says more than the clock.
func reportCPU(b *testing.B) func() {
	b.ReportAllocs()
	before := cpu(b)
	return func() { b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op") }
}

func cpu(b *testing.B) int64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return used.Utime.Nano() + used.Stime.Nano()
}

// BenchmarkClassify measures the judgement alone, where nothing is wrong and where everything is.
func BenchmarkClassify(b *testing.B) {
	now := time.Now()
	for name, stored := range map[string]int64{"healthy": 100, "head-overflow": 5} {
		for _, n := range []int{2500, 5000, 10000} {
			sv := &inspect.Survey{Taken: now, Own: true, Ask: inspect.Ask{Now: now}, Groups: []inspect.GroupLine{{Name: "g"}}}
			for i := range n {
				sv.Lines = append(sv.Lines, inspect.Line{
					Group: "g", Partition: offset.Partition{Topic: "orders", Index: int32(i)}, Exists: true, Selected: true,
					Stored:  offset.Result[offset.Stored]{Value: offset.Stored{State: offset.Set, Next: stored}},
					Log:     offset.Result[offset.Log]{Value: offset.Log{Bounds: offset.Bounds{Start: 10, Stable: 100, End: 100}}},
					StaleAt: offset.NoRecord, AtTime: offset.NoRecord, EpochEnd: -1, WroteAt: offset.NoRecord,
				})
			}
			b.Run(fmt.Sprintf("%s/partitions=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if r := inspect.Classify(sv, inspect.Policy{}); len(r.Groups[0].Rows) != n {
						b.Fatal(len(r.Groups[0].Rows))
					}
				}
			})
		}
	}
}
