package inspect_test

import (
	"context"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
)

// BenchmarkTake is a survey and its verdicts beside kadm.Lag, which is the least that the library asks for the same groups.
func BenchmarkTake(b *testing.B) {
	for _, x := range []struct {
		name                       string
		topics, partitions, groups int
	}{
		{"1x1000", 1, 1000, 1},
		{"1x10000", 10, 1000, 1},
		{"100x20", 5, 20, 100},
		{"1000x20", 50, 20, 1000},
	} {
		b.Run(x.name, func(b *testing.B) { benchTake(b, x.topics, x.partitions, x.groups) })
	}
}

func benchTake(b *testing.B, topics, partitions, groups int) {
	c := newCluster(b, nil, 3, topics, partitions, groups)
	broker := c.connect(b)
	want := groups * partitions
	if groups == 1 {
		want *= topics
	}
	b.Run("inspect", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r := look(b, broker, inspect.Ask{Groups: c.groups, Stale: 24 * time.Hour})
			rows := 0
			for _, g := range r.Groups {
				rows += len(g.Rows)
			}
			if rows != want || r.Verdict != inspect.OK {
				b.Fatal(rows, r.Verdict)
			}
		}
	})
	b.Run("kadm.Lag", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.adm.Lag(context.Background(), c.groups...); err != nil {
				b.Fatal(err)
			}
		}
	})
}
