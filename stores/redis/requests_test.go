package redis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest/storetest"
)

// trips counts the batches that a client sends, each of them one round trip.
type trips struct {
	redis.Hook
	calls []string
}

func (h *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		h.calls = append(h.calls, c.Name())
		return next(ctx, c)
	}
}

func (h *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cs []redis.Cmder) error {
		h.calls = append(h.calls, "pipeline")
		return next(ctx, cs)
	}
}

func (h *trips) DialHook(next redis.DialHook) redis.DialHook { return next }

// A group of ten topics of a hundred partitions is read by one round trip, and written by one script.
func TestRequests(t *testing.T) {
	p := connect(t, &redis.UniversalOptions{Addrs: []string{testservers.Need(t, "redis").Addr["plain"]}})
	for _, options := range []string{"", "?type=string"} {
		s := open(t, quiet(), "redis://"+p.addr+options)
		t.Cleanup(func() { _ = s.Close() })
		group := p.prefix + strings.TrimPrefix(options, "?type=")
		var at []offset.Partition
		for topic := range 10 {
			for i := range int32(100) {
				at = append(at, offset.Partition{Topic: fmt.Sprint("t", topic), Index: i})
			}
		}
		h := &trips{}
		s.AddHook(h)
		for round := range 3 { // the first one connects
			h.calls = nil
			ch := storetest.Changes(t, s, group, at, make([]int64, len(at))...)
			if want := []string{"pipeline"}; round > 0 && !slices.Equal(h.calls, want) {
				t.Errorf("%q: a read took %v", options, h.calls)
			}
			for i := range ch {
				ch[i].To.Next = int64(round*1000 + i)
			}
			h.calls = nil
			storetest.Write(t, s, group, ch)
			if n := len(h.calls); n > 2 || n == 0 || !strings.HasPrefix(h.calls[0], "eval") {
				t.Errorf("%q: a write took %v", options, h.calls)
			}
		}
	}
}
