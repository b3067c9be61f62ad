package rocketmq

import (
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
)

// BR-27 on real brokers: what nobody stored is absent wherever the broker answers 0 for it, and a stored 0 is not.
func TestRealZeroIsNotNone(t *testing.T) {
	onReal(t, func(t *testing.T, r *realCluster) {
		topic, group := r.topic("zero", 4, "broker-a"), r.group("zero")
		var ps []offset.Partition
		for i := range int32(4) {
			ps = append(ps, queue(topic, "broker-a", i))
		}
		r.produce(ps[0], 5, "x", "")
		r.produce(ps[1], 5, "x", "")
		r.store(group, ps[1], 0)
		r.store(group, ps[2], -1)
		for _, topics := range [][]string{{}, {topic}, nil} {
			a := r.Offsets().Read(t.Context(), []offset.Query{{Group: group, Topics: topics, Expect: ps}})[0]
			var got []string
			for _, x := range a.Expected {
				got = append(got, show(x))
			}
			if s := strings.Join(got, " "); s != "absent 0 absent absent" || a.Err != nil {
				t.Errorf("%v: %s %v", topics, s, a.Err)
			}
		}
		// Somebody's empty topic and a group that nobody knows.
		for i, x := range read(t, r.Cluster, r.name+"-never", ps...) {
			if show(x) != "absent" {
				t.Error(ps[i], show(x))
			}
		}
	})
}

// A reset that is pending on a broker of 5.x swallows positions; Write ends it, also for values that no reset takes.
func TestRealPendingReset(t *testing.T) {
	r := needReal(t, realServer(t, "rocketmq55"))
	topic, group := r.topic("pending", 1, "broker-a"), r.group("pending")
	q := queue(topic, "broker-a", 0)
	r.produce(q, 10, "x", "")
	for what, to := range map[string]offset.Stored{"inside": at(4), "past the end": at(99), "none": {State: offset.Absent}} {
		if err := r.admin.ResetQueue(t.Context(), r.on("broker-a"), group, topic, 0, 7); err != nil {
			t.Fatal(err)
		}
		if swallowed, err := r.admin.UpdateOffset(t.Context(), r.on("broker-a"), group, topic, 0, 5); err != nil || swallowed == "" {
			t.Fatal("nothing is pending:", swallowed, err)
		}
		if w := put1(t, r.Cluster, group, q, to); w.Err != nil || !w.Value.Same(to) {
			t.Errorf("%s: %s", what, show(w))
		}
		if swallowed, err := r.admin.UpdateOffset(t.Context(), r.on("broker-a"), group, topic, 0, 5); err != nil || swallowed != "" {
			t.Error(what, "still pending:", swallowed, err)
		}
	}
}

func TestRealUnknownGroup(t *testing.T) {
	onReal(t, func(t *testing.T, r *realCluster) {
		topic := r.topic("new", 1, "broker-a", "broker-b")
		q, group := queue(topic, "broker-a", 0), r.name+"-new"
		s := store{r.Cluster}
		w := put1(t, r.Cluster, group, q, at(0))
		if r.old() {
			if show(w) != "0" {
				t.Error(show(w))
			}
		} else {
			if !isUnknown(w.Err) {
				t.Error(show(w))
			}
			o := s.Guard(t.Context(), group, []offset.Change{{Partition: q, From: absent(), To: at(0)}})
			if len(o) != 1 || o[0].Allow != createGroup {
				t.Errorf("%+v", o)
			}
			if err := s.CreateGroup(t.Context(), group); err != nil {
				t.Fatal(err)
			}
			if w := put1(t, r.Cluster, group, q, at(0)); show(w) != "0" {
				t.Error(show(w))
			}
		}
		if err := s.DeleteGroup(t.Context(), group); err != nil {
			t.Fatal(err)
		}
		if x := read(t, r.Cluster, group, q)[0]; show(x) != "absent" {
			t.Error("after the group was deleted:", show(x))
		}
	})
}
