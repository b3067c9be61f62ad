// Package kafka is a Kafka cluster: its Broker, and the store of its consumer groups on the same connections.
//
// Requests of one stage are all sent before the first answer is waited for. The package asks the protocol directly instead of
// going through a client library's administration calls: those give up all partitions where one is not permitted, leave out the
// ones without a leader, and send one request after the other.
package kafka

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/offset"
)

// Cluster is a connected Kafka cluster.
type Cluster struct {
	env  offset.Env
	cl   *kgo.Client
	dial *dialer
	boot *kgo.Broker // the bootstrap connection

	warming *warming

	offers  atomic.Pointer[offers]
	table   atomic.Pointer[table]
	mu      sync.Mutex
	coords  coordinators
	visible visible
}

var (
	_ offset.Broker = (*Cluster)(nil)
	_ offset.Prober = (*Cluster)(nil)
	_ offset.Store  = groupStore{}
)

// Open connects to a cluster, logs in, and asks which brokers it has. Its error says which server failed at which step
// (dns, connect, tls, sasl, metadata), and is ErrUnreachable, ErrDenied or ErrConfig.
func Open(ctx context.Context, env offset.Env, a address.Address) (offset.Broker, error) {
	c, err := open(ctx, env, a)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func open(ctx context.Context, env offset.Env, a address.Address, extra ...kgo.Opt) (*Cluster, error) {
	conf, err := a.TLS()
	if err != nil {
		return nil, offset.As(offset.ErrConfig, fmt.Errorf("%s: %w", a, err))
	}
	mech, err := login(a, env.Now)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a, err)
	}
	c := &Cluster{env: env, warming: newWarming(), dial: &dialer{boot: a.Hosts, tls: conf, sasl: a.Get("sasl"), now: env.Now}}
	seed := bootstrap
	if len(a.Hosts) == 1 {
		seed = a.Hosts[0]
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(seed),
		kgo.Dialer(c.dial.dial),
		kgo.ClientID(clientName),
		kgo.SoftwareNameAndVersion(clientName, clientVersion),
		kgo.DisableClientMetrics(),
		kgo.RequestRetries(0), // what is worth a second try is known here
		kgo.WithHooks(hook{env, c.dial}),
		kgo.WithLogger(logger{env.Log}),
	}
	if mech != nil {
		opts = append(opts, kgo.SASL(located{mech, c.dial}))
	}
	if c.cl, err = kgo.NewClient(append(opts, extra...)...); err != nil {
		return nil, offset.As(offset.ErrConfig, fmt.Errorf("%s: %w", a, err))
	}
	c.boot = c.cl.SeedBrokers()[0]
	if err := c.connect(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// connect asks what the bootstrap server offers and which brokers there are.
func (c *Cluster) connect(ctx context.Context) error {
	// The client itself learns the brokers' addresses from this answer.
	meta, err := request[*kmsg.MetadataResponse](ctx, c, anyNode, metadataRequest([]string{}))
	if err != nil {
		return err
	}
	c.table.Store((*table)(nil).with(meta, nil, c.env.Now()))
	vs, err := request[*kmsg.ApiVersionsResponse](ctx, c, bootNode, versionsRequest())
	if err == nil {
		err = refused("the list of requests that "+c.dial.real(c.seed())+" offers", "", vs.ErrorCode, nil)
	}
	if err != nil {
		return err
	}
	c.offers.Store(newOffers(vs))
	return nil
}

// Close ends all connections.
func (c *Cluster) Close() error {
	wait := c.warming.end()
	c.cl.Close()
	wait()
	return nil
}

// Offsets is the store of the consumer groups.
func (c *Cluster) Offsets() offset.Store { return groupStore{c} }

// How brokers see this client.
const (
	clientName    = "offsetctl"
	clientVersion = "1"
)

// nodeName is how a broker is called in Topology and in errors.
func nodeName(id int32) string { return strconv.Itoa(int(id)) }
