//go:build linux

package pool

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/offsetctl/offsetctl/internal/testservers/wire"
)

// Serve answers the test sides that connect, until the listener is closed.
func (p *Pool) Serve(ctx context.Context, l net.Listener) error {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go p.attend(ctx, wire.NewConn(c))
	}
}

// attend serves one connection, and releases what it holds when it closes,
// also while the server is still being waited for.
func (p *Pool) attend(ctx context.Context, conn *wire.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer conn.Close()
	requests := make(chan wire.Request)
	go func() {
		defer cancel()
		defer close(requests)
		for {
			r, err := conn.Receive()
			if err != nil {
				return
			}
			select {
			case requests <- r:
			case <-ctx.Done():
				return
			}
		}
	}()
	var hold *Hold
	defer func() {
		if hold != nil {
			hold.Release()
		}
	}()
	for r := range requests {
		var reply wire.Reply
		var err error
		if hold == nil {
			hold, reply, err = p.first(ctx, r)
		} else {
			reply, err = hold.do(ctx, r)
		}
		if err != nil {
			reply.Error, reply.Log = err.Error(), lastLines(err, hold)
		}
		if conn.Send(reply) != nil {
			return
		}
	}
}

// first answers a request of a connection that holds nothing yet.
func (p *Pool) first(ctx context.Context, r wire.Request) (hold *Hold, reply wire.Reply, err error) {
	switch r.Op {
	case wire.Need, wire.Exclusive:
		hold, err = p.Share(ctx, r.Name, r.Op == wire.Exclusive)
	case wire.Own:
		hold, err = p.Own(ctx, r.Name)
	case wire.Jars:
		reply.Text, err = p.Jars(ctx, r.Name)
		return nil, reply, err
	default:
		return nil, reply, fmt.Errorf("nothing is held: %q has to come after need, own or exclusive", r.Op)
	}
	if err != nil {
		return nil, reply, err
	}
	reply.Server = hold.describe()
	return hold, reply, nil
}

func (h *Hold) describe() *wire.Server {
	inst := h.Instance()
	return &wire.Server{
		Name: h.Kind().Name, Version: h.Kind().Version, Dir: inst.Dir,
		Addr: inst.Addr, Files: inst.Files, Vars: inst.Vars, Nodes: inst.Nodes(),
	}
}

func (h *Hold) do(ctx context.Context, r wire.Request) (wire.Reply, error) {
	inst := h.Instance()
	if r.Op == wire.Log {
		text, err := inst.Log(r.Node)
		return wire.Reply{Text: text}, err
	}
	if !h.MayTouch() {
		return wire.Reply{}, fmt.Errorf("others share it: take it by NeedOwn or Exclusive")
	}
	return wire.Reply{}, inst.Do(ctx, r.Op, r.Node)
}

func lastLines(err error, hold *Hold) string {
	var start *StartError
	if errors.As(err, &start) {
		return start.Log
	}
	if hold == nil {
		return ""
	}
	text, _ := hold.Instance().Log("")
	return text
}
