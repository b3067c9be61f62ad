package rocketmq

import (
	"context"
	"sync"
)

// met remembers the groups of which a position was read, so that they need not be asked whether they exist.
type met struct {
	mu      sync.Mutex
	groups  map[string]bool
	readers int
	idle    chan struct{} // closed when the last reader is done
}

// reading says that positions are being read, until done is called.
func (m *met) reading() (done func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.readers == 0 {
		m.idle = make(chan struct{})
	}
	m.readers++
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.readers--; m.readers == 0 {
			close(m.idle)
		}
	}
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
	m.mu.Lock()
	known, readers, idle := m.groups[group], m.readers, m.idle
	m.mu.Unlock()
	if known || readers == 0 {
		return known
	}
	select {
	case <-idle:
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.groups[group]
}
