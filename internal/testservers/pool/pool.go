//go:build linux

// Package pool keeps the running servers: it starts one the first time it is
// asked for, shares it, and stops it when nobody has held it for a while.
package pool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/offsetctl/offsetctl/internal/testservers/artifacts"
	"github.com/offsetctl/offsetctl/internal/testservers/kinds"
	"github.com/offsetctl/offsetctl/internal/testservers/machine"
)

// Options say how a pool treats its servers.
type Options struct {
	Dir     string        // parent of all servers' folders
	Idle    time.Duration // how long an unused server is kept
	Memory  int           // MiB for all servers together; idle ones make room
	Offline bool          // what is missing cannot be fetched
	// AllInterfaces permits servers that cannot be bound to loopback alone.
	AllInterfaces bool
	Log           io.Writer
	Find          func(name string) (kinds.Kind, bool) // nil: kinds.Find
}

// Pool holds the shared servers by name, and the private ones.
type Pool struct {
	opts Options

	mu      sync.Mutex
	changed chan struct{} // closed and replaced whenever a hold ends or a start is over
	shared  map[string]*entry
	private map[*entry]struct{}
	closed  bool
	boots   chan struct{} // bounds how many servers start at a time
}

// entry is a server that runs or is being started.
type entry struct {
	kind      kinds.Kind
	inst      *machine.Instance // nil while it starts
	holders   int
	exclusive bool
	touched   bool // a node was stopped, killed or paused
	idleSince time.Time
}

var errStopping = errors.New("the supervisor is stopping")

// bootsAtOnce is small: starting servers want whole cores, and more of them at
// a time only make each other time out.
const bootsAtOnce = 2

// New makes an empty pool.
func New(opts Options) *Pool {
	if opts.Find == nil {
		opts.Find = kinds.Find
	}
	return &Pool{
		opts: opts, changed: make(chan struct{}), shared: map[string]*entry{}, private: map[*entry]struct{}{},
		boots: make(chan struct{}, bootsAtOnce),
	}
}

// Hold is a server in somebody's hands, until Release.
type Hold struct {
	pool    *Pool
	entry   *entry
	inst    *machine.Instance
	private bool
}

// Kind tells what is held.
func (h *Hold) Kind() kinds.Kind { return h.entry.kind }

// Instance is the running server.
func (h *Hold) Instance() *machine.Instance { return h.inst }

// MayTouch says whether the holder may stop, kill and pause nodes, and marks
// the server as one that is not to be shared again.
func (h *Hold) MayTouch() bool {
	h.pool.mu.Lock()
	defer h.pool.mu.Unlock()
	if !h.private && !h.entry.exclusive {
		return false
	}
	h.entry.touched = true
	return true
}

// Share returns a hold on the server of that name, alone or with others.
func (p *Pool) Share(ctx context.Context, name string, exclusive bool) (*Hold, error) {
	kind, err := p.check(ctx, name)
	if err != nil {
		return nil, err
	}
	for {
		c, err := p.claim(kind, exclusive)
		switch {
		case err != nil:
			return nil, err
		case c.hold != nil:
			return c.hold, nil
		case c.start != nil:
			return p.startShared(ctx, c.start, exclusive)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.wait:
		}
	}
}

// claim is what came of asking for a shared server: one of the three.
type claim struct {
	hold  *Hold           // it runs and is held now
	start *entry          // it does not run, and the asker has to start it
	wait  <-chan struct{} // closes when it is worth asking again
}

func (p *Pool) claim(kind kinds.Kind, exclusive bool) (claim, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return claim{}, errStopping
	}
	e := p.shared[kind.Name]
	if e != nil && e.inst != nil && !e.exclusive && e.inst.Ended() != "" {
		p.logf("%s: its node %s has ended by itself", kind.Name, e.inst.Ended())
		delete(p.shared, kind.Name) // its holders see it dead; the last of them discards it
		if e.holders == 0 {
			p.discard(e)
		}
		e = nil
	}
	switch {
	case e == nil:
		e = &entry{kind: kind}
		p.shared[kind.Name] = e
		return claim{start: e}, nil
	case e.inst == nil, e.exclusive, exclusive && e.holders > 0:
		return claim{wait: p.changed}, nil
	default:
		e.holders++
		e.exclusive = exclusive
		return claim{hold: &Hold{pool: p, entry: e, inst: e.inst}}, nil
	}
}

func (p *Pool) startShared(ctx context.Context, e *entry, exclusive bool) (*Hold, error) {
	// The start outlives the one who asked first: others wait for it.
	inst, err := p.boot(context.WithoutCancel(ctx), e.kind)
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.wake()
	if err != nil {
		delete(p.shared, e.kind.Name)
		return nil, err
	}
	e.inst, e.holders, e.exclusive = inst, 1, exclusive
	if p.closed {
		p.discard(e)
		return nil, errStopping
	}
	return &Hold{pool: p, entry: e, inst: inst}, nil
}

// Own starts a private server.
func (p *Pool) Own(ctx context.Context, name string) (*Hold, error) {
	kind, err := p.check(ctx, name)
	if err != nil {
		return nil, err
	}
	e := &entry{kind: kind, holders: 1}
	p.mu.Lock()
	p.private[e] = struct{}{}
	p.mu.Unlock()
	inst, err := p.boot(ctx, kind)
	p.mu.Lock()
	defer p.mu.Unlock()
	e.inst = inst
	switch {
	case err != nil:
		delete(p.private, e)
		return nil, err
	case p.closed:
		delete(p.private, e)
		p.discard(e)
		return nil, errStopping
	}
	return &Hold{pool: p, entry: e, inst: inst, private: true}, nil
}

// check finds the kind and gets what it needs.
func (p *Pool) check(ctx context.Context, name string) (kinds.Kind, error) {
	kind, ok := p.opts.Find(name)
	if !ok {
		return kind, fmt.Errorf("there is no server of this name")
	}
	if kind.AllInterfaces && !p.opts.AllInterfaces {
		return kind, fmt.Errorf("it listens on every interface, so it is started only in a network of its own (the supervisor's run) or by serve -all-interfaces")
	}
	return kind, p.ensure(ctx, kind)
}

func (p *Pool) ensure(ctx context.Context, kind kinds.Kind) error {
	missing := artifacts.Missing(kind.Needs)
	if len(missing) == 0 {
		return nil
	}
	if p.opts.Offline {
		return fmt.Errorf("%v was not fetched and there is no network here: run the supervisor's fetch first", missing)
	}
	return artifacts.Fetch(ctx, p.opts.Log, missing)
}

// Jars returns the class path of a kind's jars.
func (p *Pool) Jars(ctx context.Context, name string) (string, error) {
	kind, ok := p.opts.Find(name)
	if !ok || kind.Jars == nil {
		return "", fmt.Errorf("there are no jars of this name")
	}
	if err := p.ensure(ctx, kind); err != nil {
		return "", err
	}
	return kind.Jars.ClassPath(), nil
}

// Release gives a server back.
func (h *Hold) Release() {
	p := h.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.wake()
	e := h.entry
	e.holders--
	if h.private {
		delete(p.private, e)
		p.discard(e)
		return
	}
	current := p.shared[e.kind.Name] == e
	if e.touched && current {
		delete(p.shared, e.kind.Name)
		current = false
	}
	e.exclusive = false
	e.idleSince = time.Now()
	if !current && e.holders == 0 {
		p.discard(e)
	}
}

// wake lets everybody who waits look again. p.mu is held.
func (p *Pool) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Pool) logf(format string, args ...any) {
	fmt.Fprintf(p.opts.Log, "test servers: "+format+"\n", args...)
}
