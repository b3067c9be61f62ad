package inspecttest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/offsetctl/offsetctl/offset"
)

// Broker is the cluster of the world.
func (w *World) Broker() offset.Broker { return broker{w} }

type broker struct{ *World }

func (b broker) Topology(ctx context.Context, names []string) (offset.Topology, error) {
	if err := b.call(ctx, "topology"); err != nil {
		return offset.Topology{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	out := offset.Topology{Cluster: b.Cluster, Product: b.Product, Brokers: b.Brokers, Whole: !b.Partial, Gaps: b.Gaps}
	all := names == nil
	if all {
		names = slices.Sorted(maps.Keys(b.topics))
	}
	for _, n := range names {
		t := b.topics[n]
		switch {
		case all && (b.hidden[n] || t.err != nil):
		case t == nil:
			out.Topics = append(out.Topics, offset.Topic{Name: n, Err: fmt.Errorf("topic %s: %w", n, offset.ErrUnknownName)})
		default:
			out.Topics = append(out.Topics, b.topic(n, t))
		}
	}
	return out, nil
}

func (b broker) topic(name string, t *topic) offset.Topic {
	out := offset.Topic{Name: name, ID: t.id, Err: t.err}
	if t.err != nil {
		return out
	}
	for _, p := range t.ps {
		l := b.logs[p]
		out.Logs = append(out.Logs, offset.LogInfo{Partition: p, Leader: "1", Epoch: l.Epoch, Err: l.Err})
	}
	return out
}

func (b broker) Logs(ctx context.Context, qs []offset.LogQuery) []offset.Result[offset.Log] {
	err := b.call(ctx, "logs")
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]offset.Result[offset.Log], len(qs))
	for i, q := range qs {
		if out[i].Err = err; err == nil {
			out[i].Value, out[i].Err = b.log(q)
		}
	}
	return out
}

func (b broker) log(q offset.LogQuery) (offset.Log, error) {
	l := b.logs[q.Partition]
	if l == nil {
		return offset.Log{}, fmt.Errorf("%s: %w", q.Partition, offset.ErrUnknownName)
	}
	if l.Err != nil {
		return offset.Log{}, l.Err
	}
	out := offset.Log{Bounds: l.Bounds, Current: l.Epoch, Unproven: l.Proven != nil && !q.Prove}
	if l.Proven != nil && q.Prove {
		out.Start = *l.Proven
	}
	for _, t := range q.Times {
		n := offset.NoRecord
		if r := l.at(func(r offset.Record) bool { return !r.Time.Before(t) && r.Offset >= l.Start }); r != nil {
			n = r.Offset
		}
		out.Times = append(out.Times, n)
	}
	for _, e := range q.Epochs {
		end, ok := l.EpochEnds[e]
		if !ok {
			end = -1
		}
		out.EpochEnds = append(out.EpochEnds, end)
	}
	return out, nil
}

func (b broker) Peek(ctx context.Context, at []offset.Position) []offset.Result[*offset.Record] {
	err := b.call(ctx, "peek")
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]offset.Result[*offset.Record], len(at))
	for i, p := range at {
		l := b.logs[p.Partition]
		switch {
		case err != nil:
			out[i].Err = err
		case l == nil:
			out[i].Err = fmt.Errorf("%s: %w", p.Partition, offset.ErrUnknownName)
		default:
			out[i].Value, out[i].Err = l.at(func(r offset.Record) bool { return r.Offset >= p.Offset }), l.Err
		}
	}
	return out
}

func (b broker) Retention(ctx context.Context, topics []string) []offset.Result[offset.Retention] {
	err := b.call(ctx, "retention")
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]offset.Result[offset.Retention], len(topics))
	for i, t := range topics {
		out[i] = offset.Result[offset.Retention]{Value: b.retention[t], Err: err}
	}
	return out
}

func (b broker) Groups(ctx context.Context) ([]offset.Group, []error, error) {
	if err := b.call(ctx, "groups"); err != nil {
		return nil, nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []offset.Group
	for _, n := range slices.Sorted(maps.Keys(b.groups)) {
		out = append(out, b.groups[n])
	}
	return out, nil, nil
}

func (b broker) Describe(ctx context.Context, groups []string) []offset.Result[offset.Group] {
	err := b.call(ctx, "describe")
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]offset.Result[offset.Group], len(groups))
	for i, n := range groups {
		g, ok := b.groups[n]
		if !ok {
			g = offset.Group{Name: n, Phase: offset.Missing}
			if len(b.stored[n]) > 0 && b.Caps.Members {
				g = offset.Group{Name: n, Kind: "classic", State: "Empty", Phase: offset.Empty}
			}
		}
		out[i] = offset.Result[offset.Group]{Value: g, Err: err}
		if e := b.groupErr[n]; e != nil {
			out[i].Err = e
		}
	}
	return out
}

func (b broker) Offsets() offset.Store { return b.Positions() }
func (b broker) Close() error          { return nil }
