package remoting

import (
	"context"
	"encoding/json"
	"strconv"
	"time"
)

// Broker is one broker to ask: its name goes along, because a proxy finds the broker by it.
type Broker struct{ Name, Addr string }

// Queue is a queue as brokers write it.
type Queue struct {
	Topic  string `json:"topic"`
	Broker string `json:"brokerName"`
	ID     int32  `json:"queueId"`
}

// UnmarshalText reads a queue that is the key of a map.
func (q *Queue) UnmarshalText(b []byte) error {
	type plain Queue
	return json.Unmarshal(b, (*plain)(q))
}

// UnmarshalJSON reads a queue that is a value, or a text of one.
func (q *Queue) UnmarshalJSON(b []byte) error {
	var text string
	if len(b) > 0 && b[0] == '"' {
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
		b = []byte(text)
	}
	return q.UnmarshalText(b)
}

// QueueStats is what a broker says of one queue.
type QueueStats struct {
	Min  int64 `json:"minOffset"` // may be stale: messages at and after it may be gone
	Max  int64 `json:"maxOffset"` // exclusive
	Last int64 `json:"lastUpdateTimestamp"`
}

// Values of QueueStats.Last that are no time.
const (
	NeverWritten = 0
	LastExpired  = -1 // the last message can no longer be read, so none can
)

// TopicStats asks a broker for the bounds of all queues of a topic.
func (c *Client) TopicStats(ctx context.Context, b Broker, topic string) (map[int32]QueueStats, error) {
	a, err := c.Do(ctx, b.Addr, Request{Code: CodeTopicStats, Ext: map[string]string{"topic": topic, "bname": b.Name}})
	if err != nil {
		return nil, err
	}
	out, err := parseTopicStats(a.Body)
	if err != nil {
		return nil, malformed(b.Addr, CodeTopicStats, err)
	}
	return out, nil
}

func parseTopicStats(body []byte) (map[int32]QueueStats, error) {
	var v struct {
		Table map[Queue]QueueStats `json:"offsetTable"`
	}
	if err := decode(body, &v); err != nil {
		return nil, err
	}
	out := make(map[int32]QueueStats, len(v.Table))
	for q, s := range v.Table {
		out[q.ID] = s
	}
	return out, nil
}

func (b Broker) queue(topic string, id int32) map[string]string {
	return map[string]string{"topic": topic, "queueId": strconv.Itoa(int(id)), "bname": b.Name}
}

// SearchOffset asks for a queue's offset at a time of storing. What exactly comes differs between versions: up to 5.1.0 the
// nearest message in time, from 5.1.1 on the first at or after it; the end or the last message where there is none.
func (c *Client) SearchOffset(ctx context.Context, b Broker, topic string, id int32, t time.Time) (int64, error) {
	ext := b.queue(topic, id)
	ext["timestamp"] = strconv.FormatInt(t.UnixMilli(), 10)
	a, err := c.Do(ctx, b.Addr, Request{Code: CodeSearchOffset, Ext: ext})
	if err != nil {
		return 0, err
	}
	return parseInt(a, b.Addr, CodeSearchOffset, "offset")
}

// Bounds asks for one queue's minimum and maximum by themselves: for static topics, which TopicStats does not know.
func (c *Client) Bounds(ctx context.Context, b Broker, topic string, id int32) (lowest, end int64, err error) {
	for _, ask := range []struct {
		code Code
		n    *int64
	}{{CodeMinOffset, &lowest}, {CodeMaxOffset, &end}} {
		a, err := c.Do(ctx, b.Addr, Request{Code: ask.code, Ext: b.queue(topic, id)})
		if err != nil {
			return 0, 0, err
		}
		if *ask.n, err = parseInt(a, b.Addr, ask.code, "offset"); err != nil {
			return 0, 0, err
		}
	}
	return lowest, end, nil
}
