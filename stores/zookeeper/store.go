package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/offset"
)

// Store is one tree of groups.
type Store struct {
	*conn
	config
}

var _ offset.Store = (*Store)(nil)

// Open connects and looks whether the tree is there.
func Open(ctx context.Context, env offset.Env, a address.Address) (offset.Store, error) {
	s, err := connect(ctx, env, a)
	if err != nil {
		return nil, err
	}
	if err := s.rooted(ctx); err != nil {
		s.Conn.Close()
		return nil, err
	}
	return s, nil
}

func connect(ctx context.Context, env offset.Env, a address.Address) (*Store, error) {
	c, err := parseConfig(a)
	if err != nil {
		return nil, err
	}
	s, err := dial(ctx, env, a)
	if err != nil {
		return nil, err
	}
	return &Store{s, c}, nil
}

// rooted tells that the node above the groups is there: without it nothing below it would prove anything.
func (s *Store) rooted(ctx context.Context) error {
	there, err := s.exists(ctx, s.chroot+s.config.root)
	if err != nil {
		return s.explain("looking for "+s.chroot+s.config.root, err)
	}
	if there {
		return nil
	}
	if s.chroot != "" {
		if there, err := s.exists(ctx, s.chroot); err == nil && !there {
			return fmt.Errorf("%s: chroot %s %w; look at the path behind the hosts, or create it with \"offsetctl store init\"", s.name, s.chroot, offset.ErrUnknownName)
		}
	}
	return fmt.Errorf("%s: node %s %w; look at the path behind the hosts and at root=, or create it with \"offsetctl store init\"", s.name, s.chroot+s.config.root, offset.ErrUnknownName)
}

// Close ends the session.
func (s *Store) Close() error {
	s.Conn.Close()
	return nil
}

// Caps tells what the layout can do. A spout's nodes are its own to make.
func (s *Store) Caps() offset.Caps {
	return offset.Caps{Atomic: true, Together: offset.PerGroup, Fence: true, Delete: !s.storm, CommitTime: true, Queues: !s.storm}
}

// Groups lists the nodes below the root that have positions.
func (s *Store) Groups(ctx context.Context) ([]string, []error, error) {
	names, _, err := s.children(ctx, s.chroot+s.config.root)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil, s.rooted(ctx)
	}
	if err != nil {
		return nil, nil, s.explain("listing groups", err)
	}
	there, errs := make([]bool, len(names)), make([]error, len(names))
	each(len(names), func(i int) {
		if s.storm {
			there[i], errs[i] = s.keeps(ctx, names[i])
		} else {
			there[i], errs[i] = s.exists(ctx, s.topics(names[i]))
		}
	})
	var groups []string
	var gaps []error
	for i, n := range names {
		switch {
		case errs[i] != nil && !errors.Is(errs[i], zk.ErrNoNode):
			gaps = append(gaps, s.explain("looking at group "+n, errs[i]))
		case there[i]:
			groups = append(groups, n)
		}
	}
	return groups, gaps, nil
}

// Init creates the node above the groups, and the chroot.
func Init(ctx context.Context, env offset.Env, a address.Address) (string, error) {
	s, err := connect(ctx, env, a)
	if err != nil {
		return "", err
	}
	defer s.Conn.Close()
	err = s.rooted(ctx)
	if err == nil {
		return fmt.Sprintf("Node %s is there already.", s.chroot+s.config.root), nil
	}
	if !errors.Is(err, offset.ErrUnknownName) {
		return "", err
	}
	var at string
	for _, path := range ancestors(s.chroot + s.config.root + "/x") {
		at = path
		acl, err := s.acl(ctx, path)
		if err == nil {
			err = s.do(ctx, "Create", func() error {
				_, err := s.Create(path, nil, 0, acl)
				return err
			})
		}
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return "", s.explain("creating "+path, err)
		}
	}
	return fmt.Sprintf("Node %s was created.", at), nil
}

// ancestors lists the nodes above a path, the highest first.
func ancestors(path string) (out []string) {
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			out = append(out, path[:i])
		}
	}
	return slices.Clip(out)
}
