package kafka

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/offsetctl/offsetctl/offset"
)

// world fills an in-process cluster: one group over all partitions, or each group over one topic.
func world(b *testing.B, topics, parts, groups int) (hosts, names []string) {
	b.Helper()
	f := fake(b, kfake.NumBrokers(3))
	adm, _ := admin(b, f.ListenAddrs())
	all := make([]string, topics)
	for i := range all {
		all[i] = fmt.Sprintf("team-a.payments.orders.v1.%04d", i)
	}
	create(b, adm, int32(parts), all...)
	for g := range groups {
		names = append(names, fmt.Sprintf("group-%04d", g))
		var os []kadm.Offset
		for t, topic := range all {
			for p := range parts {
				if groups == 1 || g%topics == t {
					os = append(os, kadm.Offset{Topic: topic, Partition: int32(p)})
				}
			}
		}
		commit(b, adm, names[g], os...)
	}
	return f.ListenAddrs(), names
}

func benchSurvey(b *testing.B, topics, parts, groups int) {
	hosts, names := world(b, topics, parts, groups)
	b.Run("ours", func(b *testing.B) {
		c := dialTo(b, hosts, "", nil)
		b.ReportAllocs()
		for b.Loop() {
			inspection(b, c, names, topics*parts)
		}
	})
	b.Run("kadm.Lag", func(b *testing.B) {
		adm, _ := admin(b, hosts)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := adm.Lag(b.Context(), names...); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// inspection asks what an inspection asks, and with it times, epochs and absence, which the library's lag does not tell.
func inspection(b *testing.B, c *Cluster, groups []string, partitions int) {
	b.Helper()
	top, err := c.Topology(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	c.Describe(b.Context(), groups)
	qs := make([]offset.Query, len(groups))
	for i, g := range groups {
		qs[i].Group = g
	}
	answers := c.Offsets().Read(b.Context(), qs)
	stale := []time.Time{time.Now().Add(-24 * time.Hour)}
	logs := make([]offset.LogQuery, 0, partitions)
	for _, t := range top.Topics {
		for _, l := range t.Logs {
			logs = append(logs, offset.LogQuery{Partition: l.Partition, Times: stale})
		}
	}
	for i, a := range answers {
		if a.Err != nil {
			b.Fatal(a.Err)
		}
		qs[i].Topics = []string{}
		for _, e := range a.Others {
			qs[i].Expect = append(qs[i].Expect, e.Partition)
		}
	}
	for _, l := range c.Logs(b.Context(), logs) {
		if l.Err != nil {
			b.Fatal(l.Err)
		}
	}
	c.Offsets().Read(b.Context(), qs)
}

func BenchmarkOneGroup10000(b *testing.B) { benchSurvey(b, 10, 1000, 1) }

func BenchmarkThousandGroups20(b *testing.B) { benchSurvey(b, 50, 20, 1000) }
