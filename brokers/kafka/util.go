package kafka

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// each runs f for 0 to n-1, all side by side, and waits.
func each(n int, f func(i int)) {
	if n == 1 {
		f(0)
		return
	}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// leftOut is a part of a question that the answer says nothing about.
func leftOut(what string) error { return fmt.Errorf("%s: the broker left it out of its answer", what) }

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// wait answers false where ctx ended before.
func wait(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return ctx.Err() == nil
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
