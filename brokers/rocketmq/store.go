package rocketmq

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/offset"
)

// store is the consumer offsets that the brokers keep, each of its own queues.
type store struct{ *Cluster }

var (
	_ offset.Store        = store{}
	_ offset.Guarded      = store{}
	_ offset.Refuser      = store{}
	_ offset.GroupCreator = store{}
	_ offset.GroupDeleter = store{}
	_ offset.Warner       = store{}
)

// flushInterval is how often brokers write their offsets to disk by default. What was stored since is lost when one is killed.
const flushInterval = 5 * time.Second

// Caps: a broker compares nothing, and a position that was made absent is a stored -1, which brokers and clients take for none.
func (s store) Caps() offset.Caps {
	return offset.Caps{Delete: true, LastRead: true, Queues: true, Members: true, Settle: s.flush() + time.Second}
}

// flush is the longest interval of the brokers whose settings were read.
func (s store) flush() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	longest := flushInterval
	for _, conf := range s.configs {
		if ms, err := strconv.Atoi(conf["flushConsumerOffsetInterval"]); err == nil {
			longest = max(longest, time.Duration(ms)*time.Millisecond)
		}
	}
	return longest
}

// Close leaves the cluster open, whose connections it uses.
func (s store) Close() error { return nil }

// Groups lists the groups that some broker has a position of.
func (s store) Groups(ctx context.Context) ([]string, []error, error) {
	masters, gaps, err := s.allMasters(ctx)
	if err != nil {
		return nil, nil, err
	}
	tables := make([][]remoting.StoredOffset, len(masters))
	errs := make([]error, len(masters))
	each(len(masters), func(i int) {
		if tables[i], errs[i] = s.client.AllOffsets(ctx, masters[i]); errs[i] != nil {
			errs[i] = fmt.Errorf("groups of %s: %w", masters[i].Name, asked(masters[i], errs[i]))
		}
	})
	if err := joined(errs...); err != nil && !slices.Contains(errs, nil) {
		return nil, gaps, err
	}
	names := map[string]bool{}
	for i, table := range tables {
		if errs[i] != nil {
			gaps = append(gaps, errs[i])
		}
		for _, o := range table {
			if o.Next >= 0 && !isInternalGroup(o.Group) {
				names[o.Group] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names)), gaps, nil
}

const (
	versionNone = "none"
	// noPosition is what a stored position is set to when it shall be none.
	noPosition = -1
)

// stored is what a number in a broker's table means.
func stored(next int64) offset.Stored {
	text := strconv.FormatInt(next, 10)
	switch {
	case next >= 0:
		return offset.Stored{State: offset.Set, Next: next, Version: offset.Version(text)}
	case next == noPosition:
		return absent()
	}
	return offset.Stored{State: offset.Invalid, Raw: []byte(text), Version: offset.Version(text)}
}

func absent() offset.Stored { return offset.Stored{State: offset.Absent, Version: versionNone} }
