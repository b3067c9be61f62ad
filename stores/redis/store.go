package redis

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/offset"
)

// Store is one template of keys. It also is an offset.Warner.
type Store struct {
	*conn
	layout
	replicas int // that must have a write

	mu      sync.Mutex
	expires map[string]time.Duration // keys that were seen to expire
}

var (
	_ offset.Store  = (*Store)(nil)
	_ offset.Warner = (*Store)(nil)
)

// Open connects.
func Open(ctx context.Context, env offset.Env, a address.Address) (offset.Store, error) {
	l, err := parseLayout(a)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a, err)
	}
	s := &Store{layout: l, expires: map[string]time.Duration{}}
	if n := a.Get("wait-replicas"); n != "" {
		if s.replicas, err = strconv.Atoi(n); err != nil || s.replicas < 1 {
			return nil, fmt.Errorf("%s: %w: wait-replicas=%s is no number of replicas", a, offset.ErrConfig, n)
		}
	}
	if s.conn, err = dial(env, a, l.cluster); err != nil {
		return nil, err
	}
	if err := s.read(ctx, "PING", func() error { return s.Ping(ctx).Err() }); err != nil {
		return nil, errors.Join(s.explain("connecting", err), s.Close())
	}
	return s, nil
}

// Close ends the connections.
func (s *Store) Close() error { return s.UniversalClient.Close() }

// Caps tells what the layout can do. Values alone are compared: there is no room for a version.
func (s *Store) Caps() offset.Caps {
	return offset.Caps{Atomic: true, Together: s.together(), Delete: true, Queues: true}
}

// Groups looks through all keys. A template without {group} is one group, called after its first text.
func (s *Store) Groups(ctx context.Context) ([]string, []error, error) {
	if !s.grouped() {
		name := s.fill(nil, func(text string) string { return text })
		return []string{strings.Trim(name, ":*")}, nil, nil
	}
	keys, err := s.scan(ctx, nil)
	if err != nil {
		return nil, nil, s.explain("listing groups", err)
	}
	var groups []string
	for _, k := range keys {
		g, _, _, _ := s.parse(k)
		groups = append(groups, g)
	}
	slices.Sort(groups)
	return slices.Compact(groups), nil, nil
}

// scan finds the keys of a group, or of all, sorted.
func (s *Store) scan(ctx context.Context, group *string) ([]string, error) {
	var mu sync.Mutex
	var keys []string
	err := s.eachNode(ctx, func(ctx context.Context, node redis.Cmdable) error {
		var cursor uint64
		for {
			var page []string
			err := s.read(ctx, "SCAN", func() (err error) {
				page, cursor, err = node.Scan(ctx, cursor, s.pattern(group), 1000).Result()
				return err
			})
			if err != nil {
				return err
			}
			mu.Lock()
			for _, k := range page {
				if g, _, _, ok := s.parse(k); ok && (group == nil || !s.grouped() || g == *group) {
					keys = append(keys, k)
				}
			}
			mu.Unlock()
			if cursor == 0 {
				return nil
			}
		}
	})
	slices.Sort(keys)
	return slices.Compact(keys), err // SCAN may answer a key twice
}

// absent is the version of what is not there.
const absent offset.Version = "absent"

// version is of a value: the value itself, or its sum where it is long or not printable.
func version(raw string) offset.Version {
	if len(raw) <= 100 && !strings.ContainsFunc(raw, func(r rune) bool { return r < ' ' || r > '~' }) {
		return offset.Version("=" + raw)
	}
	sum := sha1.Sum([]byte(raw))
	return offset.Version("#" + hex.EncodeToString(sum[:]))
}

// stored is what a value means; nil: there is none.
func (s *Store) stored(raw *string) offset.Stored {
	if raw == nil {
		return offset.Stored{State: offset.Absent, Version: absent}
	}
	v := s.number.Stored([]byte(*raw))
	v.Version = version(*raw)
	return v
}
