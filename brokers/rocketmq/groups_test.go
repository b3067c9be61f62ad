package rocketmq

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/brokers/remoting/remotingtest"
	"github.com/offsetctl/offsetctl/offset"
)

// BR-31, two clients: what each of them subscribes to is asked of itself, because brokers keep the latest for the whole group.
func TestBR31DifferentTags(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		a, b := fake.Broker("broker-a"), fake.Broker("broker-b")
		a.Topic("orders", 1)
		b.Topic("orders", 1)
		one := remotingtest.Client{ID: "c1", Addr: "10.0.0.1:5", Version: 317, Filters: map[string]string{"orders": "B||A ", "%RETRY%g": "*"},
			Owns: []remoting.Queue{{Topic: "orders", Broker: "broker-b", ID: 0}, {Topic: "orders", Broker: "broker-a", ID: 0}}}
		two := remotingtest.Client{ID: "c2", Filters: map[string]string{"orders": "C"}}
		three := remotingtest.Client{ID: "c3", Silent: true}
		a.Connect("g", two, one)
		b.Connect("g", two, three) // one is known here by nobody
		c := connect(t, testEnv(), fake.NameServers())
		g := c.Describe(t.Context(), []string{"g"})[0]
		if g.Err != nil || g.Value.Phase != offset.Live || g.Value.Kind != "push" || len(g.Value.Members) != 3 {
			t.Fatalf("%+v", g)
		}
		m := g.Value.Members
		if fmt.Sprint(m[0].Subscribes, m[1].Subscribes) != "[{orders A || B}] [{orders C}]" {
			t.Error(m[0].Subscribes, m[1].Subscribes)
		}
		if fmt.Sprint(m[0].Owns) != "[orders@broker-a:0 orders@broker-b:0]" || m[0].Host != "10.0.0.1" || m[0].Version != "4.5.2 GO" {
			t.Errorf("%+v", m[0])
		}
		if m[2].Subscribes != nil || m[2].Err == nil || !strings.Contains(m[2].Err.Error(), "ask again") {
			t.Errorf("a client that did not tell: %+v", m[2])
		}
	})
}

// BR-30: the positions of a broadcasting group are on its clients.
func TestBR30Broadcast(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		b := fake.Broker("broker-b")
		b.Topic("orders", 1)
		b.Connect("radio", remotingtest.Client{ID: "c1", Broadcast: true, Filters: map[string]string{"orders": "*"}})
		fake.Broker("broker-a").Connect("radio", remotingtest.Client{ID: "c2", Filters: map[string]string{"orders": "*"}})
		c := connect(t, testEnv(), fake.NameServers())
		g := c.Describe(t.Context(), []string{"radio"})[0]
		if g.Err != nil || g.Value.Kind != kindBroadcast || g.Value.State != "clients differ: broadcast and push" {
			t.Errorf("%+v", g)
		}
	})
}

// BR-29: a broker that does not answer may know clients.
func TestGroupsWithABrokerDown(t *testing.T) {
	fake := remotingtest.New(t, remotingtest.Options{})
	fake.Broker("broker-a").SetOffset("g", "orders", 0, 1)
	fake.Broker("broker-b").Group("idle")
	fake.Broker("broker-b").Connect("busy", remotingtest.Client{ID: "c1", Type: "CONSUME_POP"})
	c := connect(t, testEnv(), fake.NameServers())
	list := func() (string, []error) {
		groups, gaps, err := c.Groups(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, g := range groups {
			out = append(out, fmt.Sprint(g.Name, " ", g.Kind, " ", g.Phase))
		}
		return strings.Join(out, ", "), gaps
	}
	if got, gaps := list(); got != "busy pop live, g  empty, idle  empty" || gaps != nil {
		t.Error(got, gaps)
	}
	fake.Intercept(func(x *remotingtest.Call) bool {
		if x.Server == "broker-b" {
			x.Conn.Close()
		}
		return x.Server == "broker-b"
	})
	if got, gaps := list(); got != "g  unknown" || len(gaps) != 2 {
		t.Error(got, gaps)
	}
	if g := c.Describe(t.Context(), []string{"g"})[0]; !errors.Is(g.Err, offset.ErrUnreachable) {
		t.Errorf("%+v", g)
	}
}

func TestFilter(t *testing.T) {
	for in, want := range map[string]string{"": "*", "*": "*", " a||b ": "a || b", "b || a": "a || b", "a||a": "a", "a || *": "*"} {
		if got := filter(remoting.Subscription{SubString: in}); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	if got := filter(remoting.Subscription{SubString: "a > 5", ExpressionType: "SQL92"}); got != "SQL92: a > 5" {
		t.Error(got)
	}
}

func TestNames(t *testing.T) {
	for topic, want := range map[string]bool{"orders": false, "%RETRY%g": true, "%DLQ%g": true, "TBW102": true, "rmq_sys_x": true, "DefaultCluster_REPLY_TOPIC": true, "RMQ_SYS_TRACE_TOPIC": true} {
		if isInternal(topic) != want {
			t.Error(topic)
		}
	}
	for topic, want := range map[string]bool{"%RETRY%g_orders": true, "%RETRY%g+orders": true, "%RETRY%g": false, "%RETRY%g_": false, "%RETRY%gg_orders": false, "orders": false} {
		if isPopRetry("g", topic) != want {
			t.Error(topic)
		}
	}
	for name, want := range map[string]bool{"a": true, "a-b_c|d%e9": true, "": false, "a.b": false, "a@b": false, "ä": false, strings.Repeat("a", 128): false} {
		if isName(name, maxTopic) != want {
			t.Error(name)
		}
	}
}
