package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/offsetctl/offsetctl/offset"
)

var _ offset.Permitter = (*Store)(nil)

// Permissions holds the ACLs of the group's nodes against who is logged in. Reading is tried; nothing is written.
func (s *Store) Permissions(ctx context.Context, group string, topics []string, write bool) []offset.Permission {
	p := &permitting{Store: s, seen: map[string]guarded{}}
	root := s.chroot + s.config.root
	if err := s.fresh(ctx); err != nil && !errors.Is(err, offset.ErrDenied) {
		return []offset.Permission{{Right: "node " + root + ": READ", Err: err}}
	}
	p.ask(ctx, "node "+root, zk.PermRead, "", root)
	if group == "" || nodeName(group) != nil {
		return p.out
	}
	names, err := p.inside(ctx, s.topics(group))
	if err != nil {
		return p.out
	}
	if s.storm {
		flat := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !s.spouts(n) })
		names = slices.DeleteFunc(names, s.spouts)
		p.positions(ctx, "group "+group, s.topics(group), flat, write)
	}
	if len(topics) == 0 {
		topics = names
	}
	for _, t := range topics {
		if s.storm && !slices.Contains(names, t) {
			continue // what is of it, if anything, lies beside the others
		}
		p.topic(ctx, group, t, write)
	}
	if !write {
		return p.out
	}
	if len(topics) == 0 && !s.storm {
		at := p.nearest(ctx, s.topics(group))
		p.ask(ctx, "node "+at, zk.PermCreate, "", at)
	}
	p.deleting(ctx, group, len(names) > 0)
	return p.out
}

// permitting asks for rights, and gathers the answers.
type permitting struct {
	*Store
	seen map[string]guarded
	out  []offset.Permission
}

// inside lists what lies in a node. That it may not be read is an answer, too.
func (p *permitting) inside(ctx context.Context, path string) ([]string, error) {
	names, _, err := p.children(ctx, path)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil, nil
	case err != nil:
		p.ask(ctx, "node "+path, zk.PermRead, "", path)
	}
	return names, err
}

func (p *permitting) topic(ctx context.Context, group, topic string, write bool) {
	path := p.Store.topic(group, topic)
	names, err := p.inside(ctx, path)
	if err != nil || nodeName(topic) != nil {
		return
	}
	names = slices.DeleteFunc(names, func(n string) bool {
		_, ok := p.partition(topic, n)
		return !ok
	})
	p.positions(ctx, "topic "+topic, path, names, write)
	if !write || p.storm {
		return
	}
	only := "positions that are not there yet"
	if len(names) == 0 {
		only = "" // all of them
	}
	at := p.nearest(ctx, path)
	p.ask(ctx, "node "+at, zk.PermCreate, only, at)
	if len(names) > 0 {
		p.ask(ctx, "node "+path, zk.PermDelete, "making positions absent", path)
	}
}

// positions asks for what it takes to read and write the nodes of positions.
func (p *permitting) positions(ctx context.Context, what, path string, names []string, write bool) {
	if len(names) == 0 {
		return
	}
	paths := make([]string, len(names))
	for i, n := range names {
		paths[i] = path + "/" + n
	}
	what = what + ", " + nodes(len(paths))
	p.ask(ctx, what, zk.PermRead, "", paths...)
	if write {
		p.ask(ctx, what, zk.PermWrite, "", paths...)
	}
}

// deleting asks for what it takes to delete the group's nodes beside those of its positions.
func (p *permitting) deleting(ctx context.Context, group string, topics bool) {
	names, err := p.inside(ctx, p.Store.group(group))
	if err != nil || len(names) == 0 {
		return
	}
	paths := []string{p.Store.group(group)}
	if topics && !p.storm {
		paths = append(paths, p.topics(group))
	}
	if !p.storm && len(names) == 1 {
		paths = append(paths, p.chroot+p.config.root)
	}
	p.ask(ctx, fmt.Sprintf("group %s, %s above its positions", group, nodes(len(paths))), zk.PermDelete, "groups delete", paths...)
}

// nearest is the node at a path, or the nearest above it that is there.
func (p *permitting) nearest(ctx context.Context, path string) string {
	up := append(ancestors(path), path)
	for _, at := range slices.Backward(up) {
		if p.look(ctx, at); !errors.Is(p.seen[at].err, zk.ErrNoNode) {
			return at
		}
	}
	return "/"
}

func nodes(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}

var permNames = map[int32]string{zk.PermRead: "READ", zk.PermWrite: "WRITE", zk.PermCreate: "CREATE", zk.PermDelete: "DELETE"}

// ask answers a right on all of the nodes by one line, which names the first node on which it is missing.
func (p *permitting) ask(ctx context.Context, what string, perm int32, only string, paths ...string) {
	p.look(ctx, paths...)
	answer := offset.Permission{Right: what + ": " + permNames[perm], Only: only, Granted: true}
	missing := 0
	for _, path := range paths {
		granted, err := p.seen[path].may(perm, p.identity)
		if err == nil && granted || errors.Is(err, zk.ErrNoNode) { // gone since it was listed
			continue
		}
		if missing++; missing > 1 {
			continue
		}
		answer = offset.Permission{Right: "node " + path + ": " + permNames[perm], Only: only, Err: p.explain("looking at the ACL of "+path, err)}
	}
	if missing > 1 {
		answer.Right += fmt.Sprintf(" (and of %s more)", nodes(missing-1))
	}
	p.out = append(p.out, answer)
}

// look reads nodes and their ACLs, each once.
func (p *permitting) look(ctx context.Context, paths ...string) {
	paths = slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		_, seen := p.seen[path]
		return seen
	})
	got := make([]guarded, len(paths))
	each(len(paths), func(i int) {
		if _, _, got[i].err = p.get(ctx, paths[i]); got[i].err == nil {
			var a answer[[]zk.ACL]
			a, got[i].err = read(ctx, p.conn, "GetACL", func() ([]zk.ACL, *zk.Stat, error) { return p.GetACL(paths[i]) })
			got[i].acl = a.value
		}
	})
	for i, path := range paths {
		p.seen[path] = got[i]
	}
}
