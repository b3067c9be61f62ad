package inspect_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

func live(name, kind string, members ...offset.Member) offset.Group {
	return offset.Group{Name: name, Kind: kind, State: "Stable", Phase: offset.Live, Members: members}
}

func member(client string, topics ...string) offset.Member {
	m := offset.Member{ID: client, Client: client}
	for _, t := range topics {
		topic, filter, _ := strings.Cut(t, "/")
		m.Subscribes = append(m.Subscribes, offset.Subscription{Topic: topic, Filter: filter})
	}
	return m
}

func TestMixedSubscriptions(t *testing.T) {
	for _, c := range []struct {
		name    string
		members []offset.Member
		text    string
	}{
		{"the same", []offset.Member{member("a", "orders"), member("b", "orders")}, ""},
		{"other topics", []offset.Member{member("a", "orders"), member("b", "orders", "refunds")}, "a to orders; b to orders, refunds"},
		{"other tags", []offset.Member{member("a", "orders/new"), member("b", "orders/paid")}, "a to orders (new); b to orders (paid)"},
		{"one that could not be asked", []offset.Member{member("a", "orders"), {Client: "b", Err: errTest, Subscribes: []offset.Subscription{{Topic: "x"}}}}, ""},
		{"one that has not said yet", []offset.Member{member("a", "orders"), member("b")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := groups()
			w.Log("orders:0", 0, 10)
			w.Commit("g", "orders:0", 10)
			w.Group(live("g", "push", c.members...))
			r := judge(t, w, inspect.Ask{})
			g := r.Groups[0]
			if (c.text != "") != (g.Verdict == inspect.MixedSubscriptions) {
				t.Fatalf("%v: %+v", g.Verdict, g.Findings)
			}
			if c.text != "" && (!strings.Contains(g.Findings[0].Text, c.text) || len(g.Findings[0].Repairs) > 0 || g.Counts[inspect.MixedSubscriptions] != 1) {
				t.Errorf("%+v", g)
			}
			if row(t, r, "orders:0").Verdict != inspect.OK {
				t.Error("a finding of the group is none of its partitions")
			}
		})
	}
}

// On Kafka each topic goes to the members that want it: nothing is lost, and a rolling change of a subscription is no fault.
func TestDifferentTopicsOnKafkaAreANote(t *testing.T) {
	w := groups()
	w.Log("orders:0", 0, 10)
	w.Commit("g", "orders:0", 10)
	w.Group(live("g", "classic", member("a", "orders"), member("b", "orders", "refunds")))
	g := judge(t, w, inspect.Ask{}).Groups[0]
	if g.Verdict != inspect.OK || len(g.Notes) == 0 || !strings.Contains(g.Notes[0], "a to orders; b to orders, refunds") {
		t.Errorf("%v %+v %q", g.Verdict, g.Findings, g.Notes)
	}
}

func TestNothingStored(t *testing.T) {
	w := groups()
	w.Log("orders:0", 0, 10)
	w.Log("orders:1", 5, 10)
	w.Commit("billing", "orders:0", 10)
	w.Group(offset.Group{Name: "idle", Phase: offset.Empty})
	for _, c := range []struct {
		name, group string
		topics      []string
		text        string
		repairs     string
		rows        int
	}{
		{"no such group", "nobody-here", nil, "there is no group of this name", "", 0},
		{"a slip", "biling", nil, "did you mean billing?", "", 0},
		{"empty", "idle", nil, "nothing is stored", "", 0},
		{"with its topics", "idle", []string{"orders"}, "nothing is stored", "reads 15, skips 15", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := judge(t, w, inspect.Ask{Groups: []string{c.group}, Topics: c.topics})
			g := r.Groups[0]
			if !g.Nothing || g.Verdict != inspect.Absent || len(g.Findings) != 1 || len(g.Rows) != c.rows {
				t.Fatalf("%+v", g)
			}
			if f := g.Findings[0]; !strings.Contains(f.Text, c.text) || effects(f) != c.repairs {
				t.Errorf("%+v", f)
			}
			if n := g.Counts[inspect.Absent]; n != max(1, c.rows) {
				t.Errorf("%d absent", n)
			}
			if got := r.Collect(&g); len(got) != 1 {
				t.Errorf("one finding says it all: %+v", got)
			}
			exits(t, r, 1)
			if inspect.ExitCode(r, inspect.Loss) != 1 {
				t.Error("a name typed wrongly must not pass for healthy")
			}
		})
	}
}

