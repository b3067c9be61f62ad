package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/internal/render"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/spf13/cobra"
)

func newTopics(f *factory) *cobra.Command {
	var internal bool
	var sel selection
	c := &cobra.Command{
		Use:   "topics",
		Short: "List topics, or the partitions of the ones named",
		Long: `Lists the topics of the cluster as far as this user may see them. With -t it lists their partitions with leader, log
start and end.`,
		Example: "  offsetctl topics\n  offsetctl topics -t orders -o json",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			format, err := f.format("table", "json", "csv")
			if err != nil {
				return err
			}
			return runTopics(c.Context(), f, &sel, internal, format)
		},
	}
	sel.flags(f, c, selectTopics)
	c.Flags().BoolVar(&internal, "internal", false, "also the brokers' own topics")
	return c
}

func runTopics(ctx context.Context, f *factory, sel *selection, internal bool, format string) error {
	b, err := f.openBroker(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := f.step(ctx)
	defer cancel()
	t, err := b.Topology(ctx, sel.topicNames())
	if err != nil {
		return err
	}
	f.remember(t)
	code := exitOK
	for _, g := range t.Gaps {
		f.complain(g, exitIncomplete)
		if errors.Is(g, offset.ErrNoLeader) {
			code = exitIncomplete
		}
	}
	if sel.topicNames() == nil {
		return ended2(listTopics(f, t, internal, format), code)
	}
	var qs []offset.LogQuery
	var infos []offset.LogInfo
	for _, tp := range t.Topics {
		if tp.Err != nil {
			f.complain(tp.Err, exitIncomplete)
			code = max(code, exitCode(tp.Err, 0))
		}
		for _, l := range tp.Logs {
			if sel.match(l.Partition) {
				qs, infos = append(qs, offset.LogQuery{Partition: l.Partition}), append(infos, l)
			}
		}
	}
	logs := b.Logs(ctx, qs)
	tab := render.Table{Schema: "offsetctl.partitions/v1", Columns: []render.Column{{Name: "TOPIC", Key: "topic"}, {Name: "PART", Key: "partition", Right: true}, {Name: "LEADER", Key: "leader"},
		{Name: "START", Key: "start", Right: true}, {Name: "END", Key: "end", Right: true}, {Name: "RECORDS", Key: "records", Right: true}, {Name: "DETAIL", Key: "detail"}}}
	for i, l := range logs {
		p := infos[i].Partition
		row := []any{topicName(p), p.Index, infos[i].Leader, nil, nil, nil, ""}
		if l.Err != nil {
			row[6] = l.Err.Error()
			code = max(code, exitIncomplete)
		} else {
			row[3], row[4], row[5] = l.Value.Start, l.Value.End, render.Count(l.Value.End-l.Value.Start)
			if held := l.Value.End - l.Value.Stable; held > 0 {
				row[6] = fmt.Sprintf("%s in an open transaction", render.Number(held))
			}
		}
		tab.Rows = append(tab.Rows, row)
	}
	return ended2(tab.Write(f.sys.Out, format), code)
}

// topicName is a topic as tables show it: with the broker where the queue has one.
func topicName(p offset.Partition) string {
	if p.Broker == "" {
		return p.Topic
	}
	return p.Topic + "@" + p.Broker
}

// ended2 ends with an error, or else with a code.
func ended2(err error, code int) error {
	if err != nil {
		return err
	}
	return ended(code)
}

func listTopics(f *factory, t offset.Topology, internal bool, format string) error {
	tab := render.Table{Schema: "offsetctl.topics/v1", Columns: []render.Column{{Name: "TOPIC", Key: "topic"}, {Name: "PARTITIONS", Key: "partitions", Right: true}, {Name: "DETAIL", Key: "detail"}}}
	for _, tp := range t.Topics {
		if tp.Internal && !internal {
			continue
		}
		detail := ""
		if tp.Err != nil {
			detail = tp.Err.Error()
		} else if n := leaderless(tp); n > 0 {
			detail = fmt.Sprintf("%d without a leader", n)
		}
		tab.Rows = append(tab.Rows, []any{tp.Name, len(tp.Logs), detail})
	}
	return tab.Write(f.sys.Out, format)
}

func leaderless(t offset.Topic) (n int) {
	for _, l := range t.Logs {
		if l.Err != nil {
			n++
		}
	}
	return n
}

func newGroups(f *factory) *cobra.Command {
	c := &cobra.Command{
		Use:   "groups",
		Short: "List groups with their kind and state",
		Long: `Lists the groups that the broker knows, as far as this user may see them, and those that the store keeps positions of.
"live" has members, "empty" has none; a broker's word "dead" is never repeated, because brokers call living groups of
another kind that.`,
		Example: "  offsetctl groups\n  offsetctl groups -o json\n  offsetctl groups delete old-job",
		Args:    noCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			format, err := f.format("table", "wide", "json", "csv")
			if err != nil {
				return err
			}
			return runGroups(c.Context(), f, format)
		},
	}
	c.AddCommand(newGroupsDelete(f))
	return c
}

