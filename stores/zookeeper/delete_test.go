package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest/storetest"
)

// nodes lists all that lies below a path, and the path.
func (x tree) nodes(path string) []string {
	x.t.Helper()
	names, _, err := x.Children(path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		x.t.Fatalf("%s: %v", path, err)
	}
	slices.Sort(names)
	out := []string{strings.TrimPrefix(path, x.chroot)}
	for _, n := range names {
		out = append(out, x.nodes(path+"/"+n)...)
	}
	return out
}

// live makes a consumer's id, which is there as long as the test's session.
func (x tree) live(group, id string) {
	x.t.Helper()
	path := x.chroot + "/consumers/" + group + "/ids/" + id
	for _, p := range ancestors(path)[1:] {
		x.make(p, nil)
	}
	if _, err := x.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		x.t.Errorf("%s: %v", path, err)
	}
}

// retired is a group of two topics, one of them with queues, beside a neighbour.
func retired(t *testing.T) tree {
	t.Helper()
	x := job(t)
	for _, node := range []string{"t/0", "t/1", "u/broker-a-0"} {
		x.put(x.chroot+"/consumers/g/offsets/"+node, []byte("10"))
	}
	x.put(x.at("g2", "t", "0"), []byte("20"))
	return x
}

func deleteGroup(s *Store, group string, had []offset.Change) error {
	r, err := s.DeleteGroup(context.Background(), group, had)
	for i := range r {
		err = errors.Join(err, r[i].Err)
	}
	return err
}

// A group goes with its positions and their nodes; what is its consumers' stays, and an undo brings the positions back.
func TestDeleteGroup(t *testing.T) {
	for name, theirs := range map[string][]string{"ours alone": nil, "with owners": {"/consumers/g/ids", "/consumers/g/ids/left-over", "/consumers/g/owners", "/consumers/g/owners/t", "/consumers/g/owners/t/0"}} {
		t.Run(name, func(t *testing.T) {
			x := retired(t)
			for _, n := range theirs {
				x.put(x.chroot+n, []byte("c-1"))
			}
			s := x.open("")
			had := storetest.Had(t, s, "g")
			if err := deleteGroup(s, "g", had); err != nil || len(had) != 3 {
				t.Fatalf("%d positions, %v", len(had), err)
			}
			want := theirs
			if theirs != nil {
				want = append([]string{"/consumers/g"}, theirs...)
			}
			if left := x.nodes(x.chroot + "/consumers/g"); !slices.Equal(left, want) {
				t.Errorf("%q is left, not %q", left, want)
			}
			if groups, gaps, err := s.Groups(context.Background()); fmt.Sprint(groups, gaps, err) != "[g2] [] <nil>" {
				t.Errorf("groups %q, %v, %v", groups, gaps, err)
			}
			if err := deleteGroup(s, "g", nil); !errors.Is(err, offset.ErrUnknownName) {
				t.Errorf("a group that is not there: %v", err)
			}
			for i := range had {
				had[i] = had[i].Undo(offset.Stored{State: offset.Absent, Version: absent})
			}
			storetest.Write(t, s, "g", had)
			if raw := x.read(x.chroot + "/consumers/g/offsets/u/broker-a-0"); raw != "10" {
				t.Errorf("undo left %q", raw)
			}
		})
	}
}

// Nothing goes where somebody consumes or writes, or where not all is known that would go.
func TestDeleteGroupRefused(t *testing.T) {
	for _, c := range []struct {
		name, node, says string
		kind             error
	}{
		{"live", "ids/host-1", "host-1", offset.ErrLive},
		{"no position among them", "offsets/t/notes", "notes", offset.ErrUnsupported},
		{"below a position", "offsets/t/1/deep", "/t/1;", offset.ErrUnsupported},
		{"another position", "offsets/v/0", "v:0", offset.ErrMoved},
		{"moved", "offsets/t/1", "", offset.ErrMoved},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := retired(t)
			s := x.open("")
			had := storetest.Had(t, s, "g")
			if c.name == "live" {
				x.live("g", "host-1")
			} else {
				x.put(x.chroot+"/consumers/g/"+c.node, []byte("11"))
			}
			before := x.nodes(x.chroot + "/consumers")
			if err := deleteGroup(s, "g", had); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
			if now := x.nodes(x.chroot + "/consumers"); !slices.Equal(now, before) {
				t.Errorf("%q was there, and %q is", before, now)
			}
		})
	}
	if s := job(t).open(""); !errors.Is(deleteGroup(s, "a/b", nil), offset.ErrUnsupported) {
		t.Error("a path was taken for a name")
	}
}

