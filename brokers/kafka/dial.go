package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

const (
	dialTimeout = 10 * time.Second // for one server: name, connection and TLS
	dialStagger = time.Second      // a bootstrap server that is silent for so long gets company
)

// bootstrap stands for all bootstrap servers: the client knows one of this name, and the dialer tries them in turn.
// So a login is tried on one server alone, and a wrong password is refused once.
const bootstrap = "bootstrap.invalid:9092"

// dialer opens every connection, encrypts it where that is asked, and remembers how far each one came.
type dialer struct {
	boot []string
	tls  *tls.Config // nil: plain text
	sasl string      // the login's option, "" without

	now func() time.Time

	mu     sync.Mutex
	winner string // the bootstrap server that answered last
	steps  []step // a cluster has few servers
}

// step is how far the connection to one server came.
type step struct {
	addr   string
	stage  stage
	failed error // of the last try
	at     time.Time
	silent bool // it takes connections, and has not answered on the last one yet
	served bool // it has answered a request
}

// failedFor is how long a failed connection answers for the requests that were waiting for it: each of them would try again.
const failedFor = time.Second

// step finds or makes the entry of addr; d.mu is held.
func (d *dialer) step(addr string) *step {
	i := slices.IndexFunc(d.steps, func(s step) bool { return s.addr == addr })
	if i < 0 {
		i = len(d.steps)
		d.steps = append(d.steps, step{addr: addr, stage: stageConnect})
	}
	return &d.steps[i]
}

// justFailed is the failure of a moment ago, nil where there is none.
func (d *dialer) justFailed(addr string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.step(addr)
	if s.failed != nil && d.now().Sub(s.at) < failedFor {
		return s.failed
	}
	return nil
}

// tried notes how a connection ended.
func (d *dialer) tried(addr string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.step(addr)
	s.failed, s.at, s.silent = err, d.now(), err == nil
}

// served notes that the server has answered a request: it is reached, and logged in to.
func (d *dialer) served(addr string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.step(addr)
	s.stage, s.silent, s.served = stageMetadata, false, true
}

// knows tells whether the server has answered a request, so has taken the login.
func (d *dialer) knows(addr string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.step(addr).served
}

// order is the bootstrap servers as they are tried: those that took a connection and said nothing come last.
func (d *dialer) order() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := slices.Clone(d.boot)
	slices.SortStableFunc(out, func(a, b string) int {
		switch x, y := d.step(a).silent, d.step(b).silent; {
		case x == y:
			return 0
		case x:
			return 1
		}
		return -1
	})
	return out
}

// reached notes how far the connection to addr is.
func (d *dialer) reached(addr string, s stage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.step(addr).stage = s
}

// stageOf is how far the connection to addr came.
func (d *dialer) stageOf(addr string) stage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.step(addr).stage
}

// real is the server that addr stands for.
func (d *dialer) real(addr string) string {
	if addr != bootstrap {
		return addr
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.winner == "" {
		return d.boot[0]
	}
	return d.winner
}

// dial is what the client calls.
func (d *dialer) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	if addr != bootstrap {
		return d.one(ctx, addr)
	}
	c, won, err := d.race(ctx)
	if err == nil {
		d.mu.Lock()
		d.winner = won
		d.mu.Unlock()
	}
	return c, err
}

type dialled struct {
	conn net.Conn
	addr string
	err  error
}

// race tries the bootstrap servers in their order: the next one when the last has failed or says nothing for a while.
func (d *dialer) race(ctx context.Context) (net.Conn, string, error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan dialled)
	left := d.order()
	pending := 0
	start := func() {
		addr := left[0]
		left = left[1:]
		pending++
		go func() {
			c, err := d.one(ctx, addr)
			done <- dialled{c, addr, err}
		}()
	}
	var failed []error
	start()
	for pending > 0 {
		var next <-chan time.Time
		if len(left) > 0 {
			next = time.After(dialStagger)
		}
		select {
		case <-next:
			start()
		case r := <-done:
			pending--
			if r.err == nil {
				cancel()
				go drop(done, pending)
				return r.conn, r.addr, nil
			}
			failed = append(failed, r.err)
			if len(left) > 0 {
				start()
			}
		}
	}
	cancel()
	if len(failed) == 1 {
		return nil, "", failed[0]
	}
	return nil, "", errors.Join(failed...)
}

// drop closes the connections that came too late.
func drop(done <-chan dialled, n int) {
	for range n {
		if r := <-done; r.conn != nil {
			_ = r.conn.Close()
		}
	}
}

func (d *dialer) one(ctx context.Context, addr string) (net.Conn, error) {
	if err := d.justFailed(addr); err != nil {
		return nil, err
	}
	c, err := d.connect(ctx, addr)
	if err != nil && errors.Is(err, context.Canceled) {
		return nil, err // somebody lost patience, not the server
	}
	d.tried(addr, err)
	return c, err
}

func (d *dialer) connect(ctx context.Context, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	d.reached(addr, stageConnect)
	var nd net.Dialer
	c, err := nd.DialContext(ctx, "tcp", addr)
	if err != nil {
		s := stageConnect
		var dns *net.DNSError
		if errors.As(err, &dns) {
			s = stageDNS
		}
		return nil, &fault{addr: addr, stage: s, err: err}
	}
	if d.tls != nil {
		if c, err = d.encrypt(ctx, c, addr); err != nil {
			return nil, &fault{addr: addr, stage: stageTLS, err: err, tls: true}
		}
	}
	d.reached(addr, stageMetadata)
	return &conn{Conn: c, addr: addr, tls: d.tls != nil}, nil
}

func (d *dialer) encrypt(ctx context.Context, c net.Conn, addr string) (net.Conn, error) {
	d.reached(addr, stageTLS)
	conf := d.tls
	if conf.ServerName == "" {
		conf = conf.Clone()
		conf.ServerName, _, _ = net.SplitHostPort(addr)
	}
	t := tls.Client(c, conf)
	if err := t.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return t, nil
}

// conn tells what its first answer means: a server that speaks TLS, or wants a certificate, says so there.
type conn struct {
	net.Conn
	addr string
	tls  bool
	read bool
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	first := !c.read
	c.read = c.read || n > 0
	switch {
	case first && !c.tls && n >= 2 && p[0] == 0x15 && p[1] == 3: // a TLS alert: as a size it would be 352 MB
		return 0, &fault{addr: c.addr, stage: stageTLS, err: errTLSAlert}
	case first && n == 0 && errors.Is(err, io.EOF):
		return 0, &fault{addr: c.addr, stage: stageTLS, err: err, tls: c.tls}
	case err != nil && first && c.tls && isAlert(err):
		return n, &fault{addr: c.addr, stage: stageTLS, err: err, tls: true}
	}
	return n, err
}

var errTLSAlert = errors.New("the server answers in TLS")

func isAlert(err error) bool {
	var a tls.AlertError
	var o *net.OpError
	return errors.As(err, &a) || errors.As(err, &o) && o.Op == "remote error"
}
