package e2e

import (
	"bytes"
	"encoding/binary"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"
)

// gate stands in front of a server and stops one request, or its answer, where a test wants it.
type gate struct {
	t      testing.TB
	server string
	addr   string
	l      net.Listener

	mu     sync.Mutex
	match  func(packet []byte) bool
	at     moment
	conns  map[net.Conn]bool
	closed bool
	// reached is closed when the request is there; open lets it, or its answer, go on.
	reached, open chan struct{}
	// rewrite changes what the server says.
	rewrite func([]byte) []byte
}

// moment is where a gate stops a request.
type moment int

const (
	never   moment = iota
	before         // the server has not got it
	after          // the server has it, and its answer is held
	cutIn          // cut before the server gets it
	cutOut         // the server gets it, and the connection is cut before the answer
	downIn         // cutIn, and nobody comes through any more
	downOut        // cutOut, and nobody comes through any more
)

func newGate(t testing.TB, server string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{t: t, server: server, addr: l.Addr().String(), l: l, conns: map[net.Conn]bool{}}
	t.Cleanup(func() { _ = l.Close(); g.cutAll() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go g.serve(c)
		}
	}()
	return g
}

// kafkaGate is a gate in front of a single broker, which is advertised at the gate.
func kafkaGate(t testing.TB, server string) *gate {
	t.Helper()
	g := newGate(t, server)
	host := func(addr string) []byte {
		h, p, err := net.SplitHostPort(addr)
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(p)
		if err != nil {
			t.Fatal(err)
		}
		return binary.BigEndian.AppendUint32([]byte(h), uint32(n))
	}
	from, to := host(server), host(g.addr)
	g.rewrite = func(b []byte) []byte { return bytes.ReplaceAll(b, from, to) }
	return g
}

// commits recognises a COMMIT of MySQL's or PostgreSQL's.
func commits(packet []byte) bool {
	return bytes.Contains(packet, []byte("COMMIT")) && !bytes.Contains(packet, []byte("COMMITTED"))
}

// commitsOffsets recognises Kafka's OffsetCommit.
func commitsOffsets(packet []byte) bool {
	return len(packet) > 6 && packet[4] == 0 && packet[5] == 8
}

// stop makes the gate stop the next request that match recognises.
func (g *gate) stop(at moment, match func([]byte) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.match, g.at, g.closed = match, at, false
	g.reached, g.open = make(chan struct{}), make(chan struct{})
}

// wait waits until the request is at the gate.
func (g *gate) wait() {
	g.t.Helper()
	select {
	case <-g.reached:
	case <-time.After(time.Minute):
		g.t.Fatal("no such request came to the gate")
	}
}

// release lets a held request or answer go on.
func (g *gate) release() { close(g.open) }

// reopen lets everybody through again.
func (g *gate) reopen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed, g.at = false, never
}

func (g *gate) cutAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.conns {
		_ = c.Close()
	}
}

// judge is what happens to a packet of the client's.
func (g *gate) judge(packet []byte) moment {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at == never || g.match == nil || !g.match(packet) {
		return never
	}
	at := g.at
	g.at, g.closed = never, at == downIn || at == downOut
	close(g.reached)
	return at
}

func (g *gate) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	g.mu.Lock()
	closed := g.closed
	g.mu.Unlock()
	if closed {
		return
	}
	server, err := net.Dial("tcp", g.server)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	g.mu.Lock()
	g.conns[client], g.conns[server] = true, true
	g.mu.Unlock()
	var pause sync.Mutex // held while an answer is held back
	go func() {
		defer func() { _ = client.Close() }()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if err != nil {
				return
			}
			pause.Lock()
			out := buf[:n]
			if g.rewrite != nil {
				out = g.rewrite(out)
			}
			_, err = client.Write(out)
			pause.Unlock()
			if err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		switch g.judge(buf[:n]) {
		case before:
			<-g.open
		case after:
			pause.Lock()
			_, _ = server.Write(buf[:n])
			<-g.open
			pause.Unlock()
			continue
		case cutIn, downIn:
			g.cutOthers()
			return
		case cutOut, downOut:
			pause.Lock() // for ever: nothing more reaches this client
			_, _ = server.Write(buf[:n])
			time.Sleep(200 * time.Millisecond) // the server is through with it
			g.cutOthers()
			return
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// cutOthers cuts all connections where nobody is to come through any more.
func (g *gate) cutOthers() {
	g.mu.Lock()
	down := g.closed
	g.mu.Unlock()
	if down {
		g.cutAll()
	}
}
