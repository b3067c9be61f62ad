package rocketmq

import (
	"context"
	"fmt"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/offset"
)

// Logs asks one request of each broker for each topic, whatever the number of queues. Times cost up to three requests a queue
// more, Prove one.
func (c *Cluster) Logs(ctx context.Context, qs []offset.LogQuery) []offset.Result[offset.Log] {
	out := make([]offset.Result[offset.Log], len(qs))
	var runs [][2]int // of one topic on one broker
	for i := range qs {
		if p := qs[i].Partition; i == 0 || qs[i-1].Partition.Topic != p.Topic || qs[i-1].Partition.Broker != p.Broker {
			runs = append(runs, [2]int{i, i})
		}
		runs[len(runs)-1][1] = i + 1
	}
	each(len(runs), func(k int) {
		from, to := runs[k][0], runs[k][1]
		c.logsOf(ctx, qs[from:to], out[from:to])
	})
	return out
}

// logsOf answers queries about one topic on one broker.
func (c *Cluster) logsOf(ctx context.Context, qs []offset.LogQuery, out []offset.Result[offset.Log]) {
	topic := qs[0].Partition.Topic
	b, err := c.master(ctx, qs[0].Partition.Broker)
	if err == nil && c.isStatic(topic) {
		each(len(qs), func(i int) { out[i].Value, out[i].Err = c.staticLog(ctx, b, qs[i]) })
		return
	}
	var stats map[int32]remoting.QueueStats
	if err == nil {
		stats, err = c.client.TopicStats(ctx, b, topic)
	}
	switch {
	case remoting.IsCode(err, remoting.TopicNotExist):
		err = fmt.Errorf("topic %s on %s %w", topic, b.Name, offset.ErrUnknownName)
	case err != nil:
		err = asked(b, err)
	}
	each(len(qs), func(i int) {
		s, ok := stats[qs[i].Partition.Index]
		switch {
		case err != nil:
			out[i].Err = fmt.Errorf("%s: %w", qs[i].Partition, err)
		case !ok:
			out[i].Err = fmt.Errorf("queue %s %w: %s has %d queues of the topic", qs[i].Partition, offset.ErrUnknownName, b.Name, len(stats))
		default:
			out[i].Value, out[i].Err = c.log(ctx, b, qs[i], s)
		}
	})
}

// log makes the answer to one query of what the broker told of the queue.
func (c *Cluster) log(ctx context.Context, b remoting.Broker, q offset.LogQuery, s remoting.QueueStats) (offset.Log, error) {
	p := q.Partition
	if s.Min < 0 || s.Min > s.Max {
		return offset.Log{}, fmt.Errorf("%s: the broker is inconsistent: its lowest offset is %d and its end %d", p, s.Min, s.Max)
	}
	l := offset.Log{Bounds: offset.Bounds{Start: s.Min, Stable: s.Max, End: s.Max}}
	switch {
	case s.Min == s.Max:
	case s.Last == remoting.LastExpired: // the last message is gone, so all are
		l.Start = s.Max
	case q.Prove:
		var err error
		if l.Start, err = c.firstReadable(ctx, b, p, l.Bounds); err != nil {
			return l, fmt.Errorf("%s: its start could not be proven: %w", p, err)
		}
	default:
		l.Unproven = true
	}
	for range q.Epochs {
		l.EpochEnds = append(l.EpochEnds, -1)
	}
	for _, t := range q.Times {
		at, err := c.search(ctx, b, p, l.Bounds, s.Last, t)
		if err != nil {
			return l, fmt.Errorf("%s: no offset could be found for %s: %w", p, t.UTC().Format("2006-01-02T15:04:05.000Z"), err)
		}
		l.Times = append(l.Times, at)
	}
	return l, nil
}

func (c *Cluster) isStatic(topic string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.routes[topic].Static()
}

// staticLog asks the leader of a logical queue, which alone knows its bounds.
func (c *Cluster) staticLog(ctx context.Context, b remoting.Broker, q offset.LogQuery) (offset.Log, error) {
	lowest, end, err := c.client.Bounds(ctx, b, q.Partition.Topic, q.Partition.Index)
	if err != nil {
		return offset.Log{}, fmt.Errorf("%s: %w", q.Partition, asked(b, err))
	}
	return c.log(ctx, b, q, remoting.QueueStats{Min: lowest, Max: end, Last: unknownTime})
}

// unknownTime stands for a store time that was not asked for.
const unknownTime = 1<<63 - 1
