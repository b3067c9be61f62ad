package offsettest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// Broker describes one broker to the suite. Topics and groups are the suite's own, by Prefix.
type Broker struct {
	// Open makes a new handle, which the suite closes. Requests are reported to env: the suite counts them.
	Open func(t testing.TB, env offset.Env) offset.Broker
	// Create makes a topic with n empty logs a broker and answers all its partitions, sorted.
	Create func(t testing.TB, topic string, n int) []offset.Partition
	// Append writes a record for each value into one log and answers their timestamps, each later than the one before.
	Append func(t testing.TB, p offset.Partition, values []string) []time.Time
	// Trim makes the log start at n. nil: nobody can.
	Trim func(t testing.TB, p offset.Partition, n int64)
	// Commit stores a position as a program that is no member of the group.
	Commit func(t testing.TB, group string, p offset.Partition, n int64)
	// Live puts a running member into the group, subscribed to the topic, and waits until it owns its logs; stop takes it out
	// and waits until the broker knows. nil: the broker knows no members.
	Live func(t testing.TB, group, topic string) (stop func())
	// Down tries a broker that is not there.
	Down func(t testing.TB, env offset.Env) (offset.Broker, error)
	// Kind is the kind of the group that Live makes.
	Kind string
	// Prefix stands before every topic and group of the suite.
	Prefix string
	// Cluster says that the cluster has an id.
	Cluster bool
}

// RunBroker holds a broker to the contract.
func RunBroker(t *testing.T, d Broker) {
	t.Run("topology", d.topology)
	t.Run("logs", d.logs)
	t.Run("times", d.times)
	t.Run("trimmed", d.trimmed)
	t.Run("peek", d.peek)
	t.Run("retention", d.retention)
	t.Run("groups", d.groups)
	t.Run("members", d.liveGroup)
	t.Run("context that is done", d.done)
	t.Run("requests", d.fewRequests)
	t.Run("at the same time", d.together)
	t.Run("not there", d.down)
}

// desk is a handle with what the suite counts on it.
type desk struct {
	testing.TB
	d    Broker
	b    offset.Broker
	hook *hook
}

