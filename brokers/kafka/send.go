package kafka

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

const (
	bootNode int32 = -1 // the bootstrap connection
	anyNode  int32 = -2 // whatever the client takes; it learns brokers from the answer
)

// request sends one request to a node and waits for its answer. Where the connection was lost it is opened again, once: every
// request but a write is harmless twice. A login is not tried again: it may be refused because of the password, without a word.
func request[R kmsg.Response](ctx context.Context, c *Cluster, node int32, req kmsg.Request) (R, error) {
	r, err := c.send(ctx, node, req)
	if addr, _ := c.addrOf(node); err != nil && kgo.IsRetryableBrokerErr(err) && ctx.Err() == nil && c.dial.stageOf(addr) != stageSASL {
		r, err = c.send(ctx, node, req)
	}
	return answered[R](c, node, r, err)
}

// once is request without a second try: for writes.
func once[R kmsg.Response](ctx context.Context, c *Cluster, node int32, req kmsg.Request) (R, error) {
	r, err := c.send(ctx, node, req)
	return answered[R](c, node, r, err)
}

func (c *Cluster) send(ctx context.Context, node int32, req kmsg.Request) (kmsg.Response, error) {
	addr, _ := c.addrOf(node)
	c.env.Call(addr, kmsg.NameForKey(req.Key()))
	switch node {
	case bootNode:
		return c.boot.Request(ctx, req)
	case anyNode:
		return c.cl.Request(ctx, req)
	}
	return c.cl.Broker(int(node)).Request(ctx, req)
}

func answered[R kmsg.Response](c *Cluster, node int32, r kmsg.Response, err error) (R, error) {
	var zero R
	addr, name := c.addrOf(node)
	if err != nil {
		return zero, c.broken(addr, name, err)
	}
	c.dial.served(addr)
	typed, ok := r.(R)
	if !ok {
		return zero, fmt.Errorf("an answer of the kind %T came where %T was asked for", r, zero)
	}
	return typed, nil
}

// addrOf is where requests to the node go, and its name where the cluster named the address.
func (c *Cluster) addrOf(node int32) (addr, name string) {
	if node < 0 {
		return c.dial.real(c.seed()), ""
	}
	if t := c.table.Load(); t != nil {
		for _, n := range t.nodes {
			if n.id == node {
				return n.addr, "broker " + nodeName(node)
			}
		}
	}
	return "broker " + nodeName(node), ""
}

func (c *Cluster) seed() string {
	if len(c.dial.boot) == 1 {
		return c.dial.boot[0]
	}
	return bootstrap
}

// capped sends a request with an older version than the newest that both sides know.
type capped struct {
	kmsg.Request
	max int16
}

// MaxVersion is the newest version that is allowed.
func (c capped) MaxVersion() int16 { return c.max }

// hook reports to Env.Trace what the client sends to log in; all else is reported before it is sent.
type hook struct {
	env offset.Env
	d   *dialer
}

const (
	keySASLHandshake    = 17
	keySASLAuthenticate = 36
)

// OnBrokerWrite is called once a request.
func (h hook) OnBrokerWrite(meta kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if err == nil && (key == keySASLHandshake || key == keySASLAuthenticate) {
		h.env.Call(h.d.real(net.JoinHostPort(meta.Host, strconv.Itoa(int(meta.Port)))), kmsg.NameForKey(key))
	}
}

// logger hands the client's messages on; all of them are diagnostics, for what matters comes back as an error.
type logger struct{ log *slog.Logger }

// Level is debug where anybody listens.
func (l logger) Level() kgo.LogLevel {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		return kgo.LogLevelDebug
	}
	return kgo.LogLevelNone
}

// Log writes one message.
func (l logger) Log(_ kgo.LogLevel, msg string, keyvals ...any) {
	l.log.Debug("kafka client: "+msg, keyvals...)
}
