package zookeeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest/storetest"
)

// job is a tree with a root, on the shared server.
func job(t *testing.T) tree {
	t.Helper()
	x := newTree(t, testservers.Need(t, "zookeeper").Addr["plain"])
	x.make(x.chroot+"/consumers", nil)
	return x
}

func (x tree) open(options string) *Store {
	x.t.Helper()
	s := open(x.t, quietly(), x.address(x.addr, options))
	x.t.Cleanup(func() { _ = s.Close() })
	return s
}

// at is where a group's position lies.
func (x tree) at(group, topic, node string) string {
	return x.chroot + "/consumers/" + group + "/offsets/" + topic + "/" + node
}

func TestBR10(t *testing.T) {
	x := job(t)
	x.put(x.at("g", "t", "0"), []byte("3"))
	x.put(x.at("g", "t", "1"), []byte("-1"))
	s := x.open("?value=last")
	got := storetest.Get(t, s, "g", storetest.Partitions(0, 1)...)
	if got[0].Next != 4 || got[1].State != offset.Set || got[1].Next != 0 || string(got[1].Raw) != "-1" {
		t.Fatalf("%+v", got)
	}
	storetest.Write(t, s, "g", storetest.Changes(t, s, "g", storetest.Partitions(0, 1, 2), 4, 0, 7))
	for node, want := range map[string]string{"0": "3", "1": "-1", "2": "6"} {
		if raw := x.read(x.at("g", "t", node)); raw != want {
			t.Errorf("node %s has %q, not %q", node, raw, want)
		}
	}
}

func TestBR12(t *testing.T) {
	x := job(t)
	texts := []string{"2623027957", "9007199254740993", "9223372036854775807", "9223372036854775808", "12.0", "1e6"}
	for i, text := range texts {
		x.put(x.at("g", "t", fmt.Sprint(i)), []byte(text))
	}
	s := x.open("")
	for i, v := range storetest.Get(t, s, "g", storetest.Partitions(0, 1, 2, 3, 4, 5)...) {
		if i < 3 && fmt.Sprint(v.Next) != texts[i] || i >= 3 && (v.State != offset.Invalid || string(v.Raw) != texts[i]) {
			t.Errorf("%s reads as %+v", texts[i], v)
		}
	}
}

func TestBR24(t *testing.T) {
	x := job(t)
	groups, topics := []string{"a", "a:b", "a*", "a_c", "axc"}, []string{"order_events", "orderXevents"}
	for _, g := range groups {
		for _, topic := range topics {
			x.put(x.at(g, topic, "0"), []byte("100"))
		}
	}
	s := x.open("")
	p := []offset.Partition{{Topic: "order_events"}}
	for n, g := range []string{"a", "a_c", "a*"} {
		storetest.Write(t, s, g, storetest.Changes(t, s, g, p, 0))
		left := 0
		for _, g := range groups {
			for _, topic := range topics {
				if x.read(x.at(g, topic, "0")) == "100" {
					left++
				}
			}
		}
		if left != 9-n {
			t.Errorf("after %q was reset %d nodes are as they were, not %d", g, left, 9-n)
		}
	}
	a := s.Read(context.Background(), []offset.Query{{Group: "a/b", Expect: p}})[0]
	r := s.Write(context.Background(), "a/b", []offset.Change{{Partition: p[0], From: offset.Stored{Version: absent}, To: storetest.Set(1)}})[0]
	if !errors.Is(a.Err, offset.ErrUnsupported) || !errors.Is(r.Err, offset.ErrUnsupported) {
		t.Errorf("a group with a slash: %v, %v", a.Err, r.Err)
	}
	if there, _, err := x.Exists(x.chroot + "/consumers/a/b"); there || err != nil {
		t.Errorf("a child of another group: %v, %v", there, err)
	}
}

// The same queue number on two brokers is two positions; a node without a broker stands beside them as it is.
func TestBR26(t *testing.T) {
	x := job(t)
	x.put(x.at("g", "t", "broker-a-0"), []byte("1"))
	x.put(x.at("g", "t", "broker-b-0"), []byte("2"))
	x.put(x.at("g", "t", "0"), []byte("3"))
	s := x.open("")
	all := []offset.Partition{{Topic: "t"}, {Topic: "t", Broker: "broker-a"}, {Topic: "t", Broker: "broker-b"}}
	got := storetest.Get(t, s, "g", all...)
	if got[0].Next != 3 || got[1].Next != 1 || got[2].Next != 2 {
		t.Errorf("%+v", got)
	}
	storetest.Write(t, s, "g", storetest.Changes(t, s, "g", all[1:2], 9))
	if x.read(x.at("g", "t", "broker-a-0"))+x.read(x.at("g", "t", "broker-b-0"))+x.read(x.at("g", "t", "0")) != "923" {
		t.Error("a neighbour was written")
	}
}

