package cmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/internal/render"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/positions"
	"github.com/spf13/cobra"
)

// resolveOptions are the flags of a job's start rule.
type resolveOptions struct {
	sel            selection
	start, tz      string
	ignoreStored   bool
	failOnLoss     bool
	onHead, onTail string
	rule           offset.Rule
	at             positions.Start
	format         string
}

func newResolve(f *factory) *cobra.Command {
	var o resolveOptions
	c := &cobra.Command{
		Use:   "resolve",
		Short: "Say where a job would start, as a file that a job can take",
		Long: `Answers where a job with this start rule would start, without writing anything: what is stored and inside the log is
kept; what is not stored starts where --start says, unless other partitions of its topic are stored; a position outside
the log stops, unless --on-head-overflow or --on-tail-overflow says where to go.

Formats besides table and json:
` + handoverHelp(),
		Example: `  offsetctl resolve -g billing -t orders
  offsetctl resolve -g billing -t orders --on-head-overflow earliest -o spark
  offsetctl resolve -g billing -t orders --start time=-2h --ignore-stored -o file`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runResolve(c.Context(), f, &o)
		},
	}
	p := c.Flags()
	o.sel.flags(f, c, selectGroup, selectTopics, selectAllTopics)
	p.StringVar(&o.start, "start", "earliest", "where what is not stored starts: earliest, latest, time=T, offsets=N, offsets=orders:0=500,orders:1=latest,… or offsets=@FILE")
	p.StringVar(&o.tz, "tz", "", "zone of a time without one, as Europe/Berlin")
	p.BoolVar(&o.ignoreStored, "ignore-stored", false, "start everything where --start says")
	p.BoolVar(&o.failOnLoss, "fail-on-data-loss", true, "stop where unread records are gone")
	p.StringVar(&o.onHead, "on-head-overflow", "", "earliest or latest: where a position before the log start goes")
	p.StringVar(&o.onTail, "on-tail-overflow", "", "earliest or latest: where a position past the log end goes")
	return c
}

func (o *resolveOptions) parse(f *factory) (err error) {
	if o.rule.Isolation, err = f.isolation(); err != nil {
		return err
	}
	zone, err := parseZone(o.tz)
	if err != nil {
		return err
	}
	if o.at, err = (positions.Clock{Now: f.sys.Now(), Zone: zone}).Start(o.start); err != nil {
		return usage(err)
	}
	if o.at.File != "" {
		ps, err := readPositions(o.at.File, first(o.sel.groups))
		if err != nil {
			return usagef("--start %s: %w", o.start, err)
		}
		o.at = positions.StartAt(ps)
	}
	if o.format, err = f.format(resolveFormats()...); err != nil {
		return err
	}
	if o.sel.many() {
		return usagef("one group is resolved at a time")
	}
	if err := o.sel.named(f); err != nil {
		return err
	}
	if o.sel.topicNames() == nil && !o.sel.allTopics {
		return usagef("no topic is named: -t TOPIC, or --all-topics for every topic that the group has something stored for")
	}
	if o.rule.Head, err = outside("--on-head-overflow", o.onHead); err != nil {
		return err
	}
	if o.onHead == "" && !o.failOnLoss {
		o.rule.Head = offset.GoStart
	}
	if o.rule.Tail, err = outside("--on-tail-overflow", o.onTail); err != nil {
		return err
	}
	o.rule.IgnoreStored = o.ignoreStored
	return nil
}

// outside reads a policy for positions outside the log.
func outside(flag, s string) (offset.Outside, error) {
	switch s {
	case "":
		return offset.Stop, nil
	case "earliest":
		return offset.GoStart, nil
	case "latest":
		return offset.GoEnd, nil
	}
	return 0, usagef("%s is earliest or latest, not %q", flag, s)
}

// resolveFormats are those of -o.
func resolveFormats() []string {
	out := []string{"table", "json"}
	for _, h := range positions.Formats {
		out = append(out, h.Name)
	}
	return out
}

func handoverHelp() string {
	var b strings.Builder
	for _, h := range positions.Formats {
		fmt.Fprintf(&b, "  %-15s %s\n", h.Name, h.Help)
	}
	return strings.TrimRight(b.String(), "\n")
}

// resolved is where a job would start in one partition, or why it would not.
type resolved struct {
	row *inspect.Row
	offset.Result[offset.Resolution]
}

func runResolve(ctx context.Context, f *factory, o *resolveOptions) error {
	if err := o.parse(f); err != nil {
		return err
	}
	st, err := f.openStore(ctx, first(o.sel.groups))
	if err != nil {
		return err
	}
	if o.sel.groups, err = o.sel.resolve(ctx, st); err != nil {
		return err
	}
	rep, err := o.look(ctx, f, st)
	if err != nil {
		return err
	}
	var out []resolved
	for i := range rep.Groups {
		if err := rep.Groups[i].Err; err != nil {
			return fmt.Errorf("group %s: %w", rep.Groups[i].Name, err)
		}
		for k := range rep.Groups[i].Rows {
			if row := &rep.Groups[i].Rows[k]; row.Selected {
				out = append(out, o.resolve(row))
			}
		}
	}
	return o.print(f, st, rep, out)
}