func (d Broker) at(t testing.TB) *desk {
	x := &desk{TB: t, d: d, hook: &hook{}}
	x.b = d.Open(t, x.hook.env())
	t.Cleanup(func() {
		if err := x.b.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return x
}

func (d Broker) name(s string) string { return d.Prefix + s }

// nowhere is a topic that does not exist.
func (d Broker) nowhere() offset.Partition { return offset.Partition{Topic: d.name("nowhere")} }

func (d Broker) topology(t *testing.T) {
	x := d.at(t)
	ps := d.Create(t, d.name("map"), 3)
	other := d.Create(t, d.name("map2"), 1)
	names := []string{d.name("map"), d.name("map2"), d.name("nowhere")}
	top, err := x.b.Topology(context.Background(), names)
	if err != nil {
		t.Fatal(err)
	}
	if len(top.Topics) != len(names) {
		t.Fatalf("%d topics were asked, and %d answered", len(names), len(top.Topics))
	}
	for i, want := range [][]offset.Partition{ps, other, nil} {
		got := top.Topics[i]
		if got.Name != names[i] || !slices.Equal(logsOf(got), want) {
			t.Errorf("topic %s is %s with %v, and should have %v", names[i], got.Name, logsOf(got), want)
		}
		if missing := want == nil; missing != (got.Err != nil) || missing && !errors.Is(got.Err, offset.ErrUnknownName) {
			t.Errorf("topic %s: %v", names[i], got.Err)
		}
		for _, l := range got.Logs {
			if l.Err != nil || l.Leader == "" {
				t.Errorf("%v is led by %q: %v", l.Partition, l.Leader, l.Err)
			}
		}
	}
	if (top.Cluster != "") != d.Cluster || top.Product == "" || len(top.Brokers) == 0 {
		t.Errorf("cluster %q, product %q, brokers %v", top.Cluster, top.Product, top.Brokers)
	}
	if !slices.IsSortedFunc(top.Brokers, func(a, b offset.Server) int { return compare(a.Name, b.Name) }) {
		t.Errorf("brokers are not sorted: %v", top.Brokers)
	}
	x.allTopics(top)
}

func compare(a, b string) int { return offset.Partition{Topic: a}.Compare(offset.Partition{Topic: b}) }

// allTopics: a list of all has what was found by name, in order, and each once.
func (x *desk) allTopics(named offset.Topology) {
	x.Helper()
	all, err := x.b.Topology(context.Background(), nil)
	if err != nil {
		x.Fatal(err)
	}
	for i := 1; i < len(all.Topics); i++ {
		if all.Topics[i-1].Name >= all.Topics[i].Name {
			x.Errorf("topics are not sorted, or one is there twice: %q, %q", all.Topics[i-1].Name, all.Topics[i].Name)
		}
	}
	for _, want := range named.Topics {
		i := slices.IndexFunc(all.Topics, func(t offset.Topic) bool { return t.Name == want.Name })
		if want.Err != nil && i < 0 {
			continue
		}
		if i < 0 || want.Err != nil || !slices.Equal(logsOf(all.Topics[i]), logsOf(want)) {
			x.Errorf("topic %s by name has %v (%v), and the list of all has it differently", want.Name, logsOf(want), want.Err)
		}
	}
	if !all.Whole && len(all.Gaps) == 0 {
		x.Error("the list of all topics may be short, and nothing says why")
	}
}

func logsOf(t offset.Topic) (out []offset.Partition) {
	for _, l := range t.Logs {
		out = append(out, l.Partition)
	}
	return out
}

func (d Broker) retention(t *testing.T) {
	x := d.at(t)
	d.Create(t, d.name("kept"), 1)
	names := []string{d.name("kept"), d.name("nowhere")}
	r := x.b.Retention(context.Background(), names)
	if len(r) != 2 || r[0].Err != nil || r[1].Err == nil {
		t.Errorf("retention of %q: %+v", names, r)
	}
}

// done: every call answers each question, also when its time is up.
func (d Broker) done(t *testing.T) {
	x := d.at(t)
	ps := d.Create(t, d.name("done"), 2)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := x.b.Topology(ctx, nil); err == nil {
		t.Error("a topology without an error")
	}
	for i, r := range x.b.Logs(ctx, queries(ps)) {
		if r.Err == nil {
			t.Errorf("%v: %+v without an error", ps[i], r.Value)
		}
	}
	for i, r := range x.b.Peek(ctx, []offset.Position{{Partition: ps[0]}, {Partition: ps[1]}}) {
		if r.Err == nil {
			t.Errorf("%v: %+v without an error", ps[i], r.Value)
		}
	}
	if n := len(x.b.Logs(ctx, queries(ps))); n != len(ps) {
		t.Errorf("%d logs were asked, and %d answered", len(ps), n)
	}
	groups := []string{d.name("done-a"), d.name("done-b")}
	r := x.b.Describe(ctx, groups)
	if len(r) != len(groups) || r[0].Err == nil || r[1].Err == nil {
		t.Errorf("groups %q: %+v", groups, r)
	}
	if len(x.b.Retention(ctx, groups)) != len(groups) {
		t.Error("retention: an answer is missing")
	}
	if _, _, err := x.b.Groups(ctx); err == nil {
		t.Error("a list of groups without an error")
	}
}

func (d Broker) down(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b, err := d.Down(t, (&hook{}).env())
	if err != nil {
		if !errors.Is(err, offset.ErrUnreachable) {
			t.Errorf("opening: %v; it should be: %v", err, offset.ErrUnreachable)
		}
		return
	}
	defer func() { _ = b.Close() }()
	if _, err := b.Topology(ctx, nil); !errors.Is(err, offset.ErrUnreachable) {
		t.Errorf("topology: %v; it should be: %v", err, offset.ErrUnreachable)
	}
}
