package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/offsetctl/offsetctl/internal/render"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/spf13/cobra"
)

func newCheck(f *factory) *cobra.Command {
	var sel selection
	var can string
	c := &cobra.Command{
		Use:   "check",
		Short: "Connect step by step and say which step fails and why",
		Long: `Connects to the broker and the store step by step (configuration, name, TCP, TLS, login, metadata, the addresses that
the brokers advertise, store, journal) and says which step fails and what to do about it. With --can it also tests the
rights that inspect or reset need. Nothing is written.`,
		Example: `  offsetctl check --broker kafka://k1:9092
  offsetctl check -g billing -t orders --can reset`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if can != "" && can != "inspect" && can != "reset" {
				return usagef("--can is inspect or reset, not %q", can)
			}
			if _, err := f.format("table", "json"); err != nil {
				return err
			}
			if can != "" && errors.Is(sel.named(f), errNoGroup) {
				return usagef("--can %s looks at the rights on groups: name one with -g GROUP", can)
			}
			return (&checking{f: f, sel: &sel, can: can}).run(c.Context())
		},
	}
	sel.flags(f, c, selectGroup, selectTopics)
	c.Flags().StringVar(&can, "can", "", "inspect or reset: also test the rights that it needs")
	complete(c, "can", fixed("inspect", "reset"))
	return c
}

// checking gathers one line a step. A step that fails ends what depends on it, not the rest.
type checking struct {
	f     *factory
	sel   *selection
	can   string
	lines []render.Check
	code  int
}

func (k *checking) ok(step, format string, args ...any) {
	k.lines = append(k.lines, render.Check{Step: step, OK: true, Text: fmt.Sprintf(format, args...)})
}

func (k *checking) warn(step, text string) {
	k.lines = append(k.lines, render.Check{Step: step, OK: true, Warn: true, Text: text})
}

// fail notes a failed step; the worst exit code stays.
func (k *checking) fail(step string, err error) {
	k.code = max(k.code, exitCode(err, 0))
	k.lines = append(k.lines, render.Check{Step: step, Text: err.Error()})
}

func (k *checking) run(ctx context.Context) error {
	err := k.steps(ctx)
	if err != nil {
		return err
	}
	format, err := k.f.format("table", "json")
	if err != nil {
		return err
	}
	if err := render.Checks(k.f.sys.Out, format, k.f.sys.colour(), k.lines); err != nil {
		return err
	}
	return ended(k.code)
}

// steps answers an error only where there is nothing to check.
func (k *checking) steps(ctx context.Context) error {
	a, err := k.f.brokerAddress()
	if err != nil {
		return err
	}
	s, err := k.f.settings()
	if err != nil {
		return err
	}
	k.ok("context", "%s; broker %s", s.Source, a)
	k.journal(ctx)
	if !k.hosts(ctx, a) {
		return nil
	}
	b, err := k.f.openBroker(ctx)
	if err != nil {
		k.fail("login", err)
		return nil
	}
	if how := a.Get("sasl"); how != "" {
		k.ok("sasl", "%s%s", how, as(a.Get("user")))
	}
	if w, ok := b.(offset.Warner); ok {
		k.warnings(ctx, "broker", w)
	}
	if !k.metadata(ctx, b) {
		return nil
	}
	st := k.store(ctx)
	if st != nil {
		k.rights(ctx, b, st)
	}
	return nil
}

func (k *checking) journal(ctx context.Context) {
	name, err := k.f.probeJournal(ctx)
	if err != nil {
		k.fail("journal", err)
		return
	}
	k.ok("journal", "%s is writable", name)
}

func (k *checking) metadata(ctx context.Context, b offset.Broker) bool {
	ctx, cancel := k.f.step(ctx)
	defer cancel()
	t, err := b.Topology(ctx, k.sel.topicNames())
	if err != nil {
		k.fail("metadata", err)
		return false
	}
	k.f.remember(t)
	k.ok("login metadata", "%s, cluster %s, %s", t.Product, t.Cluster, plural(len(t.Brokers), "broker"))
	for _, g := range t.Gaps {
		k.warn("metadata", g.Error())
	}
	k.advertised(ctx, b, t.Brokers)
	for _, tp := range t.Topics {
		if k.sel.topicNames() != nil && tp.Err != nil {
			k.fail("topic", tp.Err)
		}
	}
	return true
}

func (k *checking) store(ctx context.Context) *place {
	groups := k.sel.groups
	st, err := k.f.openStore(ctx, first(groups))
	if err != nil {
		k.fail("store", err)
		return nil
	}
	if w, ok := st.Store.(offset.Warner); ok && !st.own {
		k.warnings(ctx, "store", w)
	}
	rctx, cancel := k.f.step(ctx)
	defer cancel()
	if len(groups) == 0 {
		if _, gaps, err := st.Groups(rctx); err != nil {
			k.fail("store", err)
			return nil
		} else if len(gaps) > 0 {
			k.warn("store", gaps[0].Error())
		}
		k.ok("store", "%s", st.title)
		return st
	}
	for _, g := range groups {
		a := st.Read(rctx, []offset.Query{{Group: g}})[0] // of all topics: an answer by topic lists only what is beyond doubt
		if a.Err != nil {
			k.fail("store", fmt.Errorf("group %s: %w", g, a.Err))
			continue
		}
		n := 0
		for _, e := range a.Others {
			if k.sel.match(e.Partition) {
				n++
			}
		}
		k.ok("store", "%s, group %s: %d positions", st.title, g, n)
	}
	return st
}

func (k *checking) warnings(ctx context.Context, step string, w offset.Warner) {
	ctx, cancel := k.f.step(ctx)
	defer cancel()
	for _, x := range w.Warnings(ctx) {
		k.warn(step, dangerText(x))
	}
}

// rights asks broker and store what the user may do.
func (k *checking) rights(ctx context.Context, b offset.Broker, st *place) {
	if k.can == "" {
		return
	}
	ctx, cancel := k.f.step(ctx)
	defer cancel()
	who := []any{b}
	if st.own {
		who = []any{st.Store}
	} else {
		who = append(who, st.Store)
	}
	asked := false
	for _, w := range who {
		p, ok := w.(offset.Permitter)
		if !ok {
			continue
		}
		asked = true
		for _, g := range k.sel.groupsOr("") {
			for _, r := range p.Permissions(ctx, g, k.sel.topicNames(), k.can == "reset") {
				k.right(r)
			}
		}
	}
	if !asked {
		k.warn("can "+k.can, "rights cannot be asked for beforehand here: only doing it tells; the documentation names what it takes")
	}
}

// right says whether the user has one right. What only something beside the main job needs is a warning where it is missing.
func (k *checking) right(r offset.Permission) {
	step, text := "can "+k.can, r.Right
	if r.Only != "" {
		text += " (only for " + r.Only + ")"
	}
	switch {
	case r.Err == nil && r.Granted:
		k.ok(step, "%s", text)
	case r.Only != "" && r.Err != nil:
		k.warn(step, fmt.Sprintf("%s: it could not be told: %v", text, r.Err))
	case r.Only != "":
		k.warn(step, text+": not permitted")
	case r.Err != nil:
		k.fail(step, fmt.Errorf("%s: it could not be told: %w", text, r.Err))
	default:
		k.fail(step, fmt.Errorf("%s: %w", text, offset.ErrDenied))
	}
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return render.Number(int64(n)) + " " + word + "s"
}

// as names the user of a login, where it has a name.
func as(user string) string {
	if user == "" {
		return ""
	}
	return " as " + user
}

func first(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}
