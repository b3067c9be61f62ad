//go:build linux

package pool

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/internal/testservers/wire"
)

// serving is a pool behind a socket.
func serving(t *testing.T) (*Pool, string) {
	t.Helper()
	p := newPool(t, Options{})
	socket := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- p.Serve(t.Context(), l) }()
	t.Cleanup(func() {
		_ = l.Close()
		if err := <-served; err != nil {
			t.Errorf("serving ended by %v", err)
		}
	})
	return p, socket
}

func connect(t *testing.T, socket string) *wire.Conn {
	t.Helper()
	c, err := wire.Dial(socket, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func ask(t *testing.T, c *wire.Conn, r wire.Request) wire.Reply {
	t.Helper()
	reply, err := c.Ask(r)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func TestConnectionIsAHold(t *testing.T) {
	p, socket := serving(t)
	c := connect(t, socket)
	got := ask(t, c, wire.Request{Op: wire.Own, Name: "small"})
	if got.Error != "" || len(got.Server.Nodes) != 1 || got.Server.Nodes[0] != "node" {
		t.Fatalf("own: %+v", got)
	}
	p.mu.Lock()
	var held *Hold
	for e := range p.private {
		held = &Hold{pool: p, entry: e, inst: e.inst}
	}
	p.mu.Unlock()
	if got := ask(t, c, wire.Request{Op: wire.Kill, Node: "node"}); got.Error != "" {
		t.Errorf("kill: %+v", got)
	}
	if got := ask(t, c, wire.Request{Op: wire.Pause, Node: "node"}); !strings.Contains(got.Error, "does not run") {
		t.Errorf("pausing a dead node: %+v", got)
	}
	if got := ask(t, c, wire.Request{Op: wire.Kill, Node: "other"}); !strings.Contains(got.Error, `"other"`) {
		t.Errorf("killing a node that is not there: %+v", got)
	}
	_ = c.Close()
	awaitGone(t, held)
}

func TestConnectionWithoutAHold(t *testing.T) {
	_, socket := serving(t)
	c := connect(t, socket)
	for _, r := range []wire.Request{{Op: wire.Kill}, {Op: wire.Need, Name: "nosuch"}, {Op: wire.Jars, Name: "small"}} {
		if got := ask(t, c, r); got.Error == "" {
			t.Errorf("%+v was answered %+v, want an error", r, got)
		}
	}
	got := ask(t, c, wire.Request{Op: wire.Need, Name: "broken"})
	if !strings.Contains(got.Error, "did not start") || !strings.Contains(got.Log, "no port is free") {
		t.Errorf("a server that does not start is answered %+v", got)
	}
	if got := ask(t, c, wire.Request{Op: wire.Need, Name: "small"}); got.Error != "" {
		t.Errorf("after refusals: %+v, want a server", got)
	}
}
