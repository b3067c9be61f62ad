package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest/storetest"
)

// told is what a store answers about rights, a line each.
func told(s *Store, write bool, topics ...string) []string {
	return storetest.Told(s.Permissions(context.Background(), "g", topics, write), s.chroot)
}

// What the ACLs say is what happens: who may write writes, who may not is told so beforehand, and asking changes nothing.
func TestPermissions(t *testing.T) {
	x := job(t)
	for _, who := range []string{"op:node-secret", "admin:admin-secret"} {
		if err := x.AddAuth("digest", []byte(who)); err != nil {
			t.Fatal(err)
		}
	}
	x.put(x.at("g", "t", "0"), []byte("10"))
	x.put(x.at("g", "t", "1"), []byte("10"))
	digest := func(perms int32) []zk.ACL {
		return append(zk.DigestACL(perms, "op", "node-secret"), zk.WorldACL(zk.PermRead)...)
	}
	for path, acl := range map[string][]zk.ACL{
		x.at("g", "t", "0"):                 digest(zk.PermAll),
		x.at("g", "t", "1"):                 digest(zk.PermAll),
		x.chroot + "/consumers/g/offsets/t": append(zk.DigestACL(zk.PermAll&^zk.PermAdmin&^zk.PermDelete, "op", "node-secret"), zk.DigestACL(zk.PermAll, "admin", "admin-secret")...), // its digest is shown to nobody
		x.chroot + "/consumers/g/offsets":   digest(zk.PermAll),
		x.chroot + "/consumers/g":           digest(zk.PermAll),
	} {
		if _, err := x.SetACL(path, acl, -1); err != nil {
			t.Fatal(err)
		}
	}
	before := x.nodes(x.chroot)
	op := x.open("?user=op&password=node-secret")
	if got, want := told(op, true, "t"), []string{
		"node /consumers: READ", "topic t, 2 nodes: READ", "topic t, 2 nodes: WRITE", "node /consumers/g/offsets/t: CREATE only positions that are not there yet",
		"node /consumers/g/offsets/t: DELETE no only making positions absent", "group g, 3 nodes above its positions: DELETE only groups delete",
	}; !slices.Equal(got, want) {
		t.Errorf("op: %q", got)
	}
	storetest.Write(t, op, "g", storetest.Changes(t, op, "g", storetest.Partitions(0, 1, 2), 1, 2, 3))
	gone := storetest.Changes(t, op, "g", storetest.Partitions(0), 0)
	gone[0].To = offset.Stored{State: offset.Absent}
	if r := op.Write(context.Background(), "g", gone); !errors.Is(r[0].Err, offset.ErrDenied) {
		t.Errorf("deleting where DELETE is missing: %v", r[0].Err)
	}
	for _, path := range []string{x.chroot + "/consumers/g/offsets/t", x.at("g", "t", "2")} {
		if _, err := x.SetACL(path, digest(zk.PermAll), -1); err != nil {
			t.Fatal(err)
		}
	}
	for _, options := range []string{"", "?user=op&password=wrong-secret", "?user=else&password=node-secret"} {
		s := x.open(options)
		if got := told(s, false, "t"); !slices.Equal(got, []string{"node /consumers: READ", "topic t, 3 nodes: READ"}) {
			t.Errorf("%q: %q", options, got)
		}
		got := told(s, true, "t")
		if !slices.Contains(got, "node /consumers/g/offsets/t/0: WRITE (and of 2 nodes more) no") && !strings.Contains(fmt.Sprint(got), "WRITE (and of 2 nodes more) ? ") || strings.Contains(fmt.Sprint(got), "secret") {
			t.Errorf("%q: %q", options, got)
		}
		if r := s.Write(context.Background(), "g", storetest.Changes(t, s, "g", storetest.Partitions(1), 5))[0]; !errors.Is(r.Err, offset.ErrDenied) {
			t.Errorf("%q: %v", options, r.Err)
		}
	}
	// A topic that has nothing yet, and a group: all depends on CREATE.
	if got := told(op, true, "new"); !slices.Contains(got, "node /consumers/g/offsets: CREATE") {
		t.Errorf("a new topic: %q", got)
	}
	for _, topics := range [][]string{{"t"}, nil} {
		if got := fmt.Sprint(op.Permissions(context.Background(), "nobody", topics, true)); !strings.Contains(got, "/consumers: CREATE  true") {
			t.Errorf("a new group: %s", got)
		}
	}
	if after := x.nodes(x.chroot); len(after) != len(before)+1 { // the position of partition 2
		t.Errorf("asking changed %q to %q", before, after)
	}
	// Nothing of the group may be seen.
	if _, err := x.SetACL(x.chroot+"/consumers/g/offsets", zk.DigestACL(zk.PermAll, "op", "node-secret"), -1); err != nil {
		t.Fatal(err)
	}
	if got := told(x.open(""), true, "t"); !slices.Contains(got, "node /consumers/g/offsets: READ no") {
		t.Errorf("hidden: %q", got)
	}
}