// A share group has no position where its brokers have handed out no record yet, which is no sign of a loss by itself; whether it
// begins at the start or at the end is a setting of the group.
func TestShareGroupNotBegun(t *testing.T) {
	w := groups()
	w.Log("orders:0", 0, 10)
	w.Log("orders:1", 5, 10)
	w.Commit("g", "orders:0", 10)
	w.Group(live("g", "share", member("a", "orders")))
	r := judge(t, w, inspect.Ask{Topics: []string{"orders"}})
	x := row(t, r, "orders:1")
	if len(x.Findings) != 1 {
		t.Fatalf("%+v", x)
	}
	f := x.Findings[0]
	if f.Verdict != inspect.Absent || !strings.HasPrefix(f.Text, "not begun") || !strings.Contains(f.Restart, "share.auto.offset.reset=latest (the default) the group skips 5") {
		t.Errorf("%+v", f)
	}
	if effects(f) != "reads 5, skips 5" {
		t.Errorf("%+v", f.Repairs)
	}
}

func TestFrameworks(t *testing.T) {
	for name, words := range map[string]string{
		"spark-kafka-source-1234-driver-0": "Structured Streaming",
		"my-flink-job":                     "Flink",
		"KafkaSource-77":                   "Flink",
		"connect-hdfs":                     "Kafka Connect",
		"billing":                          "",
	} {
		t.Run(name, func(t *testing.T) {
			w := groups()
			w.Log("orders:0", 5, 10)
			w.Commit(name, "orders:0", 1)
			r := judge(t, w, inspect.Ask{Groups: []string{name}})
			g := r.Groups[0]
			if notes := strings.Join(g.Notes, "\n"); (words == "") != (notes == "") || !strings.Contains(notes, words) {
				t.Errorf("%q", notes)
			}
			reset := len(g.Rows[0].Findings[0].Repairs) > 0
			if reset != (words == "" || words == "Kafka Connect") {
				t.Errorf("a reset is offered: %v", reset)
			}
		})
	}
}

func TestGroupElsewhere(t *testing.T) {
	w := table()
	w.Log("orders:0", 0, 10)
	w.Commit("g", "orders:0", 10)
	w.Group(live("g", "classic", member("a", "orders")))
	r := judge(t, w, inspect.Ask{})
	if g := r.Groups[0]; g.Verdict != inspect.OK || len(g.Notes) != 1 || !strings.Contains(g.Notes[0], "live group of this name with 1 member") {
		t.Errorf("%+v", g.Notes)
	}
	missing := table()
	missing.Log("orders:0", 0, 10)
	missing.Commit("g", "orders:0", 10)
	if g := judge(t, missing, inspect.Ask{}).Groups[0]; g.Verdict != inspect.OK || len(g.Notes) != 0 {
		t.Errorf("a broker that does not know the group says nothing of a table: %+v", g)
	}
}

func TestOwners(t *testing.T) {
	w := groups()
	for i := range 4 {
		p := fmt.Sprint("orders:", i)
		w.Log(p, 0, 10)
		w.Commit("g", p, 10)
	}
	a, b := member("a", "orders"), member("b", "orders")
	a.Owns = []offset.Partition{{Topic: "orders", Index: 0}, {Topic: "orders", Index: 2}}
	b.Owns = []offset.Partition{{Topic: "orders", Index: 1}}
	w.Group(live("g", "consumer", a, b))
	r := judge(t, w, inspect.Ask{})
	for p, want := range map[string]string{"orders:0": "a", "orders:1": "b", "orders:2": "a", "orders:3": ""} {
		got := ""
		if m := row(t, r, p).Owner; m != nil {
			got = m.Client
		}
		if got != want {
			t.Errorf("%s is owned by %q, want %q", p, got, want)
		}
	}
}

func TestCollect(t *testing.T) {
	w := groups()
	for i := range 64 {
		p := fmt.Sprint("orders:", i)
		w.Log(p, 100, 200)
		w.Commit("g", p, 40)
	}
	w.Log("refunds:0", 0, 10)
	w.Commit("g", "refunds:0", 30)
	r := judge(t, w, inspect.Ask{})
	got := r.Collect(&r.Groups[0])
	if len(got) != 2 || got[0].Verdict != inspect.HeadOverflow || got[1].Verdict != inspect.TailOverflow {
		t.Fatalf("%+v", got)
	}
	c := got[0]
	if fmt.Sprint(c.Where) != "[orders:0-63]" || len(c.Partitions) != 64 || !strings.Contains(c.Text, "3,840 unread records") || effects(c.Finding) != "keeps 6400" ||
		strings.Join(c.Repairs[0].Args, " ") != "reset -g g -t orders:0-63 --repair" {
		t.Errorf("%+v", c)
	}
}

