package rocketmq

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/offset"
)

// maxHops bounds how often a broker may send a reader on before it gives a message.
const maxHops = 256

// messages reads up to n messages from the first readable one at or after an offset; none: there is none up to the end. It
// reads as the tools' group: no group of the user's is joined, and no reset that is pending for one is used up.
func (c *Cluster) messages(ctx context.Context, b remoting.Broker, p offset.Partition, at int64, n int) ([]remoting.Message, error) {
	for range maxHops {
		r, err := c.client.Pull(ctx, b, remoting.PullRequest{Group: remoting.ToolsGroup, Topic: p.Topic, Queue: p.Index, Offset: at, Max: n})
		switch {
		case errors.Is(err, offset.ErrDenied):
			return nil, fmt.Errorf("%w; reading takes the right to subscribe to topic %s and to group %s", err, p.Topic, remoting.ToolsGroup)
		case err != nil:
			return nil, asked(b, err)
		}
		switch r.Status {
		case remoting.PullFound:
			for len(r.Messages) > 0 && r.Messages[0].Offset < at {
				r.Messages = r.Messages[1:]
			}
			if len(r.Messages) > 0 {
				return r.Messages, nil
			}
		case remoting.PullNothingNew:
			return nil, nil
		}
		if r.Next <= at { // past the end, or a broker that sends nobody on
			return nil, nil
		}
		at = r.Next
	}
	return nil, fmt.Errorf("%s sent the reader on %d times and gave no message", b.Name, maxHops)
}

// firstReadable is the start of a queue whose lowest offset may be stale: messages there may be gone with their file although
// the broker goes on telling their offsets.
func (c *Cluster) firstReadable(ctx context.Context, b remoting.Broker, p offset.Partition, in offset.Bounds) (int64, error) {
	ms, err := c.messages(ctx, b, p, in.Start, 1)
	if err != nil {
		return 0, err
	}
	if len(ms) == 0 {
		return in.End, nil
	}
	return min(ms[0].Offset, in.End), nil
}

// Peek reads under the group TOOLS_CONSUMER, which needs a grant of its own where access is controlled.
func (c *Cluster) Peek(ctx context.Context, at []offset.Position) []offset.Result[*offset.Record] {
	out := make([]offset.Result[*offset.Record], len(at))
	each(len(at), func(i int) {
		out[i].Value, out[i].Err = c.peek(ctx, at[i])
		if out[i].Err != nil {
			out[i].Err = fmt.Errorf("%s: %w", at[i].Partition, out[i].Err)
		}
	})
	return out
}

func (c *Cluster) peek(ctx context.Context, at offset.Position) (*offset.Record, error) {
	b, err := c.master(ctx, at.Partition.Broker)
	if err != nil {
		return nil, err
	}
	ms, err := c.messages(ctx, b, at.Partition, max(at.Offset, 0), 1)
	if err != nil || len(ms) == 0 {
		return nil, err
	}
	if ms[0].Err != nil {
		return nil, fmt.Errorf("message %d: %w", ms[0].Offset, ms[0].Err)
	}
	r := record(ms[0])
	return &r, nil
}

// record takes KEYS for the key; every property is a header.
func record(m remoting.Message) offset.Record {
	r := offset.Record{Offset: m.Offset, Time: m.Stored, LogAppend: true, Value: m.Body, Tag: m.Property("TAGS")}
	if r.Value == nil {
		r.Value = []byte{}
	}
	for _, p := range m.Properties {
		if p.Name == "KEYS" {
			r.Key = []byte(p.Value)
		}
		r.Headers = append(r.Headers, offset.Header{Key: p.Name, Value: []byte(p.Value)})
	}
	return r
}

// Retention is what the topic's brokers keep messages for, the shortest where they differ. Brokers have one setting for all
// their topics, and delete earlier when their disk fills.
func (c *Cluster) Retention(ctx context.Context, topics []string) []offset.Result[offset.Retention] {
	out := make([]offset.Result[offset.Retention], len(topics))
	each(len(topics), func(i int) {
		out[i].Value, out[i].Err = c.retention(ctx, topics[i])
		if out[i].Err != nil {
			out[i].Err = fmt.Errorf("topic %s: %w", topics[i], out[i].Err)
		}
	})
	return out
}

func (c *Cluster) retention(ctx context.Context, topic string) (offset.Retention, error) {
	keeps := offset.Retention{LogAppend: true}
	route, err := c.knownRoute(ctx, topic)
	if err != nil {
		return keeps, err
	}
	for _, rb := range route.Brokers {
		b, err := c.master(ctx, rb.Name)
		if err != nil {
			return keeps, err
		}
		conf, err := c.config(ctx, b)
		if err != nil {
			return keeps, err
		}
		hours, err := time.ParseDuration(conf["fileReservedTime"] + "h")
		if err != nil {
			return keeps, fmt.Errorf("%s has fileReservedTime %q, which is no number of hours", b.Name, conf["fileReservedTime"])
		}
		if keeps.Time == 0 || hours < keeps.Time {
			keeps.Time = hours
		}
	}
	return keeps, nil
}
