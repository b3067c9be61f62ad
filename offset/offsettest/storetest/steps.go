// Package storetest is what the tests of a single store share beside the suite: steps of reading and writing that must succeed, and a
// proxy that loses connections.
package storetest

import (
	"context"
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
)

// Set is the position n.
func Set(n int64) offset.Stored { return offset.Stored{State: offset.Set, Next: n} }

// Partitions are those of topic "t".
func Partitions(indexes ...int32) []offset.Partition {
	out := make([]offset.Partition, len(indexes))
	for i, n := range indexes {
		out[i] = offset.Partition{Topic: "t", Index: n}
	}
	return out
}

// Get reads partitions by name; each must be answered.
func Get(t testing.TB, s offset.Store, group string, ps ...offset.Partition) []offset.Stored {
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

// Changes from what is there to these positions.
func Changes(t testing.TB, s offset.Store, group string, ps []offset.Partition, to ...int64) []offset.Change {
	t.Helper()
	ch := make([]offset.Change, len(ps))
	for i, from := range Get(t, s, group, ps...) {
		ch[i] = offset.Change{Partition: ps[i], From: from, To: Set(to[i])}
	}
	return ch
}

// Had is all that a group has, each position to become absent.
func Had(t testing.TB, s offset.Store, group string) []offset.Change {
	t.Helper()
	a := s.Read(context.Background(), []offset.Query{{Group: group}})[0]
	if a.Err != nil || len(a.Gaps) > 0 {
		t.Fatalf("group %s: %v, %v", group, a.Err, a.Gaps)
	}
	ch := make([]offset.Change, len(a.Others))
	for i, e := range a.Others {
		if e.Err != nil {
			t.Fatalf("%s: %v", e.Partition, e.Err)
		}
		ch[i] = offset.Change{Partition: e.Partition, From: e.Value, To: offset.Stored{State: offset.Absent}}
	}
	return ch
}

// Write makes changes that must succeed.
func Write(t testing.TB, s offset.Store, group string, ch []offset.Change) {
	t.Helper()
	for i, r := range s.Write(context.Background(), group, ch) {
		if r.Err != nil {
			t.Fatalf("%s: %v", ch[i].Partition, r.Err)
		}
	}
}

// Told is what a store answers about rights, a line each: the right without the test's own prefix, a ? with why it could not be
// told, "no", and what only needs it.
func Told(ps []offset.Permission, prefix string) (out []string) {
	for _, p := range ps {
		line := strings.ReplaceAll(p.Right, prefix, "")
		switch {
		case p.Err != nil:
			line += " ? " + p.Err.Error()
		case !p.Granted:
			line += " no"
		}
		if p.Only != "" {
			line += " only " + p.Only
		}
		out = append(out, line)
	}
	return out
}
