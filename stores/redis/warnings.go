package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/offsetctl/offsetctl/offset"
)

// Warnings tells of what may lose positions: eviction, expiry, no persistence, replicas that lag.
func (s *Store) Warnings(ctx context.Context) []offset.Warning {
	var mu sync.Mutex
	var out []offset.Warning
	err := s.eachNode(ctx, func(ctx context.Context, node redis.Cmdable) error {
		var text string
		err := s.read(ctx, "INFO", func() (err error) {
			text, err = node.Info(ctx).Result() // one request: several sections need a newer server
			return err
		})
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		out = append(out, dangers(info(text))...)
		return nil
	})
	if err = s.explain("asking INFO", err); err != nil {
		next := "look at its maxmemory-policy and appendonly yourself"
		if errors.Is(err, offset.ErrDenied) {
			next = "let the user run INFO, or " + next
		}
		out = append(out, offset.Warning{Text: fmt.Sprintf("it cannot be told whether this Redis may evict or forget positions: %v", err), Next: next})
	}
	slices.SortFunc(out, func(a, b offset.Warning) int { return strings.Compare(a.Text, b.Text) })
	return append(slices.Compact(out), s.vanishing()...)
}

// info reads what INFO answers.
func info(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if name, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			out[name] = v
		}
	}
	return out
}

// dangers of one server.
func dangers(i map[string]string) (out []offset.Warning) {
	add := func(text, next string) { out = append(out, offset.Warning{Text: text, Next: next}) }
	switch policy := i["maxmemory_policy"]; {
	case strings.HasPrefix(policy, "allkeys-"):
		add("maxmemory-policy is "+policy+": this Redis drops positions when its memory is full, and says nothing", "CONFIG SET maxmemory-policy noeviction")
	case policy == "":
		add("it cannot be told whether this Redis may evict positions", "look at maxmemory-policy")
	}
	if i["aof_enabled"] == "0" {
		add("the append-only file is off: positions written since the last snapshot are lost when this Redis dies", "CONFIG SET appendonly yes")
	}
	switch {
	case i["role"] == "slave":
		add("this is a replica: it may lag, and takes no writes", "name the master, or the sentinels with master=")
	case i["connected_slaves"] != "" && i["connected_slaves"] != "0" && i["min_slaves_good_slaves"] == "":
		add("a failover may lose positions that no replica has yet", "set min-replicas-to-write, or add wait-replicas=1 to the address")
	}
	return out
}

// vanishing tells of the keys that reading saw to expire.
func (s *Store) vanishing() (out []offset.Warning) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for k := range s.expires {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		out = append(out, offset.Warning{
			Text: fmt.Sprintf("key %q expires in %s: its positions vanish then, and a job begins anew", k, s.expires[k].Round(time.Second)),
			Next: "PERSIST it, and let the job set no expiry",
		})
	}
	return out
}