func TestBR32(t *testing.T) {
	x := job(t)
	for i, raw := range [][]byte{[]byte("120"), {}, []byte("75\n"), nil, {0, 0, 0, 0, 0, 0, 0, 0x4b}, []byte("abc"), java("75")} {
		if raw != nil {
			x.put(x.at("g", "t", fmt.Sprint(i)), raw)
		}
	}
	s := x.open("")
	got := storetest.Get(t, s, "g", storetest.Partitions(0, 1, 2, 3, 4, 5, 6)...)
	for i, want := range []string{"set 120", "invalid 0", "set 75", "absent 0", "invalid 0", "invalid 0", "set 75"} {
		if have := fmt.Sprint(got[i].State, " ", got[i].Next); have != want {
			t.Errorf("node %d is %s, it should be %s", i, have, want)
		}
	}
	storetest.Write(t, s, "g", storetest.Changes(t, s, "g", storetest.Partitions(1), 0))
	storetest.Write(t, s, "g", storetest.Changes(t, s, "g", storetest.Partitions(6), 80))
	if raw := x.read(x.at("g", "t", "1")); raw != "0" {
		t.Errorf("the empty node was reset to %q", raw)
	}
	if raw := x.read(x.at("g", "t", "6")); raw != string(java("80")) {
		t.Errorf("the serialised node was reset to %q", raw)
	}
	if x.read(x.at("g", "t", "2")) != "75\n" || x.read(x.at("g", "t", "5")) != "abc" {
		t.Error("a neighbour was written")
	}
	// No node of the group at all.
	if v := storetest.Get(t, s, "nobody", storetest.Partitions(0)...)[0]; v.State != offset.Absent {
		t.Errorf("%+v", v)
	}
	// New ones like their neighbours.
	x.put(x.at("h", "t", "0"), java("1"))
	storetest.Write(t, s, "h", storetest.Changes(t, s, "h", storetest.Partitions(1), 5))
	if raw := x.read(x.at("h", "t", "1")); raw != string(java("5")) {
		t.Errorf("a new node beside serialised ones has %q", raw)
	}
}

func TestBR34(t *testing.T) {
	x := job(t)
	x.put(x.at("g", "t", "0"), []byte("10"))
	x.put(x.at("g", "t", "1"), []byte("20"))
	s := x.open("")
	ch := storetest.Changes(t, s, "g", storetest.Partitions(1), 5)
	x.put(x.at("g", "t", "0"), []byte("15"))
	storetest.Write(t, s, "g", ch)
	ch = storetest.Changes(t, s, "g", storetest.Partitions(0, 1), 3, 3)
	x.put(x.at("g", "t", "0"), []byte("16"))
	r := s.Write(context.Background(), "g", ch)
	if !errors.Is(r[0].Err, offset.ErrMoved) || r[0].Value.Next != 16 || !errors.Is(r[1].Err, offset.ErrUntouched) {
		t.Errorf("%+v", r)
	}
	if a := x.read(x.at("g", "t", "0")) + " " + x.read(x.at("g", "t", "1")); a != "16 5" {
		t.Errorf("the nodes are %s", a)
	}
}

// A position ahead of the log, one that is gone, and another group's under the same topic: each is its own.
func TestBR38(t *testing.T) {
	x := job(t)
	x.put(x.at("g1", "t", "0"), []byte("40"))
	x.put(x.at("g2", "t", "0"), []byte("7"))
	s := x.open("")
	got, neighbour := storetest.Get(t, s, "g1", storetest.Partitions(0, 1)...), storetest.Get(t, s, "g2", storetest.Partitions(0)...)[0]
	if got[0].Next != 40 || got[1].State != offset.Absent || neighbour.Next != 7 {
		t.Errorf("%+v, %+v", got, neighbour)
	}
	storetest.Write(t, s, "g1", storetest.Changes(t, s, "g1", storetest.Partitions(0, 1), 30, 30))
	if now := storetest.Get(t, s, "g2", storetest.Partitions(0)...)[0]; now.Next != 7 || now.Version != neighbour.Version {
		t.Errorf("another group's is %+v, and was %+v", now, neighbour)
	}
	if now := x.nodes(x.chroot + "/consumers/g1"); len(now) != 5 {
		t.Errorf("%q is there", now)
	}
}

