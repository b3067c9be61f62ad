package cmd

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/positions"
	"github.com/spf13/cobra"
)

// selection is what -g and -t choose. A command has those of its flags that it asks for.
type selection struct {
	groups    []string
	allGroups bool
	pattern   string
	topics    []string
	allTopics bool

	parsed positions.Selection
	regex  *regexp.Regexp
}

type selectFlag uint8

const (
	selectGroup     selectFlag = iota // -g, once or more
	selectAll                         // -A and --group-regex
	selectTopics                      // -t
	selectAllTopics                   // --all-topics
)

func (s *selection) flags(f *factory, c *cobra.Command, which ...selectFlag) {
	p := c.Flags()
	for _, w := range which {
		switch w {
		case selectGroup:
			p.StringArrayVarP(&s.groups, "group", "g", nil, "the group, literally; may be repeated")
			complete(c, "group", f.completeGroups)
		case selectAll:
			p.BoolVarP(&s.allGroups, "all-groups", "A", false, "every group")
			p.StringVar(&s.pattern, "group-regex", "", "every group whose whole name matches")
		case selectTopics:
			p.StringArrayVarP(&s.topics, "topic", "t", nil, "orders, orders:0,2-5, orders@broker-a, orders@broker-a:0; a literal, never a pattern; may be repeated")
			complete(c, "topic", f.completeTopics)
		case selectAllTopics:
			p.BoolVar(&s.allTopics, "all-topics", false, "every topic that the group has something stored for")
		}
	}
	pre := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if pre != nil {
			if err := pre(c, args); err != nil {
				return err
			}
		}
		return s.parse()
	}
}

func complete(c *cobra.Command, flag string, fn func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)) {
	if err := c.RegisterFlagCompletionFunc(flag, fn); err != nil {
		panic(err) // the flag was defined a line above
	}
}

func (s *selection) parse() (err error) {
	slices.Sort(s.groups)
	s.groups = slices.Compact(s.groups)
	if slices.Contains(s.groups, "") {
		return usagef("-g is empty, perhaps a variable that is not set")
	}
	if s.parsed, err = positions.ParseSelection(s.topics...); err != nil {
		return usage(err)
	}
	if s.allTopics && len(s.topics) > 0 {
		return usagef("--all-topics and -t exclude each other")
	}
	if len(s.groups) > 0 && (s.allGroups || s.pattern != "") || s.allGroups && s.pattern != "" {
		return usagef("-g, -A and --group-regex exclude each other")
	}
	if s.pattern != "" {
		if _, err = regexp.Compile(s.pattern); err != nil { // by itself, so that the error shows what was typed
			return usagef("--group-regex %q: %w", s.pattern, err)
		}
		s.regex = regexp.MustCompile(`\A(?:` + s.pattern + `)\z`)
	}
	return nil
}

// topicNames is nil where no topic is named.
func (s *selection) topicNames() []string {
	if s.parsed.Empty() {
		return nil
	}
	return s.parsed.Topics()
}

// match tells whether a partition is meant.
func (s *selection) match(p offset.Partition) bool { return s.parsed.Empty() || s.parsed.Match(p) }

// matcher is match, or nil where every partition is meant.
func (s *selection) matcher() func(offset.Partition) bool {
	if s.parsed.Empty() {
		return nil
	}
	return s.parsed.Match
}

// many tells whether more than one group may be meant.
func (s *selection) many() bool { return s.allGroups || s.pattern != "" || len(s.groups) > 1 }

func (s *selection) groupsOr(other string) []string {
	if len(s.groups) == 0 {
		return []string{other}
	}
	return s.groups
}

var errNoGroup = usagef("no group is named: -g GROUP, or -A for all")

// named refuses early what would be refused after connecting: only a store besides the broker's may hold one group alone.
func (s *selection) named(f *factory) error {
	if len(s.groups) > 0 || s.many() {
		return nil
	}
	x, err := f.settings()
	if err != nil {
		return err
	}
	if x.Broker != "" && x.StoreFor("") == "" {
		return errNoGroup
	}
	return nil
}

// resolve answers the groups that are meant, nil for every one of the store.
func (s *selection) resolve(ctx context.Context, st *place) ([]string, error) {
	switch {
	case len(s.groups) > 0:
		return s.groups, nil
	case s.allGroups:
		return nil, nil
	}
	all, gaps, err := st.Groups(ctx)
	if err != nil {
		return nil, err
	}
	if s.regex == nil {
		// A store may hold one group only: then -g is not needed.
		if len(all) == 1 && len(gaps) == 0 && !st.own {
			return all, nil
		}
		return nil, errNoGroup
	}
	var out []string
	for _, g := range all {
		if s.regex.MatchString(g) {
			out = append(out, g)
		}
	}
	if len(out) == 0 {
		why := ""
		if len(gaps) > 0 {
			why = "; not all groups can be seen: " + gaps[0].Error()
		}
		return nil, fmt.Errorf("no group %w whose whole name matches %q (%d groups seen%s)", offset.ErrUnknownName, s.pattern, len(all), why)
	}
	sort.Strings(out)
	return out, nil
}

// there refuses partitions that were named and are neither in the cluster nor stored. A topic that could not be looked at says
// nothing about its partitions.
func (s *selection) there(sv *inspect.Survey) error {
	if len(s.topics) == 0 {
		return nil
	}
	if slices.ContainsFunc(sv.Topology.Topics, func(t offset.Topic) bool { return t.Err != nil }) {
		return nil
	}
	var all []offset.Partition
	for _, t := range sv.Topology.Topics {
		for _, l := range t.Logs {
			all = append(all, l.Partition)
		}
	}
	for _, l := range sv.Lines {
		all = append(all, l.Partition)
	}
	if missing := s.parsed.Without(all); len(missing) > 0 {
		return fmt.Errorf("%s %w, neither in the cluster nor stored (see: offsetctl topics -t TOPIC)", strings.Join(missing, ", "), offset.ErrUnknownName)
	}
	return nil
}
