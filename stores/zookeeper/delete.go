package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/offsetctl/offsetctl/offset"
)

var _ offset.GroupDeleter = (*Store)(nil)

// DeletesGroups is nil: each group has nodes of its own.
func (s *Store) DeletesGroups() error { return nil }

// DeleteGroup deletes a group's positions and the nodes that were made for them, in one transaction. The group's node goes too
// where nothing else is under it: the ids and owners of its consumers stay. It refuses while a consumer has its id there, and
// where something lies among the positions that is none.
func (s *Store) DeleteGroup(ctx context.Context, group string, had []offset.Change) ([]offset.Result[offset.Stored], error) {
	if err := nodeName(group); err != nil {
		return nil, err
	}
	for again := true; ; again = false {
		if err := s.fresh(ctx); err != nil {
			return nil, err
		}
		out := make([]offset.Result[offset.Stored], len(had))
		now := s.current(ctx, group, had)
		if compare(had, now, out) {
			return out, nil
		}
		around, err := s.around(ctx, group, had, now)
		if err == nil {
			err = s.destroy(ctx, group, now, around)
		}
		if err == nil || !again || !errors.Is(err, errLost) || ctx.Err() != nil {
			return nil, err
		}
	}
}

// inner is a node that holds others.
type inner struct {
	path string
	stat *zk.Stat
}

// around is the nodes that go with the positions, the lowest first.
func (s *Store) around(ctx context.Context, group string, had []offset.Change, now []there) ([]inner, error) {
	if err := s.idle(ctx, group); err != nil {
		return nil, err
	}
	found, gaps := s.list(ctx, offset.Query{Group: group})
	found, gaps = s.nobodys(offset.Query{Group: group}, found, nil, gaps)
	if err := errors.Join(gaps...); err != nil {
		return nil, fmt.Errorf("deleting group %s %w: %w; look what it is, and delete it first", group, offset.ErrUnsupported, err)
	}
	for _, p := range found {
		if !slices.ContainsFunc(had, func(c offset.Change) bool { return c.Partition == p }) {
			return nil, fmt.Errorf("group %s %w: it has a position of %s by now; nothing was deleted", group, offset.ErrMoved, p)
		}
	}
	var out []inner
	var err error
	if s.storm {
		out, err = s.aroundSpout(ctx, group, now)
	} else {
		out, err = s.aroundOffsets(ctx, group)
	}
	switch {
	case err != nil:
		return nil, s.explain("looking at what group "+group+" has", err)
	case len(out)+len(had) == 0:
		return nil, fmt.Errorf("group %s %w under %s", group, offset.ErrUnknownName, s.chroot+s.config.root)
	}
	return out, nil
}

func (s *Store) aroundOffsets(ctx context.Context, group string) ([]inner, error) {
	topics, stat, err := s.children(ctx, s.topics(group))
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out, errs := make([]inner, len(topics)), make([]error, len(topics))
	each(len(topics), func(i int) {
		out[i].path = s.topic(group, topics[i])
		_, out[i].stat, errs[i] = s.children(ctx, out[i].path)
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	out = append(out, inner{s.topics(group), stat})
	return s.andGroup(ctx, group, out, s.topics(group))
}

// aroundSpout keeps the nodes of topics: an undo then puts the positions back where the spout looks for them.
func (s *Store) aroundSpout(ctx context.Context, group string, now []there) ([]inner, error) {
	paths := make([]string, len(now))
	for i := range now {
		paths[i] = now[i].path
	}
	return s.andGroup(ctx, group, nil, paths...)
}

// andGroup adds the group's own node where nothing but these lies under it.
func (s *Store) andGroup(ctx context.Context, group string, out []inner, but ...string) ([]inner, error) {
	names, stat, err := s.children(ctx, s.group(group))
	if errors.Is(err, zk.ErrNoNode) {
		return out, nil
	}
	if err == nil && !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(but, s.group(group)+"/"+n) }) {
		out = append(out, inner{s.group(group), stat})
	}
	return out, err
}

// destroy deletes the nodes if all still are as they were seen.
func (s *Store) destroy(ctx context.Context, group string, positions []there, around []inner) error {
	var ops []any
	size := 0
	add := func(path string, version int32) {
		ops = append(ops, &zk.DeleteRequest{Path: path, Version: version})
		size += len(path) + 64
	}
	for _, p := range positions {
		n, _ := written(p.Value.Version)
		add(p.path, n)
	}
	for _, n := range around {
		add(n.path, n.stat.Version)
	}
	if size > maxMulti {
		return fmt.Errorf("deleting group %s %w: %d nodes; delete the positions of some topics first, with reset --to-absent", group, offset.ErrTooLarge, len(ops))
	}
	answers, err := s.multi(ctx, ops)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrConnectionClosed), errors.Is(err, zk.ErrSessionExpired):
		return s.destroyed(ctx, group, positions, around)
	case errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNotEmpty):
		at := max(0, slices.IndexFunc(answers, func(a zk.MultiResponse) bool { return a.Error != nil }))
		if at < len(positions) && errors.Is(err, zk.ErrNotEmpty) {
			return fmt.Errorf("deleting group %s %w: nodes lie below its position %s; look what they are, and delete them first", group, offset.ErrUnsupported, positions[at].path)
		}
		return fmt.Errorf("group %s %w: somebody writes at %s; nothing was deleted", group, offset.ErrMoved, ops[at].(*zk.DeleteRequest).Path)
	}
	return s.explain("deleting group "+group, err)
}

// destroyed finds out what became of a deletion whose answer was lost. It is all or nothing: a node that is still there proves
// that it did not happen.
func (s *Store) destroyed(ctx context.Context, group string, positions []there, around []inner) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), decideTime)
	defer cancel()
	was := map[string]string{}
	for _, p := range positions {
		was[p.path] = nodeID(p.Value.Version)
	}
	for _, n := range around {
		was[n.path] = nodeID(version(n.stat))
	}
	there := false
	err := s.fresh(ctx)
	for path, id := range was {
		if err != nil {
			break
		}
		var stat *zk.Stat
		if _, stat, err = s.get(ctx, path); err == nil && nodeID(version(stat)) == id {
			there = true
		}
		if errors.Is(err, zk.ErrNoNode) {
			err = nil
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("group %s %w: the connection was lost while it was deleted, and looking again failed: %w", group, offset.ErrOutcome, s.explain("looking", err))
	case there:
		return fmt.Errorf("%s: %w: %w", s.name, offset.ErrUnreachable, errLost)
	}
	return nil
}
