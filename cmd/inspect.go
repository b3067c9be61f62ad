package cmd

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/internal/render"
	"github.com/offsetctl/offsetctl/positions"
	"github.com/spf13/cobra"
)

type inspectOptions struct {
	sel                                  selection
	by, show, failOn, waitFor, compare   string
	maxLag                               int64
	staleAfter, minHeadroom, over, watch string
	timeLag                              bool

	verdicts struct{ show, failOn []inspect.Verdict }
	stale    time.Duration
	headroom time.Duration
	sample   time.Duration
	every    time.Duration
	until    waitCondition
	earlier  *inspect.Report
}

func newInspect(f *factory) *cobra.Command {
	var o inspectOptions
	c := &cobra.Command{
		Use:   "inspect",
		Short: "Show where groups stand against what the broker still has, and what is wrong",
		Long: `Judges every stored position against the log it points into. The table shows the worst verdict of each partition, worst last,
next to the prompt; below it stands each finding with what a restart would do and the command that repairs it. Nothing is
written and no group is joined.

Verdicts, worst first: ` + verdictList() + `. See docs/verdicts.md.

` + exitCodesHelp(),
		Example: `  offsetctl inspect -g billing
  offsetctl inspect -g billing -t orders:0-4 -o wide
  offsetctl inspect -A                                    every group, a line each
  offsetctl inspect -g billing --over 30s                 two samples: who stands still, who went back
  offsetctl inspect -g billing --watch 5s
  offsetctl inspect -g billing --fail-on loss --min-headroom 6h -q    for CI
  offsetctl inspect -g billing --wait-for lag=0 --timeout 10m`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runInspect(c.Context(), f, &o)
		},
	}
	o.sel.flags(f, c, selectGroup, selectAll, selectTopics, selectAllTopics)
	p := c.Flags()
	p.StringVar(&o.by, "by", "", "group, topic or partition: one line each (default: partition for one group, group for several; what programs read has partitions)")
	p.StringVar(&o.show, "show", "", "only rows with these verdicts, comma separated; the exit code does not change")
	p.StringVar(&o.failOn, "fail-on", "", "verdicts that make exit code 1, comma separated; loss stands for the five that lose or repeat records; none for no verdict (default: any but ok)")
	p.Int64Var(&o.maxLag, "max-lag", 0, "more unread records than this in a partition are lagging")
	p.StringVar(&o.staleAfter, "stale-after", defaultStaleAfter, "age of the oldest unread record, or of the last commit while there is lag, that is stale; 0: never")
	p.BoolVar(&o.timeLag, "time-lag", false, "also the age of the oldest unread record and when it falls to retention (with -o wide: always)")
	p.StringVar(&o.minHeadroom, "min-headroom", "", "a finding where the oldest unread record falls to retention sooner than this; it makes exit code 1 whatever --fail-on says (turns --time-lag on)")
	p.StringVar(&o.over, "over", "", "look twice, this far apart: stalled and rewound need it")
	p.StringVar(&o.watch, "watch", "", "look again every so often, with rates, until interrupted")
	p.StringVar(&o.waitFor, "wait-for", "", "ok, moved or lag=N: look until it is so, at most --timeout long")
	p.StringVar(&o.compare, "compare", "", "an earlier -o json: what was rewound or vanished since")
	complete(c, "by", fixed("group", "topic", "partition"))
	complete(c, "fail-on", fixed(append([]string{"loss", "none"}, verdictNames()...)...))
	complete(c, "show", fixed(verdictNames()...))
	return c
}

func fixed(words ...string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { return words, noFiles }
}

func verdictNames() []string {
	var out []string
	for _, v := range inspect.Verdicts() {
		out = append(out, v.String())
	}
	return out
}

func verdictList() string { return strings.Join(verdictNames(), ", ") }

