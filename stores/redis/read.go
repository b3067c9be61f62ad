package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/offsetctl/offsetctl/offset"
)

// Read asks for all keys in one pipeline. Where a query wants every topic, a walk through the keys comes first.
func (s *Store) Read(ctx context.Context, qs []offset.Query) []offset.Answer {
	out := make([]offset.Answer, len(qs))
	asked := make([][]string, len(qs)) // the keys of each query, sorted
	for i, q := range qs {
		out[i].Expected = make([]offset.Result[offset.Stored], len(q.Expect))
		asked[i], out[i].Err = s.keys(ctx, q, out[i].Expected)
	}
	got, err := s.fetch(ctx, asked)
	for i, q := range qs {
		switch {
		case out[i].Err != nil:
		case err != nil:
			out[i].Err = s.explain("reading", err)
		default:
			s.answer(q, asked[i], got, &out[i])
		}
	}
	return out
}

// keys lists what a query is about. A position that cannot be held gets its error.
func (s *Store) keys(ctx context.Context, q offset.Query, expected []offset.Result[offset.Stored]) (keys []string, err error) {
	for k, p := range q.Expect {
		if expected[k].Err = s.holds(q.Group, p); expected[k].Err == nil {
			key, _ := s.keyOf(q.Group, p)
			keys = append(keys, key)
		}
	}
	switch {
	case q.Topics == nil || s.strings && len(q.Topics) > 0:
		found, err := s.scan(ctx, &q.Group)
		if err != nil {
			return nil, s.explain("listing the keys of group "+q.Group, err)
		}
		for _, key := range found {
			if _, topic, _, _ := s.parse(key); q.Topics == nil || slices.Contains(q.Topics, topic) {
				keys = append(keys, key)
			}
		}
	default:
		for _, t := range q.Topics {
			if p := (offset.Partition{Topic: t}); s.holds(q.Group, p) == nil {
				key, _ := s.keyOf(q.Group, p)
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// content is what one key holds.
type content struct {
	values map[string]string // by field; of a string under ""
	err    error
}

// fetch reads all keys by one pipeline: one round trip to each server.
func (s *Store) fetch(ctx context.Context, asked [][]string) (map[string]content, error) {
	got := map[string]content{}
	keys := slices.Concat(asked...)
	if len(keys) == 0 {
		return got, nil
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	hashes, texts, ttls := make([]*redis.MapStringStringCmd, len(keys)), make([]*redis.StringCmd, len(keys)), make([]*redis.DurationCmd, len(keys))
	err := s.read(ctx, "pipeline", func() error {
		cmds, err := s.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, k := range keys {
				if s.strings {
					texts[i] = p.Get(ctx, k)
				} else {
					hashes[i] = p.HGetAll(ctx, k)
				}
				ttls[i] = p.PTTL(ctx, k)
			}
			return nil
		})
		if answered(err) && !slices.ContainsFunc(cmds, func(c redis.Cmder) bool {
			return c.Err() != nil && !answered(c.Err()) || hasPrefix(c.Err(), "MOVED", "ASK")
		}) {
			return nil // each command has its own error
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, k := range keys {
		var c content
		if s.strings {
			c = contentOf(texts[i].Result())
		} else {
			c.values, c.err = hashes[i].Result()
		}
		got[k] = c
		s.expiry(k, ttls[i])
	}
	return got, nil
}

func contentOf(text string, err error) content {
	switch {
	case errors.Is(err, redis.Nil):
		return content{}
	case err != nil:
		return content{err: err}
	}
	return content{values: map[string]string{"": text}}
}

// expiry remembers keys that will vanish by themselves. Who may not ask is not told.
func (s *Store) expiry(key string, c *redis.DurationCmd) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d, err := c.Result(); err == nil && d >= time.Millisecond {
		s.expires[key] = d
	} else {
		delete(s.expires, key)
	}
}

func (s *Store) answer(q offset.Query, keys []string, got map[string]content, out *offset.Answer) {
	for k, p := range q.Expect {
		if out.Expected[k].Err != nil {
			continue
		}
		key, field := s.keyOf(q.Group, p)
		c := got[key]
		if c.err != nil {
			out.Expected[k].Err = s.explain(fmt.Sprintf("reading key %q", key), c.err)
			continue
		}
		var raw *string
		if v, ok := c.values[field]; ok {
			raw = &v
		}
		out.Expected[k].Value = s.stored(raw)
	}
	if away(out.Expected) {
		out.Err = out.Expected[0].Err
		return
	}
	for _, key := range keys {
		s.others(q, key, got[key], out)
	}
	slices.SortFunc(out.Others, func(a, b offset.Entry) int { return a.Partition.Compare(b.Partition) })
}

// away tells whether nothing could be had because of the server, as where a cluster is down: then nothing is known of the group.
func away(rs []offset.Result[offset.Stored]) bool {
	return len(rs) > 0 && !slices.ContainsFunc(rs, func(r offset.Result[offset.Stored]) bool { return !errors.Is(r.Err, offset.ErrUnreachable) })
}

// others adds what a key holds beside what was asked by name.
func (s *Store) others(q offset.Query, key string, c content, out *offset.Answer) {
	_, topic, node, _ := s.parse(key)
	if q.Topics != nil && !slices.Contains(q.Topics, topic) {
		return
	}
	if c.err != nil {
		out.Gaps = append(out.Gaps, s.explain(fmt.Sprintf("reading key %q", key), c.err))
		return
	}
	for field, raw := range c.values {
		if s.strings {
			field = node
		}
		p, ok := parseNode(topic, field)
		if !ok {
			out.Gaps = append(out.Gaps, fmt.Errorf("key %q has a field %q, which names no partition", key, field))
			continue
		}
		if _, asked := slices.BinarySearchFunc(q.Expect, p, offset.Partition.Compare); !asked {
			out.Others = append(out.Others, offset.Entry{Partition: p, Result: offset.Result[offset.Stored]{Value: s.stored(&raw)}})
		}
	}
}