// Whatever is written just before any request of a deletion stays, and then nothing goes.
func TestDeleteGroupBetween(t *testing.T) {
	for _, node := range []string{"offsets/t/1", "offsets/t/7", "offsets/v/0", "ids/host-1"} {
		for k := int64(1); ; k++ {
			x := retired(t)
			var calls atomic.Int64
			calls.Store(-1000) // until the deletion begins
			env := quietly()
			env.Trace = func(_, _ string) {
				switch {
				case calls.Add(1) != k:
				case strings.HasPrefix(node, "ids/"):
					x.live("g", "host-1")
				default:
					x.put(x.chroot+"/consumers/g/"+node, []byte("11"))
				}
			}
			s := open(t, env, x.address(x.addr, ""))
			had := storetest.Had(t, s, "g")
			calls.Store(0)
			err := deleteGroup(s, "g", had)
			_ = s.Close()
			if calls.Load() < k {
				break
			}
			left := x.nodes(x.chroot + "/consumers/g")
			if err == nil && strings.HasPrefix(node, "ids/") { // the id of one that came when its positions were gone
				if len(left) != 3 {
					t.Errorf("request %d: %q is left", k, left)
				}
				continue
			}
			if !slices.Contains(left, "/consumers/g/"+node) || !slices.Contains(left, "/consumers/g/offsets/t/0") || !errors.Is(err, offset.ErrMoved) && !errors.Is(err, offset.ErrLive) {
				t.Errorf("%s before request %d: %v, and %q is left", node, k, err, left)
			}
		}
	}
}

// An answer that is lost is looked for.
func TestDeleteGroupCut(t *testing.T) {
	for _, sent := range []bool{true, false} {
		x := retired(t)
		p := storetest.NewProxy(t, x.addr)
		s := open(t, quietly(), x.address(p.Addr, ""))
		had := storetest.Had(t, s, "g")
		p.CutNext(isMulti, sent)
		if err := deleteGroup(s, "g", had); err != nil || x.nodes(x.chroot+"/consumers/g") != nil {
			t.Errorf("sent %v: %v, and %q is left", sent, err, x.nodes(x.chroot+"/consumers/g"))
		}
		_ = s.Close()
		x = retired(t)
		p = storetest.NewProxy(t, x.addr)
		s = open(t, quietly(), x.address(p.Addr, ""))
		had = storetest.Had(t, s, "g")
		gone(p, sent)
		if err := deleteGroup(s, "g", had); !errors.Is(err, offset.ErrOutcome) {
			t.Errorf("sent %v, and no server from then on: %v", sent, err)
		}
		_ = s.Close()
	}
}

// A spout's positions go, and an undo puts them back where the spout looks for them.
func TestDeleteGroupStorm(t *testing.T) {
	for name, nodes := range map[string][]string{"flat": {"/partition_0", "/partition_1"}, "by topic": {"/t/partition_0", "/t/partition_1"}} {
		t.Run(name, func(t *testing.T) {
			x := newTree(t, testservers.Need(t, "zookeeper").Addr["plain"])
			for i, n := range nodes {
				x.put(x.chroot+"/spouts/g"+n, fmt.Appendf(nil, spoutJSON, i, "t"))
			}
			s := x.open("?layout=storm&root=/spouts")
			had := storetest.Had(t, s, "g")
			if err := deleteGroup(s, "g", had); err != nil || len(had) != 2 {
				t.Fatalf("%d positions, %v", len(had), err)
			}
			if left := x.nodes(x.chroot + "/spouts/g"); strings.Contains(fmt.Sprint(left), "partition") {
				t.Errorf("%q is left", left)
			}
			if groups, gaps, err := s.Groups(context.Background()); len(groups)+len(gaps) > 0 || err != nil {
				t.Errorf("groups %q, %v, %v", groups, gaps, err)
			}
			for i := range had {
				had[i] = had[i].Undo(offset.Stored{State: offset.Absent, Version: absent})
			}
			storetest.Write(t, s, "g", had)
			for i, n := range nodes {
				if raw := x.read(x.chroot + "/spouts/g" + n); raw != fmt.Sprintf(spoutJSON, i, "t") {
					t.Errorf("undo left %q", raw)
				}
			}
		})
	}
}
