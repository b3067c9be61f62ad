package cmd

import (
	"context"
	"fmt"
	"slices"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/repair"
	"github.com/spf13/cobra"
)

func newGroupsDelete(f *factory) *cobra.Command {
	var w writeFlags
	c := &cobra.Command{
		Use:   "delete GROUP",
		Short: "Delete a group with everything it has stored",
		Long: `Deletes a group that has no members, with everything it has stored. What it had is journalled first; undo brings the positions
back, not the group's settings. It is also the only way to be rid of an orphan in a Kafka group before it expires.

` + exitCodesHelp(),
		Example: "  offsetctl groups delete old-job --dry-run\n  offsetctl groups delete old-job --yes --reason retired",
		Args:    oneArg("one group"),
		RunE: func(c *cobra.Command, args []string) error {
			return runGroupsDelete(c.Context(), f, &w, args[0])
		},
		ValidArgsFunction: f.completeGroups,
	}
	c.Flags().StringVar(&w.planOut, "plan-out", "", "save the plan to FILE and write nothing else")
	w.flags(c)
	return c
}

func runGroupsDelete(ctx context.Context, f *factory, w *writeFlags, group string) error {
	x, err := f.newWriting(ctx, w, group)
	if err != nil {
		return err
	}
	cannot := fmt.Errorf("deleting a group %w", offset.ErrUnsupported)
	if d, ok := x.place.Store.(offset.GroupDeleter); ok {
		cannot = d.DeletesGroups()
	}
	plan := func(ctx context.Context) (*repair.Plan, error) {
		ctx, cancel := f.step(ctx)
		defer cancel()
		sv, err := inspect.Take(ctx, x.broker, x.place.Store, x.place.own, inspect.Ask{Groups: []string{group}, Isolation: x.iso, Now: f.sys.Now()})
		if err != nil {
			return nil, err
		}
		p, refusal := repair.MakeDelete(inspect.Classify(sv, inspect.Policy{Now: f.sys.Now()}), cannot, x.origin)
		if refusal == nil && !x.place.own && p.Totals().Changes == 0 {
			refusal = x.place.knows(ctx, group)
		}
		return p, refusal
	}
	x.replan = plan
	p, refusal := plan(ctx)
	if p == nil {
		return refusal
	}
	return x.carryOut(ctx, p, refusal)
}

// knows is nil where the store has something of a group of which it has no position. What the broker knows of the group is
// another matter.
func (p *place) knows(ctx context.Context, group string) error {
	names, _, err := p.Groups(ctx)
	if err != nil || slices.Contains(names, group) {
		return err
	}
	return &repair.Refused{Reasons: []repair.Reason{{Cause: repair.CauseNames, Group: group, Err: offset.ErrUnknownName,
		Text: fmt.Sprintf("group %s has nothing stored in %s", group, p.title), Next: "see groups"}}}
}
