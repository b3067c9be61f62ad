package rocketmq

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

func TestRealTopology(t *testing.T) {
	onReal(t, func(t *testing.T, r *realCluster) {
		topic := r.Topic("top", 3, "broker-a", "broker-b")
		top, err := r.c.Topology(t.Context(), []string{r.Name + "-nope", topic})
		if err != nil || len(top.Topics) != 2 || !isUnknown(top.Topics[0].Err) || len(top.Topics[1].Logs) != 6 || top.Cluster != "DefaultCluster" {
			t.Fatalf("%+v %v", top, err)
		}
		if top.Product != "RocketMQ "+r.Version {
			t.Error(top.Product)
		}
		all, err := r.c.Topology(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(all.Topics, func(x offset.Topic) bool { return x.Name == topic })
		if i < 0 || all.Topics[i].Internal || len(all.Topics[i].Logs) != 6 {
			t.Errorf("%+v", all)
		}
		for _, x := range all.Topics {
			if x.Name == "broker-a" || x.Name == "DefaultCluster" || strings.HasPrefix(x.Name, "RMQ_SYS") && !x.Internal {
				t.Errorf("%+v", x)
			}
		}
		keeps := r.c.Retention(t.Context(), []string{topic})[0]
		if keeps.Err != nil || keeps.Value.Time <= 0 || keeps.Value.Time%time.Hour != 0 {
			t.Error(keeps)
		}
		// A queue that is added is there at once, and can be written.
		r.Topic("top", 4, "broker-a")
		q := queue(topic, "broker-a", 3)
		if w := put1(t, r.c, r.Group("top"), q, at(0)); show(w) != "0" {
			t.Error(show(w))
		}
		if l := r.bounds(q, false); l.Start != 0 || l.End != 0 {
			t.Error(l)
		}
	})
}

// The offset of a time is exact on both versions, whose own searches differ.
func TestRealTimeSearch(t *testing.T) {
	onReal(t, func(t *testing.T, r *realCluster) {
		topic := r.Topic("time", 2, "broker-a")
		q := queue(topic, "broker-a", 0)
		for range 5 {
			r.Produce(q, 3, "x", "")
			time.Sleep(150 * time.Millisecond)
		}
		b := r.On("broker-a")
		var times []time.Time
		for len(times) < 15 {
			ms, err := r.c.messages(t.Context(), b, q, int64(len(times)), 32)
			if err != nil || len(ms) == 0 {
				t.Fatal(len(times), err)
			}
			for _, m := range ms {
				times = append(times, m.Stored)
			}
		}
		ask := []time.Time{times[0].Add(-time.Hour), times[14].Add(time.Millisecond), times[14].Add(time.Hour)}
		for _, x := range times {
			ask = append(ask, x.Add(-time.Millisecond), x, x.Add(time.Millisecond), x.Add(70*time.Millisecond))
		}
		got := log1(t, r.c, offset.LogQuery{Partition: q, Times: ask}).Times
		for i, x := range ask {
			want := int64(slices.IndexFunc(times, func(s time.Time) bool { return !s.Before(x) })) // -1 is NoRecord
			if got[i] != want {
				t.Errorf("%v after the first: %d, want %d", x.Sub(times[0]), got[i], want)
			}
		}
		empty := log1(t, r.c, offset.LogQuery{Partition: queue(topic, "broker-a", 1), Times: ask[:1]})
		if empty.Times[0] != offset.NoRecord || empty.End != 0 {
			t.Errorf("%+v", empty)
		}
		p := r.c.Peek(t.Context(), []offset.Position{{Partition: q, Offset: 7}})[0]
		if p.Err != nil || p.Value.Offset != 7 || string(p.Value.Value) != "x" || !p.Value.Time.Equal(times[7]) {
			t.Errorf("%+v", p)
		}
		if p := r.c.Peek(t.Context(), []offset.Position{{Partition: q, Offset: 15}})[0]; p.Err != nil || p.Value != nil {
			t.Errorf("%+v", p)
		}
	})
}

// Bodies that the producer's library packed come out unpacked.
func TestRealPeekPacked(t *testing.T) {
	onReal(t, func(t *testing.T, r *realCluster) {
		q := queue(r.Topic("packed", 1, "broker-a"), "broker-a", 0)
		body := strings.Repeat("compress me ", 1000)
		r.Produce(q, 1, body, "T1")
		p := r.c.Peek(t.Context(), []offset.Position{{Partition: q}})[0]
		if p.Err != nil || string(p.Value.Value) != body || p.Value.Tag != "T1" {
			t.Errorf("%+v", p)
		}
	})
}

// BR-02: before 5.0 positions outlive their topic; from 5.0 on they go with it.
func TestRealRecreatedTopic(t *testing.T) {
	onReal(t, func(t *testing.T, r *realCluster) {
		topic, group := r.Topic("again", 1, "broker-a"), r.Group("again")
		q := queue(topic, "broker-a", 0)
		r.Produce(q, 50, "x", "")
		r.Store(group, q, 40)
		r.DeleteTopic("broker-a", topic)
		// Where the topic is gone, a position of it is found among all of the group's.
		a := r.c.Offsets().Read(t.Context(), []offset.Query{{Group: group}})[0]
		if r.Old() != (len(a.Others) == 1) || a.Err != nil {
			t.Errorf("%+v", a)
		}
		r.Topic("again", 1, "broker-a")
		r.Produce(q, 5, "x", "")
		want := "absent"
		if r.Old() {
			want = "40"
		}
		if x := read(t, r.c, group, q)[0]; show(x) != want {
			t.Error(show(x))
		}
		if l := r.bounds(q, true); l.Start != 0 || l.End != 5 {
			t.Error(l)
		}
	})
}

// Servers take TLS on the same port, with a certificate that nobody signed unless they are given one.
func TestRealTLS(t *testing.T) {
	onReal(t, func(t *testing.T, r *realCluster) {
		topic := r.Topic("tls", 1, "broker-a")
		c := connect(t, testEnv(), []string{r.Addr["namesrv"]}, "tls=insecure")
		if top, err := c.Topology(t.Context(), []string{topic}); err != nil || top.Topics[0].Err != nil {
			t.Fatal(top, err)
		}
		if l := log1(t, c, offset.LogQuery{Partition: queue(topic, "broker-a", 0)}); l.End != 0 {
			t.Error(l)
		}
		c = connect(t, testEnv(), []string{r.Addr["namesrv"]}, "tls=on")
		if _, err := c.Topology(t.Context(), []string{topic}); !errors.Is(err, offset.ErrUnreachable) || !strings.Contains(err.Error(), "certificate") {
			t.Error("a certificate that nobody signed was taken:", err)
		}
	})
}
