package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/offsetctl/offsetctl/offset"
)

var (
	_ offset.Guarded = (*Store)(nil)
	_ offset.Refuser = (*Store)(nil)
)

// allowStateful is the flag for what a framework may take for something else.
const allowStateful = "allow-stateful"

// Guard tells what speaks against a write: consumers that live, which write over it with the position that they hold in memory;
// what the layout cannot hold; and of a spout's nodes what only the spout can do, and what it takes for something else.
func (s *Store) Guard(ctx context.Context, group string, changes []offset.Change) []offset.Objection {
	if err := nodeName(group); err != nil {
		return []offset.Objection{{Text: err.Error()}}
	}
	var out []offset.Objection
	if err := s.idle(ctx, group); err != nil {
		out = append(out, offset.Objection{Text: err.Error()})
	}
	for _, c := range changes {
		if err := s.refuses(c); err != nil {
			out = append(out, offset.Objection{Text: err.Error()})
		} else if s.storm && s.anew(c.To) {
			out = append(out, offset.Objection{Allow: allowStateful,
				Text: fmt.Sprintf("%s: a spout takes 0 for no position, and begins where it is configured to, which need not be the log start", c.Partition)})
		}
	}
	return out
}

// Refuses says why a change can never be made: its names do not fit, or only a spout can make the node.
func (s *Store) Refuses(group string, c offset.Change) error {
	if err := nodeName(group); err != nil {
		return err
	}
	return s.refuses(c)
}

// refuses: a deletion by itself is possible, for a whole group can be deleted.
func (s *Store) refuses(c offset.Change) error {
	if s.storm && c.To.State == offset.Absent {
		return nil
	}
	if err := s.possible(c); err != nil || !s.storm || c.To.Raw != nil || c.To.State != offset.Set {
		return err
	}
	if _, err := s.respout(c.From.Raw, c.To.Next); err != nil {
		return fmt.Errorf("%s: %w", c.Partition, err)
	}
	return nil
}

// anew tells whether a spout takes what is written for no position. What an undo puts back was there before.
func (s *Store) anew(to offset.Stored) bool {
	return to.State == offset.Set && to.Raw == nil && (to.Next == 0 || to.Next == 1 && s.number.Last)
}

// idle tells that no consumer of Kafka's old kind lives, which has an id for as long as its session does. Who may not see the ids
// knows as much as of any other job.
func (s *Store) idle(ctx context.Context, group string) error {
	if s.storm {
		return nil
	}
	path := s.group(group) + "/ids"
	ids, _, err := s.children(ctx, path)
	live := make([]bool, len(ids))
	errs := make([]error, len(ids))
	each(len(ids), func(i int) {
		var stat *zk.Stat
		if _, stat, errs[i] = s.get(ctx, path+"/"+ids[i]); errs[i] == nil {
			live[i] = stat.EphemeralOwner != 0
		}
	})
	for _, e := range append(errs, err) {
		if e != nil && !errors.Is(e, zk.ErrNoNode) && !errors.Is(e, zk.ErrNoAuth) {
			return s.explain("looking for consumers under "+path, e)
		}
	}
	if !slices.Contains(live, true) {
		return nil
	}
	var names []string
	for i, id := range ids {
		if live[i] {
			names = append(names, id)
		}
	}
	return fmt.Errorf("group %s %w: %s has %s; stop what has these ids", group, offset.ErrLive, path, strings.Join(names, ", "))
}
