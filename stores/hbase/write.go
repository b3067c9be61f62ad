package hbase

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/hbase/hrpc"
)

const (
	// maxRounds: a write, and two cures of what it left.
	maxRounds = 3
	lookTime  = 5 * time.Second
	// markerPause outlives the millisecond that a delete marker shares with a put, and hides it; longPause is for clocks that
	// differ a little.
	markerPause = 5 * time.Millisecond
	longPause   = 20 * markerPause
)

// Write reads the rows, changes each in one call, and reads every cell back: HBase calls writes successful that no reader sees.
func (s *Store) Write(ctx context.Context, group string, changes []offset.Change) []offset.Result[offset.Stored] {
	out := make([]offset.Result[offset.Stored], len(changes))
	rows := s.split(group, changes, out)
	for i, got := range s.get(ctx, keysOf(rows)) {
		rows[i].plan(s, got)
	}
	for round := range maxRounds {
		open := slices.DeleteFunc(slices.Clone(rows), func(r *rowWrite) bool { return r.finished() })
		if len(open) == 0 {
			break
		}
		s.send(ctx, open, round)
		for i, got := range s.readBack(ctx, keysOf(open)) {
			open[i].judge(ctx, s, got)
		}
	}
	for _, r := range rows {
		r.giveUp(s)
	}
	return out
}

// split makes a row of the changes to each topic. Names that cannot be rows are answered at once.
func (s *Store) split(group string, changes []offset.Change, out []offset.Result[offset.Stored]) (rows []*rowWrite) {
	for i := 0; i < len(changes); {
		topic := changes[i].Partition.Topic
		end := i
		for end < len(changes) && changes[end].Partition.Topic == topic {
			end++
		}
		key, err := s.layout.row(group, topic)
		if err != nil {
			for k := i; k < end; k++ {
				out[k].Err = fmt.Errorf("%s: %w", changes[k].Partition, err)
			}
		} else {
			rows = append(rows, newRowWrite(key, topic, changes[i:end], out[i:end]))
		}
		i = end
	}
	return rows
}

func keysOf(rows []*rowWrite) (keys [][]byte) {
	for _, r := range rows {
		keys = append(keys, r.key)
	}
	return keys
}

// send makes one attempt at each row, all of them under way together.
func (s *Store) send(ctx context.Context, rows []*rowWrite, round int) {
	now := s.now()
	switch hidden := slices.ContainsFunc(rows, func(r *rowWrite) bool { return r.hidden }); {
	case hidden && round > 1:
		s.pause(ctx, longPause)
	case hidden, slices.ContainsFunc(rows, func(r *rowWrite) bool { return r.deletesFresh(now) }):
		s.pause(ctx, markerPause)
	}
	var wg sync.WaitGroup
	for _, r := range rows {
		wg.Go(func() { r.send(ctx, s) })
	}
	wg.Wait()
}

// readBack looks at the rows, also when the caller's time is up: what was sent must not stay unknown.
func (s *Store) readBack(ctx context.Context, keys [][]byte) []hrpc.RowResult {
	if ctx.Err() == nil {
		got := s.client.Get(ctx, keys)
		if ctx.Err() == nil || !slices.ContainsFunc(got, func(r hrpc.RowResult) bool { return r.Err != nil }) {
			return got
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.look)
	defer cancel()
	return s.client.Get(ctx, keys)
}

// mutate sends one mutation and remembers a server that is too old for conditions over several columns.
func (s *Store) mutate(ctx context.Context, m hrpc.Mutation) (done bool, err error) {
	done, err = s.client.Mutate(ctx, m)
	if errors.Is(err, hrpc.ErrNoFilter) {
		s.cellwise.Store(true)
	}
	return done, err
}
