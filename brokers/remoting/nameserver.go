package remoting

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/offsetctl/offsetctl/offset"
)

// Route is where a topic's queues lie.
type Route struct {
	Brokers []RouteBroker
	Queues  []RouteQueues
	Logical map[string][]int32 // of a static topic of 5.x: by broker, the numbers of the logical queues that it leads, sorted
}

// Static tells a topic of logical queues, whose positions are not those of one broker's queues.
func (r Route) Static() bool { return len(r.Logical) > 0 }

// RouteBroker is one broker of a route, or of a cluster.
type RouteBroker struct {
	Name    string           `json:"brokerName"`
	Cluster string           `json:"cluster"`
	Addrs   map[int64]string `json:"brokerAddrs"` // by broker id; 0 is the master
}

// Master is the advertised address of the master, "" when it is not there.
func (b RouteBroker) Master() string { return b.Addrs[0] }

// RouteQueues is how many queues a topic has on a broker.
type RouteQueues struct {
	Broker string `json:"brokerName"`
	Read   int32  `json:"readQueueNums"`
	Write  int32  `json:"writeQueueNums"`
	Perm   int    `json:"perm"`
}

// maxQueues of a topic on one broker are believed: each becomes a line, on the word of one number.
const maxQueues = 1 << 16

// Bits of RouteQueues.Perm.
const (
	PermWrite = 2
	PermRead  = 4
)

// askNameServer refuses the answers of a proxy, which lists itself as every broker, and of a broker.
func (c *Client) askNameServer(ctx context.Context, addr string, r Request) (*Command, error) {
	a, err := c.Do(ctx, addr, r)
	var other error
	switch {
	case a == nil:
	case a.Ext["MSG_REGION"] != "" || a.Ext["TRACE_ON"] != "":
		other = errProxy
	case a.Code == NotSupported:
		other = ErrNoNameServer
	}
	if other != nil {
		return nil, offset.As(offset.ErrConfig, fmt.Errorf("%s: %w; give the address of a name server, usually with port 9876", addr, other))
	}
	return a, err
}

// Route asks a name server for a topic. A topic that it does not know is an *Error with TopicNotExist.
func (c *Client) Route(ctx context.Context, addr, topic string) (Route, error) {
	a, err := c.askNameServer(ctx, addr, Request{Code: CodeRoute, Ext: map[string]string{"topic": topic, "acceptStandardJsonOnly": "true"}})
	if err != nil {
		return Route{}, err
	}
	return parseRoute(addr, a.Body)
}

func parseRoute(addr string, body []byte) (Route, error) {
	var v struct {
		Brokers []RouteBroker `json:"brokerDatas"`
		Queues  []RouteQueues `json:"queueDatas"`
		Mapping map[string]struct {
			IDs map[int32]int32 `json:"currIdMap"`
		} `json:"topicQueueMappingByBroker"`
	}
	if err := decode(body, &v); err != nil {
		return Route{}, malformed(addr, CodeRoute, err)
	}
	for _, q := range v.Queues {
		if min(q.Read, q.Write) < 0 || max(q.Read, q.Write) > maxQueues {
			return Route{}, malformed(addr, CodeRoute, fmt.Errorf("%s has %d queues for reading and %d for writing", q.Broker, q.Read, q.Write))
		}
	}
	r := Route{Brokers: v.Brokers, Queues: v.Queues}
	for broker, m := range v.Mapping {
		if r.Logical == nil {
			r.Logical = map[string][]int32{}
		}
		r.Logical[broker] = slices.Sorted(maps.Keys(m.IDs))
	}
	return r, nil
}

// Brokers asks a name server for every broker that is registered.
func (c *Client) Brokers(ctx context.Context, addr string) ([]RouteBroker, error) {
	a, err := c.askNameServer(ctx, addr, Request{Code: CodeClusterInfo})
	if err != nil {
		return nil, err
	}
	var v struct {
		Table map[string]RouteBroker `json:"brokerAddrTable"`
	}
	if err := decode(a.Body, &v); err != nil {
		return nil, malformed(addr, CodeClusterInfo, err)
	}
	out := make([]RouteBroker, 0, len(v.Table))
	for name, b := range v.Table {
		b.Name = name
		out = append(out, b)
	}
	return out, nil
}

// TopicList asks a name server for the names of all topics, the system's and those of retries among them.
func (c *Client) TopicList(ctx context.Context, addr string) ([]string, error) {
	a, err := c.askNameServer(ctx, addr, Request{Code: CodeTopicList})
	if err != nil {
		return nil, err
	}
	var v struct {
		Topics []string `json:"topicList"`
	}
	if err := decode(a.Body, &v); err != nil {
		return nil, malformed(addr, CodeTopicList, err)
	}
	return v.Topics, nil
}

func malformed(addr string, call Code, err error) error {
	return fmt.Errorf("%s, %q: the answer cannot be understood: %w", addr, call, err)
}

// parseInt reads a field of an answer that must be a number.
func parseInt(a *Command, addr string, call Code, field string) (int64, error) {
	n, err := strconv.ParseInt(a.Ext[field], 10, 64)
	if err != nil {
		return 0, malformed(addr, call, fmt.Errorf("field %s is %q", field, a.Ext[field]))
	}
	return n, nil
}
