package hrpc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/offsetctl/offsetctl/offset"
)

// registry tells where a cluster's parts are. An *unsettledError says that one has no place yet.
type registry interface {
	metaServer(ctx context.Context) (string, error)
	master(ctx context.Context) (string, error)
	version(ctx context.Context) (string, error)
	// tableState of HBase 1, which keeps it in ZooKeeper.
	tableState(ctx context.Context, table string) (uint64, error)
	close()
}

const metaService = "ClientMetaService"

// rpcRegistry asks the masters themselves, as HBase 2.4 and later allow (and 1.7, in part).
type rpcRegistry struct {
	hosts []string
	call  func(ctx context.Context, server, service, method string, param []byte) ([]byte, error)
}

var errNoMaster = fmt.Errorf("HBase's masters %w", offset.ErrUnreachable)

// ask takes the first answer of any host. A master that answers with an exception is up and not ready yet: an *unsettledError.
func (r *rpcRegistry) ask(ctx context.Context, method string) ([]byte, error) {
	kind := errNoMaster
	var failed []string
	starting := false
	for _, h := range r.hosts {
		body, err := r.call(ctx, h, metaService, method, nil)
		var ex *ServerError
		switch {
		case err == nil:
			return body, nil
		case errors.Is(err, errMute):
			kind = fmt.Errorf("HBase's registry %w", offset.ErrConfig)
			failed = append(failed, h+" knows no registry: either it is no master, or this HBase needs the address of its ZooKeeper")
		default:
			starting = starting || errors.As(err, &ex) && !ex.DoNotRetry
			failed = append(failed, h+": "+err.Error())
		}
	}
	why := strings.Join(failed, "; ")
	if starting {
		return nil, &unsettledError{"HBase's master is starting: " + why}
	}
	return nil, fmt.Errorf("%w: %s", kind, why)
}

func (r *rpcRegistry) metaServer(ctx context.Context) (string, error) {
	body, err := r.ask(ctx, "GetMetaRegionLocations")
	if err != nil {
		return "", err
	}
	for f, err := range fields(body) {
		if err != nil {
			return "", err
		}
		if f.num != 1 {
			continue
		}
		for g, err := range fields(f.bytes) {
			if err != nil {
				return "", err
			}
			if g.num == 2 {
				return parseServerName(g.bytes)
			}
		}
	}
	return "", &unsettledError{"hbase:meta has no server yet"}
}

// master: HBase 1 does not tell the active one, but lists it among all.
func (r *rpcRegistry) master(ctx context.Context) (string, error) {
	body, err := r.ask(ctx, "GetMasters")
	if err != nil {
		return "", err
	}
	for f, err := range fields(body) {
		if err != nil {
			return "", err
		}
		if f.num != 1 {
			continue
		}
		server, active, err := parseMaster(f.bytes)
		if err != nil {
			return "", err
		}
		if active {
			return server, nil
		}
	}
	return "", &unsettledError{"HBase has no active master"}
}

func parseMaster(msg []byte) (server string, active bool, err error) {
	for f, err := range fields(msg) {
		if err != nil {
			return "", false, err
		}
		switch f.num {
		case 1:
			if server, err = parseServerName(f.bytes); err != nil {
				return "", false, err
			}
		case 2:
			active = f.bool()
		}
	}
	return server, active, nil
}

// version asks the master for no more of the cluster's status than that.
func (r *rpcRegistry) version(ctx context.Context) (string, error) {
	server, err := r.master(ctx)
	if err != nil {
		return "", err
	}
	const onlyVersion = 0
	body, err := r.call(ctx, server, masterService, "GetClusterStatus", number(1, onlyVersion))
	if err != nil {
		return "", fmt.Errorf("HBase master %s: %w", server, err)
	}
	for range 3 { // response, status, version
		if body, err = firstOf(body); err != nil {
			return "", err
		}
	}
	if len(body) == 0 {
		return "", errors.New("the master does not tell its version")
	}
	return string(body), nil
}

// firstOf is a message's field 1.
func firstOf(msg []byte) ([]byte, error) {
	for f, err := range fields(msg) {
		if err != nil {
			return nil, err
		}
		if f.num == 1 {
			return f.bytes, nil
		}
	}
	return nil, nil
}

func (r *rpcRegistry) tableState(context.Context, string) (uint64, error) {
	return 0, fmt.Errorf("HBase 1 keeps the states of tables in ZooKeeper, reading them %w", offset.ErrUnsupported)
}

func (r *rpcRegistry) close() {}
