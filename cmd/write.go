package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/internal/render"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/positions"
	"github.com/offsetctl/offsetctl/repair"
	"github.com/spf13/cobra"
)

// writeFlags are those that every writing command has.
type writeFlags struct {
	yes, dryRun, durable     bool
	planOut, undoOut, reason string
	confirm                  []string
	waitEmptyText, settle    string
	maxSkip                  int64
	allow                    map[string]*bool

	waitEmpty, settleTime time.Duration
}

// allowHelp says what each overruling flag allows. There is no flag that allows everything.
var allowHelp = map[string]string{
	repair.AllowSkip:     "skip unread records although the target means \"read again\"",
	repair.AllowLive:     "write although members live; only a RocketMQ broker takes it, and a live client may undo it",
	repair.AllowStateful: "write although the job keeps state or positions of its own elsewhere",
	repair.AllowNewGroup: "create a group that nobody knows",
	repair.NewCluster:    "write to a store that was last used with another cluster",
	repair.Overwrite:     "replace positions that the target of a copy has already",
	"create-group":       "create the group on a RocketMQ broker that does not know it",
}

func (w *writeFlags) flags(c *cobra.Command, allow ...string) {
	p := c.Flags()
	p.BoolVarP(&w.yes, "yes", "y", false, "agree to the plan without being asked; it never stands for a skip nobody asked for or a protected context")
	p.BoolVar(&w.dryRun, "dry-run", false, "show the plan and whether it would be refused; write nothing")
	p.StringVar(&w.undoOut, "undo-out", "", "write the plan that takes this back to FILE, for runners that vanish")
	p.StringVar(&w.reason, "reason", "", "why, for the journal")
	p.StringArrayVar(&w.confirm, "confirm", nil, "the group's name, for a protected context; may be repeated")
	p.StringVar(&w.waitEmptyText, "wait-empty", "", "wait this long for the group to be empty, and write the moment it is")
	p.StringVar(&w.settle, "settle", defaultSettle, "where the store does not know who consumes: how far apart to look for a running job; 0: do not look")
	p.BoolVar(&w.durable, "wait-durable", false, "RocketMQ: wait until the brokers have written the positions to disk, which they do every few seconds, and look again")
	p.Int64Var(&w.maxSkip, "max-skip", defaultMaxSkip, "skipping more unread records than this takes the group's name typed")
	w.allow = map[string]*bool{}
	for _, a := range append(allow, repair.AllowStateful, repair.AllowLive, repair.NewCluster) {
		w.allow[a] = p.Bool(a, false, allowHelp[a])
	}
}

// Defaults that a context's limits replace.
const (
	defaultMaxSkip    = 1_000_000
	defaultSettle     = "10s"
	defaultStaleAfter = "24h"
)

func (w *writeFlags) parse() (err error) {
	if w.settleTime, err = positions.ParseDuration(w.settle); err != nil {
		return usagef("--settle: %w", err)
	}
	if w.waitEmptyText != "" {
		if w.waitEmpty, err = positions.ParseDuration(w.waitEmptyText); err != nil {
			return usagef("--wait-empty: %w", err)
		}
	}
	if w.maxSkip < 0 {
		return usagef("--max-skip is a number of records, not %d", w.maxSkip)
	}
	if w.dryRun && (w.planOut != "" || w.undoOut != "") {
		return usagef("--dry-run writes no file: leave it out for --plan-out, which writes nothing else")
	}
	return nil
}

