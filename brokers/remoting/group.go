package remoting

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// ConsumeStats is what a broker says of a group on one queue.
type ConsumeStats struct {
	Max      int64 `json:"brokerOffset"`
	Consumer int64 `json:"consumerOffset"` // 0 also when nothing is stored
	LastTime int64 `json:"lastTimestamp"`  // store time of the message before Consumer in ms; 0: it cannot be read
}

// ConsumeStats asks a broker for a group's positions, on one topic or, with "", on all topics that it has stored any for. Topics
// that a group with members does not subscribe to are left out.
func (c *Client) ConsumeStats(ctx context.Context, b Broker, group, topic string) (map[Queue]ConsumeStats, error) {
	ext := map[string]string{"consumerGroup": group, "bname": b.Name}
	if topic != "" {
		ext["topic"] = topic
	}
	a, err := c.Do(ctx, b.Addr, Request{Code: CodeConsumeStats, Ext: ext})
	if err != nil {
		return nil, err
	}
	var v struct {
		Table map[Queue]ConsumeStats `json:"offsetTable"`
	}
	if err := decode(a.Body, &v); err != nil {
		return nil, malformed(b.Addr, CodeConsumeStats, err)
	}
	return v.Table, nil
}

// TopicsOfGroup asks a broker of 5.x for the topics that a group has positions of; 4.9 answers NotSupported.
func (c *Client) TopicsOfGroup(ctx context.Context, b Broker, group string) ([]string, error) {
	a, err := c.Do(ctx, b.Addr, Request{Code: CodeTopicsOfGroup, Ext: map[string]string{"group": group, "bname": b.Name}})
	if err != nil {
		return nil, err
	}
	var v struct {
		Topics []string `json:"topicList"`
	}
	if err := decode(a.Body, &v); err != nil {
		return nil, malformed(b.Addr, CodeTopicsOfGroup, err)
	}
	return v.Topics, nil
}

// Groups asks a broker for the names of the groups that it has settings of.
func (c *Client) Groups(ctx context.Context, b Broker) ([]string, error) {
	a, err := c.Do(ctx, b.Addr, Request{Code: CodeGroups})
	if err != nil {
		return nil, err
	}
	var v struct {
		Table map[string]json.RawMessage `json:"subscriptionGroupTable"`
	}
	if err := decode(a.Body, &v); err != nil {
		return nil, malformed(b.Addr, CodeGroups, err)
	}
	out := make([]string, 0, len(v.Table))
	for name := range v.Table {
		out = append(out, name)
	}
	return out, nil
}

// Connections is who is connected to a broker for a group.
type Connections struct {
	Clients      []ClientConnection      `json:"connectionSet"`
	ConsumeType  string                  `json:"consumeType"`  // CONSUME_PASSIVELY, CONSUME_ACTIVELY, CONSUME_POP: of the latest heartbeat
	MessageModel string                  `json:"messageModel"` // CLUSTERING, BROADCASTING: of the latest heartbeat
	Subscription map[string]Subscription `json:"subscriptionTable"`
}

// ClientConnection is one connected client.
type ClientConnection struct {
	ID       string `json:"clientId"`
	Addr     string `json:"clientAddr"`
	Language string `json:"language"`
	Version  int    `json:"version"`
}

// Subscription is what a client or a group wants of one topic.
type Subscription struct {
	Topic          string `json:"topic"`
	SubString      string `json:"subString"`
	ExpressionType string `json:"expressionType"` // "" is TAG
}

// Connections asks a broker who consumes for a group. Nobody is an *Error with NotOnline: clients behind a proxy are not known to it.
func (c *Client) Connections(ctx context.Context, b Broker, group string) (Connections, error) {
	a, err := c.Do(ctx, b.Addr, Request{Code: CodeConnections, Ext: map[string]string{"consumerGroup": group, "bname": b.Name}})
	if err != nil {
		return Connections{}, err
	}
	var v Connections
	if err := decode(a.Body, &v); err != nil {
		return Connections{}, malformed(b.Addr, CodeConnections, err)
	}
	return v, nil
}

// clientWait is how long a broker waits for its client.
const clientWait = 10 * time.Second

// RunningInfo is what a client says of itself through its broker.
type RunningInfo struct {
	Properties    map[string]string
	Subscriptions []Subscription
	Queues        map[Queue]ClientQueue
}

// ClientQueue is what a client says of one of its queues.
type ClientQueue struct { // times are in ms, by the client's clock
	LastConsumed int64 `json:"lastConsumeTimestamp"` // also when it began with the queue
	LastLocked   int64 `json:"lastLockTimestamp"`    // of a client that locks none: when it began with the queue
}

// Consumed tells whether the client has consumed from the queue since it began with it. Clients set LastConsumed before LastLocked
// when they begin, so that any later one is proof: reading a few messages takes a millisecond or two. It is never true of a client
// that locks its queues, which can be told only of others.
func (q ClientQueue) Consumed() bool { return q.LastLocked > 0 && q.LastConsumed > q.LastLocked }

// ErrNotTold is wrapped when a client is there and could not tell what it does: a Go client for some seconds after a burst.
var ErrNotTold = errors.New("the client did not tell")

// RunningInfo asks a client of a group what it subscribes to and which queues it has.
func (c *Client) RunningInfo(ctx context.Context, b Broker, group, client string) (RunningInfo, error) {
	a, err := c.Do(ctx, b.Addr, Request{
		Code: CodeRunningInfo,
		Ext:  map[string]string{"consumerGroup": group, "clientId": client, "jstackEnable": "false", "bname": b.Name},
		Wait: clientWait,
	})
	if err != nil {
		return RunningInfo{}, err
	}
	if len(a.Body) == 0 {
		return RunningInfo{}, malformed(b.Addr, CodeRunningInfo, errors.Join(ErrNotTold, errors.New(strings.TrimSpace(a.Remark))))
	}
	v, err := parseRunningInfo(a.Body)
	if err != nil {
		return RunningInfo{}, malformed(b.Addr, CodeRunningInfo, err)
	}
	return v, nil
}

func parseRunningInfo(body []byte) (RunningInfo, error) {
	var v struct {
		Properties    map[string]any        `json:"properties"`
		Subscriptions []Subscription        `json:"subscriptionSet"`
		Queues        map[Queue]ClientQueue `json:"mqTable"`
	}
	if err := decode(body, &v); err != nil {
		return RunningInfo{}, err
	}
	info := RunningInfo{Properties: map[string]string{}, Subscriptions: v.Subscriptions, Queues: v.Queues}
	for k, p := range v.Properties {
		if s, ok := p.(string); ok {
			info.Properties[k] = s
		}
	}
	slices.SortFunc(info.Subscriptions, func(a, b Subscription) int { return strings.Compare(a.Topic, b.Topic) })
	return info, nil
}

// MaySubscribe tells whether the user has the right to subscribe as a group, by asking for the list of its clients, which takes
// no other. Nothing is changed.
func (c *Client) MaySubscribe(ctx context.Context, b Broker, group string) (bool, error) {
	_, err := c.Do(ctx, b.Addr, Request{Code: CodeConsumerList, Ext: map[string]string{"consumerGroup": group, "bname": b.Name}})
	switch {
	case errors.Is(err, offset.ErrDenied):
		return false, nil
	case IsCode(err, SystemError): // nobody consumes
		return true, nil
	}
	return err == nil, err
}
