package fake

import (
	"net"
	"sync/atomic"
	"time"
)

// wire makes the connections of a cluster longer: what clients send arrives later by delay, however much of it is under way.
// Opening a connection costs nothing more.
type wire struct{ delay atomic.Int64 } // nanoseconds

func (w *wire) listen(network, address string) (net.Listener, error) {
	l, err := net.Listen(network, address)
	return listener{l, w}, err
}

type listener struct {
	net.Listener
	w *wire
}

// Accept decides for each connection whether it is a long one.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	delay := time.Duration(l.w.delay.Load())
	if err != nil || delay == 0 {
		return c, err
	}
	d := &delayed{Conn: c, arrived: make(chan chunk, 1024)}
	go d.pump(delay)
	return d, nil
}

type chunk struct {
	at  time.Time
	b   []byte
	err error
}

// delayed hands out what arrives when its time has come.
type delayed struct {
	net.Conn
	arrived chan chunk
	rest    []byte
}

func (d *delayed) pump(delay time.Duration) {
	defer close(d.arrived)
	for {
		b := make([]byte, 32<<10)
		n, err := d.Conn.Read(b)
		d.arrived <- chunk{time.Now().Add(delay), b[:n], err}
		if err != nil {
			return
		}
	}
}

func (d *delayed) Read(p []byte) (int, error) {
	for len(d.rest) == 0 {
		c, ok := <-d.arrived
		if !ok {
			return 0, net.ErrClosed
		}
		time.Sleep(time.Until(c.at))
		if d.rest = c.b; len(c.b) == 0 && c.err != nil {
			return 0, c.err
		}
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}
