package repair

import (
	"context"
	"fmt"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// pollEmpty is how often WaitEmpty asks.
const pollEmpty = 500 * time.Millisecond

// WaitEmpty waits until none of the groups is live, at most limit. What was planned before may be wrong afterwards, for the last
// members commit when they leave: plan anew, see Wider, and apply at once. Its error is a *Refused that names who still lives,
// or ctx's.
func (r *Run) WaitEmpty(ctx context.Context, groups []string, limit time.Duration) error {
	until := r.Now().Add(limit)
	for {
		var reasons []Reason
		members := 0
		for i, g := range r.Broker.Describe(ctx, groups) {
			switch {
			case g.Err != nil:
				reasons = append(reasons, Reason{Cause: CauseUnknown, Group: groups[i], Err: g.Err, Text: fmt.Sprintf("group %s: whether it is live could not be told: %v", groups[i], g.Err)})
			case g.Value.Phase == offset.Live || g.Value.Phase == offset.PhaseUnknown:
				reasons = append(reasons, LiveReason(g.Value))
				members += len(g.Value.Members)
			}
		}
		if len(reasons) == 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("interrupted, nothing was written: %w", err)
		}
		if left := until.Sub(r.Now()); left <= 0 {
			return refused(reasons)
		}
		if r.Progress != nil {
			r.Progress("waiting for the group to be empty", 0, members)
		}
		if err := r.Wait(ctx, pollEmpty); err != nil {
			return fmt.Errorf("interrupted, nothing was written: %w", err)
		}
	}
}
