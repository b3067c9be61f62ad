package storetest

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy stands between clients and a server.
type Proxy struct {
	Addr string
	mu   sync.Mutex
	cut  func(packet []byte) (now, deaf bool)
	ice  atomic.Bool
}

// NewProxy listens on loopback, until the test ends.
func NewProxy(t testing.TB, server string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	p := &Proxy{Addr: l.Addr().String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c, server)
		}
	}()
	return p
}

// Arm says what becomes of the packets that clients send from now on: now cuts the connection before one is passed on, deaf after
// it, so that its answer is lost.
func (p *Proxy) Arm(cut func(packet []byte) (now, deaf bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
}

// CutNext cuts the connection around the next packet that it is about; sent: the server gets it.
func (p *Proxy) CutNext(about func(packet []byte) bool, sent bool) {
	done := false
	p.Arm(func(b []byte) (bool, bool) {
		if done || !about(b) {
			return false, false
		}
		done = true
		return !sent, sent
	})
}

// Freeze holds back everything, or lets it go.
func (p *Proxy) Freeze(on bool) { p.ice.Store(on) }

// thawed waits while the proxy is frozen.
func (p *Proxy) thawed() {
	for p.ice.Load() {
		time.Sleep(5 * time.Millisecond)
	}
}

// asked tells what becomes of a packet.
func (p *Proxy) asked(packet []byte) (now, deaf bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut == nil {
		return false, false
	}
	return p.cut(packet)
}

func (p *Proxy) serve(client net.Conn, to string) {
	server, err := net.Dial("tcp", to)
	if err != nil {
		_ = client.Close()
		return
	}
	end := func() {
		_ = client.Close()
		_ = server.Close()
	}
	defer end()
	var silent atomic.Bool
	go func() {
		defer end()
		buf := make([]byte, 1<<16)
		for {
			n, err := server.Read(buf)
			p.thawed()
			if err != nil || silent.Load() {
				return
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 1<<16)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		p.thawed()
		now, deaf := p.asked(buf[:n])
		if deaf {
			silent.Store(true)
		}
		if now {
			return
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
		if deaf { // long enough for the server to have done it
			time.Sleep(100 * time.Millisecond)
		}
	}
}