// An empty node, or an empty string that a job wrote as its progress, is something that is no position: neither absent nor 0. A
// reset gives it one; nothing empty is ever written, but for what undo puts back.
func TestBR40(t *testing.T) {
	empty := [][]byte{nil, {}, java(""), []byte(" \n")}
	for _, options := range []string{"?value=next", "?value=last", "?encoding=java"} {
		t.Run(options[1:], func(t *testing.T) {
			x, at := job(t), storetest.Partitions(0, 1, 2, 3)
			for i, raw := range empty {
				if i > 0 {
					x.put(x.at("g", "t", fmt.Sprint(i)), []byte("700")) // the job was further once
				}
				x.put(x.at("g", "t", fmt.Sprint(i)), raw)
			}
			s := x.open(options)
			for i, v := range storetest.Get(t, s, "g", at...) {
				if v.State != offset.Invalid || v.Next != 0 || v.Raw == nil || !bytes.Equal(v.Raw, empty[i]) || v.Version == absent {
					t.Errorf("%q reads as %+v", empty[i], v)
				}
			}
			listed := s.Read(context.Background(), []offset.Query{{Group: "g"}})[0]
			if len(listed.Others) != len(empty) || len(listed.Gaps) != 0 {
				t.Errorf("%+v", listed)
			}
			ch := storetest.Changes(t, s, "g", at, 450, 450, 450, 0)
			hollow := ch[0]
			hollow.To.Raw = []byte{}
			if r := s.Write(context.Background(), "g", []offset.Change{hollow})[0]; r.Err == nil || x.read(x.at("g", "t", "0")) != "" {
				t.Errorf("an empty value was taken for 450: %+v", r)
			}
			storetest.Write(t, s, "g", ch)
			now := storetest.Get(t, s, "g", at...)
			undo := make([]offset.Change, len(ch))
			for i, v := range now {
				if v.State != offset.Set || v.Next != ch[i].To.Next {
					t.Errorf("%q was reset to %+v", empty[i], v)
				}
				if x.read(x.at("g", "t", fmt.Sprint(i))) == "" {
					t.Errorf("%q was reset to nothing", empty[i])
				}
				undo[i] = ch[i].Undo(v)
			}
			storetest.Write(t, s, "g", undo)
			for i := range empty {
				if raw := x.read(x.at("g", "t", fmt.Sprint(i))); raw != string(empty[i]) {
					t.Errorf("undo left %q, not %q", raw, empty[i])
				}
			}
		})
	}
	t.Run("spout", func(t *testing.T) {
		x := newTree(t, testservers.Need(t, "zookeeper").Addr["plain"])
		paths := []string{x.chroot + "/spouts/g/t/partition_0", x.chroot + "/spouts/g/t/partition_1"}
		x.put(paths[0], nil)
		x.put(paths[1], []byte("{}"))
		s := x.open("?layout=storm&root=/spouts")
		for i, v := range storetest.Get(t, s, "g", storetest.Partitions(0, 1)...) {
			if v.State != offset.Invalid || v.Raw == nil || string(v.Raw) != x.read(paths[i]) || v.Version == absent {
				t.Errorf("%s reads as %+v", paths[i], v)
			}
			// Only the spout knows what else belongs there.
			if r := s.Write(context.Background(), "g", storetest.Changes(t, s, "g", storetest.Partitions(int32(i)), 450))[0]; r.Err == nil || !strings.Contains(r.Err.Error(), "delete the node") {
				t.Errorf("%s was reset: %+v", paths[i], r)
			}
		}
	})
}

func TestACL(t *testing.T) {
	x := job(t)
	if err := x.AddAuth("digest", []byte("op:node-secret")); err != nil {
		t.Fatal(err)
	}
	x.put(x.at("g", "t", "0"), []byte("10"))
	for _, p := range append(ancestors(x.at("g", "t", "0"))[2:], x.at("g", "t", "0")) {
		if _, err := x.SetACL(p, zk.DigestACL(zk.PermAll, "op", "node-secret"), -1); err != nil {
			t.Fatal(err)
		}
	}
	for _, options := range []string{"", "?user=op&password=wrong-secret"} {
		s := x.open(options)
		r := s.Read(context.Background(), []offset.Query{{Group: "g", Expect: storetest.Partitions(0)}})[0]
		if err := errors.Join(r.Err, r.Expected[0].Err); !errors.Is(err, offset.ErrDenied) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %+v", options, r)
		}
	}
	s := x.open("?user=op&password=node-secret")
	storetest.Write(t, s, "g", storetest.Changes(t, s, "g", storetest.Partitions(0, 1), 5, 6))
	acl, _, err := x.GetACL(x.at("g", "t", "1"))
	if err != nil || len(acl) != 1 || acl[0].Scheme != "digest" || acl[0].ID != zk.DigestACL(zk.PermAll, "op", "node-secret")[0].ID {
		t.Errorf("a new node has ACL %v, %v", acl, err)
	}
	// Digests that are kept back are replaced by the user's own; whom else the node above lets in may read the new one, too.
	hidden := append(zk.DigestACL(zk.PermAll&^zk.PermAdmin, "op", "node-secret"), zk.WorldACL(zk.PermRead)...)
	if _, err := x.SetACL(x.chroot+"/consumers/g/offsets/t", hidden, -1); err != nil {
		t.Fatal(err)
	}
	storetest.Write(t, s, "g", storetest.Changes(t, s, "g", storetest.Partitions(2), 7))
	if acl, _, err = x.GetACL(x.at("g", "t", "2")); err != nil || len(acl) != 2 || acl[0] != hidden[1] || acl[1].ID != hidden[0].ID {
		t.Errorf("a new node has ACL %v, %v", acl, err)
	}
}
