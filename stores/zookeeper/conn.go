package zookeeper

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/offset"
)

const (
	sessionTime = 10 * time.Second
	decideTime  = 20 * time.Second // for a write's answer, and for finding out what became of it
	readTries   = 3                // of a read whose connection was lost
	underWay    = 256              // requests at a time
)

// conn is a session. The library's calls take no context and log to stderr: both are put right here.
type conn struct {
	*zk.Conn
	env  offset.Env
	name string
	identity
	mu  sync.Mutex
	why map[string]error // the last failure of each host
}

// dial connects; whether that works shows with the first call.
func dial(ctx context.Context, env offset.Env, a address.Address) (*conn, error) {
	c := &conn{env: env, name: "zk://" + strings.Join(a.Hosts, ","), why: map[string]error{}}
	secure, err := a.TLS()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", c.name, offset.ErrConfig, err)
	}
	c.secure = secure != nil && len(secure.Certificates) > 0
	hosts := c.resolve(ctx, a.Hosts)
	if len(hosts) == 0 {
		return nil, c.unreachable(errors.New("no host's name is known"))
	}
	var addrs []string
	for addr := range hosts {
		addrs = append(addrs, addr)
	}
	slices.Sort(addrs)
	s, events, err := zk.Connect(addrs, sessionTime, zk.WithLogger(quiet{env.Log}), zk.WithDialer(c.dialer(hosts, secure)))
	if err != nil {
		return nil, c.unreachable(err)
	}
	go func() { // nobody else listens
		for e := range events {
			if e.State == zk.StateHasSession {
				c.failed(hosts[e.Server], nil)
			}
			env.Log.Debug("session", "server", c.name, "state", e.State.String())
		}
	}()
	c.Conn = s
	if user := a.Get("user"); user != "" {
		c.user = zk.DigestACL(zk.PermAll, user, a.Get("password"))[0].ID
		if err := c.do(ctx, "AddAuth", func() error { return s.AddAuth("digest", []byte(user+":"+a.Get("password"))) }); err != nil {
			s.Close()
			return nil, c.explain("logging in", err)
		}
	}
	return c, nil
}

// resolve answers the addresses of the hosts, each with the host that it belongs to. The library gives up as a whole when one
// name is not known.
func (c *conn) resolve(ctx context.Context, hosts []string) map[string]string {
	out := map[string]string{}
	for _, h := range hosts {
		name, port, err := net.SplitHostPort(h)
		var ips []string
		if err == nil {
			ips, err = net.DefaultResolver.LookupHost(ctx, name)
		}
		if err != nil {
			c.failed(h, err)
			continue
		}
		for _, ip := range ips {
			out[net.JoinHostPort(ip, port)] = h
		}
	}
	return out
}

func (c *conn) dialer(hosts map[string]string, secure *tls.Config) zk.Dialer {
	return func(network, addr string, timeout time.Duration) (net.Conn, error) {
		host := hosts[addr]
		d := &net.Dialer{Timeout: timeout}
		var s net.Conn
		var err error
		if secure == nil {
			s, err = d.Dial(network, addr)
		} else {
			t := secure.Clone()
			if t.ServerName == "" {
				t.ServerName, _, _ = net.SplitHostPort(host)
			}
			s, err = tls.DialWithDialer(d, network, addr, t)
		}
		if err == nil {
			c.failed(host, errNoSession) // until it does
		} else {
			c.failed(host, err)
		}
		return s, err
	}
}

// errNoSession: a server without a quorum, or something that is no ZooKeeper.
var errNoSession = errors.New("it took the connection, and gives no session")

// failed keeps why a host gives no session; nil: it does.
func (c *conn) failed(host string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if delete(c.why, host); err != nil {
		c.why[host] = err
	}
}

// do runs one call, until the context is done. The call itself cannot be stopped; nobody waits for it then.
func (c *conn) do(ctx context.Context, call string, f func() error) error {
	c.env.Call(c.name, call)
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// answer is what a read brought.
type answer[T any] struct {
	value T
	stat  *zk.Stat
}

// read runs one reading call, again where only the connection was lost. With a single host the library answers "no server" to
// what is asked in the moment after that, before it has tried to connect again.
func read[T any](ctx context.Context, c *conn, call string, f func() (T, *zk.Stat, error)) (answer[T], error) {
	for n := 1; ; n++ {
		got := make(chan answer[T], 1) // not shared with a call that nobody waits for
		err := c.do(ctx, call, func() error {
			v, stat, err := f()
			got <- answer[T]{v, stat}
			return err
		})
		switch {
		case err == nil:
			return <-got, nil
		case !lost(err) || n == readTries:
			return answer[T]{}, err
		}
	}
}

// lost: nothing is wrong with the call itself.
func lost(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrSessionExpired) || errors.Is(err, zk.ErrNoServer)
}

func (c *conn) get(ctx context.Context, path string) ([]byte, *zk.Stat, error) {
	a, err := read(ctx, c, "Get", func() ([]byte, *zk.Stat, error) { return c.Get(path) })
	return a.value, a.stat, err
}

func (c *conn) children(ctx context.Context, path string) ([]string, *zk.Stat, error) {
	a, err := read(ctx, c, "Children", func() ([]string, *zk.Stat, error) { return c.Children(path) })
	slices.Sort(a.value)
	return a.value, a.stat, err
}

func (c *conn) exists(ctx context.Context, path string) (bool, error) {
	a, err := read(ctx, c, "Exists", func() (bool, *zk.Stat, error) { return c.Exists(path) })
	return a.value, err
}

// sync makes the reads after it see what was written before it, whichever server of the ensemble answers.
func (c *conn) sync(ctx context.Context, path string) error {
	_, err := read(ctx, c, "Sync", func() (string, *zk.Stat, error) {
		s, err := c.Sync(path)
		return s, nil, err
	})
	return err
}

// each runs f for 0 to n-1, all of them under way together on the one connection.
func each(n int, f func(int)) {
	var wg sync.WaitGroup
	room := make(chan struct{}, underWay)
	for i := range n {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			f(i)
		})
	}
	wg.Wait()
}

// explain says in one sentence what went wrong, of which kind it is, and what to do next.
func (c *conn) explain(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNoServer), errors.Is(err, zk.ErrConnectionClosed), errors.Is(err, zk.ErrSessionExpired), errors.Is(err, zk.ErrClosing):
		return fmt.Errorf("%s: %w", doing, c.unreachable(err))
	case errors.Is(err, zk.ErrNoAuth), errors.Is(err, zk.ErrAuthFailed), errors.Is(err, zk.ErrInvalidACL):
		return fmt.Errorf("%s: %s %w (%w); look at user= and password=, which ZooKeeper does not check, and at the node's ACL", c.name, doing, offset.ErrDenied, err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %s: no answer in time%s: %w", c.name, doing, c.reasons(), err)
	}
	return fmt.Errorf("%s: %s: %w", c.name, doing, err)
}

func (c *conn) unreachable(err error) error {
	return fmt.Errorf("%s %w: %w%s; look at hosts and ports, and whether a majority of the servers runs", c.name, offset.ErrUnreachable, err, c.reasons())
}

// reasons lists the hosts that could not be reached, and why.
func (c *conn) reasons() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for h, err := range c.why {
		out = append(out, h+": "+err.Error())
	}
	if out == nil {
		return ""
	}
	slices.Sort(out)
	return " (" + strings.Join(out, "; ") + ")"
}

// quiet keeps the library from printing.
type quiet struct{ log *slog.Logger }

func (q quiet) Printf(format string, args ...any) { q.log.Debug(fmt.Sprintf(format, args...)) }
