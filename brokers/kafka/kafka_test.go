package kafka

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/offsetctl/offsetctl/offset"
)

func TestReadAndWrite(t *testing.T) {
	f := fake(t, kfake.NumBrokers(3))
	adm, cl := admin(t, f.ListenAddrs())
	create(t, adm, 3, "orders", "payments")
	old := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	produce(t, cl, "orders", 0, 10, old)
	commit(t, adm, "billing", kadm.Offset{Topic: "orders", Partition: 0, At: 4, Metadata: "mark"}, kadm.Offset{Topic: "payments", Partition: 2, At: 0})
	c := dialTo(t, f.ListenAddrs(), "", nil)

	top, err := c.Topology(t.Context(), nil)
	if err != nil || len(top.Topics) != 2 || len(top.Brokers) != 3 || top.Topics[0].Name != "orders" || len(top.Topics[0].Logs) != 3 {
		t.Fatalf("%+v, %v", top, err)
	}
	t.Log(top.Product, top.Cluster, top.Whole, top.Gaps)

	logs := c.Logs(t.Context(), []offset.LogQuery{{Partition: partition("orders", 0), Times: []time.Time{old.Add(5 * time.Second), time.Now()}, Epochs: []int32{0}}, {Partition: partition("orders", 9)}})
	if logs[0].Err != nil || logs[0].Value.End != 10 || logs[0].Value.Times[0] != 5 || logs[0].Value.Times[1] != offset.NoRecord || logs[0].Value.EpochEnds[0] != 10 {
		t.Fatalf("%+v", logs[0])
	}
	if !errors.Is(logs[1].Err, offset.ErrUnknownName) {
		t.Fatal(logs[1].Err)
	}

	a := c.Offsets().Read(t.Context(), []offset.Query{{Group: "billing", Expect: partitions("orders", 3)}})[0]
	if a.Err != nil || a.Expected[0].Value.Next != 4 || a.Expected[1].Value.State != offset.Absent || len(a.Others) != 1 || a.Others[0].Partition != partition("payments", 2) {
		t.Fatalf("%+v", a)
	}
	w := c.Offsets().Write(t.Context(), "billing", []offset.Change{
		{Partition: partition("orders", 0), From: a.Expected[0].Value, To: offset.Stored{State: offset.Absent}},
		{Partition: partition("orders", 1), From: a.Expected[1].Value, To: offset.Stored{State: offset.Set, Next: 7, Metadata: "x"}},
	})
	if w[0].Err != nil || w[0].Value.State != offset.Absent || w[1].Err != nil || w[1].Value.Next != 7 || w[1].Value.Metadata != "x" {
		t.Fatalf("%+v", w)
	}
	g := c.Describe(t.Context(), []string{"billing", "nobody"})
	if g[0].Err != nil || g[0].Value.Phase != offset.Empty || g[1].Err != nil || g[1].Value.Phase != offset.Missing {
		t.Fatalf("%+v", g)
	}
	gs, gaps, err := c.Groups(t.Context())
	if err != nil || len(gaps) != 0 || len(gs) != 1 || gs[0].Name != "billing" {
		t.Fatal(gs, gaps, err)
	}
	p := c.Peek(t.Context(), []offset.Position{{Partition: partition("orders", 0), Offset: 3}, {Partition: partition("orders", 1), Offset: 0}})
	if p[0].Err != nil || p[0].Value == nil || p[0].Value.Offset != 3 || p[1].Err != nil || p[1].Value != nil {
		t.Fatalf("%+v", p)
	}
	r := c.Retention(t.Context(), []string{"orders"})
	if r[0].Err != nil || r[0].Value.Time != 7*24*time.Hour {
		t.Fatalf("%+v", r)
	}
}
