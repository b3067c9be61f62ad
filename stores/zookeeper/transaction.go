package zookeeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/value"
)

// transaction is one multi.
type transaction struct {
	ops  []any
	at   []int // of each change: where the answer that counts stands; -1: nothing is sent for it
	data [][]byte
}

// transaction makes the changes of nodes that were just read.
func (s *Store) transaction(ctx context.Context, group string, changes []offset.Change, now []there) (transaction, error) {
	t := transaction{at: make([]int, len(changes)), data: make([][]byte, len(changes))}
	m := maker{store: s, made: map[string][]zk.ACL{}, neighbours: map[string]value.Encoding{}}
	size := 0
	for i, c := range changes {
		var ops []any
		var err error
		if ops, t.data[i], err = m.change(ctx, group, c, now, i); err != nil {
			return transaction{}, err
		}
		t.ops = append(t.ops, ops...)
		if t.at[i] = len(t.ops) - 1; ops == nil {
			t.at[i] = -1
		}
		size += len(ops) * (len(now[i].path) + len(t.data[i]) + 64)
	}
	if size > maxMulti {
		return transaction{}, fmt.Errorf("group %s %w: %d changes are %d bytes, and ZooKeeper takes %d in one transaction; write fewer partitions at a time", group, offset.ErrTooLarge, len(changes), size, maxMulti)
	}
	return t, nil
}

// fill puts what the servers answered into out.
func (t transaction) fill(s *Store, r []zk.MultiResponse, out []offset.Result[offset.Stored]) {
	for i, at := range t.at {
		switch {
		case at < 0: // it was absent, and is to be
		case t.data[i] == nil:
			out[i].Value = offset.Stored{State: offset.Absent, Version: absent}
		default:
			out[i].Value = s.stored(t.data[i], r[at].Stat)
		}
	}
}

// made tells whether a node is as the transaction leaves it, and as nothing else does.
func (t transaction) made(i int, from offset.Version, now offset.Stored) bool {
	switch {
	case t.at[i] < 0:
		return false
	case t.data[i] == nil:
		return now.State == offset.Absent
	case now.State == offset.Absent || !bytes.Equal(value.Raw(now), t.data[i]):
		return false
	}
	n, _ := written(now.Version)
	if from == absent {
		return n == 1
	}
	before, _ := written(from)
	return n == before+1 && nodeID(now.Version) == nodeID(from)
}

// maker makes the operations of one transaction.
type maker struct {
	store      *Store
	made       map[string][]zk.ACL // nodes above ours that are there, or that the transaction makes; what ours get
	neighbours map[string]value.Encoding
}

// change is the operations for one change, the last of which has the answer that counts, and the bytes that are written.
func (m *maker) change(ctx context.Context, group string, c offset.Change, now []there, i int) ([]any, []byte, error) {
	path := now[i].path
	there := now[i].Value.State != offset.Absent
	n, ok := written(now[i].Value.Version)
	if there && !ok {
		return nil, nil, fmt.Errorf("%s: version %q is none of ours", c.Partition, now[i].Value.Version)
	}
	switch {
	case c.To.State == offset.Absent && !there:
		return nil, nil, nil
	case c.To.State == offset.Absent:
		return []any{&zk.DeleteRequest{Path: path, Version: n}}, nil, nil
	}
	data, err := m.data(ctx, group, c, now[i])
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", c.Partition, err)
	case there:
		return []any{&zk.SetDataRequest{Path: path, Data: data, Version: n}}, data, nil
	}
	if m.store.storm {
		if path, err = m.store.remade(ctx, group, c.Partition); err != nil {
			return nil, nil, err
		}
	}
	ops, acl, err := m.above(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	// Made and at once set: the answer to a creation has no version.
	return append(ops, &zk.CreateRequest{Path: path, Data: data, Acl: acl}, &zk.SetDataRequest{Path: path, Data: data}), data, nil
}

// data is what a change writes, in the form of what is there or of its neighbours. It is not nil.
func (m *maker) data(ctx context.Context, group string, c offset.Change, now there) ([]byte, error) {
	s := m.store
	if s.storm {
		if c.To.Raw != nil || c.To.State == offset.Invalid {
			return value.Raw(c.To), nil
		}
		return s.respout(now.Value.Raw, c.To.Next)
	}
	var like value.Encoding
	if now.Value.State == offset.Absent && c.To.Raw == nil {
		var err error
		if like, err = m.like(ctx, group, c.Partition.Topic); err != nil {
			return nil, err
		}
	}
	raw, err := s.number.Bytes(now.Value, c.To, like)
	if raw == nil && err == nil {
		raw = []byte{}
	}
	return raw, err
}

// like is the form of the topic's other nodes.
func (m *maker) like(ctx context.Context, group, topic string) (value.Encoding, error) {
	if e, known := m.neighbours[topic]; known {
		return e, nil
	}
	s := m.store
	var like value.Encoding
	names, _, err := s.children(ctx, s.topic(group, topic))
	if errors.Is(err, zk.ErrNoNode) {
		err = nil
	}
	for _, n := range names[:min(len(names), 3)] {
		raw, _, err := s.get(ctx, s.topic(group, topic)+"/"+n)
		if err != nil {
			continue
		}
		if _, like, _ = s.number.Decode(raw); like != 0 {
			break
		}
	}
	m.neighbours[topic] = like
	return like, s.explain("looking at the neighbours", err)
}

// above makes the nodes above a path that are missing, and answers the ACL of the nearest that is there: new nodes get it too.
func (m *maker) above(ctx context.Context, path string) (ops []any, acl []zk.ACL, err error) {
	s := m.store
	all := ancestors(path)
	at := len(all)
	for ; at > 0; at-- {
		if acl = m.made[all[at-1]]; acl != nil {
			break
		}
		there, err := s.exists(ctx, all[at-1])
		if err != nil {
			return nil, nil, s.explain("looking for "+all[at-1], err)
		}
		if there {
			break
		}
	}
	if acl == nil {
		if acl, err = s.acl(ctx, path); err != nil {
			return nil, nil, s.explain("reading the ACL above "+path, err)
		}
	}
	for _, p := range all[at:] {
		ops = append(ops, &zk.CreateRequest{Path: p, Data: []byte{}, Acl: acl})
	}
	for _, p := range all {
		m.made[p] = acl
	}
	return ops, acl, nil
}

// acl is that of the nearest node above a path that is there.
func (s *Store) acl(ctx context.Context, path string) ([]zk.ACL, error) {
	up := ancestors(path)
	for _, p := range slices.Backward(append([]string{"/"}, up...)) {
		a, err := read(ctx, s.conn, "GetACL", func() ([]zk.ACL, *zk.Stat, error) { return s.GetACL(p) })
		switch {
		case errors.Is(err, zk.ErrNoNode):
			continue
		case err != nil:
			return nil, err
		}
		// Who may not administer a node is not shown its digests; a copy would lock everybody out whom they mean.
		if slices.ContainsFunc(a.value, masked) {
			return append(slices.DeleteFunc(a.value, masked), zk.AuthACL(zk.PermAll)...), nil
		}
		return a.value, nil
	}
	return zk.WorldACL(zk.PermAll), nil
}

// masked tells whether a digest is kept back.
func masked(e zk.ACL) bool { return e.Scheme == "digest" && strings.HasSuffix(e.ID, ":x") }