func TestMissingBrokers(t *testing.T) {
	w := groups()
	w.Brokers = []offset.Server{{Name: "broker-a"}, {Name: "broker-c", Err: offset.ErrUnreachable}}
	w.Log("orders:0", 0, 10)
	w.Commit("g", "orders:0", 10)
	r := judge(t, w, inspect.Ask{Expected: []string{"broker-a", "broker-b", "broker-c"}})
	if len(r.Findings) != 2 || !strings.Contains(r.Findings[0].Text, "broker-b") || !strings.Contains(r.Findings[1].Text, "broker-c") || !r.Incomplete {
		t.Errorf("%+v", r.Findings)
	}
	exits(t, r, 3)
}

// What nobody asked about is not missed, a broker that only earlier runs saw is said to be so, and one that the broker's own list
// has with an error needs no list of the caller.
func TestMissingBrokersThatMatter(t *testing.T) {
	w := groups()
	w.Brokers = []offset.Server{{Name: "broker-a"}, {Name: "broker-b", Err: fmt.Errorf("gone: %w", offset.ErrNoLeader)}}
	w.Gaps = []error{w.Brokers[1].Err}
	w.Log("orders:0", 0, 10)
	w.Commit("g", "orders:0", 10)
	ask := inspect.Ask{Now: now, LastSeen: map[string]time.Time{"broker-b": now.Add(-12 * time.Minute)}}
	r := judge(t, w, ask)
	if len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Text, "the master of broker broker-b is missing, last seen 12 min ago") ||
		!strings.Contains(r.Findings[0].Text, "config forget-broker broker-b") || len(r.Survey.Gaps) != 0 {
		t.Errorf("%+v %v", r.Findings, r.Survey.Gaps)
	}
	exits(t, r, 3)
	ask.Brokers = []string{"broker-a"}
	r = judge(t, w, ask)
	if len(r.Findings) != 0 {
		t.Errorf("%+v", r.Findings)
	}
	exits(t, r, 0)
}

func TestUntilMinusOneIsAHint(t *testing.T) {
	for _, c := range []struct {
		name    string
		lags    []int64
		product string
		members []offset.Member
		hint    bool
	}{
		{"every queue by one", []int64{1, 1, 1}, "RocketMQ 5.5.0", nil, true},
		{"one queue is enough for nothing", []int64{1}, "RocketMQ 5.5.0", nil, false},
		{"one queue by two", []int64{1, 2}, "RocketMQ 5.5.0", nil, false},
		{"one queue by none", []int64{1, 0}, "RocketMQ 5.5.0", nil, false},
		{"somebody consumes", []int64{1, 1}, "RocketMQ 5.5.0", []offset.Member{member("a", "orders")}, false},
		{"Kafka", []int64{1, 1}, "Kafka 4.4.0", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := groups()
			w.Product = c.product
			for i, lag := range c.lags {
				p := fmt.Sprintf("orders:%d", i)
				w.Log(p, 0, 10)
				w.Commit("g", p, 10-lag)
			}
			if c.members != nil {
				w.Group(live("g", "push", c.members...))
			}
			notes := strings.Join(judge(t, w, inspect.Ask{}).Groups[0].Notes, "\n")
			if strings.Contains(notes, "until-1") != c.hint {
				t.Error(notes)
			}
		})
	}
}

// What a group has to try again is counted apart.
func TestRetryTopicsAreCountedApart(t *testing.T) {
	w := groups()
	w.Product = "RocketMQ 5.5.0"
	w.Log("orders:0", 0, 10)
	w.Commit("g", "orders:0", 8)
	w.Log("%RETRY%g:0", 0, 7)
	w.Commit("g", "%RETRY%g:0", 2)
	if g := judge(t, w, inspect.Ask{}).Groups[0]; g.Lag != 2 || g.RetryLag != 5 {
		t.Error(g.Lag, g.RetryLag)
	}
}
