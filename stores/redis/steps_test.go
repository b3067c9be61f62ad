package redis

import (
	"context"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
)

func set(n int64) offset.Stored { return offset.Stored{State: offset.Set, Next: n} }

func ps(indexes ...int32) (out []offset.Partition) {
	for _, i := range indexes {
		out = append(out, offset.Partition{Topic: "t", Index: i})
	}
	return out
}

func get(t testing.TB, s offset.Store, group string, ps ...offset.Partition) []offset.Stored {
	t.Helper()
	a := s.Read(context.Background(), []offset.Query{{Group: group, Topics: []string{}, Expect: ps}})[0]
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	out := make([]offset.Stored, len(ps))
	for i, r := range a.Expected {
		if r.Err != nil {
			t.Fatalf("%s: %v", ps[i], r.Err)
		}
		out[i] = r.Value
	}
	return out
}

func change(t testing.TB, s offset.Store, group string, ps []offset.Partition, to ...int64) []offset.Change {
	t.Helper()
	ch := make([]offset.Change, len(ps))
	for i, from := range get(t, s, group, ps...) {
		ch[i] = offset.Change{Partition: ps[i], From: from, To: set(to[i])}
	}
	return ch
}

func write(t testing.TB, s offset.Store, group string, ch []offset.Change) {
	t.Helper()
	for i, r := range s.Write(context.Background(), group, ch) {
		if r.Err != nil {
			t.Fatalf("%s: %v", ch[i].Partition, r.Err)
		}
	}
}
