package rocketmq

import (
	"context"
	"sync"
)

// busy counts what is under way, so that others can wait for what it brings.
type busy struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n is 0 again
}

// begin says that something is under way, until done is called.
func (b *busy) begin() (done func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n == 0 {
		b.idle = make(chan struct{})
	}
	b.n++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.n--; b.n == 0 {
			close(b.idle)
		}
	}
}

// wait waits until nothing is under way.
func (b *busy) wait(ctx context.Context) {
	b.mu.Lock()
	n, idle := b.n, b.idle
	b.mu.Unlock()
	if n == 0 {
		return
	}
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// met remembers the groups of which a position was read, so that they need not be asked whether they exist.
type met struct {
	mu      sync.Mutex
	groups  map[string]bool
	reading busy
}

func (m *met) add(group string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.groups == nil {
		m.groups = map[string]bool{}
	}
	m.groups[group] = true
}

// has tells whether the group was met, once what is being read at this moment has been.
func (m *met) has(ctx context.Context, group string) bool {
	m.reading.wait(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.groups[group]
}