func (w *writeFlags) allowed() (out repair.Allowed) {
	for name, on := range w.allow {
		if *on {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// writing is one writing command at work: a plan is made, shown, agreed to, applied and reported.
type writing struct {
	f       *factory
	w       *writeFlags
	place   *place
	broker  offset.Broker
	journal *repair.Journal
	origin  repair.Origin
	format  string
	zone    *time.Location
	iso     offset.Isolation
	clamp   bool
	// replan makes the plan anew after --wait-empty; nil: the plan is a file's and stays.
	replan func(context.Context) (*repair.Plan, error)
}

// newWriting opens broker, store and journal for a command that writes to one group's place.
func (f *factory) newWriting(ctx context.Context, w *writeFlags, group string) (*writing, error) {
	if err := w.parse(); err != nil {
		return nil, err
	}
	format, err := f.format("table", "wide", "json", "yaml")
	if err != nil {
		return nil, err
	}
	iso, err := f.isolation()
	if err != nil {
		return nil, err
	}
	st, err := f.openStore(ctx, group)
	if err != nil {
		return nil, err
	}
	j, err := f.openJournal(ctx)
	if err != nil {
		return nil, err
	}
	x := &writing{f: f, w: w, place: st, broker: f.broker, journal: j, format: format, iso: iso, zone: time.UTC}
	x.origin = f.origin(st, w.reason)
	if s, err := f.settings(); err == nil && s.Limits.Settle != nil && w.settle == defaultSettle {
		w.settleTime = time.Duration(*s.Limits.Settle)
	}
	return x, nil
}

// origin says who writes, from where, and by which command.
func (f *factory) origin(st *place, reason string) repair.Origin {
	o := repair.Origin{Reason: reason, Program: "offsetctl " + version(), Broker: f.brokerAddr.Identity(), Store: st.addr.Identity(), Command: f.commandLine()}
	if u, err := user.Current(); err == nil {
		o.User = u.Username
	}
	if s := f.sys.env("SUDO_USER"); s != "" {
		o.User = s + " as " + o.User
	}
	o.Host, _ = os.Hostname()
	return o
}

// look surveys rows as they are now.
func (x *writing) look(ctx context.Context, rows []repair.Rows) (*inspect.Survey, error) {
	ctx, cancel := x.f.step(ctx)
	defer cancel()
	return x.run().Look(ctx, rows)
}

// human: what is printed is read by a person.
func (x *writing) human() bool { return x.format == "table" || x.format == "wide" }

func (x *writing) run() *repair.Run {
	p := x.f.progress()
	return &repair.Run{
		Broker: x.broker, Store: x.place.Store, Own: x.place.own, Journal: x.journal,
		Now: x.f.sys.Now, Wait: wait, Progress: p.stage, Isolation: x.iso,
		Origin: x.origin, Allowed: x.w.allowed(), Clamp: x.clamp, Durable: x.w.durable, Settle: x.w.settleTime, Timeout: x.f.global.timeout,
	}
}

// show prints a plan, and what speaks against it.
func (x *writing) show(p *repair.Plan, refusal error) error {
	return render.Plan(x.f.sys.Out, p, render.PlanOptions{Format: x.format, Header: x.f.header(x.place), Colour: x.f.sys.colour(), Width: x.f.sys.Width,
		Now: x.f.sys.Now(), Zone: x.zone, Refusal: refusal, DryRun: x.w.dryRun, Saved: x.replan == nil})
}

// carryOut takes a plan from being shown to being verified. refusal is what its making already refuses.
func (x *writing) carryOut(ctx context.Context, p *repair.Plan, refusal error) error {
	if x.human() || x.w.dryRun || x.w.planOut != "" {
		if err := x.show(p, refusal); err != nil {
			return err
		}
	}
	x.f.dangers(ctx, x.place)
	if refusal != nil {
		return refusal
	}
	if x.w.planOut != "" {
		return x.savePlan(p)
	}
	if err := x.check(ctx, p); err != nil {
		return err
	}
	if x.w.dryRun {
		return x.wouldAsk(p)
	}
	if p.Empty() {
		if !x.human() {
			return x.show(p, nil)
		}
		return nil
	}
	if err := x.consent(p); err != nil {
		return err
	}
	return x.apply(ctx, p)
}

// check refuses before anybody is asked what would be refused afterwards. It goes by the look that the plan was made from, a
// moment ago; what counts is the one just before the write.
func (x *writing) check(ctx context.Context, p *repair.Plan) error {
	if p.Empty() {
		return nil
	}
	if _, err := x.f.probeJournal(ctx); err != nil {
		return err
	}
	if err := x.stands(ctx, p, p.Seen()); err != nil {
		return err
	}
	if !x.place.own { // a broker's objections are asked for once, just before the write
		if err := repair.Objections(ctx, x.place.Store, p, x.w.allowed()); err != nil {
			return err
		}
	}
	x.overruled(ctx, p)
	return nil
}

// stands says what speaks against a plan besides its own rows. A live group does not where somebody waits for it to be empty.
func (x *writing) stands(ctx context.Context, p *repair.Plan, sv *inspect.Survey) error {
	last, err := x.journal.LastCluster(ctx, x.origin.Store)
	if err != nil {
		return err
	}
	err = repair.Check(p, repair.Today{Survey: sv, Broker: x.origin.Broker, Store: x.origin.Store, Remembered: last, Allowed: x.w.allowed()})
	var no *repair.Refused
	if x.w.waitEmpty > 0 && !x.w.dryRun && errors.As(err, &no) && onlyLive(no) {
		return nil
	}
	return err
}

// overruled says what the store would say against a write to a live group, before anybody agrees to it.
func (x *writing) overruled(ctx context.Context, p *repair.Plan) {
	guard, ok := x.place.Store.(offset.Guarded)
	if !ok || !slices.Contains(x.w.allowed(), repair.AllowLive) {
		return
	}
	ctx, cancel := x.f.step(ctx)
	defer cancel()
	for _, g := range p.Groups {
		var changes []offset.Change
		for _, it := range g.Items {
			if it.Action != repair.Keep {
				changes = append(changes, it.Change)
			}
		}
		for _, o := range guard.Guard(ctx, g.Name, changes) {
			if o.Allow == repair.AllowLive {
				x.f.warn("%s", o.Text)
			}
		}
	}
}

func onlyLive(no *repair.Refused) bool {
	return !slices.ContainsFunc(no.Reasons, func(r repair.Reason) bool { return r.Cause != repair.CauseLive })
}

func (x *writing) savePlan(p *repair.Plan) error {
	b, err := p.Encode()
	if err != nil {
		return err
	}
	if err := writeFile(x.w.planOut, b); err != nil {
		return usagef("--plan-out: %w", err)
	}
	x.f.hint("saved, nothing else was written. Apply it: %s apply %s", x.f.program(), x.w.planOut)
	return nil
}

// writeFile makes a file that only its owner may read; one that is there stays.
func writeFile(name string, b []byte) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there already; it was left as it is", name)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

// needs is what a person must still agree to; yes: to the plan itself somebody has.
func (x *writing) needs(p *repair.Plan, yes bool) (repair.Consent, error) {
	s, err := x.f.settings()
	if err != nil {
		return repair.Consent{}, err
	}
	limit := x.w.maxSkip
	if s.Limits.MaxSkip != nil && limit == defaultMaxSkip {
		limit = int64(*s.Limits.MaxSkip)
	}
	return repair.Ask(p, repair.Limits{MaxSkip: limit, Protected: s.Protected, ReadOnly: s.ReadOnly, ContextTyped: s.TypedContext, Context: s.GuardedBy()},
		repair.Given{Yes: yes, Confirm: x.w.confirm, Allowed: x.w.allowed(), Saved: x.replan == nil})
}

// canAsk: somebody sits at a terminal.
func (x *writing) canAsk() bool { return x.f.sys.InTTY && x.f.sys.ErrTTY && !x.f.noInput() }

// wouldAsk refuses a dry run as the write would be, when somebody had agreed to the plan as it is shown.
func (x *writing) wouldAsk(p *repair.Plan) error {
	c, err := x.needs(p, true)
	switch {
	case err != nil || !c.Needed:
		return err
	case x.canAsk():
		x.f.hint("the write asks first: %s", strings.Join(c.Why, "; "))
		return nil
	}
	return c.Refused()
}

// consent asks for what the plan still needs.
func (x *writing) consent(p *repair.Plan) error {
	c, err := x.needs(p, x.w.yes)
	if err != nil || !c.Needed {
		return err
	}
	if !x.canAsk() {
		return c.Refused()
	}
	answer, err := x.f.sys.ask(question(p, c))
	if err != nil || !c.Answer(answer) {
		return c.Refused()
	}
	return nil
}

// question is the prompt of a consent.
func question(p *repair.Plan, c repair.Consent) string {
	var b strings.Builder
	for _, w := range c.Why {
		fmt.Fprintf(&b, "%s%s\n", strings.ToUpper(w[:1]), w[1:])
	}
	if n, parts, ok := p.OneNumber(); ok {
		fmt.Fprintf(&b, "One number, %d, for all of %d partitions.\n", n, parts)
	}
	if c.Word != "" {
		fmt.Fprintf(&b, "To go on type %q, anything else writes nothing: ", c.Word)
	} else {
		b.WriteString("Write this? [y/N] ")
	}
	return b.String()
}

// apply writes, and says what became of every row.
func (x *writing) apply(ctx context.Context, p *repair.Plan) error {
	run := x.run()
	if x.w.undoOut != "" {
		if _, err := os.Stat(x.w.undoOut); err == nil {
			return usagef("--undo-out: %s is there already; nothing was written", x.w.undoOut)
		}
	}
	if x.w.waitEmpty > 0 {
		if err := run.WaitEmpty(ctx, groupsOf(p.Rows()), x.w.waitEmpty); err != nil {
			return err
		}
		if x.replan != nil {
			fresh, err := x.replan(ctx)
			if err != nil {
				return err
			}
			if more := repair.Wider(p, fresh); len(more) > 0 {
				return &repair.Refused{Reasons: []repair.Reason{{Cause: repair.CauseConsent, Text: "the last members moved on: " + more[0], Next: "look at the new plan and repeat"}}}
			}
			if x.human() && !fresh.SameRows(p) {
				if err := x.show(fresh, nil); err != nil {
					return err
				}
			}
			p = fresh
		}
	}
	done, err := run.Apply(ctx, p)
	if done == nil {
		return err
	}
	if x.w.undoOut != "" && done.Journal != 0 {
		err = errors.Join(err, x.saveUndo(ctx, done))
	}
	if rerr := render.Applied(x.f.sys.Out, p, done, render.AppliedOptions{Format: x.format, Colour: x.f.sys.colour(), Width: x.f.sys.Width, Program: x.f.program(), Err: err}); rerr != nil {
		return errors.Join(err, rerr)
	}
	if err != nil && errors.Is(err, repair.ErrIncomplete) {
		if done.Interrupted {
			return fmt.Errorf("%s, journal %d: %w", done.Sentence(), done.Journal, context.Canceled)
		}
		return ended(exitIncomplete)
	}
	return err
}

func (x *writing) saveUndo(ctx context.Context, done *repair.Applied) error {
	e, err := x.journal.Entry(context.WithoutCancel(ctx), done.Journal)
	if err != nil {
		return err
	}
	b, err := repair.Inverse(e, done.Outcomes).Encode()
	if err == nil {
		err = writeFile(x.w.undoOut, b)
	}
	if err != nil {
		return fmt.Errorf("%w: written, but --undo-out could not be: %w; undo %d does the same here", repair.ErrIncomplete, err, done.Journal)
	}
	return nil
}

func groupsOf(rows []repair.Rows) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r.Group
	}
	return out
}