// parseVerdicts reads a comma separated set; loss and none are sets of their own.
func parseVerdicts(flag, s string) ([]inspect.Verdict, error) {
	var out []inspect.Verdict
	for name := range strings.SplitSeq(s, ",") {
		switch name = strings.TrimSpace(name); name {
		case "loss":
			out = append(out, inspect.Loss...)
		case "none":
		default:
			var v inspect.Verdict
			if err := v.UnmarshalText([]byte(name)); err != nil {
				return nil, usagef("%s: %q is no verdict (there are %s, and loss)", flag, name, verdictList())
			}
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func (o *inspectOptions) parse() (err error) {
	if !slices.Contains([]string{"", "group", "topic", "partition"}, o.by) {
		return usagef("--by is group, topic or partition, not %q", o.by)
	}
	if o.maxLag < 0 {
		return usagef("--max-lag is a number of records, not %d", o.maxLag)
	}
	o.verdicts.failOn = slices.DeleteFunc(inspect.Verdicts(), func(v inspect.Verdict) bool { return v == inspect.OK })
	if o.failOn != "" {
		if o.verdicts.failOn, err = parseVerdicts("--fail-on", o.failOn); err != nil {
			return err
		}
	}
	if o.show != "" {
		if o.verdicts.show, err = parseVerdicts("--show", o.show); err != nil {
			return err
		}
	}
	for _, d := range []struct {
		flag, text string
		to         *time.Duration
		least      time.Duration
	}{{"--stale-after", o.staleAfter, &o.stale, 0}, {"--min-headroom", o.minHeadroom, &o.headroom, time.Second},
		{"--over", o.over, &o.sample, time.Second}, {"--watch", o.watch, &o.every, 100 * time.Millisecond}} {
		if d.text == "" {
			continue
		}
		if *d.to, err = positions.ParseDuration(d.text); err != nil {
			return usagef("%s: %w", d.flag, err)
		}
		if *d.to < d.least {
			return usagef("%s: %s is too short", d.flag, d.text)
		}
	}
	if o.until, err = parseWait(o.waitFor); err != nil {
		return err
	}
	modes := 0
	for _, on := range []bool{o.over != "", o.watch != "", o.waitFor != "", o.compare != ""} {
		if on {
			modes++
		}
	}
	if o.watch != "" && o.by != "" && o.by != "partition" {
		return usagef("--by %s does not go with --watch, which has a line for each partition", o.by)
	}
	if modes > 1 {
		return usagef("--over, --watch, --wait-for and --compare exclude each other")
	}
	return nil
}

// waitCondition is what --wait-for waits for.
type waitCondition struct {
	kind string // "", ok, moved, lag
	lag  int64
}

func parseWait(s string) (w waitCondition, err error) {
	n, isLag := strings.CutPrefix(s, "lag=")
	switch {
	case isLag:
		u, err := strconv.ParseUint(n, 10, 63)
		if err != nil {
			return w, usagef("--wait-for lag=N: %q is no number of records", n)
		}
		return waitCondition{"lag", int64(u)}, nil
	case s == "", s == "ok", s == "moved":
		return waitCondition{kind: s}, nil
	}
	return w, usagef("--wait-for is ok, moved or lag=N, not %q", s)
}

// met tells whether a report is what is waited for; first is the report at the beginning.
func (w waitCondition) met(first, now *inspect.Report) bool {
	switch w.kind {
	case "ok":
		return now.Verdict == inspect.OK
	case "moved":
		return inspect.Moved(first, now)
	}
	var lag int64
	for _, g := range now.Groups {
		if g.Unmeasured > 0 {
			return false
		}
		lag += g.Lag + g.RetryLag
	}
	return lag <= w.lag
}

// looking is one inspect command at work.
type looking struct {
	f      *factory
	o      *inspectOptions
	ask    inspect.Ask
	policy inspect.Policy
	place  *place
	format string
	warned bool // of what may lose the positions
}

func runInspect(ctx context.Context, f *factory, o *inspectOptions) error {
	if err := o.parse(); err != nil {
		return err
	}
	format, err := f.format("table", "wide", "json", "yaml", "csv", "prometheus")
	if err != nil {
		return err
	}
	l := &looking{f: f, o: o, format: format}
	if o.compare != "" {
		b, err := os.ReadFile(o.compare)
		if err != nil {
			return usagef("--compare: %w", err)
		}
		if o.earlier, err = render.ParseReport(b); err != nil {
			return usagef("--compare %s: %w", o.compare, err)
		}
	}
	if err := l.prepare(ctx); err != nil {
		return err
	}
	switch {
	case o.watch != "":
		return l.watch(ctx)
	case o.waitFor != "":
		limit := time.Duration(0)
		if f.global.timeoutTyped {
			limit = f.global.timeout
		}
		return l.waitFor(ctx, limit)
	}
	r, err := l.once(ctx)
	if err != nil {
		return err
	}
	return l.show(r)
}

// prepare opens what is needed and fixes the question.
func (l *looking) prepare(ctx context.Context) (err error) {
	f, o := l.f, l.o
	if l.ask.Isolation, err = f.isolation(); err != nil {
		return err
	}
	if err := o.sel.named(f); err != nil {
		return err
	}
	if l.place, err = f.openStore(ctx, first(o.sel.groups)); err != nil {
		return err
	}
	if l.ask.Groups, err = o.sel.resolve(ctx, l.place); err != nil {
		return err
	}
	s, err := f.settings()
	if err != nil {
		return err
	}
	l.ask.Topics, l.ask.Select = o.sel.topicNames(), o.sel.matcher()
	if s.Limits.StaleAfter != nil && o.staleAfter == defaultStaleAfter {
		o.stale = time.Duration(*s.Limits.StaleAfter)
	}
	l.ask.Stale, l.ask.TimeLag = o.stale, o.timeLag || o.headroom > 0 || l.wideRows()
	f.ask(&l.ask, &o.sel)
	l.policy = inspect.Policy{StaleAfter: o.stale, MaxLag: o.maxLag, MinHeadroom: o.headroom}
	return nil
}

// wideRows: a table of partitions is written that has columns for the time lag.
func (l *looking) wideRows() bool {
	return l.format == "wide" && l.o.watch == "" && (l.o.by == "partition" || l.o.by == "" && len(l.ask.Groups) == 1)
}

// take looks once.
func (l *looking) take(ctx context.Context) (*inspect.Report, error) {
	b, err := l.f.openBroker(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := l.f.step(ctx)
	defer cancel()
	p := l.f.progress()
	defer p.done()
	l.ask.Now = l.f.sys.Now()
	l.ask.Progress = p.stage
	sv, err := inspect.Take(ctx, b, l.place.Store, l.place.own, l.ask)
	if err == nil {
		l.f.remember(sv.Topology)
		err = l.o.sel.there(sv)
	}
	if err != nil {
		return nil, err
	}
	if !l.warned {
		l.f.dangers(ctx, l.place)
		l.warned = true
	}
	l.policy.Now = l.ask.Now
	return inspect.Classify(sv, l.policy), nil
}

// once looks once, or twice with --over.
func (l *looking) once(ctx context.Context) (*inspect.Report, error) {
	r, err := l.take(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case l.o.earlier != nil:
		return inspect.Compare(l.o.earlier, r), nil
	case l.o.sample > 0:
		l.ask.Since = r.Sample()
		l.f.hint("first look done; the second is in %s", l.o.sample)
		if err := wait(ctx, l.o.sample); err != nil {
			return nil, err
		}
		second, err := l.take(ctx)
		if err != nil {
			return nil, err
		}
		return inspect.Compare(r, second), nil
	}
	return r, nil
}

func (l *looking) show(r *inspect.Report) error {
	err := render.Inspect(l.f.sys.Out, r, render.InspectOptions{
		Format: l.format, By: l.o.by, Show: l.o.verdicts.show, FailOn: l.o.verdicts.failOn,
		Header: l.f.header(l.place), Command: l.f.program(), Colour: l.f.sys.colour(), Width: l.f.sys.Width,
		Quiet: l.f.global.quiet, Took: l.f.sys.Now().Sub(r.Survey.Taken),
	})
	if err != nil {
		return err
	}
	return ended(inspect.ExitCode(r, l.o.verdicts.failOn))
}

// watch looks until it is interrupted: that is how it is meant to end.
func (l *looking) watch(ctx context.Context) error {
	collect(collectOften)
	var frames []*inspect.Report
	for {
		r, err := l.take(ctx)
		if canceled(err) {
			return ended(exitOK)
		}
		if err != nil {
			l.f.complain(err, exitIncomplete)
		} else {
			frames = append(frames, r)
			if len(frames) > 1 && frames[len(frames)-1].Survey.Taken.Sub(frames[1].Survey.Taken) > time.Minute {
				frames = frames[1:]
			}
			l.ask.Since = frames[0].Sample()
			if err := render.Watch(l.f.sys.Out, frames, render.InspectOptions{Format: l.format, Show: l.o.verdicts.show, Header: l.f.header(l.place),
				Every: l.o.every, Colour: l.f.sys.colour(), Width: l.f.sys.Width, Clear: l.f.sys.OutTTY}); err != nil {
				return err
			}
		}
		if wait(ctx, l.o.every) != nil {
			return ended(exitOK)
		}
	}
}

// waitInterval is the pause between two looks of --wait-for.
const waitInterval = 2 * time.Second

func (l *looking) waitFor(ctx context.Context, limit time.Duration) error {
	collect(collectOften)
	if limit == 0 {
		limit = 10 * time.Minute
	}
	end := l.f.sys.Now().Add(limit)
	var began, r *inspect.Report
	for {
		now, err := l.take(ctx)
		if err != nil {
			return err
		}
		if r = now; began == nil {
			began = now
		} else if l.o.until.met(began, now) {
			return l.show(r)
		}
		if l.o.until.kind != "moved" && l.o.until.met(began, now) {
			return l.show(r)
		}
		if !l.f.sys.Now().Add(waitInterval).Before(end) {
			break
		}
		if err := wait(ctx, waitInterval); err != nil {
			return err
		}
	}
	if err := l.show(r); err != nil && exitCode(err, 0) != exitFindings {
		return err
	}
	return &codeError{exitIncomplete, fmt.Errorf("--wait-for %s: not so within %s", l.o.waitFor, limit)}
}
