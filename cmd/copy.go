package cmd

import (
	"context"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/repair"
	"github.com/spf13/cobra"
)

type copyOptions struct {
	sel                                             selection
	write                                           writeFlags
	from, to, fromBroker, fromGroup, toGroup, trans string
	mapTopic                                        []string
	clamp, rewind                                   bool

	topics map[string]string
	by     repair.Translation
}

func newCopy(f *factory) *cobra.Command {
	var o copyOptions
	c := &cobra.Command{
		Use:   "copy",
		Short: "Copy positions between groups, stores or clusters, as a plan",
		Long: `Copies what one group has stored to another group, another store, or another cluster. The source is left alone. --broker is
the target's cluster; --from-broker is the source's where that is another one. A number of one cluster means nothing on another:
--translate time goes by the records' timestamps, --translate none takes the numbers as they are.

` + exitCodesHelp(),
		Example: `  offsetctl copy --from-group billing --to-group billing-2 -t orders
  offsetctl copy --from 'mysql://app@db/jobs?password=env:PW' --to kafka://k1:9092 --from-group billing --all-topics
  offsetctl copy --from-broker kafka://old:9092 --broker kafka://new:9092 --from-group billing --translate time --all-topics`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runCopy(c.Context(), f, &o) },
	}
	o.sel.flags(f, c, selectTopics, selectAllTopics)
	p := c.Flags()
	p.StringVar(&o.from, "from", "", "address of the source store (default: that of --store or the context, or the source broker's own)")
	p.StringVar(&o.to, "to", "", "address of the target store (default: that of --store or the context, or the broker's own)")
	p.StringVar(&o.fromBroker, "from-broker", "", "address of the source's broker, where it is another cluster")
	p.StringVar(&o.fromGroup, "from-group", "", "the source group")
	p.StringVar(&o.toGroup, "to-group", "", "the target group (default: the source's name)")
	p.StringVar(&o.trans, "translate", "", "time or none: what a position of another cluster is here")
	p.StringArrayVar(&o.mapTopic, "map-topic", nil, "OLD=NEW: another name of a topic at the target; may be repeated")
	p.BoolVar(&o.clamp, "clamp", false, "move a position outside the target's log to its nearer end")
	p.BoolVar(&o.rewind, "rewind-only", false, "never move the target forward")
	p.StringVar(&o.write.planOut, "plan-out", "", "save the plan to FILE and write nothing else")
	o.write.flags(c, repair.AllowSkip, repair.AllowNewGroup, repair.Overwrite, "create-group")
	complete(c, "from-group", f.completeGroups)
	complete(c, "to-group", f.completeGroups)
	complete(c, "translate", fixed("time", "none"))
	return c
}

func (o *copyOptions) parse() error {
	if o.fromGroup == "" {
		return usagef("no source group is named: --from-group GROUP")
	}
	if o.toGroup == "" {
		o.toGroup = o.fromGroup
	}
	switch o.trans {
	case "":
	case "time":
		o.by = repair.TranslateByTime
	case "none":
		o.by = repair.SameNumbers
	default:
		return usagef("--translate is time or none, not %q", o.trans)
	}
	o.topics = map[string]string{}
	for _, m := range o.mapTopic {
		old, renamed, ok := strings.Cut(m, "=")
		if !ok || old == "" || renamed == "" {
			return usagef("--map-topic is OLD=NEW, not %q", m)
		}
		if _, twice := o.topics[old]; twice {
			return usagef("--map-topic gives %s twice", old)
		}
		o.topics[old] = renamed
	}
	if o.sel.topicNames() == nil && !o.sel.allTopics {
		return usagef("no topic is named: -t TOPIC, or --all-topics for every topic that the source has something stored for")
	}
	return nil
}

// copySide is a broker and a store, source or target of a copy.
type copySide struct {
	broker offset.Broker
	place  *place
}