// A spout's nodes are neither made nor deleted here.
func TestPermissionsStorm(t *testing.T) {
	x := newTree(t, testservers.Need(t, "zookeeper").Addr["plain"])
	x.put(x.chroot+"/spouts/g/partition_0", fmt.Appendf(nil, spoutJSON, 0, "t"))
	x.put(x.chroot+"/spouts/g/u/partition_0", fmt.Appendf(nil, spoutJSON, 0, "u"))
	if _, err := x.SetACL(x.chroot+"/spouts/g/u/partition_0", zk.WorldACL(zk.PermRead|zk.PermAdmin), -1); err != nil {
		t.Fatal(err)
	}
	got := told(x.open("?layout=storm&root=/spouts"), true)
	want := []string{
		"node /spouts: READ", "group g, 1 node: READ", "group g, 1 node: WRITE", "topic u, 1 node: READ", "node /spouts/g/u/partition_0: WRITE no",
		"group g, 1 node above its positions: DELETE only groups delete",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestMay(t *testing.T) {
	op := zk.DigestACL(zk.PermAll, "op", "s")[0]
	masked := func(perms int32) zk.ACL { return zk.ACL{Perms: perms, Scheme: "digest", ID: "op:x"} }
	ip := zk.ACL{Perms: zk.PermAll, Scheme: "ip", ID: "10.0.0.0/8"}
	world := zk.WorldACL(zk.PermRead)[0]
	for name, c := range map[string]struct {
		acl  []zk.ACL
		err  error
		who  identity
		want string
	}{
		"everybody":                         {acl: zk.WorldACL(zk.PermAll), want: "true <nil>"},
		"reader":                            {acl: zk.WorldACL(zk.PermRead), want: "false <nil>"},
		"user":                              {acl: []zk.ACL{op}, who: identity{user: op.ID}, want: "true <nil>"},
		"another's, read all the same":      {acl: []zk.ACL{op}, who: identity{user: "su:y"}, want: "true <nil>"},
		"another's":                         {acl: []zk.ACL{op, world}, who: identity{user: "else:y"}, want: "false <nil>"},
		"masked, proven by the read":        {acl: []zk.ACL{masked(zk.PermRead | zk.PermWrite)}, who: identity{user: op.ID}, want: "true <nil>"},
		"masked, proven, without the right": {acl: []zk.ACL{masked(zk.PermRead)}, who: identity{user: op.ID}, want: "false <nil>"},
		"masked, beside everybody":          {acl: []zk.ACL{masked(zk.PermAll), world}, who: identity{user: op.ID}, want: "false " + errUnsure.Error()},
		"address":                           {acl: []zk.ACL{ip, world}, want: "false " + errUnsure.Error()},
		"address, or user, both may":        {acl: []zk.ACL{ip, masked(zk.PermAll)}, who: identity{user: op.ID}, want: "true <nil>"},
		"not to be read":                    {err: zk.ErrNoAuth, want: "false " + errHidden.Error()},
	} {
		granted, err := guarded{c.acl, c.err}.may(zk.PermWrite, c.who)
		if got := fmt.Sprint(granted, " ", err); got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
	if granted, err := (guarded{err: zk.ErrNoAuth}).may(zk.PermRead, identity{}); granted || err != nil {
		t.Errorf("what may not be read: %v, %v", granted, err)
	}
}
