package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/offsetctl/offsetctl/internal/render"
	"github.com/offsetctl/offsetctl/positions"
	"github.com/offsetctl/offsetctl/repair"
	"github.com/spf13/cobra"
)

func newApply(f *factory) *cobra.Command {
	var w writeFlags
	var clamp bool
	c := &cobra.Command{
		Use:   "apply FILE",
		Short: "Carry out a saved plan, or go on with one that was interrupted",
		Long: `Carries out a plan that reset or copy saved with --plan-out, or an undo that --undo-out saved. The ranges are measured
again: the plan's age and today's effect are shown, and a target that retention has passed is refused (--clamp: the log start).
A plan of another cluster or store, one that was edited, and one whose positions moved since are refused.

Applying the same plan again goes on where it stopped: what is already there is left.

` + exitCodesHelp(),
		Example: `  offsetctl apply plan.json
  offsetctl apply plan.json --yes --reason INC-4711`,
		Args: oneArg("the plan's file"),
		RunE: func(c *cobra.Command, args []string) error { return runApply(c.Context(), f, &w, args[0], clamp) },
	}
	c.Flags().BoolVar(&clamp, "clamp", false, "move a target that retention has passed to the log start")
	w.flags(c, repair.AllowSkip, repair.AllowNewGroup, repair.Overwrite, "create-group")
	return c
}

func runApply(ctx context.Context, f *factory, w *writeFlags, file string, clamp bool) error {
	b, err := readPlan(file)
	if err != nil {
		return usage(err)
	}
	p, err := repair.Decode(b)
	if err != nil {
		return err
	}
	x, err := f.newWriting(ctx, w, first(groupsOf(p.Rows())))
	if err != nil {
		return err
	}
	x.clamp = clamp
	if x.origin.Reason == "" {
		x.origin.Reason = p.Reason
	}
	sv, err := x.look(ctx, p.Rows())
	if err != nil {
		return err
	}
	if err := x.stands(ctx, p, sv); err != nil { // before anything is said of its rows, which may be another cluster's
		return err
	}
	f.hint("plan made %s ago; what follows is its effect today", positions.Span(f.sys.Now().Sub(p.Made)))
	fresh, refusal := repair.Renew(p, sv, clamp)
	if fresh == nil {
		return refusal
	}
	return x.carryOut(ctx, fresh, refusal)
}

func readPlan(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxPlan+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if len(b) > maxPlan {
		return nil, fmt.Errorf("%s is too large for a plan", file)
	}
	return b, nil
}

const maxPlan = 256 << 20

func newUndo(f *factory) *cobra.Command {
	var w writeFlags
	var only, also bool
	c := &cobra.Command{
		Use:   "undo [ID]",
		Short: "Take a write back",
		Long: `Takes back the last write that is in force to this broker and the stores of its context (with --store: to that store), or the
one with this journal id: positions (also unusable ones), metadata, and absence where the store can delete. It shows what was
there before, what was written and what is there now; where a consumer has moved on it refuses as a whole and offers
--only-unmoved and --also-moved with their cost. An undo is a write like any other: it is planned, asked, journalled, verified,
and can itself be undone.

` + exitCodesHelp(),
		Example: `  offsetctl undo
  offsetctl undo 17 --dry-run
  offsetctl undo 17 --only-unmoved --yes`,
		Args: maxArgs(1, "at most one journal id"),
		RunE: func(c *cobra.Command, args []string) error {
			if only && also {
				return usagef("--only-unmoved and --also-moved exclude each other")
			}
			var id int64
			if len(args) == 1 {
				n, err := strconv.ParseUint(args[0], 10, 31)
				if err != nil || n == 0 {
					return usagef("%q is no journal id (see: offsetctl history)", args[0])
				}
				id = int64(n)
			}
			return runUndo(c.Context(), f, &w, id, repair.UndoOptions{OnlyUnmoved: only, AlsoMoved: also})
		},
	}
	c.Flags().BoolVar(&only, "only-unmoved", false, "restore only the partitions where nobody has moved on")
	c.Flags().BoolVar(&also, "also-moved", false, "restore also the partitions where somebody has moved on")
	c.Flags().StringVar(&w.planOut, "plan-out", "", "save the undo's plan to FILE and write nothing else")
	w.flags(c, repair.AllowNewGroup, repair.AllowSkip)
	return c
}

func runUndo(ctx context.Context, f *factory, w *writeFlags, id int64, o repair.UndoOptions) error {
	j, err := f.openJournal(ctx)
	if err != nil {
		return err
	}
	var e *repair.Entry
	if id == 0 {
		e, err = f.lastEntry(ctx, j)
	} else if e, err = j.Entry(ctx, id); errors.Is(err, repair.ErrNoEntry) {
		err = usagef("there is no entry %d in the journal %s (see: offsetctl history)", id, j.Name())
	}
	if err != nil {
		return err
	}
	x, err := f.newWriting(ctx, w, first(groupsOf(e.Rows())))
	if err != nil {
		return err
	}
	o.Origin = x.origin
	plan := func(ctx context.Context) (*repair.Plan, error) {
		sv, err := x.look(ctx, e.Rows())
		if err != nil {
			return nil, err
		}
		return repair.MakeUndo(e, sv, o)
	}
	x.replan = plan
	p, refusal := plan(ctx)
	if p == nil {
		return refusal
	}
	if x.human() && !f.global.quiet {
		render.Note(f.sys.Out, undoHead(e, f.sys.Now()))
	}
	return x.carryOut(ctx, p, refusal)
}

