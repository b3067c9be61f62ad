package rocketmq

import (
	"context"
	"fmt"
	"slices"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/offset"
)

// CreateGroup makes the group's settings on every broker that does not have them.
func (s store) CreateGroup(ctx context.Context, group string) error {
	if !isName(group, maxGroup) {
		return offset.As(offset.ErrUnsupported, fmt.Errorf("no RocketMQ group can be called %q", group))
	}
	return s.onEvery(ctx, func(b remoting.Broker) error {
		groups, err := s.client.Groups(ctx, b)
		if err != nil || slices.Contains(groups, group) {
			return err
		}
		return s.client.CreateGroup(ctx, b, group)
	})
}

// DeletesGroups: brokers can delete every group that nobody is in.
func (s store) DeletesGroups() error { return nil }

// DeleteGroup deletes the group's settings on every broker, and its positions of all topics: brokers compare nothing. It refuses
// while anybody consumes.
func (s store) DeleteGroup(ctx context.Context, group string, _ []offset.Change) ([]offset.Result[offset.Stored], error) {
	return nil, s.delete(ctx, group)
}

func (s store) delete(ctx context.Context, group string) error {
	masters, gaps, err := s.allMasters(ctx)
	if err := joined(append(gaps, err)...); err != nil {
		return err
	}
	on, err := s.online(ctx, masters, group)
	if err != nil {
		return err
	}
	if len(on.clients) > 0 {
		return fmt.Errorf("group %s %w by %s", group, offset.ErrLive, on.names())
	}
	return s.onEvery(ctx, func(b remoting.Broker) error { return s.client.DeleteGroup(ctx, b, group) })
}

// onEvery does something on every master. None of them may be missing.
func (s store) onEvery(ctx context.Context, f func(remoting.Broker) error) error {
	masters, gaps, err := s.allMasters(ctx)
	if err := joined(append(gaps, err)...); err != nil {
		return err
	}
	errs := make([]error, len(masters))
	each(len(masters), func(i int) {
		if errs[i] = asked(masters[i], f(masters[i])); errs[i] != nil {
			errs[i] = fmt.Errorf("on %s: %w", masters[i].Name, errs[i])
		}
	})
	return joined(errs...)
}
