package remoting

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// DefaultTimeout bounds one request where Options.Timeout does not.
const DefaultTimeout = 5 * time.Second

// protocolVersion is what we say we are: from 4.9.4 on, name servers answer it with standard JSON.
const protocolVersion = 401

// Options of a Client.
type Options struct {
	Credentials *Credentials                     // nil: requests are not signed
	TLS         *tls.Config                      // nil: plain text; an empty ServerName becomes the host
	Timeout     time.Duration                    // of one request with its connection; 0: DefaultTimeout
	FrameLimit  int                              // of one answer, in bytes; 0: DefaultFrameLimit
	Trace       func(server string, call string) // called once a request, before it is sent; nil: nobody listens
}

// Client keeps one connection to each address. It is safe for concurrent use.
type Client struct {
	o        Options
	mu       sync.Mutex
	slots    map[string]*slot
	versions map[string]int
	closed   bool
}

// slot is the place of one address's connection. Whoever holds turn may look at it and dial.
type slot struct {
	turn chan struct{}
	conn *conn
}

// New makes a client. It connects when it is first asked.
func New(o Options) *Client {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.FrameLimit <= 0 {
		o.FrameLimit = DefaultFrameLimit
	}
	if o.Trace == nil {
		o.Trace = func(string, string) {}
	}
	return &Client{o: o, slots: map[string]*slot{}, versions: map[string]int{}}
}

// Close ends all connections and waits for their readers.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	slots := c.slots
	c.slots = map[string]*slot{}
	c.mu.Unlock()
	for _, s := range slots {
		s.turn <- struct{}{}
		if s.conn != nil {
			s.conn.close()
		}
		<-s.turn
	}
	return nil
}

// Version is the version number that the server last answered with, 0 when it has not been asked yet.
func (c *Client) Version(addr string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.versions[addr]
}

// Request is one request.
type Request struct {
	Code Code
	Ext  map[string]string
	Body []byte
	Wait time.Duration // how much longer than the client's timeout the server may take
	Once bool          // it changes something: never sent twice unless it is certain that it did not arrive
}

const (
	busyTries = 4
	busyPause = 200 * time.Millisecond
)

// Do asks the server at addr. An answer that is no success comes with an *Error; no answer is a *TransportError, or ctx's error.
func (c *Client) Do(ctx context.Context, addr string, r Request) (*Command, error) {
	for try := 1; ; try++ {
		a, err := c.try(ctx, addr, r)
		if !IsCode(err, SystemBusy, FlowControl, GoAway) || try == busyTries {
			return a, err
		}
		if IsCode(err, GoAway) {
			c.drop(addr)
		}
		select {
		case <-time.After(time.Duration(try) * busyPause):
		case <-ctx.Done():
			return a, err
		}
	}
}

// try asks once, and once more where a connection that was already open turns out to be dead.
func (c *Client) try(parent context.Context, addr string, r Request) (*Command, error) {
	limit := c.o.Timeout + r.Wait
	ctx, cancel := context.WithTimeoutCause(parent, limit, noAnswerError(limit))
	defer cancel()
	for {
		cn, fresh, stage, err := c.connection(ctx, addr)
		if err != nil {
			return nil, c.failed(parent, addr, r.Code, stage, err, nil)
		}
		cmd := &Command{Code: int(r.Code), Version: protocolVersion, Ext: r.Ext, Body: r.Body}
		if c.o.Credentials != nil {
			c.o.Credentials.sign(cmd)
		}
		c.o.Trace(addr, r.Code.String())
		a, stage, err := cn.ask(ctx, cmd)
		if err == nil {
			return c.answer(addr, r.Code, a)
		}
		// The server closes idle connections: such a one is dead before anything is sent on it.
		if fresh || !isLost(err) || r.Once && stage == StageAnswer {
			return nil, c.failed(parent, addr, r.Code, stage, err, cn)
		}
	}
}

func (c *Client) answer(addr string, call Code, a *Command) (*Command, error) {
	if call != CodeRunningInfo { // the broker hands on what its client answered, with the client's version
		c.mu.Lock()
		c.versions[addr] = a.Version
		c.mu.Unlock()
	}
	if a.Code != Success {
		return a, &Error{Addr: addr, Call: call, Code: a.Code, Remark: a.Remark}
	}
	return a, nil
}

type noAnswerError time.Duration

func (e noAnswerError) Error() string { return fmt.Sprintf("no answer within %v", time.Duration(e)) }

func (c *Client) failed(parent context.Context, addr string, call Code, stage Stage, err error, cn *conn) error {
	if cause := context.Cause(parent); cause != nil {
		err = cause
	}
	e := &TransportError{Addr: addr, Call: call, Stage: stage, Err: err}
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &record):
		e.Hint = "it does not speak TLS: leave tls out of the address"
	case stage == StageTLS && isLost(err):
		e.Hint = "it closed the connection: TLS may be off there, or ask for a client certificate"
	case cn != nil && isLost(err):
		if answered, _ := cn.lost(); !answered && errors.Is(err, io.EOF) && c.o.TLS == nil {
			e.Hint = "it closed the connection: it may want TLS, or be no RocketMQ server"
		}
	}
	return e
}

// connection answers the open connection to addr, or a fresh one.
func (c *Client) connection(ctx context.Context, addr string) (cn *conn, fresh bool, _ Stage, _ error) {
	c.mu.Lock()
	s := c.slots[addr]
	if s == nil && !c.closed {
		s = &slot{turn: make(chan struct{}, 1)}
		c.slots[addr] = s
	}
	c.mu.Unlock()
	if s == nil {
		return nil, false, StageConnect, errClosed
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, false, StageConnect, context.Cause(ctx)
	}
	defer func() { <-s.turn }()
	if s.conn != nil && s.conn.alive() {
		return s.conn, false, StageConnect, nil
	}
	nc, stage, err := c.dial(ctx, addr)
	if err != nil {
		return nil, false, stage, err
	}
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		_ = nc.Close()
		return nil, false, StageConnect, errClosed
	}
	s.conn = newConn(nc, c.o.FrameLimit)
	return s.conn, true, StageConnect, nil
}

func (c *Client) dial(ctx context.Context, addr string) (net.Conn, Stage, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, StageConnect, cause(ctx, bare(err))
	}
	if c.o.TLS == nil {
		return nc, StageConnect, nil
	}
	cfg := c.o.TLS.Clone()
	if cfg.ServerName == "" {
		cfg.ServerName, _, _ = net.SplitHostPort(addr)
	}
	tc := tls.Client(nc, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		_ = nc.Close()
		return nil, StageTLS, cause(ctx, err)
	}
	return tc, StageTLS, nil
}

// bare leaves out what a TransportError says by itself: that an address was dialled, and which.
func bare(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	var call *os.SyscallError
	if errors.As(err, &call) {
		err = call.Err
	}
	return err
}

func cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil {
		return c
	}
	return err
}

// drop ends the connection to addr; the next request opens another.
func (c *Client) drop(addr string) {
	c.mu.Lock()
	s := c.slots[addr]
	c.mu.Unlock()
	if s == nil {
		return
	}
	s.turn <- struct{}{}
	if s.conn != nil {
		s.conn.close()
	}
	<-s.turn
}
