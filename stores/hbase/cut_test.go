package hbase

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/hbase/hrpc"
)

// cuttable opens a store whose connections to a real server can be cut around the next write.
func cuttable(t testing.TB, e offset.Env, url string) (offset.Store, func(sent bool)) {
	t.Helper()
	s, config, err := configure(e, parse(t, url))
	if err != nil {
		t.Fatal(err)
	}
	var mode atomic.Int32
	config.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		var d net.Dialer
		nc, err := d.DialContext(ctx, network, addr)
		return &cutConn{Conn: nc, mode: &mode}, err
	}
	c, err := hrpc.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	s.use(c)
	return s, func(sent bool) {
		if sent {
			mode.Store(cutAnswer)
		} else {
			mode.Store(cutRequest)
		}
	}
}

const (
	cutRequest = 1 + iota
	cutAnswer
)

// cutConn ends before a write's request, or after its answer came back and before anybody sees it.
type cutConn struct {
	net.Conn
	mode *atomic.Int32
	cut  atomic.Bool // the next answer
}

func (c *cutConn) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("\x1a\x06Mutate")) {
		if c.mode.CompareAndSwap(cutRequest, 0) {
			_ = c.Close()
			return 0, io.ErrClosedPipe
		}
		if c.mode.CompareAndSwap(cutAnswer, 0) {
			c.cut.Store(true)
		}
	}
	return c.Conn.Write(b)
}

func (c *cutConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.cut.Load() {
		_ = c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}
