package rocketmq

import (
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
)

// BR-27 on real brokers: what nobody stored is absent wherever the broker answers 0 for it, and a stored 0 is not.
func TestRealZeroIsNotNone(t *testing.T) {
	onReal(t, func(t *testing.T, r *realCluster) {
		topic, group := r.Topic("zero", 4, "broker-a"), r.Group("zero")
		var ps []offset.Partition
		for i := range int32(4) {
			ps = append(ps, queue(topic, "broker-a", i))
		}
		r.Produce(ps[0], 5, "x", "")
		r.Produce(ps[1], 5, "x", "")
		r.Store(group, ps[1], 0)
		r.Store(group, ps[2], -1)
		for _, topics := range [][]string{{}, {topic}, nil} {
			a := r.c.Offsets().Read(t.Context(), []offset.Query{{Group: group, Topics: topics, Expect: ps}})[0]
			var got []string
			for _, x := range a.Expected {
				got = append(got, show(x))
			}
			if s := strings.Join(got, " "); s != "absent 0 absent absent" || a.Err != nil {
				t.Errorf("%v: %s %v", topics, s, a.Err)
			}
		}
		// Somebody's empty topic and a group that nobody knows.
		for i, x := range read(t, r.c, r.Name+"-never", ps...) {
			if show(x) != "absent" {
				t.Error(ps[i], show(x))
			}
		}
	})
}

// A reset that is pending on a broker of 5.x swallows positions; Write ends it, also for values that no reset takes.
func TestRealPendingReset(t *testing.T) {
	r := needReal(t, testservers.Need(t, "rocketmq55"))
	topic, group := r.Topic("pending", 1, "broker-a"), r.Group("pending")
	q := queue(topic, "broker-a", 0)
	r.Produce(q, 10, "x", "")
	for what, to := range map[string]offset.Stored{"inside": at(4), "past the end": at(99), "none": {State: offset.Absent}} {
		if err := r.Admin.ResetQueue(t.Context(), r.On("broker-a"), group, topic, 0, 7); err != nil {
			t.Fatal(err)
		}
		if swallowed, err := r.Admin.UpdateOffset(t.Context(), r.On("broker-a"), group, topic, 0, 5); err != nil || swallowed == "" {
			t.Fatal("nothing is pending:", swallowed, err)
		}
		if w := put1(t, r.c, group, q, to); w.Err != nil || !w.Value.Same(to) {
			t.Errorf("%s: %s", what, show(w))
		}
		if swallowed, err := r.Admin.UpdateOffset(t.Context(), r.On("broker-a"), group, topic, 0, 5); err != nil || swallowed != "" {
			t.Error(what, "still pending:", swallowed, err)
		}
	}
}

func TestRealUnknownGroup(t *testing.T) {
	onReal(t, func(t *testing.T, r *realCluster) {
		topic := r.Topic("new", 1, "broker-a", "broker-b")
		q, group := queue(topic, "broker-a", 0), r.Name+"-new"
		s := store{r.c}
		w := put1(t, r.c, group, q, at(0))
		if r.Old() {
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
			if w := put1(t, r.c, group, q, at(0)); show(w) != "0" {
				t.Error(show(w))
			}
		}
		if err := s.delete(t.Context(), group); err != nil {
			t.Fatal(err)
		}
		if x := read(t, r.c, group, q)[0]; show(x) != "absent" {
			t.Error("after the group was deleted:", show(x))
		}
	})
}
