package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

// groupStore is the store of consumer groups.
type groupStore struct{ *Cluster }

// Caps: a broker compares nothing before it writes, and answers for each partition alone.
func (groupStore) Caps() offset.Caps {
	return offset.Caps{Together: offset.EachAlone, Delete: true, Metadata: true, Members: true}
}

// Close leaves the connections to the Cluster.
func (groupStore) Close() error { return nil }

// Groups lists the names of all groups.
func (g groupStore) Groups(ctx context.Context) ([]string, []error, error) {
	gs, gaps, err := g.Cluster.Groups(ctx)
	names := make([]string, len(gs))
	for i := range gs {
		names[i] = gs[i].Name
	}
	return names, gaps, err
}

// DeletesGroups: a broker can delete every group that nobody is in.
func (groupStore) DeletesGroups() error { return nil }

// DeleteGroup deletes a group without members and all that it has committed: a broker compares nothing.
func (g groupStore) DeleteGroup(ctx context.Context, group string, _ []offset.Change) ([]offset.Result[offset.Stored], error) {
	return nil, g.delete(ctx, group)
}

func (g groupStore) delete(ctx context.Context, group string) error {
	for try := 0; ; try++ {
		f := g.find(ctx, []string{group})[0]
		if f.err != nil {
			return f.err
		}
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Groups = []string{group}
		r, err := once[*kmsg.DeleteGroupsResponse](ctx, g.Cluster, f.node, req)
		switch {
		case err != nil:
			return g.deleted(ctx, group, err)
		case len(r.Groups) != 1:
			return leftOut("group " + group)
		case moved(r.Groups[0].ErrorCode) && try < len(patience) && wait(ctx, patience[try]):
			g.forget(group, f)
			continue
		}
		return refused("group "+group, "DELETE", r.Groups[0].ErrorCode, nil)
	}
}

// deleted looks whether a deletion without an answer has happened.
func (g groupStore) deleted(ctx context.Context, group string, cause error) error {
	ctx, cancel := afterwards(ctx)
	defer cancel()
	switch d := g.Describe(ctx, []string{group})[0]; {
	case d.Err != nil:
		return fmt.Errorf("group %s %w: %w; it could not be looked at again: %w", group, offset.ErrOutcome, cause, d.Err)
	case d.Value.Phase == offset.Missing:
		return nil
	}
	return fmt.Errorf("group %s is still there: %w", group, cause)
}
