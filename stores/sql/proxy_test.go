package sql

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

func unique() string { return fmt.Sprintf("%x", rand.Uint64()) }

// proxy stands between a client and a server, and cuts their connection where a test wants it.
type proxy struct {
	addr   string
	server string
	l      net.Listener
	mu     sync.Mutex
	judge  func(packet []byte) verdict // of what the client sends; nil: let it pass
	conns  []net.Conn
}

// verdict on a packet of the client's.
type verdict int

const (
	pass   verdict = iota
	drop           // cut before it reaches the server
	orphan         // let it through, and cut before the answer comes back
	late           // cut, and let the server have it a second later
)

func newProxy(t testing.TB, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{addr: l.Addr().String(), server: server, l: l}
	t.Cleanup(p.close)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

// set makes f judge what clients send from here on.
func (p *proxy) set(f func([]byte) verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.judge = f
}

// cutCommit cuts the connection of the next COMMIT; sent: the server still gets it.
func (p *proxy) cutCommit(sent bool) {
	if sent {
		p.onCommit(orphan)
	} else {
		p.onCommit(drop)
	}
}

// onCommit is the verdict on the next COMMIT.
func (p *proxy) onCommit(v verdict) {
	done := false
	p.set(func(packet []byte) verdict {
		if done || !bytes.Contains(packet, []byte("COMMIT")) || bytes.Contains(packet, []byte("COMMITTED")) {
			return pass
		}
		done = true
		return v
	})
}

func (p *proxy) close() {
	_ = p.l.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
}

func (p *proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		_ = client.Close()
		return
	}
	p.mu.Lock()
	p.conns = append(p.conns, client, server)
	p.mu.Unlock()
	deaf := false
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			p.mu.Lock()
			silent := deaf
			p.mu.Unlock()
			if err != nil || silent {
				_ = client.Close()
				_ = server.Close()
				return
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				_ = client.Close()
			}
			_ = server.Close()
			return
		}
		p.mu.Lock()
		v := pass
		if p.judge != nil {
			v = p.judge(buf[:n])
		}
		deaf = deaf || v == orphan || v == late
		p.mu.Unlock()
		if v == late {
			_ = client.Close()
			time.Sleep(time.Second)
		}
		if v == drop {
			_ = client.Close()
			_ = server.Close()
			return
		}
		if _, err := server.Write(buf[:n]); err != nil {
			_ = client.Close()
			return
		}
	}
}
