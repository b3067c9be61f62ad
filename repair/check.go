package repair

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/positions"
)

// Today is what a plan is checked against.
type Today struct {
	Survey     *inspect.Survey // of the plan's groups
	Broker     string          // identity of the broker in use
	Store      string          // identity of the store in use
	Remembered string          // the cluster that the journal saw this store used with; "": none
	Allowed    Allowed
}

// Check says what speaks against writing p today besides its own rows: another cluster or store than the plan's, a group that
// somebody consumes with, a framework that would not look at the positions. Its error is a *Refused.
func Check(p *Plan, t Today) error {
	if p.Empty() {
		return nil
	}
	reasons := binding(p, t)
	for i := range p.Groups {
		reasons = append(reasons, checkGroup(p, &p.Groups[i], t)...)
	}
	return refused(reasons)
}

// binding holds a plan to the cluster and the store that it was made for.
func binding(p *Plan, t Today) (out []Reason) {
	add := func(next, format string, args ...any) {
		out = append(out, Reason{Cause: CauseCluster, Text: fmt.Sprintf(format, args...), Next: next})
	}
	here := t.Survey.Topology.Cluster
	again := "use the context it was made with, or plan again"
	switch {
	case p.Cluster != here:
		add(again, "the plan is for cluster %s, and this is cluster %s", orNone(p.Cluster), orNone(here))
	case here == "" && p.Broker != t.Broker:
		add(again, "the plan is for the broker %s, and this is %s, which has no id to compare", p.Broker, t.Broker)
	}
	if p.Store != t.Store && !(p.own() && t.Survey.Own && here != "") { // one cluster has many addresses
		add(again, "the plan is for the store %s, and this is %s", p.Store, t.Store)
	}
	if !t.Survey.Own && t.Remembered != "" && t.Remembered != here && !t.Allowed.Has(NewCluster) {
		add("look whether context and addresses are right; if the store has moved to this cluster, repeat with --"+NewCluster,
			"the store %s was last used with cluster %s, and this is cluster %s", t.Store, t.Remembered, orNone(here))
		out[len(out)-1].Allow = NewCluster
	}
	return out
}

func orNone(s string) string {
	if s == "" {
		return "(no id)"
	}
	return s
}

func checkGroup(p *Plan, g *Group, t Today) (out []Reason) {
	i := slices.IndexFunc(t.Survey.Groups, func(l inspect.GroupLine) bool { return l.Name == g.Name })
	if i < 0 {
		return []Reason{{Cause: CauseUnknown, Group: g.Name, Text: fmt.Sprintf("group %s was not looked at", g.Name), Next: "plan again"}}
	}
	l := t.Survey.Groups[i]
	known := l.Group.Value
	switch {
	case !t.Survey.Caps.Members: // nobody knows who consumes: Run looks twice
	case l.Group.Err != nil && asksItsOwn(g, l.Group.Err):
	case l.Group.Err != nil:
		out = append(out, Reason{Cause: CauseUnknown, Group: g.Name, Err: l.Group.Err,
			Text: fmt.Sprintf("group %s: whether it is live could not be told: %v", g.Name, l.Group.Err), Next: "see check --can reset"})
	case known.Kind == "broadcast":
		out = append(out, Reason{Cause: CauseImpossible, Group: g.Name, Text: fmt.Sprintf("group %s is broadcasting: its positions live on its clients", g.Name), Next: "reset them there"})
	case known.Phase == offset.PhaseUnknown:
		out = append(out, Reason{Cause: CauseUnknown, Group: g.Name, Text: fmt.Sprintf("group %s: whether it is live is not known", g.Name), Next: "see groups and check --can reset"})
	case known.Phase == offset.Live && !(forcible(known) && t.Allowed.Has(AllowLive)):
		out = append(out, LiveReason(known))
	}
	if why := stateful(known, p, g); why != "" && t.Survey.Own && !t.Allowed.Has(AllowStateful) {
		out = append(out, Reason{Cause: CauseStateful, Group: g.Name, Allow: AllowStateful,
			Text: fmt.Sprintf("group %s is %s", g.Name, why), Next: "reset it by its own means, or repeat with --" + AllowStateful})
	}
	return out
}

// asksItsOwn: a broker of which a queue is written is asked by the store itself who consumes, so that another one that is down
// does not stand in the way.
func asksItsOwn(g *Group, err error) bool {
	return errors.Is(err, offset.ErrNoLeader) && !slices.ContainsFunc(g.Items, func(it Item) bool { return it.Partition.Broker == "" })
}

var kafkaKinds = []string{"classic", "consumer", "share", "streams"}

// forcible: the broker takes positions of a live group from outside. Kafka never does.
func forcible(g offset.Group) bool { return !slices.Contains(kafkaKinds, g.Kind) }

// LiveReason says who consumes and what helps.
func LiveReason(g offset.Group) Reason {
	n := len(g.Members)
	r := Reason{Cause: CauseLive, Group: g.Name, Err: offset.ErrLive}
	r.Text = fmt.Sprintf("group %s is %s", g.Name, strings.Join(slices.DeleteFunc([]string{"live", g.Kind, g.State, plural(n, "member")}, func(s string) bool { return s == "" }), ", "))
	for _, m := range g.Members {
		r.Details = append(r.Details, memberText(m))
	}
	stop := "stop all " + count(int64(n))
	if n < 2 {
		stop = "stop it"
	}
	if forcible(g) {
		r.Allow = AllowLive
		r.Next = stop + " and repeat with --wait-empty 120s, or with --" + AllowLive + ", which a live client may undo"
		return r
	}
	r.Next = "Kafka takes no outside commit while any member lives, and nothing can force it: " + stop +
		", also for one partition, and repeat with --wait-empty 120s (writes the moment the group is empty)"
	return r
}

func memberText(m offset.Member) string {
	name := m.Client
	if name == "" {
		name = m.ID
	}
	parts := []string{name, m.Host}
	if len(m.Owns) > 0 {
		parts = append(parts, positions.SelectionOf(m.Owns).String())
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

// stateful recognises frameworks that keep state or positions elsewhere, as far as they can be recognised by a broker's group.
func stateful(g offset.Group, p *Plan, pg *Group) string {
	framework := inspect.Framework(pg.Name)
	switch {
	case p.Kind == KindDelete:
		return ""
	case framework != "":
		return "by its name that of " + framework + ", and a reset of the group has no effect on the job"
	case g.Kind == "streams" || g.Protocol == "stream" || streamsCommits(pg):
		return "that of a Kafka Streams application: a reset moves its source positions only, its state stores stay as they are"
	case g.Protocol == "connect" || strings.HasPrefix(pg.Name, "connect-"):
		return "that of a Kafka Connect connector, whose positions are moved through Connect's REST interface, which otherwise writes over a reset"
	}
	return ""
}

func streamsCommits(g *Group) bool {
	return slices.ContainsFunc(g.Items, func(it Item) bool { return inspect.StreamsText(it.From.Metadata) })
}
