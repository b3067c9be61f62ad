package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/positions"
	"github.com/offsetctl/offsetctl/repair"
	"github.com/spf13/cobra"
)

// resetOptions are reset's flags.
type resetOptions struct {
	sel                                             selection
	write                                           writeFlags
	toTime, byDuration, sameAs, fromFile, tz        string
	toOffset                                        []string
	toEarliest, toLatest, toCurrent, toAbsent, mend bool
	shift                                           int64
	ifStored                                        int64
	only, onTail, onInvalid                         string
	prune, clamp, rewind                            bool

	start positions.Start // --to-offset
	stale time.Duration
	opts  repair.Options
}

func newReset(f *factory) *cobra.Command {
	var o resetOptions
	c := &cobra.Command{
		Use:   "reset",
		Short: "Move the positions of a group: plan, show, ask, write, verify",
		Long: `Moves the positions of one group to one target. The plan is shown first: what is replayed, what is SKIPPED unread, what is
already lost. Nothing is written before somebody agreed (on the terminal, or --yes), before the journal has what was there, and
unless the group is empty. What was written is read back; undo takes it back.

Forward moves are never a by-product: --to-time, --by-duration, --from-file and --same-as mean "read again", and where they would
skip unread records they need --allow-skip (on a terminal: the group's name), or --rewind-only.

--repair moves only what is broken, and only where the right place is beyond doubt: before the log start and missing partitions go
to the log start; past the log end, made again and unusable positions need --on-tail-overflow or --on-invalid; stale is not broken.

` + exitCodesHelp(),
		Example: `  offsetctl reset -g billing -t orders:1 --repair
  offsetctl reset -g billing -t orders --to-time 2026-11-29T14:05+01:00 --rewind-only
  offsetctl reset -g billing -t orders --by-duration 2h --dry-run
  offsetctl reset -g billing --to-offset orders:3=88122 --to-offset orders:4=9000
  offsetctl reset -g billing -t refunds --to-latest --yes --reason INC-4711
  offsetctl reset -g billing --all-topics --to-earliest --plan-out plan.json
  offsetctl reset -g billing -t orders --to-earliest --yes --wait-empty 120s`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runReset(c.Context(), f, &o, c) },
	}
	o.sel.flags(f, c, selectGroup, selectAll, selectTopics, selectAllTopics)
	p := c.Flags()
	p.StringVar(&o.toTime, "to-time", "", "the first record at or after this time: 2026-11-29T14:05+01:00, 1717200000s, -2h")
	p.StringVar(&o.byDuration, "by-duration", "", "the first record at or after this long ago: 2h, 1d12h")
	p.StringVar(&o.tz, "tz", "", "zone of a time without one, as Europe/Berlin")
	p.StringArrayVar(&o.toOffset, "to-offset", nil, "N for all selected partitions, or orders:3=N; may be repeated")
	p.BoolVar(&o.toEarliest, "to-earliest", false, "the log start")
	p.BoolVar(&o.toLatest, "to-latest", false, "the end: skips what is unread")
	p.BoolVar(&o.toCurrent, "to-current", false, "the same position, written anew without a leader epoch")
	p.Int64Var(&o.shift, "shift-by", 0, "forward or, negative, backward by so many records")
	p.StringVar(&o.sameAs, "same-as", "", "where another group stands")
	p.StringVar(&o.fromFile, "from-file", "", "positions of a file: our JSON, the CSV of kafka-consumer-groups, or Spark's startingOffsets")
	p.BoolVar(&o.toAbsent, "to-absent", false, "delete the positions, where the store can")
	p.BoolVar(&o.mend, "repair", false, "only what is broken, to the nearest sound position")
	p.StringVar(&o.only, "only", "", "only partitions with these verdicts, comma separated")
	p.Int64Var(&o.ifStored, "if-stored", 0, "only if exactly this is stored in every selected partition")
	p.StringVar(&o.onTail, "on-tail-overflow", "", "with --repair: earliest or latest for positions past the log end")
	p.StringVar(&o.onInvalid, "on-invalid", "", "with --repair: earliest or latest for what is no position")
	p.BoolVar(&o.prune, "prune", false, "with --repair: also delete positions of partitions that do not exist, where the store can")
	p.BoolVar(&o.clamp, "clamp", false, "move a given number outside the log to its nearer end")
	p.BoolVar(&o.rewind, "rewind-only", false, "never forward: the earlier of stored and target")
	p.StringVar(&o.write.planOut, "plan-out", "", "save the plan to FILE and write nothing else")
	o.write.flags(c, repair.AllowSkip, repair.AllowNewGroup, "create-group")
	complete(c, "same-as", f.completeGroups)
	complete(c, "only", fixed(verdictNames()...))
	complete(c, "on-tail-overflow", fixed("earliest", "latest"))
	complete(c, "on-invalid", fixed("earliest", "latest"))
	return c
}

