package hrpc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/offsetctl/offsetctl/offset"
)

const (
	sessionTime = 10 * time.Second
	maxZnode    = 1 << 20 // the server's own limit
)

// zkRegistry is the registry that HBase keeps in ZooKeeper.
type zkRegistry struct {
	hosts  []string
	parent string // /hbase
	trace  func(server, call string)
	conn   *zk.Conn

	mu   sync.Mutex
	dead map[string]error // the last failure of each host, by the address that was dialled
}

func openZooKeeper(ctx context.Context, hosts []string, parent string, log *slog.Logger, trace func(server, call string)) (*zkRegistry, error) {
	r := &zkRegistry{hosts: hosts, parent: parent, trace: trace, dead: map[string]error{}}
	addrs := r.resolve(ctx, log)
	if len(addrs) == 0 {
		return nil, r.unreachable(errors.New("no host of it has an address"))
	}
	dialer := func(network, addr string, timeout time.Duration) (net.Conn, error) {
		nc, err := net.DialTimeout(network, addr, timeout)
		r.mu.Lock()
		defer r.mu.Unlock()
		if delete(r.dead, addr); err != nil {
			r.dead[addr] = err
		}
		return nc, err
	}
	conn, _, err := zk.Connect(addrs, sessionTime, zk.WithDialer(dialer), zk.WithLogger(quiet{}), zk.WithMaxBufferSize(maxZnode))
	if err != nil {
		return nil, r.unreachable(err)
	}
	r.conn = conn
	return r, nil
}