// look asks also for the times of --start, of which there is at most one for all or one a partition.
func (o *resolveOptions) look(ctx context.Context, f *factory, st *place) (*inspect.Report, error) {
	ctx, cancel := f.step(ctx)
	defer cancel()
	a := inspect.Ask{Groups: o.sel.groups, Topics: o.sel.topicNames(), Select: o.sel.matcher(), Isolation: o.rule.Isolation, Now: f.sys.Now()}
	if o.at.All != nil && o.at.All.Kind == offset.ToTime {
		a.At = o.at.All.Time
	}
	sv, err := inspect.Take(ctx, f.broker, st.Store, st.own, a)
	if err != nil {
		return nil, err
	}
	if err := o.sel.there(sv); err != nil {
		return nil, err
	}
	if err := o.eachTime(ctx, f.broker, sv); err != nil {
		return nil, err
	}
	return inspect.Classify(sv, inspect.Policy{Now: a.Now}), nil
}

// eachTime looks up times that are given for single partitions.
func (o *resolveOptions) eachTime(ctx context.Context, b offset.Broker, sv *inspect.Survey) error {
	var qs []offset.LogQuery
	var at []int
	for i, l := range sv.Lines {
		if t := o.at.Target(l.Partition); o.at.All == nil && t.Kind == offset.ToTime && l.Exists {
			qs, at = append(qs, offset.LogQuery{Partition: l.Partition, Times: []time.Time{t.Time}}), append(at, i)
		}
	}
	if len(qs) == 0 {
		return nil
	}
	for i, r := range b.Logs(ctx, qs) {
		if r.Err != nil {
			return fmt.Errorf("%s: %w", qs[i].Partition, r.Err)
		}
		sv.Lines[at[i]].AtTime = r.Value.Times[0]
	}
	return nil
}

func (o *resolveOptions) resolve(row *inspect.Row) (r resolved) {
	r.row = row
	switch {
	case row.Stored.Err != nil:
		r.Err = fmt.Errorf("%s: %w", row.Partition, row.Stored.Err)
	case !row.Exists:
		r.Err = fmt.Errorf("%s: stored, and there is no such partition: left alone", row.Partition)
	case row.Log.Err != nil:
		r.Err = fmt.Errorf("%s: %w", row.Partition, row.Log.Err)
	default:
		rule := o.rule
		rule.Target = o.at.Target(row.Partition)
		r.Value, r.Err = offset.Resolve(rule, row.View())
	}
	return r
}

// print writes the answers. A file that another program starts from is written only where every partition has one.
func (o *resolveOptions) print(f *factory, st *place, rep *inspect.Report, rs []resolved) error {
	var failed []resolved
	h := positions.Handover{Origin: positions.Origin{Cluster: rep.Survey.Topology.Cluster, Written: f.sys.Now()}, Servers: f.brokerAddr.Hosts, Isolation: o.rule.Isolation}
	h.Group = o.sel.groups[0]
	tab := render.Table{Schema: "offsetctl.resolve/v1", Width: f.sys.Width, Columns: []render.Column{{Name: "TOPIC", Key: "topic"}, {Name: "PART", Key: "partition", Right: true}, {Name: "STORED", Key: "stored", Right: true},
		{Name: "START AT", Key: "next", Right: true}, {Name: "LOST", Key: "lost", Right: true}, {Name: "SKIPS", Key: "skipped", Right: true}, {Name: "REPLAYS", Key: "replayed", Right: true}, {Name: "WHY", Key: "why"}}}
	for _, r := range rs {
		p := r.row.Partition
		cells := []any{topicName(p), p.Index, nil, nil, nil, nil, nil, ""}
		if s := r.row.Stored; s.Err == nil && s.Value.State == offset.Set {
			cells[2] = s.Value.Next
		}
		if r.Err != nil {
			if r.row.Exists {
				failed = append(failed, r)
			}
			cells[7] = strings.TrimPrefix(r.Err.Error(), p.String()+": ")
		} else {
			v := r.Value
			cells[3], cells[4], cells[5], cells[6], cells[7] = v.Next, render.Count(v.Lost), render.Count(v.Skipped), render.Count(v.Replayed), v.Why
			h.Positions = append(h.Positions, offset.Position{Partition: p, Offset: v.Next})
		}
		tab.Rows = append(tab.Rows, cells)
	}
	if o.format == "table" || o.format == "json" {
		if o.format == "table" && !f.global.quiet {
			render.Note(f.sys.Out, f.header(st).Of(rep.Survey).String())
		}
		if err := tab.Write(f.sys.Out, o.format); err != nil {
			return err
		}
		return resolveFailure(f, failed)
	}
	if len(failed) > 0 {
		f.hint("nothing was printed: a job that starts from a file which leaves partitions out reads them from a place of its own choosing")
		return resolveFailure(f, failed)
	}
	if len(h.Positions) == 0 {
		return fmt.Errorf("there is no partition to start at: %w", offset.ErrUnknownName)
	}
	b, err := h.Print(o.format)
	if err != nil {
		return usage(err)
	}
	_, err = f.sys.Out.Write(b)
	return err
}

func resolveFailure(f *factory, failed []resolved) error {
	code := exitOK
	for _, r := range failed {
		fmt.Fprintln(f.sys.Err, "offsetctl: a job would not start:", r.Err)
		code = max(code, exitCode(r.Err, 0))
	}
	return ended(code)
}