// targets are the flags of which exactly one is given.
var targets = []string{"to-time", "by-duration", "to-offset", "to-earliest", "to-latest", "to-current", "shift-by", "same-as", "from-file", "to-absent", "repair"}

func (o *resetOptions) parse(f *factory, c *cobra.Command) (err error) {
	var given []string
	for _, t := range targets {
		if c.Flags().Changed(t) {
			given = append(given, "--"+t)
		}
	}
	switch len(given) {
	case 0:
		return usagef("no target: give one of --to-time, --by-duration, --to-offset, --to-earliest, --to-latest, --to-current, --shift-by, --same-as, --from-file, --to-absent, --repair")
	case 1:
	default:
		return usagef("one target is possible, not %s and %s", given[0], given[1])
	}
	if o.sel.many() && o.write.planOut == "" {
		return usagef("several groups are written only through a plan file: --plan-out FILE, then apply FILE")
	}
	if c.Flags().Changed("if-stored") {
		if o.ifStored < 0 {
			return usagef("--if-stored is a position, not %d", o.ifStored)
		}
		o.opts.IfStored = &o.ifStored
	}
	if !o.mend && (o.onTail != "" || o.onInvalid != "" || o.prune) {
		return usagef("--on-tail-overflow, --on-invalid and --prune belong to --repair")
	}
	if o.opts.OnTail, err = choice("--on-tail-overflow", o.onTail); err != nil {
		return err
	}
	if o.opts.OnInvalid, err = choice("--on-invalid", o.onInvalid); err != nil {
		return err
	}
	if o.only != "" {
		if o.opts.Only, err = parseVerdicts("--only", o.only); err != nil {
			return err
		}
	}
	o.stale = 24 * time.Hour
	o.opts.Prune, o.opts.Clamp, o.opts.RewindOnly, o.opts.Several = o.prune, o.clamp, o.rewind, o.write.planOut != ""
	if o.opts.Isolation, err = f.isolation(); err != nil {
		return err
	}
	if err := o.target(f, given[0]); err != nil {
		return err
	}
	if o.sel.topicNames() == nil && !o.sel.allTopics && len(o.opts.Target.Offsets) == 0 && len(o.start.Each) == 0 {
		return usagef("no topic is named: -t TOPIC, or --all-topics for every topic that the group has something stored for")
	}
	return nil
}

func choice(flag, s string) (repair.Choice, error) {
	switch s {
	case "":
		return repair.Undecided, nil
	case "earliest":
		return repair.Earliest, nil
	case "latest":
		return repair.Latest, nil
	}
	return 0, usagef("%s is earliest or latest, not %q", flag, s)
}

// target reads the one target flag, as far as no server is needed.
func (o *resetOptions) target(f *factory, flag string) (err error) {
	t := &o.opts.Target
	o.opts.To = flag
	switch flag {
	case "--to-time", "--by-duration":
		return o.timeTarget(f)
	case "--to-offset":
		if o.start, err = positions.ParseOffsets(o.toOffset...); err != nil {
			return usagef("--to-offset: %w", err)
		}
		if o.start.All != nil {
			*t = o.start.Target(offset.Partition{})
			o.opts.To = fmt.Sprintf("offset %d", t.Offset)
		} else {
			o.opts.To = "the offsets given for each partition"
		}
	case "--to-earliest":
		t.Kind, o.opts.To = offset.ToEarliest, "the log start"
	case "--to-latest":
		t.Kind, o.opts.To = offset.ToLatest, "the end"
	case "--to-current":
		t.Kind, o.opts.To = offset.ToCurrent, "the same position, without a leader epoch"
	case "--shift-by":
		if o.shift == 0 {
			return usagef("--shift-by 0 moves nothing")
		}
		*t = offset.Target{Kind: offset.ToShift, Offset: o.shift}
		o.opts.To = fmt.Sprintf("shifted by %d", o.shift)
	case "--same-as":
		o.opts.Replay, o.opts.To = true, "where group "+o.sameAs+" stands"
	case "--from-file":
		return o.fileTarget()
	case "--to-absent":
		o.opts.Mode, o.opts.To = repair.ToAbsent, "nothing: the positions are deleted"
	case "--repair":
		o.opts.Mode, o.opts.To = repair.ToRepair, "the nearest sound position"
	}
	return nil
}

