package hrpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

const (
	clientService = "ClientService"
	masterService = "MasterService"
)

// Config names one family of one table.
type Config struct {
	Hosts  []string // ZooKeeper's, host:port
	Parent string   // HBase's node there, /hbase
	Table  string   // name, or namespace:name
	Family string
	User   string // who HBase is told we are
	Log    *slog.Logger
	Trace  func(server, call string) // before each request
	// Masters says that Hosts are masters, to be asked instead of ZooKeeper.
	Masters bool
	// Dial makes connections to HBase; nil: TCP.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Client is safe for concurrent use. It waits for regions that are on their way as long as its callers' contexts allow, and
// at most for two minutes.
type Client struct {
	table, family string
	version       string
	log           *slog.Logger
	trace         func(server, call string)
	registry      registry
	pool          pool

	mu      sync.Mutex
	regions located
	meta    string // the server of hbase:meta, "" when it has to be asked for
	trouble error  // what the last call to run out of time had met; nil since one succeeded
}

// Open finds the cluster and learns its version. The table is not looked at yet.
func Open(ctx context.Context, o Config) (*Client, error) {
	c := &Client{
		table: strings.TrimPrefix(o.Table, "default:"), family: o.Family, log: o.Log, trace: o.Trace,
		pool: pool{user: o.User, dial: o.Dial, conns: map[string]*dialing{}},
	}
	if c.pool.dial == nil {
		c.pool.dial = (&net.Dialer{}).DialContext
	}
	if o.Masters {
		c.registry = &rpcRegistry{hosts: o.Hosts, call: c.call}
	} else {
		r, err := openZooKeeper(ctx, o.Hosts, o.Parent, o.Log, o.Trace)
		if err != nil {
			return nil, err
		}
		c.registry = r
	}
	err := c.retry(ctx, func() error {
		var err error
		c.version, err = c.registry.version(ctx)
		return err
	})
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// Close ends all connections.
func (c *Client) Close() error {
	c.pool.close()
	c.registry.close()
	return nil
}

// Version is what a region server says of itself: 2.6.3.
func (c *Client) Version() string { return c.version }

// Filters tells whether the server takes conditions over several columns: HBase 2.4 and later.
func (c *Client) Filters() bool {
	major, rest, _ := strings.Cut(c.version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	m, err := strconv.Atoi(major)
	n, err2 := strconv.Atoi(minor)
	return err == nil && err2 == nil && (m > 2 || m == 2 && n >= 4)
}

// call sends one request to a service of a server.
func (c *Client) call(ctx context.Context, server, service, method string, param []byte) ([]byte, error) {
	cn, err := c.pool.get(ctx, server, service)
	if err != nil {
		return nil, err
	}
	c.trace(server, method)
	return cn.call(ctx, method, param)
}

// callThrough is call for a write: once it has left, its answer is waited for a little beyond the caller's time. Given up, it
// could still be carried out, long after somebody else has begun to write.
func (c *Client) callThrough(ctx context.Context, server, method string, param []byte) ([]byte, error) {
	cn, err := c.pool.get(ctx, server, clientService)
	if err != nil {
		return nil, err
	}
	c.trace(server, method)
	if ctx.Err() != nil {
		return nil, &lostError{err: context.Cause(ctx)}
	}
	through, cancel := linger(ctx, lingerTime)
	defer cancel()
	return cn.call(through, method, param)
}

// linger is a context that ends some time after ctx.
func linger(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(d):
			cancel(context.Cause(ctx))
		case <-longer.Done():
		}
	})
	return longer, func() {
		stop()
		cancel(nil)
	}
}

const (
	firstPause = 50 * time.Millisecond
	maxPause   = 2 * time.Second
	maxTries   = 64 // some two minutes
	fewTries   = 3
	doubtPause = 500 * time.Millisecond
	lingerTime = 5 * time.Second
)

// retry tries until it succeeds, the error is final, or ctx is done. try has followed the error's cure itself.
func (c *Client) retry(ctx context.Context, try func() error) error {
	if ctx.Err() != nil {
		return c.late(ctx)
	}
	pause := firstPause
	doubts := 0 // in a row
	for n := 1; ; n++ {
		err := try()
		if err == nil {
			c.met(nil)
			return nil
		}
		switch cureOf(err) {
		case final:
			return err
		case doubtful:
			if doubts++; doubts == fewTries {
				return err
			}
			pause = max(pause, doubtPause)
		default:
			doubts = 0
		}
		if n == maxTries {
			return err
		}
		c.log.Debug("HBase: trying again", "table", c.table, "try", n, "error", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			err = offset.As(offset.ErrUnreachable, fmt.Errorf("%w (tried %d times until the time was up)", err, n))
			c.met(err)
			return err
		}
		pause = min(2*pause, maxPause)
	}
}

func (c *Client) met(trouble error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trouble = trouble
}

// late answers a call that begins when no time is left with what an earlier one has met: nobody was asked, so nobody is to blame.
func (c *Client) late(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := fmt.Errorf("HBase table %s: no time was left to ask (%w)", c.table, context.Cause(ctx))
	if c.trouble != nil {
		err = fmt.Errorf("%w: %w", err, c.trouble)
	}
	return offset.As(offset.ErrUnreachable, err)
}

// onTable is retry for calls to the table's regions. Those of a table that is switched off answer like regions that are moving,
// for ever, so at the second failure it is asked for.
func (c *Client) onTable(ctx context.Context, try func() error) error {
	tries := 0
	return c.retry(ctx, func() error {
		err := try()
		if tries++; tries == 2 && cureOf(err) == relocate && c.disabled(ctx) {
			return c.switchedOff()
		}
		return err
	})
}

// heal does what an error of a call to a region asks for, and says where it came from.
func (c *Client) heal(ctx context.Context, r region, err error) error {
	switch cure := cureOf(err); {
	case ctx.Err() != nil: // the server need not be to blame
	case cure == relocate, cure == doubtful:
		c.forget(r)
	case cure == reconnect:
		c.forget(r)
		c.pool.drop(r.server)
	}
	var ex *ServerError
	if errors.As(err, &ex) && ex.Class == "NoSuchColumnFamilyException" {
		return fmt.Errorf("HBase table %s: family %s %w: create it with \"store init\", or correct the address", c.table, c.family, offset.ErrUnknownName)
	}
	return fmt.Errorf("HBase table %s, region server %s: %w", c.table, r.server, err)
}
