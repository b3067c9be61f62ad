package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/offset"
)

// answerTime is how long one answer is waited for where no context ends earlier.
const answerTime = 10 * time.Second

// conn is a client. It repeats nothing by itself: a write whose answer is lost would be done twice.
type conn struct {
	redis.UniversalClient
	env    offset.Env
	name   string
	master string // as the sentinels call it; "": there are none
}

// void keeps the library from printing.
type void struct{}

func (void) Printf(context.Context, string, ...any) {}

var silence = sync.OnceFunc(func() { redis.SetLogger(void{}) })

func dial(env offset.Env, a address.Address, cluster bool) (*conn, error) {
	silence()
	c := &conn{env: env, name: "redis://" + strings.Join(a.Hosts, ",") + "/" + a.Path, master: a.Get("master")}
	secure, err := a.TLS()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", c.name, offset.ErrConfig, err)
	}
	db := 0
	if a.Path != "" {
		if db, err = strconv.Atoi(a.Path); err != nil || db < 0 {
			return nil, fmt.Errorf("%s: %w: a database is a number, not %q", c.name, offset.ErrConfig, a.Path)
		}
	}
	if cluster && db != 0 {
		return nil, fmt.Errorf("%s: %w: a cluster has database 0 alone", c.name, offset.ErrConfig)
	}
	o := &redis.UniversalOptions{
		Addrs: a.Hosts, DB: db, Username: a.Get("user"), Password: a.Get("password"), TLSConfig: secure,
		MasterName: a.Get("master"), SentinelUsername: a.Get("sentinel-user"), SentinelPassword: a.Get("sentinel-password"),
		IsClusterMode: cluster, Protocol: 2, DisableIdentity: true,
		MaxRetries: -1, MaxRedirects: -1, DialerRetries: 1, ReadTimeout: answerTime, WriteTimeout: answerTime, ContextTimeoutEnabled: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	switch {
	case cluster:
		c.UniversalClient = redis.NewClusterClient(o.Cluster())
	case o.MasterName != "":
		c.UniversalClient = redis.NewFailoverClient(o.Failover())
	default:
		c.UniversalClient = redis.NewClient(o.Simple())
	}
	return c, nil
}

// tries of what did not reach a server that could do it.
const tries = 3

// read runs f, which only reads, again where the connection was lost or the slot has moved.
func (c *conn) read(ctx context.Context, call string, f func() error) error {
	for n := 1; ; n++ {
		c.env.Call(c.name, call)
		err := ctx.Err()
		if err == nil {
			err = f()
		}
		if err == nil || ctx.Err() != nil || !c.elected(ctx, err, n) && (n >= tries || !lost(err) && !c.moved(ctx, err)) {
			return err
		}
	}
}

// moved tells whether another node has the slot by now, and finds out which.
func (c *conn) moved(ctx context.Context, err error) bool {
	cl, ok := c.UniversalClient.(*redis.ClusterClient)
	if !ok || !hasPrefix(err, "MOVED", "ASK", "TRYAGAIN") {
		return false
	}
	cl.ReloadState(ctx)
	return true
}

// elections is how often a master that cannot be reached is asked for again: the sentinels do not all know the new one at once.
const elections = 10

// elected waits a moment where sentinels may name another master, and tells whether to try again.
func (c *conn) elected(ctx context.Context, err error, n int) bool {
	if c.master == "" || n >= elections || !refused(err) {
		return false
	}
	t := time.NewTimer(300 * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// refused tells that no connection was made, so that nothing was sent.
func refused(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// eachNode runs f on every server that has keys.
func (c *conn) eachNode(ctx context.Context, f func(context.Context, redis.Cmdable) error) error {
	if cl, ok := c.UniversalClient.(*redis.ClusterClient); ok {
		return cl.ForEachMaster(ctx, func(ctx context.Context, n *redis.Client) error { return f(ctx, n) })
	}
	return f(ctx, c.UniversalClient)
}

// lost tells whether a connection broke, so that nobody said what became of a request.
func lost(err error) bool {
	var n net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &n)
}

// answered tells whether it was a server that said no.
func answered(err error) bool {
	var r redis.Error
	return errors.As(err, &r)
}

func hasPrefix(err error, words ...string) bool {
	if !answered(err) {
		return false
	}
	for _, w := range words {
		if strings.HasPrefix(err.Error(), w) {
			return true
		}
	}
	return false
}

// explain says in one sentence what went wrong, of which kind it is, and what to do next.
func (c *conn) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); strings.Contains(text, "\n") { // a line for each sentinel
		err = offset.As(err, errors.New(strings.ReplaceAll(text, "\n", "; ")))
	}
	kind, next := error(nil), ""
	switch {
	case errors.Is(err, offset.ErrUnsupported), errors.Is(err, offset.ErrOutcome):
	case c.master != "" && errors.Is(err, redis.Nil):
		return fmt.Errorf("%s: %s: %w: no sentinel that answers knows a master %q; look at master=", c.name, doing, offset.ErrConfig, c.master)
	case c.master != "" && strings.Contains(err.Error(), "unknown command"):
		kind, next = offset.ErrConfig, "with master= the hosts are sentinels, and these are none"
	case hasPrefix(err, "NOAUTH", "WRONGPASS", "NOPERM", "ERR AUTH", "ERR invalid password"):
		kind, next = offset.ErrDenied, "look at user=, password= and the user's ACL"
	case hasPrefix(err, "ERR The user executing the script"):
		kind, next = offset.ErrDenied, "a reset needs +eval +hget +hset +hdel +hgetall, of type=string +get +set +del"
	case hasPrefix(err, "READONLY"):
		kind, next = offset.ErrDenied, "this is a replica: name the master, or the sentinels with master="
	case hasPrefix(err, "LOADING", "MASTERDOWN", "CLUSTERDOWN", "NOREPLICAS", "BUSY", "TRYAGAIN"):
		kind, next = offset.ErrUnreachable, "try again when the server is ready"
	case hasPrefix(err, "WRONGTYPE"):
		kind, next = offset.ErrConfig, "the key has another type: look at key= and type="
	case hasPrefix(err, "MOVED", "ASK", "CROSSSLOT"):
		kind, next = offset.ErrConfig, "this is a cluster: add cluster=on"
	case hasPrefix(err, "ERR This instance has cluster support disabled"):
		kind, next = offset.ErrConfig, "this is no cluster: leave cluster=on out"
	case hasPrefix(err, "OOM"):
		next = "its memory is full, nothing was written; raise maxmemory"
	case hasPrefix(err, "MISCONF"):
		next = "it cannot save to its disk, nothing was written"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		next = "it took too long, or was given up"
	case !answered(err):
		kind, next = offset.ErrUnreachable, "look at hosts, ports and TLS, and whether the server runs"
	}
	switch {
	case next == "":
		return fmt.Errorf("%s: %s: %w", c.name, doing, err)
	case kind == nil:
		return fmt.Errorf("%s: %s: %w; %s", c.name, doing, err, next)
	case errors.Is(kind, offset.ErrUnreachable):
		return fmt.Errorf("%s %w: %s: %w; %s", c.name, kind, doing, err, next)
	case errors.Is(kind, offset.ErrConfig): // which the rest tells
		return offset.As(kind, fmt.Errorf("%s: %s: %w; %s", c.name, doing, err, next))
	}
	return fmt.Errorf("%s: %s %w: %w; %s", c.name, doing, kind, err, next)
}
