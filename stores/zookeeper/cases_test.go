package zookeeper

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/value"
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

func set(n int64) offset.Stored { return offset.Stored{State: offset.Set, Next: n} }

func ps(indexes ...int32) (out []offset.Partition) {
	for _, i := range indexes {
		out = append(out, offset.Partition{Topic: "t", Index: i})
	}
	return out
}

func get(t testing.TB, s offset.Store, group string, ps ...offset.Partition) []offset.Stored {
	t.Helper()
	a := s.Read(context.Background(), []offset.Query{{Group: group, Expect: ps}})[0]
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

func TestBR10(t *testing.T) {
	x := job(t)
	x.put(x.at("g", "t", "0"), []byte("3"))
	x.put(x.at("g", "t", "1"), []byte("-1"))
	s := x.open("?value=last")
	got := get(t, s, "g", ps(0, 1)...)
	if got[0].Next != 4 || got[1].State != offset.Set || got[1].Next != 0 || string(got[1].Raw) != "-1" {
		t.Fatalf("%+v", got)
	}
	write(t, s, "g", change(t, s, "g", ps(0, 1, 2), 4, 0, 7))
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
	for i, v := range get(t, s, "g", ps(0, 1, 2, 3, 4, 5)...) {
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
		write(t, s, g, change(t, s, g, p, 0))
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
	r := s.Write(context.Background(), "a/b", []offset.Change{{Partition: p[0], From: offset.Stored{Version: absent}, To: set(1)}})[0]
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
	got := get(t, s, "g", all...)
	if got[0].Next != 3 || got[1].Next != 1 || got[2].Next != 2 {
		t.Errorf("%+v", got)
	}
	write(t, s, "g", change(t, s, "g", all[1:2], 9))
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
	got := get(t, s, "g", ps(0, 1, 2, 3, 4, 5, 6)...)
	for i, want := range []string{"set 120", "invalid 0", "set 75", "absent 0", "invalid 0", "invalid 0", "set 75"} {
		if have := fmt.Sprint(got[i].State, " ", got[i].Next); have != want {
			t.Errorf("node %d is %s, it should be %s", i, have, want)
		}
	}
	write(t, s, "g", change(t, s, "g", ps(1), 0))
	write(t, s, "g", change(t, s, "g", ps(6), 80))
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
	if v := get(t, s, "nobody", ps(0)...)[0]; v.State != offset.Absent {
		t.Errorf("%+v", v)
	}
	// New ones like their neighbours.
	x.put(x.at("h", "t", "0"), java("1"))
	write(t, s, "h", change(t, s, "h", ps(1), 5))
	if raw := x.read(x.at("h", "t", "1")); raw != string(java("5")) {
		t.Errorf("a new node beside serialised ones has %q", raw)
	}
}

func TestBR34(t *testing.T) {
	x := job(t)
	x.put(x.at("g", "t", "0"), []byte("10"))
	x.put(x.at("g", "t", "1"), []byte("20"))
	s := x.open("")
	ch := change(t, s, "g", ps(1), 5)
	x.put(x.at("g", "t", "0"), []byte("15"))
	write(t, s, "g", ch)
	ch = change(t, s, "g", ps(0, 1), 3, 3)
	x.put(x.at("g", "t", "0"), []byte("16"))
	r := s.Write(context.Background(), "g", ch)
	if !errors.Is(r[0].Err, offset.ErrMoved) || r[0].Value.Next != 16 || !errors.Is(r[1].Err, offset.ErrUntouched) {
		t.Errorf("%+v", r)
	}
	if a := x.read(x.at("g", "t", "0")) + " " + x.read(x.at("g", "t", "1")); a != "16 5" {
		t.Errorf("the nodes are %s", a)
	}
}

// An empty node, or an empty string that a job wrote as its progress, is something that is no position: neither absent nor 0. A
// reset gives it one; nothing empty is ever written, but for what undo puts back.
func TestBR40(t *testing.T) {
	empty := [][]byte{nil, {}, java(""), []byte(" \n")}
	for _, options := range []string{"?value=next", "?value=last", "?encoding=java"} {
		t.Run(options[1:], func(t *testing.T) {
			x, at := job(t), ps(0, 1, 2, 3)
			for i, raw := range empty {
				if i > 0 {
					x.put(x.at("g", "t", fmt.Sprint(i)), []byte("700")) // the job was further once
				}
				x.put(x.at("g", "t", fmt.Sprint(i)), raw)
			}
			s := x.open(options)
			for i, v := range get(t, s, "g", at...) {
				if v.State != offset.Invalid || v.Next != 0 || v.Raw == nil || !bytes.Equal(v.Raw, empty[i]) || v.Version == absent {
					t.Errorf("%q reads as %+v", empty[i], v)
				}
			}
			listed := s.Read(context.Background(), []offset.Query{{Group: "g"}})[0]
			if len(listed.Others) != len(empty) || len(listed.Gaps) != 0 {
				t.Errorf("%+v", listed)
			}
			ch := change(t, s, "g", at, 450, 450, 450, 0)
			hollow := ch[0]
			hollow.To.Raw = []byte{}
			if r := s.Write(context.Background(), "g", []offset.Change{hollow})[0]; r.Err == nil || x.read(x.at("g", "t", "0")) != "" {
				t.Errorf("an empty value was taken for 450: %+v", r)
			}
			write(t, s, "g", ch)
			now := get(t, s, "g", at...)
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
			write(t, s, "g", undo)
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
		for i, v := range get(t, s, "g", ps(0, 1)...) {
			if v.State != offset.Invalid || v.Raw == nil || string(v.Raw) != x.read(paths[i]) || v.Version == absent {
				t.Errorf("%s reads as %+v", paths[i], v)
			}
			// Only the spout knows what else belongs there.
			if r := s.Write(context.Background(), "g", change(t, s, "g", ps(int32(i)), 450))[0]; r.Err == nil || !strings.Contains(r.Err.Error(), "delete the node") {
				t.Errorf("%s was reset: %+v", paths[i], r)
			}
		}
	})
}

const spoutJSON = `{"topology":{"id":"x-1","name":"x"},"offset": 100,"partition":%d,"broker":{"host":"h","port":9092,"offset":7},"topic":"%s"}`

func TestStorm(t *testing.T) {
	x := newTree(t, testservers.Need(t, "zookeeper").Addr["plain"])
	x.put(x.chroot+"/spouts/g/partition_0", fmt.Appendf(nil, spoutJSON, 0, "t"))
	x.put(x.chroot+"/spouts/g/t/partition_1", fmt.Appendf(nil, spoutJSON, 1, "t"))
	x.put(x.chroot+"/spouts/g/partition_2", []byte(`{"topic":"t","partition":2}`))
	x.put(x.chroot+"/spouts/g/partition_3", fmt.Appendf(nil, spoutJSON, 3, "other"))
	s := x.open("?layout=storm&root=/spouts")
	got := get(t, s, "g", ps(0, 1, 2, 3)...)
	for i, want := range []string{"set 100", "set 100", "invalid 0", "absent 0"} {
		if have := fmt.Sprint(got[i].State, " ", got[i].Next); have != want {
			t.Errorf("node %d is %s, it should be %s", i, have, want)
		}
	}
	ch := change(t, s, "g", ps(0, 1), 7, 8)
	write(t, s, "g", ch)
	if raw := x.read(x.chroot + "/spouts/g/partition_0"); raw != strings.Replace(fmt.Sprintf(spoutJSON, 0, "t"), "100", "7", 1) {
		t.Errorf("more than the offset changed: %s", raw)
	}
	now := get(t, s, "g", ps(0, 1)...)
	write(t, s, "g", []offset.Change{ch[0].Undo(now[0]), ch[1].Undo(now[1])})
	if raw := x.read(x.chroot + "/spouts/g/t/partition_1"); raw != fmt.Sprintf(spoutJSON, 1, "t") {
		t.Errorf("undo left %s", raw)
	}
	if r := s.Write(context.Background(), "g", change(t, s, "g", ps(9), 1))[0]; !errors.Is(r.Err, offset.ErrUnsupported) {
		t.Errorf("a node that the spout did not make: %v", r.Err)
	}
	if r := s.Write(context.Background(), "g", change(t, s, "g", ps(2), 1))[0]; r.Err == nil {
		t.Error("a node without an offset was written")
	}
	a := s.Read(context.Background(), []offset.Query{{Group: "g"}})[0]
	if len(a.Others) != 4 || len(a.Gaps) != 0 {
		t.Errorf("%+v", a)
	}
	groups, _, err := s.Groups(context.Background())
	if err != nil || fmt.Sprint(groups) != "[g]" {
		t.Errorf("%q, %v", groups, err)
	}
	if c := s.Caps(); c.Queues || c.Delete || !c.Atomic {
		t.Errorf("it claims %+v", c)
	}
}

func FuzzSpout(f *testing.F) {
	f.Add(fmt.Appendf(nil, spoutJSON, 0, "t"), int64(7))
	f.Add([]byte(`{"offset":1,"offset":2}`), int64(0))
	f.Add([]byte(`{"a":{"offset":1}}`), int64(0))
	f.Fuzz(func(t *testing.T, raw []byte, next int64) {
		c := config{storm: true, number: value.Dialect{Accept: value.Text, New: value.Text}}
		if next < 0 {
			return
		}
		out, err := c.respout(raw, next)
		if err != nil {
			return
		}
		topic, v := c.spout(out)
		if v.State != offset.Set || v.Next != next {
			t.Fatalf("%q with %d became %q, read as %+v", raw, next, out, v)
		}
		if before, _ := c.spout(raw); before != topic {
			t.Fatalf("%q became another topic's %q", raw, out)
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
		r := s.Read(context.Background(), []offset.Query{{Group: "g", Expect: ps(0)}})[0]
		if err := errors.Join(r.Err, r.Expected[0].Err); !errors.Is(err, offset.ErrDenied) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %+v", options, r)
		}
	}
	s := x.open("?user=op&password=node-secret")
	write(t, s, "g", change(t, s, "g", ps(0, 1), 5, 6))
	acl, _, err := x.GetACL(x.at("g", "t", "1"))
	if err != nil || len(acl) != 1 || acl[0].Scheme != "digest" || acl[0].ID != zk.DigestACL(zk.PermAll, "op", "node-secret")[0].ID {
		t.Errorf("a new node has ACL %v, %v", acl, err)
	}
}

func TestBadTrees(t *testing.T) {
	addr := testservers.Need(t, "zookeeper").Addr["plain"]
	x := newTree(t, addr)
	for text, want := range map[string]error{
		x.address(addr, ""):                           offset.ErrUnknownName, // no /consumers
		"zk://" + addr + x.chroot + "/none":           offset.ErrUnknownName,
		x.address(addr, "?layout=storm"):              offset.ErrConfig,
		x.address(addr, "?layout=flat"):               offset.ErrConfig,
		x.address(addr, "?value=first"):               offset.ErrConfig,
		"zk://" + addr + "/../x":                      offset.ErrConfig,
		"zk://no-such-host.invalid:2181":              offset.ErrUnreachable,
		"zk://127.0.0.1:1,no-such-host.invalid:2181/": offset.ErrUnreachable,
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		s, err := Open(ctx, quietly(), parse(t, text))
		cancel()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, %v; it should be: %v", text, s, err, want)
		}
		if errors.Is(want, offset.ErrUnreachable) && !strings.Contains(err.Error(), "no-such-host.invalid:2181: ") {
			t.Errorf("%v does not say why", err)
		}
	}
	// One dead host and one whose name is not known stand before a live one.
	s := open(t, quietly(), "zk://127.0.0.1:1,no-such-host.invalid:2181,"+addr+"/?root="+x.chroot)
	_ = s.Close()
	for i, want := range []string{"was created", "there already"} {
		said, err := Init(context.Background(), quietly(), parse(t, x.address(addr, "")))
		if err != nil || !strings.Contains(said, want) {
			t.Errorf("init %d says %q, %v", i+1, said, err)
		}
	}
	said, err := Init(context.Background(), quietly(), parse(t, "zk://"+addr+x.chroot+"/deep/er"))
	if err != nil || !strings.Contains(said, "/deep/er/consumers") {
		t.Errorf("%q, %v", said, err)
	}
}

// A server that accepts and never answers: the caller's deadline holds.
func TestSilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err = Open(ctx, quietly(), parse(t, "zk://"+l.Addr().String()))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("%v", err)
	}
}

// What does not fit into one transaction is refused as a whole.
func TestTooLarge(t *testing.T) {
	x := job(t)
	s := x.open("")
	var many []offset.Change
	for i := range int32(3000) {
		p := offset.Partition{Topic: strings.Repeat("t", 200), Index: i}
		many = append(many, offset.Change{Partition: p, From: offset.Stored{State: offset.Absent, Version: absent}, To: set(1)})
	}
	r := s.Write(context.Background(), "g", many)
	if !errors.Is(r[0].Err, offset.ErrTooLarge) || !errors.Is(r[2999].Err, offset.ErrTooLarge) {
		t.Errorf("%v", r[0].Err)
	}
	if there, _, err := x.Exists(x.chroot + "/consumers/g"); there || err != nil {
		t.Errorf("something was written: %v", err)
	}
	write(t, s, "g", many[:500])
}

// The session expires while nobody looks: the next call works.
func TestSessionExpiry(t *testing.T) {
	x := job(t)
	x.put(x.at("g", "t", "0"), []byte("10"))
	p := newProxy(t, x.addr)
	s := open(t, quietly(), x.address(p.addr, ""))
	defer func() { _ = s.Close() }()
	if got := get(t, s, "g", ps(0)...)[0]; got.Next != 10 {
		t.Fatalf("%+v", got)
	}
	id := s.SessionID()
	p.freeze(true)
	deadline := time.Now().Add(40 * time.Second)
	for s.State() == zk.StateHasSession && time.Now().Before(deadline) {
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(5 * time.Second) // the server gives up a session after at most 10 s, two thirds of which have passed
	p.freeze(false)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var got offset.Answer
	for ctx.Err() == nil {
		if got = s.Read(ctx, []offset.Query{{Group: "g", Expect: ps(0)}})[0]; got.Err == nil && got.Expected[0].Err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if got.Err != nil || got.Expected[0].Err != nil || got.Expected[0].Value.Next != 10 || s.SessionID() == id {
		t.Errorf("after session %x: session %x, %+v", id, s.SessionID(), got)
	}
	write(t, s, "g", change(t, s, "g", ps(0), 5))
}

// Two of three servers are gone: nothing is called absent; when they are back, everything works.
func TestHalfAQuorum(t *testing.T) {
	srv := testservers.NeedOwn(t, "zookeeper3")
	x := newTree(t, srv.Addr["plain"])
	x.make(x.chroot+"/consumers", nil)
	x.put(x.at("g", "t", "0"), []byte("10"))
	s := x.open("")
	ch := change(t, s, "g", ps(0), 5)
	srv.Kill(srv.Nodes[0])
	srv.Kill(srv.Nodes[1])
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	a := s.Read(ctx, []offset.Query{{Group: "g", Expect: ps(0)}})[0]
	if a.Err == nil && a.Expected[0].Err == nil && a.Expected[0].Value.Next != 10 { // the last one may not have noticed yet
		t.Errorf("without a quorum it reads %+v", a)
	}
	if r := s.Write(ctx, "g", ch)[0]; r.Err == nil {
		t.Error("without a quorum it writes")
	}
	srv.Start(srv.Nodes[0])
	srv.Start(srv.Nodes[1])
	back := time.Now().Add(time.Minute)
	for time.Now().Before(back) {
		if a = s.Read(context.Background(), []offset.Query{{Group: "g", Expect: ps(0)}})[0]; a.Err == nil && a.Expected[0].Err == nil {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	write(t, s, "g", change(t, s, "g", ps(0), 5))
}

// TLS in front of a server: the certificate is looked at.
func TestTLS(t *testing.T) {
	x := job(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				server, err := net.Dial("tcp", x.addr)
				if err != nil {
					return
				}
				go func() { _, _ = io.Copy(c, server) }()
				_, _ = io.Copy(server, c)
				_ = server.Close()
			}()
		}
	}()
	s := open(t, quietly(), x.address(l.Addr().String(), "?ca="+ca))
	write(t, s, "g", change(t, s, "g", ps(0), 5))
	_ = s.Close()
	_, err = Open(context.Background(), quietly(), parse(t, x.address(l.Addr().String(), "?tls=on")))
	if !errors.Is(err, offset.ErrUnreachable) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%v", err)
	}
}

// The requests of a read and a write of 1000 partitions are all under way together, and the write is one transaction.
func TestRequests(t *testing.T) {
	x := job(t)
	var calls []byte
	env := quietly()
	mu := make(chan struct{}, 1)
	env.Trace = func(_, call string) {
		mu <- struct{}{}
		calls = append(calls, call+" "...)
		<-mu
	}
	s := open(t, env, x.address(x.addr, ""))
	defer func() { _ = s.Close() }()
	var at []offset.Partition
	for topic := range 10 {
		for i := range int32(100) {
			at = append(at, offset.Partition{Topic: fmt.Sprint(topic), Index: i})
		}
	}
	ch := change(t, s, "g", at, make([]int64, len(at))...)
	calls = nil
	write(t, s, "g", ch)
	if n := bytes.Count(calls, []byte("Multi")); n != 1 {
		t.Errorf("%d transactions", n)
	}
	calls = nil
	get(t, s, "g", at...)
	if n, m := bytes.Count(calls, []byte("Get")), bytes.Count(calls, []byte(" ")); n != 1000 || m > 1020 {
		t.Errorf("%d Gets of %d requests", n, m)
	}
}