func runCopy(ctx context.Context, f *factory, o *copyOptions) error {
	if err := o.parse(); err != nil {
		return err
	}
	for _, text := range []string{o.from, o.to, o.fromBroker} {
		if text == "" {
			continue
		}
		if _, err := f.syntax(text); err != nil { // said before any server is asked
			return usage(err)
		}
	}
	x, err := f.newWriting(ctx, &o.write, o.toGroup)
	if err != nil {
		return err
	}
	if o.to != "" {
		if x.place, err = f.openStoreAt(ctx, o.to); err != nil {
			return err
		}
		x.origin = f.origin(x.place, o.write.reason)
		f.target = o.to
	}
	x.clamp = o.clamp
	from, fromBroker, err := o.source(ctx, f)
	if err != nil {
		return err
	}
	plan := func(ctx context.Context) (*repair.Plan, error) { return x.copyPlan(ctx, o, from, fromBroker) }
	x.replan = plan
	p, refusal := plan(ctx)
	if p == nil {
		return refusal
	}
	return x.carryOut(ctx, p, refusal)
}

// source opens where the copy comes from; its broker's identity tells whether it is another cluster.
func (o *copyOptions) source(ctx context.Context, f *factory) (copySide, string, error) {
	s := copySide{broker: f.broker}
	addr := f.brokerAddr
	if o.fromBroker != "" {
		a, err := f.parse(o.fromBroker, brokerForms())
		if err != nil {
			return s, "", err
		}
		if s.broker, err = f.dial(ctx, a); err != nil {
			return s, "", err
		}
		addr = a
	}
	var err error
	switch {
	case o.from != "":
		s.place, err = f.openStoreAt(ctx, o.from)
	case o.fromBroker != "":
		s.place = &place{Store: s.broker.Offsets(), addr: addr, own: true, title: brokerDriver(addr.Scheme).Store}
	default:
		s.place, err = f.openStore(ctx, o.fromGroup)
	}
	return s, addr.Identity(), err
}

func (x *writing) copyPlan(ctx context.Context, o *copyOptions, from copySide, fromBroker string) (*repair.Plan, error) {
	now := x.f.sys.Now()
	sctx, cancel := x.f.step(ctx)
	defer cancel()
	src, err := inspect.Take(sctx, from.broker, from.place.Store, from.place.own, inspect.Ask{Groups: []string{o.fromGroup}, Topics: o.sel.topicNames(), Select: o.sel.matcher(), Brokers: o.sel.parsed.Brokers(), Isolation: x.iso, Now: now})
	if err != nil {
		return nil, err
	}
	opts := repair.CopyOptions{FromBroker: fromBroker, FromStore: from.place.addr.Identity(), MapTopic: o.topics, Translation: o.by, Overwrite: x.w.allowed().Has(repair.Overwrite),
		Options: repair.Options{Clamp: o.clamp, RewindOnly: o.rewind, Isolation: x.iso, Owner: x.origin.Program, Origin: x.origin, To: "where group " + o.fromGroup + " stands", Several: x.w.planOut != ""}}
	if opts.Translation == repair.TranslateByTime {
		tctx, cancel := x.f.step(ctx)
		defer cancel()
		opts.Translated = repair.Translate(tctx, from.broker, x.broker, storedPositions(src), opts.At)
	}
	dctx, cancel := x.f.step(ctx)
	defer cancel()
	dst, err := inspect.Take(dctx, x.broker, x.place.Store, x.place.own, inspect.Ask{Groups: []string{o.toGroup}, Topics: targetTopics(src, opts), Brokers: o.sel.parsed.Brokers(), Isolation: x.iso, Prove: true, Now: now})
	if err != nil {
		return nil, err
	}
	policy := inspect.Policy{Now: now}
	return repair.MakeCopy(inspect.Classify(src, policy), inspect.Classify(dst, policy), opts)
}

func storedPositions(sv *inspect.Survey) (out []offset.Position) {
	for _, l := range sv.Lines {
		if l.Selected && l.Stored.Err == nil && l.Stored.Value.State == offset.Set {
			out = append(out, offset.Position{Partition: l.Partition, Offset: l.Stored.Value.Next})
		}
	}
	return out
}

// targetTopics are the target's names of the topics that the source has positions of.
func targetTopics(sv *inspect.Survey, o repair.CopyOptions) []string {
	out := []string{}
	for _, l := range sv.Lines {
		if l.Selected {
			out = append(out, o.At(l.Partition).Topic)
		}
	}
	return slices.Compact(sorted(out))
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}
