//go:build linux

package kinds

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
)

// Request codes of RocketMQ's own protocol. The driver under test is not used
// for the readiness of the server that it is tested on.
const (
	brokerRuntimeInfo = 28
	routeOfTopic      = 105
	clusterInfo       = 106
)

// rocketAnswers is ready on any reply to a request: right after its start a
// 4.9 broker answers with an error and serves all the same.
func rocketAnswers(addr string, code int) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := rocketAsk(ctx, addr, code, nil)
		return err
	}
}

// rocketRoutes is nil when the name server routes to a broker, by the topic
// that every broker has.
func rocketRoutes(ctx context.Context, namesrv, broker string) error {
	route, err := rocketAsk(ctx, namesrv, routeOfTopic, map[string]string{"topic": "TBW102"})
	if err != nil {
		return err
	}
	if !strings.Contains(route, broker) {
		return fmt.Errorf("the name server does not route to %s yet", broker)
	}
	return nil
}

// rocketAsk sends one request and returns header and body of its reply.
func rocketAsk(ctx context.Context, addr string, code int, fields map[string]string) (string, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(deadline)
	}
	request := map[string]any{"code": code, "flag": 0, "language": "GO", "opaque": 1, "version": 407}
	if fields != nil {
		request["extFields"] = fields
	}
	header, err := json.Marshal(request)
	if err != nil {
		return "", err
	}
	frame := binary.BigEndian.AppendUint32(nil, uint32(4+len(header)))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(header)))
	if _, err := c.Write(append(frame, header...)); err != nil {
		return "", err
	}
	var length uint32
	if err := binary.Read(c, binary.BigEndian, &length); err != nil {
		return "", err
	}
	reply, err := io.ReadAll(io.LimitReader(c, int64(length)))
	return string(reply), err
}