// lastEntry is the newest write that is in force to a place where this command would write: of each group's own store.
func (f *factory) lastEntry(ctx context.Context, j *repair.Journal) (*repair.Entry, error) {
	here, err := f.storeName("")
	if err != nil {
		return nil, err
	}
	es, gaps, err := j.History(ctx, repair.Filter{})
	if err != nil {
		return nil, err
	}
	es = slices.DeleteFunc(es, func(e *repair.Entry) bool {
		name, err := f.storeName(first(groupsOf(e.Rows())))
		return err != nil || name != e.Store
	})
	if e := repair.Last(es); e != nil {
		return e, nil
	}
	if len(gaps) > 0 {
		return nil, fmt.Errorf("the journal cannot be read whole: %w", gaps[0])
	}
	return nil, usagef("the journal %s has no write to %s that could be undone (see: offsetctl history)", j.Name(), here)
}

// storeName is the identity of the store where a command would look for a group's positions, as the journal has it.
func (f *factory) storeName(group string) (string, error) {
	s, err := f.settings()
	if err != nil {
		return "", err
	}
	text := s.StoreFor(group)
	if text == "" {
		text = s.Broker
	}
	if text == "" { // which says what is missing
		_, err := f.brokerAddress()
		return "", err
	}
	a, err := f.syntax(text)
	return a.Identity(), usage(err)
}

func undoHead(e *repair.Entry, now time.Time) string {
	s := fmt.Sprintf("UNDO %d  %s@%s, %s ago", e.ID, e.User, e.Host, positions.Span(now.Sub(e.At)))
	if e.Reason != "" {
		s += fmt.Sprintf(", %q", e.Reason)
	}
	return s + ": " + e.Command
}

func newHistory(f *factory) *cobra.Command {
	var sel selection
	var since string
	limit := 20
	c := &cobra.Command{
		Use:   "history [ID]",
		Short: "Show what was written, newest first",
		Long: `Shows the journal: who wrote what where and why, and how it ended. With an ID it shows every partition of that write; where
the process died before it could record the result, the store is looked at and what is true is said.`,
		Example: "  offsetctl history\n  offsetctl history -g billing --since 7d\n  offsetctl history 17",
		Args:    maxArgs(1, "at most one journal id"),
		RunE: func(c *cobra.Command, args []string) error {
			format, err := f.format("table", "json")
			if err != nil {
				return err
			}
			filter := repair.Filter{Groups: sel.groups, Topics: sel.topicNames(), Limit: limit}
			if since != "" {
				d, err := positions.ParseDuration(since)
				if err != nil {
					return usagef("--since: %w", err)
				}
				filter.Since = f.sys.Now().Add(-d)
			}
			if len(args) == 1 {
				return runEntry(c.Context(), f, args[0], format)
			}
			return runHistory(c.Context(), f, filter, format)
		},
	}
	sel.flags(f, c, selectGroup, selectTopics)
	c.Flags().StringVar(&since, "since", "", "only writes of the last 24h, 7d, …")
	c.Flags().IntVar(&limit, "limit", 20, "at most so many; 0: all")
	return c
}

func runHistory(ctx context.Context, f *factory, filter repair.Filter, format string) error {
	j, err := f.openJournal(ctx)
	if err != nil {
		return err
	}
	es, gaps, err := j.History(ctx, filter)
	if err != nil {
		return err
	}
	for _, g := range gaps {
		f.complain(g, exitIncomplete)
	}
	if err := render.History(f.sys.Out, es, render.HistoryOptions{Format: format, Now: f.sys.Now(), Width: f.sys.Width, Journal: j.Name()}); err != nil {
		return err
	}
	if len(gaps) > 0 {
		return ended(exitIncomplete)
	}
	return nil
}

// runEntry shows one write. A broker is asked only where the journal does not say what became of it.
func runEntry(ctx context.Context, f *factory, text, format string) error {
	id, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return usagef("%q is no journal id (see: offsetctl history)", text)
	}
	j, err := f.openJournal(ctx)
	if err != nil {
		return err
	}
	e, err := j.Entry(ctx, int64(id))
	if errors.Is(err, repair.ErrNoEntry) {
		return usagef("there is no entry %d in the journal %s (see: offsetctl history)", id, j.Name())
	}
	if err != nil {
		return err
	}
	outcomes := e.Done
	if !e.Settled() {
		if outcomes, err = truth(ctx, f, e); err != nil {
			return fmt.Errorf("entry %d ended without a record of its result, and what is true cannot be looked up: %w", id, err)
		}
	}
	return render.Entry(f.sys.Out, e, outcomes, render.HistoryOptions{Format: format, Now: f.sys.Now(), Width: f.sys.Width, Journal: j.Name()})
}

// truth looks at the store of an entry whose journal does not say how it ended.
func truth(ctx context.Context, f *factory, e *repair.Entry) ([]repair.Outcome, error) {
	st, err := f.openStore(ctx, first(groupsOf(e.Rows())))
	if err != nil {
		return nil, err
	}
	if id := st.addr.Identity(); id != e.Store && !st.own {
		return nil, usagef("it wrote to %s, and this is %s: name that store", e.Store, id)
	}
	ctx, cancel := f.step(ctx)
	defer cancel()
	run := repair.Run{Broker: f.broker, Store: st.Store, Own: st.own, Now: f.sys.Now}
	sv, err := run.Look(ctx, e.Rows())
	if err != nil {
		return nil, err
	}
	return repair.Truth(e, sv), nil
}
