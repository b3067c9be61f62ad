//go:build linux

package pool

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/internal/testservers/kinds"
	"github.com/offsetctl/offsetctl/internal/testservers/machine"
	"github.com/offsetctl/offsetctl/internal/testservers/wire"
)

// newPool has two servers that only sleep, small and large, and one that ends
// at once.
func newPool(t *testing.T, opts Options) *Pool {
	t.Helper()
	sleeper := func(name string, memory int) kinds.Kind {
		return kinds.Kind{Name: name, Memory: memory, Start: func(ctx context.Context, i *machine.Instance) error {
			return i.Run(ctx, machine.Node{Name: "node", Command: []string{"sleep", "600"}})
		}}
	}
	broken := kinds.Kind{Name: "broken", Start: func(ctx context.Context, i *machine.Instance) error {
		return i.Run(ctx, machine.Node{Name: "node", Command: []string{"sh", "-c", "echo no port is free; exit 3"}, ReadyLine: "ready"})
	}}
	all := map[string]kinds.Kind{"small": sleeper("small", 10), "large": sleeper("large", 90), "broken": broken}
	opts.Dir, opts.Log = t.TempDir(), t.Output()
	opts.Find = func(name string) (kinds.Kind, bool) { k, ok := all[name]; return k, ok }
	if opts.Memory == 0 {
		opts.Memory = 1000
	}
	p := New(opts)
	t.Cleanup(p.Close)
	return p
}

func share(t *testing.T, p *Pool, name string, exclusive bool) *Hold {
	t.Helper()
	h, err := p.Share(t.Context(), name, exclusive)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestSharedServerIsOneForAll(t *testing.T) {
	p := newPool(t, Options{})
	holds := make(chan *Hold)
	for range 5 {
		go func() {
			h, err := p.Share(t.Context(), "small", false)
			if err != nil {
				t.Error(err)
			}
			holds <- h
		}()
	}
	first := <-holds
	for range 4 {
		if h := <-holds; h.Instance() != first.Instance() {
			t.Errorf("a second server was started for the same name")
		}
	}
	first.Release()
	if again := share(t, p, "small", false); again.Instance() != first.Instance() {
		t.Errorf("the server was not kept for the next test")
	}
}

func TestSharedServerIsNotTouched(t *testing.T) {
	h := share(t, newPool(t, Options{}), "small", false)
	_, err := h.do(t.Context(), wire.Request{Op: wire.Kill})
	if err == nil || !strings.Contains(err.Error(), "NeedOwn") {
		t.Errorf("killing a shared server: %v, want a refusal that names NeedOwn", err)
	}
	if h.Instance().Ended() != "" {
		t.Errorf("the server was killed")
	}
}

func TestExclusiveWaitsAndKeepsOthersOut(t *testing.T) {
	p := newPool(t, Options{})
	shared := share(t, p, "small", false)
	alone := make(chan *Hold, 1)
	go func() {
		h, err := p.Share(t.Context(), "small", true)
		if err != nil {
			t.Error(err)
		}
		alone <- h
	}()
	select {
	case <-alone:
		t.Fatal("an exclusive hold beside a shared one")
	case <-time.After(50 * time.Millisecond):
	}
	shared.Release()
	h := <-alone
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := p.Share(ctx, "small", false); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a shared hold beside an exclusive one: %v", err)
	}
	if _, err := h.do(t.Context(), wire.Request{Op: wire.Kill, Node: "node"}); err != nil {
		t.Fatal(err)
	}
	h.Release()
	if next := share(t, p, "small", false); next.Instance() == h.Instance() {
		t.Errorf("a server with a killed node was shared again")
	}
}

func TestOwnServerIsPrivateAndThrownAway(t *testing.T) {
	p := newPool(t, Options{})
	shared := share(t, p, "small", false)
	own, err := p.Own(t.Context(), "small")
	if err != nil {
		t.Fatal(err)
	}
	if own.Instance() == shared.Instance() {
		t.Fatal("the shared server was given as a private one")
	}
	for _, op := range []wire.Op{wire.Kill, wire.Start, wire.Pause, wire.Resume, wire.Stop, wire.Start} {
		if _, err := own.do(t.Context(), wire.Request{Op: op, Node: "node"}); err != nil {
			t.Errorf("%s: %v", op, err)
		}
	}
	own.Release()
	awaitGone(t, own)
	if shared.Instance().Ended() != "" {
		t.Errorf("the shared server went with the private one")
	}
}

// awaitGone waits until the server's folder is removed, the last of its end.
func awaitGone(t *testing.T, h *Hold) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(h.Instance().Dir); errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%s was not thrown away", h.Kind().Name)
		}
	}
}

func TestServerThatEndedByItselfIsReplaced(t *testing.T) {
	p := newPool(t, Options{})
	first := share(t, p, "small", false)
	if err := first.Instance().Do(t.Context(), wire.Kill, "node"); err != nil {
		t.Fatal(err)
	}
	second := share(t, p, "small", false)
	if second.Instance() == first.Instance() {
		t.Errorf("a dead server was given out")
	}
	first.Release()
	awaitGone(t, first)
	if second.Instance().Ended() != "" {
		t.Errorf("the new server went with the dead one")
	}
}

func TestIdleServersMakeRoom(t *testing.T) {
	p := newPool(t, Options{Memory: 100})
	idle := share(t, p, "small", false)
	idle.Release()
	used := share(t, p, "large", false)
	if idle.Instance().Ended() != "" {
		t.Errorf("an idle server was stopped although both fit")
	}
	another, err := p.Own(t.Context(), "large")
	if err != nil {
		t.Fatalf("there is no room, and nobody idle any more: %v; it has to start all the same", err)
	}
	awaitGone(t, idle)
	if used.Instance().Ended() != "" || another.Instance().Ended() != "" {
		t.Errorf("a server was stopped while it was held")
	}
}

func TestIdleServerIsStopped(t *testing.T) {
	p := newPool(t, Options{Idle: time.Minute})
	idle, used := share(t, p, "small", false), share(t, p, "large", false)
	idle.Release()
	p.stopIdleAt(time.Now().Add(30 * time.Second))
	if idle.Instance().Ended() != "" {
		t.Errorf("stopped before its time")
	}
	p.stopIdleAt(time.Now().Add(2 * time.Minute))
	awaitGone(t, idle)
	if used.Instance().Ended() != "" {
		t.Errorf("a server was stopped while it was held")
	}
}

func TestFailedStartTellsTheLog(t *testing.T) {
	p := newPool(t, Options{})
	_, err := p.Share(t.Context(), "broken", false)
	var start *StartError
	if !errors.As(err, &start) || !strings.Contains(start.Log, "no port is free") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("the failed start is told as %v with %+v", err, start)
	}
	if left, err := os.ReadDir(p.opts.Dir); err != nil || len(left) > 0 {
		t.Errorf("the failed start left %v (%v)", left, err)
	}
}

func TestUnknownServerAndOpenInterfaces(t *testing.T) {
	p := newPool(t, Options{})
	find := p.opts.Find
	p.opts.Find = func(name string) (kinds.Kind, bool) { k, ok := find(name); k.AllInterfaces = true; return k, ok }
	for _, name := range []string{"small", "nosuch"} {
		if _, err := p.Share(t.Context(), name, false); err == nil {
			t.Errorf("%s was started", name)
		}
	}
	p.opts.AllInterfaces = true
	share(t, p, "small", false)
}