// resolve looks the names up itself: one that does not resolve makes the library give up on all of them.
func (r *zkRegistry) resolve(ctx context.Context, log *slog.Logger) (addrs []string) {
	for _, h := range r.hosts {
		host, port, err := net.SplitHostPort(h)
		var ips []string
		if err == nil {
			ips, err = net.DefaultResolver.LookupHost(ctx, host)
		}
		if err != nil {
			log.Warn("ZooKeeper host left out", "host", h, "error", err)
			r.dead[h] = err
			continue
		}
		for _, ip := range ips {
			addrs = append(addrs, net.JoinHostPort(ip, port))
		}
	}
	return addrs
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func (r *zkRegistry) close() { r.conn.Close() }

func (r *zkRegistry) unreachable(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var tried strings.Builder
	for _, addr := range slices.Sorted(maps.Keys(r.dead)) {
		e := r.dead[addr]
		if !strings.Contains(e.Error(), addr) {
			fmt.Fprintf(&tried, "; %s", addr)
		}
		fmt.Fprintf(&tried, "; %v", e)
	}
	if len(r.dead) == 0 && errors.Is(err, zk.ErrNoServer) {
		tried.WriteString("; something listens there, and gives no session")
	}
	return fmt.Errorf("ZooKeeper at %s %w: %w%s", strings.Join(r.hosts, ","), offset.ErrUnreachable, err, tried.String())
}

// ask runs a call that knows no context. A call that is given up ends when the library does.
func ask[T any](ctx context.Context, r *zkRegistry, call, node string, f func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	r.trace("zookeeper", call+" "+node)
	got := make(chan answer, 1)
	go func() {
		v, err := f()
		got <- answer{v, err}
	}()
	var zero T
	select {
	case a := <-got:
		switch {
		case errors.Is(a.err, zk.ErrNoAuth):
			return zero, fmt.Errorf("ZooKeeper node %s: reading is %w", node, offset.ErrDenied)
		case a.err != nil && !errors.Is(a.err, zk.ErrNoNode):
			return zero, r.unreachable(a.err)
		}
		return a.value, a.err
	case <-ctx.Done():
		return zero, r.unreachable(context.Cause(ctx))
	}
}

// node reads one of HBase's nodes and takes the wrapping off.
func (r *zkRegistry) node(ctx context.Context, name string) ([]byte, error) {
	node := path.Join(r.parent, name)
	raw, err := ask(ctx, r, "get", node, func() ([]byte, error) {
		b, _, err := r.conn.Get(node)
		return b, err
	})
	if err != nil {
		return nil, err
	}
	return unwrapNode(raw)
}

// unwrapNode: FF, the length of the writer's id, the id, "PBUF", a message.
func unwrapNode(raw []byte) ([]byte, error) {
	if len(raw) < 5 || raw[0] != 0xff {
		return nil, errors.New("the node is none of HBase")
	}
	n := binary.BigEndian.Uint32(raw[1:])
	if uint64(n) > uint64(len(raw)-5) {
		return nil, errors.New("the node is none of HBase")
	}
	msg, ok := strings.CutPrefix(string(raw[5+n:]), "PBUF")
	if !ok {
		return nil, errors.New("the node is none of HBase")
	}
	return []byte(msg), nil
}

// metaServer is the server of hbase:meta. While meta moves it has none: an *unsettledError.
func (r *zkRegistry) metaServer(ctx context.Context) (string, error) {
	msg, err := r.node(ctx, "meta-region-server")
	if errors.Is(err, zk.ErrNoNode) {
		return "", r.missing(ctx, "meta-region-server")
	}
	if err != nil {
		return "", err
	}
	server, state, err := parseMetaServer(msg)
	if err != nil {
		return "", err
	}
	const open = 3
	if state != open {
		return "", &unsettledError{"hbase:meta has no server yet"}
	}
	return server, nil
}

func parseMetaServer(msg []byte) (server string, state uint64, err error) {
	state = 3 // where it is left out
	for f, err := range fields(msg) {
		if err != nil {
			return "", 0, err
		}
		switch f.num {
		case 1:
			if server, err = parseServerName(f.bytes); err != nil {
				return "", 0, err
			}
		case 3:
			state = f.value
		}
	}
	if server == "" {
		return "", 0, errors.New("the node names no server")
	}
	return server, state, nil
}

func parseServerName(msg []byte) (string, error) {
	var host string
	var port uint64
	for f, err := range fields(msg) {
		if err != nil {
			return "", err
		}
		switch f.num {
		case 1:
			host = string(f.bytes)
		case 2:
			port = f.value
		}
	}
	if host == "" || port == 0 || port > 65535 {
		return "", errors.New("a server's name without host or port")
	}
	return net.JoinHostPort(host, strconv.FormatUint(port, 10)), nil
}

// missing tells a wrong parent from a cluster that is not up.
func (r *zkRegistry) missing(ctx context.Context, name string) error {
	found, err := ask(ctx, r, "exists", r.parent, func() (bool, error) {
		ok, _, err := r.conn.Exists(r.parent)
		return ok, err
	})
	if err != nil {
		return err
	}
	if found {
		return &unsettledError{fmt.Sprintf("HBase is not up: ZooKeeper has %s but no %s in it", r.parent, name)}
	}
	return offset.As(offset.ErrConfig, fmt.Errorf("ZooKeeper at %s has no node %s; set parent= to HBase's zookeeper.znode.parent", strings.Join(r.hosts, ","), r.parent))
}

// master is the active master's address.
func (r *zkRegistry) master(ctx context.Context) (string, error) {
	msg, err := r.node(ctx, "master")
	if errors.Is(err, zk.ErrNoNode) {
		return "", r.missing(ctx, "master")
	}
	if err != nil {
		return "", err
	}
	server, _, err := parseMetaServer(msg)
	return server, err
}

// version is what one region server says of itself, such as "2.6.3"; any will do, for dead ones stay listed for a while.
func (r *zkRegistry) version(ctx context.Context) (string, error) {
	dir := path.Join(r.parent, "rs")
	servers, err := ask(ctx, r, "children", dir, func() ([]string, error) {
		names, _, err := r.conn.Children(dir)
		return names, err
	})
	if errors.Is(err, zk.ErrNoNode) || err == nil && len(servers) == 0 {
		return "", r.missing(ctx, "rs")
	}
	if err != nil {
		return "", err
	}
	for _, s := range servers {
		msg, err := r.node(ctx, path.Join("rs", s))
		if errors.Is(err, zk.ErrNoNode) {
			continue // gone since
		}
		if err != nil {
			return "", err
		}
		return parseVersion(msg)
	}
	return "", &unsettledError{"no region server of HBase is up"}
}

func parseVersion(msg []byte) (string, error) {
	for f, err := range fields(msg) {
		if err != nil {
			return "", err
		}
		if f.num != 2 {
			continue
		}
		for v, err := range fields(f.bytes) {
			if err != nil {
				return "", err
			}
			if v.num == 1 {
				return string(v.bytes), nil
			}
		}
	}
	return "", errors.New("the region server's node says no version")
}

// tableState of HBase 1: the state of a table, where ZooKeeper keeps it.
func (r *zkRegistry) tableState(ctx context.Context, table string) (uint64, error) {
	msg, err := r.node(ctx, path.Join("table", table))
	if err != nil {
		return 0, err
	}
	return parseTableState(msg)
}
