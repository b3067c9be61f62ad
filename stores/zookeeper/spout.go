package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/offsetctl/offsetctl/offset"
)

// A spout's nodes lie under its topic's, or beside each other under the group's, where only their JSON says of which topic they are.

// flat is the node of a partition that lies under the group's own.
func (s *Store) flat(group string, index int32) string {
	return fmt.Sprintf("%s/%s%d", s.topics(group), stormNode, index)
}

// findSpout reads a position that does not lie under its topic's node. A node that does not say of which topic it is belongs to the
// topic that its neighbours name; where they name none, it can be the one that is asked for, and nothing proves that it is not.
func (s *Store) findSpout(ctx context.Context, group string, p offset.Partition) (path string, raw []byte, stat *zk.Stat, err error) {
	path = s.flat(group, p.Index)
	if raw, stat, err = s.get(ctx, path); err != nil {
		return path, nil, nil, err
	}
	topic, _ := s.spout(raw)
	if topic == "" {
		var all []offset.Partition
		if all, err = s.beside(ctx, group); err != nil {
			return path, nil, nil, err
		}
		topic = of(all)
	}
	if topic != "" && topic != p.Topic {
		return s.node(group, p), nil, nil, zk.ErrNoNode
	}
	return path, raw, stat, nil
}

// of is the topic that the nodes name, "" where they name none or several.
func of(all []offset.Partition) (topic string) {
	for _, p := range all {
		if p.Topic != "" && topic != "" && p.Topic != topic {
			return ""
		}
		topic = max(topic, p.Topic)
	}
	return topic
}

// beside reads the nodes that lie beside each other under a group. The topic is "" where a node does not say it.
func (s *Store) beside(ctx context.Context, group string) ([]offset.Partition, error) {
	names, _, err := s.children(ctx, s.topics(group))
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !s.spouts(n) })
	all, errs := make([]offset.Partition, len(names)), make([]error, len(names))
	each(len(names), func(i int) {
		all[i], _ = s.partition("", names[i])
		var raw []byte
		if raw, _, errs[i] = s.get(ctx, s.flat(group, all[i].Index)); errs[i] == nil {
			all[i].Topic, _ = s.spout(raw)
		}
		if errors.Is(errs[i], zk.ErrNoNode) { // gone since it was listed
			all[i].Index, errs[i] = -1, nil
		}
	})
	all = slices.DeleteFunc(all, func(p offset.Partition) bool { return p.Index < 0 })
	return all, errors.Join(errs...)
}

// spouts tells whether a spout names the node of a partition so.
func (s *Store) spouts(name string) bool {
	_, ok := s.partition("", name)
	return ok
}

// keeps tells whether a spout has a position under a group's node.
func (s *Store) keeps(ctx context.Context, group string) (bool, error) {
	names, _, err := s.children(ctx, s.topics(group))
	if err != nil || slices.ContainsFunc(names, s.spouts) {
		return err == nil, err
	}
	for _, topic := range names {
		nodes, _, err := s.children(ctx, s.topic(group, topic))
		if err != nil || slices.ContainsFunc(nodes, s.spouts) {
			return err == nil, err
		}
	}
	return false, nil
}

// remade is where a position is put back: under its topic's node where the spout has one, else under the group's.
func (s *Store) remade(ctx context.Context, group string, p offset.Partition) (string, error) {
	there, err := s.exists(ctx, s.topic(group, p.Topic))
	if there || err != nil {
		return s.node(group, p), s.explain("looking for the node of topic "+p.Topic, err)
	}
	return s.flat(group, p.Index), nil
}

// listSpout finds what lies under a query's topics, and the nodes that do not say of which topic they are.
func (s *Store) listSpout(ctx context.Context, q offset.Query) (found []offset.Partition, gaps []error) {
	gap := func(err error) []error { return append(gaps, s.explain("listing group "+q.Group, err)) }
	names, _, err := s.children(ctx, s.topics(q.Group))
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, gap(err)
	}
	if slices.ContainsFunc(names, s.spouts) {
		if found, err = s.beside(ctx, q.Group); err != nil {
			gaps = gap(err)
		}
		if topic := of(found); topic != "" {
			for i := range found {
				found[i].Topic = topic
			}
		}
	}
	topics := slices.DeleteFunc(names, s.spouts)
	lists, errs := make([][]offset.Partition, len(topics)), make([]error, len(topics))
	each(len(topics), func(i int) {
		var nodes []string
		nodes, _, errs[i] = s.children(ctx, s.topic(q.Group, topics[i]))
		for _, n := range nodes {
			if p, ok := s.partition(topics[i], n); ok {
				lists[i] = append(lists[i], p)
			}
		}
	})
	if err := errors.Join(errs...); err != nil {
		gaps = gap(err)
	}
	found = slices.DeleteFunc(append(found, slices.Concat(lists...)...), func(p offset.Partition) bool {
		return p.Topic != "" && q.Topics != nil && !slices.Contains(q.Topics, p.Topic)
	})
	slices.SortFunc(found, offset.Partition.Compare)
	return slices.Compact(found), gaps
}

// nobodys takes the nodes out of found that do not say of which topic they are. What was asked by name and found invalid has told
// of them; the others are gaps.
func (s *Store) nobodys(q offset.Query, found []offset.Partition, asked []offset.Result[offset.Stored], gaps []error) ([]offset.Partition, []error) {
	found = slices.DeleteFunc(found, func(p offset.Partition) bool {
		if p.Topic != "" {
			return false
		}
		told := false
		for i, r := range asked {
			told = told || q.Expect[i].Index == p.Index && r.Value.State == offset.Invalid
		}
		if !told {
			gaps = append(gaps, fmt.Errorf("node %s does not say of which topic it is", s.flat(q.Group, p.Index)))
		}
		return true
	})
	return found, gaps
}
