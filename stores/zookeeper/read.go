package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/offsetctl/offsetctl/offset"
)

// Read asks for everything at once: a step for the topics, one for the names of their nodes, one for the nodes.
func (s *Store) Read(ctx context.Context, qs []offset.Query) []offset.Answer {
	out := make([]offset.Answer, len(qs))
	for i, q := range qs {
		out[i].Expected = make([]offset.Result[offset.Stored], len(q.Expect))
	}
	if len(qs) == 0 {
		return out
	}
	if err := s.fresh(ctx); err != nil {
		for i := range out {
			out[i].Err = err
		}
		return out
	}
	each(len(qs), func(i int) { s.query(ctx, qs[i], &out[i]) })
	return out
}

// fresh makes the reads after it see what is there by now, and looks whether the tree is.
func (s *Store) fresh(ctx context.Context) error {
	if err := s.sync(ctx, s.chroot+s.config.root); err != nil {
		return s.explain("reading", err)
	}
	return s.rooted(ctx)
}

func (s *Store) query(ctx context.Context, q offset.Query, out *offset.Answer) {
	if out.Err = nodeName(q.Group); out.Err != nil {
		return
	}
	done := make(chan struct{})
	go func() { // what is asked by name does not wait for the listing
		defer close(done)
		each(len(q.Expect), func(i int) { out.Expected[i].Value, out.Expected[i].Err = s.look(ctx, q.Group, q.Expect[i]) })
	}()
	found, gaps := s.list(ctx, q)
	<-done
	found, out.Gaps = s.nobodys(q, found, out.Expected, gaps)
	found = slices.DeleteFunc(found, func(p offset.Partition) bool {
		_, asked := slices.BinarySearchFunc(q.Expect, p, offset.Partition.Compare)
		return asked
	})
	others := make([]offset.Entry, len(found))
	each(len(found), func(i int) {
		others[i].Partition = found[i]
		others[i].Value, others[i].Err = s.look(ctx, q.Group, found[i])
	})
	for _, e := range others {
		if e.Err != nil || e.Value.State != offset.Absent { // gone since it was listed
			out.Others = append(out.Others, e)
		}
	}
}

// look reads one position.
func (s *Store) look(ctx context.Context, group string, p offset.Partition) (offset.Stored, error) {
	if err := s.holds(p); err != nil {
		return offset.Stored{}, err
	}
	_, v, err := s.find(ctx, group, p)
	return v, err
}

// find reads one position and tells the node that it lies in.
func (s *Store) find(ctx context.Context, group string, p offset.Partition) (path string, v offset.Stored, err error) {
	path = s.node(group, p)
	raw, stat, err := s.get(ctx, path)
	if errors.Is(err, zk.ErrNoNode) && s.storm {
		path, raw, stat, err = s.findSpout(ctx, group, p)
	}
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return path, offset.Stored{State: offset.Absent, Version: absent}, nil
	case err != nil:
		return path, offset.Stored{}, s.explain("reading "+path, err)
	}
	return path, s.stored(raw, stat), nil
}

// stored is what a node's bytes mean.
func (s *Store) stored(raw []byte, stat *zk.Stat) offset.Stored {
	if raw == nil {
		raw = []byte{} // an empty node
	}
	var v offset.Stored
	if s.storm {
		_, v = s.spout(raw)
	} else {
		v = s.number.Stored(raw)
	}
	v.Version, v.Committed = version(stat), time.UnixMilli(stat.Mtime).UTC()
	return v
}

// list finds what lies under a query's topics.
func (s *Store) list(ctx context.Context, q offset.Query) (found []offset.Partition, gaps []error) {
	if q.Topics != nil && len(q.Topics) == 0 {
		return nil, nil
	}
	if s.storm {
		return s.listSpout(ctx, q)
	}
	topics := q.Topics
	if topics == nil {
		var err error
		if topics, _, err = s.children(ctx, s.topics(q.Group)); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return nil, []error{s.explain("listing the topics of group "+q.Group, err)}
		}
	}
	names, errs := make([][]string, len(topics)), make([]error, len(topics))
	each(len(topics), func(i int) {
		if nodeName(topics[i]) == nil {
			names[i], _, errs[i] = s.children(ctx, s.topic(q.Group, topics[i]))
		}
	})
	for i, t := range topics {
		if errs[i] != nil && !errors.Is(errs[i], zk.ErrNoNode) {
			gaps = append(gaps, s.explain("listing the partitions of "+t, errs[i]))
		}
		for _, n := range names[i] {
			p, ok := s.partition(t, n)
			if !ok {
				gaps = append(gaps, fmt.Errorf("node %s/%s names no partition", s.topic(q.Group, t), n))
				continue
			}
			found = append(found, p)
		}
	}
	slices.SortFunc(found, offset.Partition.Compare)
	return found, gaps
}