func (o *resetOptions) timeTarget(f *factory) error {
	zone, err := parseZone(o.tz)
	if err != nil {
		return err
	}
	text := o.toTime
	if text == "" {
		if _, err := positions.ParseDuration(o.byDuration); err != nil {
			return usagef("--by-duration: %w", err)
		}
		text = "-" + o.byDuration
	}
	t, err := (positions.Clock{Now: f.sys.Now(), Zone: zone}).Time(text)
	if err != nil {
		return usage(err)
	}
	o.opts.Target = offset.Target{Kind: offset.ToTime, Time: t}
	o.opts.To = positions.Moment(t, f.sys.Now())
	return nil
}

// parseZone reads --tz; nil: none was given, and the machine's own is never used.
func parseZone(name string) (*time.Location, error) {
	if name == "" {
		return nil, nil
	}
	z, err := positions.Zone(name)
	if err != nil {
		return nil, usagef("--tz: %w", err)
	}
	return z, nil
}

func (o *resetOptions) fileTarget() error {
	if o.sel.many() {
		return usagef("--from-file is for one group")
	}
	ps, err := readPositions(o.fromFile, first(o.sel.groups))
	if err != nil {
		return usagef("--from-file %s: %w", o.fromFile, err)
	}
	o.opts.Replay, o.opts.To = true, "as in "+o.fromFile
	o.opts.Target = offset.Target{Kind: offset.ToOffsets, Offsets: map[offset.Partition]int64{}}
	for _, p := range ps {
		o.opts.Target.Offsets[p.Partition] = p.Offset
	}
	return nil
}

func readPositions(name, group string) (_ []offset.Position, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	file, err := positions.ReadFile(f)
	if err != nil {
		return nil, err
	}
	return file.Of(group)
}

func runReset(ctx context.Context, f *factory, o *resetOptions, c *cobra.Command) error {
	if err := o.parse(f, c); err != nil {
		return err
	}
	if err := o.sel.named(f); err != nil {
		return err
	}
	x, err := f.newWriting(ctx, &o.write, first(o.sel.groups))
	if err != nil {
		return err
	}
	if o.tz != "" {
		x.zone = o.opts.Target.Time.Location()
	}
	x.clamp = o.clamp
	o.opts.Origin, o.opts.Owner = x.origin, x.origin.Program
	r := &resetting{x, o}
	x.replan = func(ctx context.Context) (*repair.Plan, error) { return r.plan(ctx) }
	p, err := r.plan(ctx)
	if p == nil {
		return err
	}
	return x.carryOut(ctx, p, err)
}

type resetting struct {
	*writing
	o *resetOptions
}

// plan looks and plans. A nil plan: it could not be looked.
func (r *resetting) plan(ctx context.Context) (*repair.Plan, error) {
	groups, err := r.o.sel.resolve(ctx, r.place)
	if err != nil {
		return nil, err
	}
	a := inspect.Ask{Groups: groups, Topics: r.o.sel.topicNames(), Select: r.o.sel.matcher(), Isolation: r.iso, Stale: r.o.stale, Prove: true, Now: r.f.sys.Now()}
	if t := r.o.opts.Target; t.Kind == offset.ToTime {
		a.At = t.Time
	}
	if r.o.sel.allTopics {
		a.Select = func(p offset.Partition) bool { return !inspect.IsRetry(p.Topic) }
	}
	if a.Topics == nil && !r.o.sel.allTopics {
		a.Topics, a.Select = r.given()
	}
	r.f.ask(&a, &r.o.sel)
	rep, err := r.report(ctx, a)
	if err != nil {
		return nil, err
	}
	opts := r.o.opts
	if opts.Target.Kind == 0 && opts.Mode == repair.ToTarget {
		if opts.Target, err = r.late(ctx, rep, a); err != nil {
			return nil, err
		}
	}
	p, refusal := repair.Make(rep, opts)
	if at := p.FirstRecords(); len(at) > 0 {
		pctx, cancel := r.f.step(ctx)
		defer cancel()
		zone := r.zone
		p.NoteFirst(r.broker.Peek(pctx, at), zone)
	}
	return p, refusal
}

