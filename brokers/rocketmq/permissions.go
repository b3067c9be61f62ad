package rocketmq

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/offset"
)

var _ offset.Permitter = store{}

// Permissions tries what inspecting does, and for a write asks for what takes the same right. Storing a position also takes the
// right to subscribe to its topic, which only a look at messages proves.
func (s store) Permissions(ctx context.Context, group string, topics []string, write bool) []offset.Permission {
	var out []offset.Permission
	masters := map[string]remoting.Broker{}
	for _, topic := range topics {
		read, look := offset.Permission{Right: "topic " + topic + ": Get"}, offset.Permission{
			Right: fmt.Sprintf("topic %s and group %s: Sub", topic, remoting.ToolsGroup), Only: "peek, times and proven log starts"}
		read.Granted, read.Err = s.onEach(ctx, topic, masters, func(b remoting.Broker) error {
			_, err := s.client.TopicStats(ctx, b, topic)
			return err
		})
		look.Granted, look.Err = s.onEach(ctx, topic, masters, func(b remoting.Broker) error { return s.tryPull(ctx, b, topic) })
		out = append(out, read, look)
	}
	if len(masters) == 0 {
		all, _, err := s.allMasters(ctx)
		if err != nil {
			return append(out, offset.Permission{Right: "group " + group + ": Get", Err: err})
		}
		for _, b := range all {
			masters[b.Name] = b
		}
	}
	get := offset.Permission{Right: "group " + group + ": Get", Granted: true}
	sub := offset.Permission{Right: "group " + group + ": Sub", Granted: true}
	for _, b := range masters {
		_, err := s.client.Connections(ctx, b, group)
		get.Granted = get.Granted && !errors.Is(err, offset.ErrDenied)
		if err != nil && !errors.Is(err, offset.ErrDenied) && !remoting.IsCode(err, remoting.NotOnline) {
			get.Err = asked(b, err)
		}
		may, err := s.client.MaySubscribe(ctx, b, group)
		sub.Granted, sub.Err = sub.Granted && may, joined(sub.Err, err)
	}
	if out = append(out, get); write {
		out = append(out, sub)
	}
	return out
}

// onEach tries something on every master of a topic, which it notes.
func (s store) onEach(ctx context.Context, topic string, masters map[string]remoting.Broker, try func(remoting.Broker) error) (bool, error) {
	route, err := s.knownRoute(ctx, topic)
	if err != nil {
		return false, err
	}
	var errs []error
	for _, rb := range route.Brokers {
		b, err := s.master(ctx, rb.Name)
		if err == nil {
			masters[b.Name] = b
			err = try(b)
		}
		errs = append(errs, err)
	}
	if slices.ContainsFunc(errs, func(err error) bool { return errors.Is(err, offset.ErrDenied) }) {
		return false, nil
	}
	err = joined(errs...)
	return err == nil, err
}

// tryPull asks for a message at the end of a queue, where there is none.
func (s store) tryPull(ctx context.Context, b remoting.Broker, topic string) error {
	_, end, err := s.client.Bounds(ctx, b, topic, 0)
	if err != nil {
		return err
	}
	_, err = s.client.Pull(ctx, b, remoting.PullRequest{Group: remoting.ToolsGroup, Topic: topic, Offset: end, Max: 1})
	return err
}
