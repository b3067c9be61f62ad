package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

// coordinator is the broker that keeps a group. A look-up is shared by all who ask for the group meanwhile.
type coordinator struct {
	done chan struct{} // closed when node and err are there
	node int32
	err  error
	kind string // of the group where a listing told it
}

type coordinators map[string]*coordinator

// patience is how long a coordinator that is not available is waited for: the first question makes a fresh cluster create its
// offsets topic.
var patience = []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond}

// find answers each group's coordinator, in order; what is not known yet is looked up, all of it side by side.
func (c *Cluster) find(ctx context.Context, groups []string) []*coordinator {
	c.warm()
	out := make([]*coordinator, len(groups))
	var mine []*coordinator
	var names []string
	c.mu.Lock()
	if c.coords == nil {
		c.coords = coordinators{}
	}
	for i, g := range groups {
		f := c.coords[g]
		if f == nil {
			f = &coordinator{done: make(chan struct{})}
			c.coords[g] = f
			mine, names = append(mine, f), append(names, g)
		}
		out[i] = f
	}
	c.mu.Unlock()
	if len(mine) > 0 {
		c.look(ctx, names, mine)
	}
	for i, f := range out {
		select {
		case <-f.done:
		case <-ctx.Done():
			out[i] = &coordinator{err: fmt.Errorf("group %s: its coordinator %w: %w", groups[i], offset.ErrUnreachable, ctx.Err())}
		}
	}
	return out
}

// look asks until each group has a coordinator or an error that stays.
func (c *Cluster) look(ctx context.Context, names []string, fs []*coordinator) {
	for try := 0; ; try++ {
		if c.offers.Load().has(keyFindCoordinator, 4) {
			c.lookTogether(ctx, names, fs)
		} else {
			c.lookEach(ctx, names, fs)
		}
		// What is settled is handed out; the rest is asked again.
		n := 0
		for i, f := range fs {
			if f.err != nil && errors.Is(f.err, kerr.CoordinatorNotAvailable) && try < len(patience) && ctx.Err() == nil {
				names[n], fs[n] = names[i], f
				n++
				continue
			}
			if f.err != nil {
				c.forget(names[i], f)
			}
			close(f.done)
		}
		if names, fs = names[:n], fs[:n]; n == 0 {
			return
		}
		wait(ctx, patience[try])
	}
}

func (c *Cluster) lookTogether(ctx context.Context, names []string, fs []*coordinator) {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKeys = names
	r, err := request[*kmsg.FindCoordinatorResponse](ctx, c, bootNode, req)
	for i, f := range fs {
		switch k := coordinatorOf(r, i, names[i]); {
		case err != nil:
			f.err = err
		case k == nil:
			f.err = leftOut("the coordinator of group " + names[i])
		default:
			f.node, f.err = k.NodeID, refused("group "+names[i], "DESCRIBE", k.ErrorCode, nil)
		}
	}
}

// coordinatorOf finds a group in the answer, which is usually in the question's order.
func coordinatorOf(r *kmsg.FindCoordinatorResponse, i int, name string) *kmsg.FindCoordinatorResponseCoordinator {
	if r == nil {
		return nil
	}
	if i < len(r.Coordinators) && r.Coordinators[i].Key == name {
		return &r.Coordinators[i]
	}
	for k := range r.Coordinators {
		if r.Coordinators[k].Key == name {
			return &r.Coordinators[k]
		}
	}
	return nil
}

func (c *Cluster) lookEach(ctx context.Context, names []string, fs []*coordinator) {
	each(len(fs), func(i int) {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKey = names[i]
		r, err := request[*kmsg.FindCoordinatorResponse](ctx, c, bootNode, req)
		if err != nil {
			fs[i].err = err
			return
		}
		fs[i].node, fs[i].err = r.NodeID, refused("group "+names[i], "DESCRIBE", r.ErrorCode, nil)
	})
}

// forget drops a look-up, so that the next one asks anew.
func (c *Cluster) forget(group string, f *coordinator) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.coords[group] == f {
		delete(c.coords, group)
	}
}

// listed notes what a broker's list of groups tells: it lists the groups that it coordinates.
func (c *Cluster) listed(node int32, groups []kmsg.ListGroupsResponseGroup) {
	done := make(chan struct{})
	close(done)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.coords == nil {
		c.coords = make(coordinators, len(groups))
	}
	for i := range groups {
		c.coords[groups[i].Group] = &coordinator{done: done, node: node, kind: kindOfGroup(&groups[i])}
	}
}

// kindOf is the kind of the group, "" while nothing has told it.
func (c *Cluster) kindOf(group string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.coords[group]; f != nil {
		return f.kind
	}
	return ""
}

// moved tells whether a code says that another broker keeps the group by now.
func moved(code int16) bool {
	return code == kerr.NotCoordinator.Code || code == kerr.CoordinatorNotAvailable.Code || code == kerr.CoordinatorLoadInProgress.Code
}

// byNode splits indexes of groups by the node that keeps them.
func byNode(fs []*coordinator) (nodes []int32, members [][]int) {
	for i, f := range fs {
		if f.err != nil {
			continue
		}
		k := 0
		for k < len(nodes) && nodes[k] != f.node {
			k++
		}
		if k == len(nodes) {
			nodes, members = append(nodes, f.node), append(members, nil)
		}
		members[k] = append(members[k], i)
	}
	return nodes, members
}