func runGroups(ctx context.Context, f *factory, format string) error {
	b, err := f.openBroker(ctx)
	if err != nil {
		return err
	}
	st, err := f.openStore(ctx, "")
	if err != nil {
		return err
	}
	ctx, cancel := f.step(ctx)
	defer cancel()
	groups, gaps, err := b.Groups(ctx)
	if err != nil {
		return err
	}
	if !st.own {
		names, more, err := st.Groups(ctx)
		if err != nil {
			return err
		}
		gaps = append(gaps, more...)
		groups = withStored(groups, names)
	}
	code := exitOK
	for _, g := range gaps {
		f.complain(g, exitIncomplete)
		if !errors.Is(g, offset.ErrDenied) { // what the user may see is listed
			code = exitIncomplete
		}
	}
	if format == "json" {
		return ended2(groupsJSON(f, groups), code)
	}
	tab := render.Table{Schema: "offsetctl.groups/v1", Columns: []render.Column{{Name: "GROUP", Key: "group"}, {Name: "KIND", Key: "kind"}, {Name: "PHASE", Key: "phase"},
		{Name: "STATE", Key: "state"}, {Name: "PROTOCOL", Key: "protocol"}}}
	for _, g := range groups {
		tab.Rows = append(tab.Rows, []any{render.Name(g.Name), g.Kind, g.Phase.String(), g.State, g.Protocol})
	}
	if format == "wide" {
		format = "table"
	}
	return ended2(tab.Write(f.sys.Out, format), code)
}

// withStored adds the groups that only the store knows.
func withStored(known []offset.Group, names []string) []offset.Group {
	for _, n := range names {
		i, found := slices.BinarySearchFunc(known, n, func(g offset.Group, n string) int { return strings.Compare(g.Name, n) })
		if !found {
			known = slices.Insert(known, i, offset.Group{Name: n, Kind: "stored only", Phase: offset.Missing})
		}
	}
	return known
}

func groupsJSON(f *factory, groups []offset.Group) error {
	type group struct {
		Group    string       `json:"group"`
		Kind     string       `json:"kind"`
		Phase    offset.Phase `json:"phase"`
		State    string       `json:"state,omitempty"`
		Protocol string       `json:"protocol,omitempty"`
	}
	out := struct {
		Schema string  `json:"schema"`
		Groups []group `json:"groups"`
	}{Schema: "offsetctl.groups/v1", Groups: []group{}}
	for _, g := range groups {
		out.Groups = append(out.Groups, group{g.Name, g.Kind, g.Phase, g.State, g.Protocol})
	}
	e := json.NewEncoder(f.sys.Out)
	e.SetIndent("", "  ")
	return e.Encode(out)
}
