package hrpc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

const (
	dialTime    = 5 * time.Second
	writeTime   = 5 * time.Second  // a request that has not left by then
	callTime    = 60 * time.Second // no answer for so long: the server has forgotten the call
	maxInFlight = 32               // a server with 10 handlers refuses the 111th call that waits
)

// conn is one connection to one service of one server. Answers come in any order.
type conn struct {
	server string
	net    net.Conn
	slots  chan struct{}

	write sync.Mutex // one frame at a time

	mu      sync.Mutex
	waiting map[uint32]chan response
	next    uint32
	heard   bool  // the server has answered something
	broken  error // set once; no further call
}

func (p *pool) connect(ctx context.Context, server, service string) (*conn, error) {
	nc, err := p.dial(ctx, "tcp", server)
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		// Final: no further try makes the name known here.
		return nil, fmt.Errorf("HBase calls one of its servers %s, which has no address on this machine and so %w: make the name known here", server, offset.ErrUnreachable)
	}
	if err != nil {
		return nil, &lostError{err: err}
	}
	if _, err := nc.Write(preamble(p.user, service)); err != nil {
		_ = nc.Close()
		return nil, &lostError{err: err}
	}
	c := &conn{server: server, net: nc, slots: make(chan struct{}, maxInFlight), waiting: map[uint32]chan response{}}
	go c.read()
	return c, nil
}

// call sends one request and waits for its answer. A *lostError tells whether the request had left.
func (c *conn) call(ctx context.Context, method string, param []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, fmt.Errorf("no answer to %s for %s", method, callTime))
	defer cancel()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, &lostError{err: context.Cause(ctx)}
	}
	id, answer, err := c.expect()
	if err != nil {
		return nil, &lostError{err: err}
	}
	if err := c.send(requestFrame(id, method, param)); err != nil {
		c.fail(err)
	}
	select {
	case r, ok := <-answer:
		switch {
		case !ok:
			return nil, &lostError{sent: true, err: c.failure()}
		case r.exception != nil:
			return nil, r.exception
		}
		return r.body, nil
	case <-ctx.Done():
		c.forget(id)
		return nil, &lostError{sent: true, err: context.Cause(ctx)}
	}
}

// send writes one frame. The caller's time may end meanwhile: half a frame would take the connection from all who share it.
func (c *conn) send(frame []byte) error {
	c.write.Lock()
	defer c.write.Unlock()
	stuck := time.AfterFunc(writeTime, func() { _ = c.net.Close() })
	defer stuck.Stop()
	_, err := c.net.Write(frame)
	return err
}

func (c *conn) expect() (uint32, chan response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return 0, nil, c.broken
	}
	c.next = (c.next + 1) & 0x7fffffff // never the id of a fatal answer
	answer := make(chan response, 1)
	c.waiting[c.next] = answer
	return c.next, answer, nil
}

func (c *conn) forget(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

func (c *conn) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

func (c *conn) read() {
	r := bufio.NewReader(c.net)
	for {
		frame, err := readFrame(r)
		if err != nil {
			c.fail(c.explain(err))
			return
		}
		answer, err := parseResponse(frame)
		if err != nil {
			c.fail(fmt.Errorf("an answer that is none of HBase: %w", err))
			return
		}
		if answer.id == fatalCall && answer.exception != nil {
			c.fail(answer.exception)
			return
		}
		c.deliver(answer)
	}
}

func (c *conn) deliver(r response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = true
	if answer, ok := c.waiting[r.id]; ok {
		delete(c.waiting, r.id)
		answer <- r
	}
}

func (c *conn) explain(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(err, io.EOF) && !c.heard {
		return errMute
	}
	return err
}

// fail ends the connection and everything that waits on it.
func (c *conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		c.broken = err
	}
	for id, answer := range c.waiting {
		delete(c.waiting, id)
		close(answer)
	}
	_ = c.net.Close()
}

func (c *conn) close() { c.fail(net.ErrClosed) }

func (c *conn) usable() bool { return c.failure() == nil }

// pool has one connection for each server and service.
type pool struct {
	user string
	dial func(ctx context.Context, network, addr string) (net.Conn, error)

	mu      sync.Mutex
	conns   map[string]*dialing
	retired []*conn
}

// dialing is a connection, or one that is being made: whoever comes second waits for it.
type dialing struct {
	done chan struct{}
	conn *conn
	err  error
}

func (p *pool) get(ctx context.Context, server, service string) (*conn, error) {
	key := service + "@" + server
	p.mu.Lock()
	d, ok := p.conns[key]
	if ok && d.finished() && (d.err != nil || !d.conn.usable()) {
		ok = false
	}
	if !ok {
		d = &dialing{done: make(chan struct{})}
		p.conns[key] = d
		go func() {
			// Not the caller's time: others wait for the same connection.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dialTime)
			defer cancel()
			d.conn, d.err = p.connect(ctx, server, service)
			close(d.done)
		}()
	}
	p.mu.Unlock()
	select {
	case <-d.done:
		return d.conn, d.err
	case <-ctx.Done():
		return nil, &lostError{err: context.Cause(ctx)}
	}
}

func (d *dialing) finished() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

// drop lets the next call dial anew. Calls that are under way still get their answers.
func (p *pool) drop(server string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, d := range p.conns {
		if d.finished() && d.err == nil && d.conn.server == server {
			p.retired = append(p.retired, d.conn)
			delete(p.conns, key)
		}
	}
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.conns {
		<-d.done
		if d.err == nil {
			d.conn.close()
		}
	}
	clear(p.conns)
	for _, c := range p.retired {
		c.close()
	}
	p.retired = nil
}
