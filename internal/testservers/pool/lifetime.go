//go:build linux

package pool

import (
	"context"
	"fmt"
	"time"

	"github.com/offsetctl/offsetctl/internal/testservers/kinds"
	"github.com/offsetctl/offsetctl/internal/testservers/machine"
)

// StartError is a server that did not start, with the end of its log, for its
// folder is gone by the time that anybody reads this.
type StartError struct {
	Err error
	Log string
}

// Error tells why, without the log.
func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

func (p *Pool) boot(ctx context.Context, kind kinds.Kind) (*machine.Instance, error) {
	p.makeRoom(kind)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case p.boots <- struct{}{}:
	}
	defer func() { <-p.boots }()
	begun := time.Now()
	inst, err := machine.NewInstance(p.opts.Dir, kind.Name)
	if err != nil {
		return nil, err
	}
	if err := kind.Start(ctx, inst); err != nil {
		last, _ := inst.Log("")
		p.logf("%s did not start: %v", kind.Name, err)
		if removeErr := inst.Discard(); removeErr != nil {
			p.logf("%s: its folder stays: %v", kind.Name, removeErr)
		}
		return nil, &StartError{Err: fmt.Errorf("it did not start: %w", err), Log: last}
	}
	p.logf("%s is up after %.1f s: %v", kind.Name, time.Since(begun).Seconds(), inst.Addr)
	return inst, nil
}

// discard ends a server in the background. p.mu may be held.
func (p *Pool) discard(e *entry) {
	inst, name := e.inst, e.kind.Name
	if inst == nil {
		return
	}
	e.inst = nil
	go p.end(inst, name)
}

func (p *Pool) end(inst *machine.Instance, name string) {
	if err := inst.Discard(); err != nil {
		p.logf("%s: its folder stays: %v", name, err)
		return
	}
	p.logf("%s is stopped", name)
}

// makeRoom stops idle servers, longest unused first, until the new one fits.
// Where all are in use it starts anyway: a test may hold one and wait for the
// next.
func (p *Pool) makeRoom(kind kinds.Kind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.used()+kind.Memory > p.opts.Memory {
		idle := p.longestIdle()
		if idle == nil {
			return
		}
		p.logf("%s makes room for %s", idle.kind.Name, kind.Name)
		delete(p.shared, idle.kind.Name)
		p.discard(idle)
	}
}

func (p *Pool) used() int {
	sum := 0
	for _, e := range p.shared {
		if e.inst != nil {
			sum += e.kind.Memory
		}
	}
	for e := range p.private {
		if e.inst != nil {
			sum += e.kind.Memory
		}
	}
	return sum
}

func (p *Pool) longestIdle() *entry {
	var oldest *entry
	for _, e := range p.shared {
		if e.inst == nil || e.holders > 0 {
			continue
		}
		if oldest == nil || e.idleSince.Before(oldest.idleSince) {
			oldest = e
		}
	}
	return oldest
}

// StopIdle looks for servers that nobody has held for Options.Idle until the
// context ends.
func (p *Pool) StopIdle(ctx context.Context) {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			p.stopIdleAt(now)
		}
	}
}

func (p *Pool) stopIdleAt(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, e := range p.shared {
		if e.inst != nil && e.holders == 0 && now.Sub(e.idleSince) >= p.opts.Idle {
			delete(p.shared, name)
			p.discard(e)
		}
	}
}

// Close ends every server and waits for that.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	var ends []func()
	take := func(e *entry) {
		if inst := e.inst; inst != nil {
			e.inst = nil
			ends = append(ends, func() { p.end(inst, e.kind.Name) })
		}
	}
	for name, e := range p.shared {
		take(e)
		delete(p.shared, name)
	}
	for e := range p.private {
		take(e)
	}
	p.wake()
	p.mu.Unlock()
	done := make(chan struct{})
	for _, end := range ends {
		go func() { end(); done <- struct{}{} }()
	}
	for range ends {
		<-done
	}
}
