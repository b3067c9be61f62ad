package remoting

import (
	"context"
	"strconv"
	"strings"
)

// QueryOffset asks for the stored position of one queue. found is false when the broker says that there is none. Before 5.0 a
// broker answers 0 for "none" in many cases, whatever is asked.
func (c *Client) QueryOffset(ctx context.Context, b Broker, group, topic string, id int32) (next int64, found bool, err error) {
	ext := b.queue(topic, id)
	ext["consumerGroup"] = group
	ext["setZeroIfNotFound"] = "false"
	a, err := c.Do(ctx, b.Addr, Request{Code: CodeQueryOffset, Ext: ext})
	if IsCode(err, QueryNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	next, err = parseInt(a, b.Addr, CodeQueryOffset, "offset")
	return next, err == nil, err
}

// UpdateOffset stores a position. swallowed is what the broker remarked when it answered success and stored nothing, because
// a reset of that queue is pending there. Brokers check neither range nor queue.
func (c *Client) UpdateOffset(ctx context.Context, b Broker, group, topic string, id int32, next int64) (swallowed string, err error) {
	ext := b.queue(topic, id)
	ext["consumerGroup"] = group
	ext["commitOffset"] = strconv.FormatInt(next, 10)
	a, err := c.Do(ctx, b.Addr, Request{Code: CodeUpdateOffset, Ext: ext, Once: true})
	if err != nil {
		return "", err
	}
	if strings.Contains(a.Remark, "previously reset") {
		return a.Remark, nil
	}
	return "", nil
}

// ResetQueue resets one queue on a broker that keeps resets itself (from 5.1.0 on, with useServerSideResetOffset). Any other
// broker ignores queue and offset and rewinds the whole topic: never call it there.
func (c *Client) ResetQueue(ctx context.Context, b Broker, group, topic string, id int32, next int64) error {
	ext := b.queue(topic, id)
	ext["group"] = group
	ext["offset"] = strconv.FormatInt(next, 10)
	// A broker that does not look at the offset takes these two for "nobody goes forward to the end": nothing moves.
	ext["timestamp"], ext["isForce"] = "-1", "false"
	_, err := c.Do(ctx, b.Addr, Request{Code: CodeResetOffset, Ext: ext, Once: true})
	return err
}

// ResetByTime has a broker that keeps no resets tell every client of the group to move its queues of the topic to a time in
// ms, -1 being the end. What the clients were told comes back; they do it some ten seconds later.
func (c *Client) ResetByTime(ctx context.Context, b Broker, group, topic string, ms int64) (map[Queue]int64, error) {
	a, err := c.Do(ctx, b.Addr, Request{Code: CodeResetOffset, Once: true, Ext: map[string]string{
		"group": group, "topic": topic, "timestamp": strconv.FormatInt(ms, 10), "isForce": "true", "bname": b.Name,
	}})
	if err != nil {
		return nil, err
	}
	var v struct {
		Table map[Queue]int64 `json:"offsetTable"`
	}
	if err := decode(a.Body, &v); err != nil {
		return nil, malformed(b.Addr, CodeResetOffset, err)
	}
	return v.Table, nil
}

// StoredOffset is one entry of a broker's offset table.
type StoredOffset struct {
	Group, Topic string
	Queue        int32
	Next         int64
}

// AllOffsets asks for the whole offset table of a broker: the one view in which a stored 0 differs from none. Positions that
// 5.x keeps of broadcast clients of G come as group G@broadcast.
func (c *Client) AllOffsets(ctx context.Context, b Broker) ([]StoredOffset, error) {
	a, err := c.Do(ctx, b.Addr, Request{Code: CodeAllOffsets})
	if err != nil {
		return nil, err
	}
	out, err := parseAllOffsets(a.Body)
	if err != nil {
		return nil, malformed(b.Addr, CodeAllOffsets, err)
	}
	return out, nil
}

func parseAllOffsets(body []byte) ([]StoredOffset, error) {
	var v struct {
		Table map[string]map[int32]int64 `json:"offsetTable"`
	}
	if err := decode(body, &v); err != nil {
		return nil, err
	}
	var out []StoredOffset
	for key, queues := range v.Table {
		topic, group, ok := strings.Cut(key, "@")
		if !ok {
			continue // no group has it
		}
		for q, n := range queues {
			out = append(out, StoredOffset{Group: group, Topic: topic, Queue: q, Next: n})
		}
	}
	return out, nil
}