func (r *resetting) report(ctx context.Context, a inspect.Ask) (*inspect.Report, error) {
	ctx, cancel := r.f.step(ctx)
	defer cancel()
	p := r.f.progress()
	defer p.done()
	a.Progress = p.stage
	sv, err := inspect.Take(ctx, r.broker, r.place.Store, r.place.own, a)
	if err == nil {
		r.f.remember(sv.Topology)
		err = r.o.sel.there(sv)
	}
	if err != nil {
		return nil, err
	}
	return inspect.Classify(sv, inspect.Policy{StaleAfter: r.o.stale, Now: a.Now}), nil
}

// given are the topics of the partitions that the target itself names.
func (r *resetting) given() (topics []string, match func(offset.Partition) bool) {
	named := map[offset.Partition]bool{}
	for _, p := range r.o.start.Partitions() {
		named[p] = true
	}
	for p := range r.o.opts.Target.Offsets {
		named[p] = true
	}
	for p := range named {
		topics = append(topics, p.Topic)
	}
	slices.Sort(topics)
	return slices.Compact(topics), func(p offset.Partition) bool { return named[p] }
}

// late makes the targets that need a look: --same-as, and --to-offset with single partitions.
func (r *resetting) late(ctx context.Context, rep *inspect.Report, a inspect.Ask) (offset.Target, error) {
	if r.o.sameAs == "" {
		return r.single(rep), nil
	}
	if len(rep.Groups) == 1 && rep.Groups[0].Name == r.o.sameAs {
		return offset.Target{}, usagef("--same-as names the group itself")
	}
	a.Groups = []string{r.o.sameAs}
	other, err := r.report(ctx, a)
	if err != nil {
		return offset.Target{}, err
	}
	t := offset.Target{Kind: offset.ToOffsets, Offsets: map[offset.Partition]int64{}}
	for _, g := range other.Groups {
		if g.Err != nil {
			return t, fmt.Errorf("group %s: %w", g.Name, g.Err)
		}
		for _, row := range g.Rows {
			switch s := row.Stored; {
			case !row.Selected:
			case s.Err != nil:
				return t, fmt.Errorf("group %s, %s: %w", g.Name, row.Partition, s.Err)
			case s.Value.State == offset.Set:
				t.Offsets[row.Partition] = s.Value.Next
			}
		}
	}
	if len(t.Offsets) == 0 {
		return t, &repair.Refused{Reasons: []repair.Reason{{Cause: repair.CauseNames, Err: offset.ErrUnknownName, Text: "group " + r.o.sameAs + " has no position stored for what is selected", Next: "look at it with inspect -g " + r.o.sameAs}}}
	}
	return t, nil
}

// single is --to-offset orders:3=N; a partition may also go to earliest or latest.
func (r *resetting) single(rep *inspect.Report) offset.Target {
	t := offset.Target{Kind: offset.ToOffsets, Offsets: map[offset.Partition]int64{}}
	for _, x := range r.o.start.Each {
		t.Offsets[x.Partition] = x.Point.Offset
	}
	for _, g := range rep.Groups {
		for _, row := range g.Rows {
			if _, ok := t.Offsets[row.Partition]; !ok || row.Log.Err != nil {
				continue
			}
			switch at := r.o.start.Target(row.Partition); at.Kind {
			case offset.ToEarliest:
				t.Offsets[row.Partition] = row.Log.Value.Start
			case offset.ToLatest:
				t.Offsets[row.Partition] = row.Log.Value.Reach(r.iso)
			}
		}
	}
	return t
}
