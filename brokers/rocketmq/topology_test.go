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

func logsOf(t offset.Topic) string {
	var out []string
	for _, l := range t.Logs {
		s := l.Partition.String()
		if l.Err != nil {
			s += "!"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestTopology(t *testing.T) {
	fake := remotingtest.New(t, remotingtest.Options{})
	fake.Broker("broker-a").Topic("orders", 2)
	fake.Broker("broker-b").Topic("orders", 11)
	fake.Broker("broker-b").TopicOf("odd", 1, 3)
	fake.Broker("broker-a").Topic("%RETRY%billing", 1)
	c := connect(t, testEnv(), fake.NameServers())

	top, err := c.Topology(t.Context(), []string{"nope", "odd", "orders"})
	if err != nil || len(top.Topics) != 3 || top.Cluster != "DefaultCluster" || !top.Whole || top.Gaps != nil {
		t.Fatalf("%+v %v", top, err)
	}
	if !errors.Is(top.Topics[0].Err, offset.ErrUnknownName) || top.Topics[0].Name != "nope" {
		t.Error(top.Topics[0])
	}
	if got := logsOf(top.Topics[1]); got != "odd@broker-b:0 odd@broker-b:1 odd@broker-b:2" {
		t.Error(got)
	}
	if got := logsOf(top.Topics[2]); !strings.HasPrefix(got, "orders@broker-a:0 orders@broker-a:1 orders@broker-b:0 ") || !strings.HasSuffix(got, "orders@broker-b:9 orders@broker-b:10") {
		t.Error(got)
	}
	all, err := c.Topology(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tp := range all.Topics {
		names = append(names, fmt.Sprint(tp.Name, tp.Internal))
	}
	if got := strings.Join(names, " "); got != "%RETRY%billingtrue oddfalse ordersfalse" {
		t.Error(got)
	}
	if len(all.Brokers) != 2 || all.Brokers[0].Name != "broker-a" || all.Product != "RocketMQ 5.5.0" {
		t.Errorf("%+v %s", all.Brokers, all.Product)
	}
	if w := fmt.Sprint(c.Warnings(t.Context())); !strings.Contains(w, "brokers expected: not known") || !strings.Contains(w, "odd: queues 1 to 2 of broker-b") {
		t.Error(w)
	}
}

// A dead broker is not in the metadata at all: only who expects it misses it.
func TestExpectedBrokers(t *testing.T) {
	fake := remotingtest.New(t, remotingtest.Options{Brokers: []string{"broker-a", "broker-b", "broker-c"}})
	for _, b := range []string{"broker-a", "broker-b"} {
		fake.Broker(b).Topic("orders", 1)
	}
	blind := connect(t, testEnv(), fake.NameServers())
	seeing := connect(t, testEnv(), fake.NameServers(), "brokers=broker-c,broker-b,broker-a")
	top, err := seeing.Topology(t.Context(), []string{"orders"})
	if err != nil || !top.Whole || top.Gaps != nil { // broker-c is there and has nothing of the topic
		t.Fatalf("%+v %v", top, err)
	}
	fake.Broker("broker-b").Kill()
	if top, err = blind.Topology(t.Context(), []string{"orders"}); err != nil || len(top.Gaps) > 0 || logsOf(top.Topics[0]) != "orders@broker-a:0" {
		t.Errorf("%+v %v", top, err)
	}
	top, err = seeing.Topology(t.Context(), []string{"orders"})
	if err != nil || top.Whole || len(top.Gaps) != 1 || !strings.Contains(top.Gaps[0].Error(), "broker-b") {
		t.Fatalf("%+v %v", top, err)
	}
	once := connect(t, testEnv(), fake.NameServers()) // it has seen broker-c before
	if _, err = once.Topology(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	fake.Broker("broker-c").Kill()
	for range 2 {
		if again, err := once.Topology(t.Context(), []string{"orders"}); err != nil || len(again.Gaps) != 1 || !strings.Contains(again.Gaps[0].Error(), "broker-c") {
			t.Errorf("%+v %v", again, err)
		}
	}
	if s := top.Brokers[1]; s.Name != "broker-b" || !errors.Is(s.Err, offset.ErrNoLeader) {
		t.Errorf("%+v", s)
	}
}

func TestSlaveOnly(t *testing.T) {
	fake := remotingtest.New(t, remotingtest.Options{})
	for _, b := range []string{"broker-a", "broker-b"} {
		fake.Broker(b).Topic("orders", 1)
	}
	slave := remotingtest.New(t, remotingtest.Options{Brokers: []string{"broker-a"}}).Broker("broker-a")
	slave.Topic("orders", 1)
	slave.Fill("orders", 0, 0, 7100, epoch)
	slave.SetOffset("billing", "orders", 0, 5)
	fake.Broker("broker-a").LeaveSlave(slave.Addr())

	c := connect(t, testEnv(), fake.NameServers())
	top, err := c.Topology(t.Context(), []string{"orders"})
	if err != nil || logsOf(top.Topics[0]) != "orders@broker-a:0! orders@broker-b:0" {
		t.Fatalf("%+v %v", top, err)
	}
	q := queue("orders", "broker-a", 0)
	if l := c.Logs(t.Context(), []offset.LogQuery{{Partition: q}})[0]; !errors.Is(l.Err, offset.ErrNoLeader) {
		t.Error("a slave's bounds were taken:", l)
	}
	if r := read(t, c, "billing", q)[0]; !errors.Is(r.Err, offset.ErrNoLeader) || !strings.Contains(r.Err.Error(), "master of broker-a is not available") {
		t.Error("a slave's position was taken:", show(r))
	}
	w := c.Offsets().Write(t.Context(), "billing", []offset.Change{{Partition: q, From: absent(), To: at(1)}})[0]
	if !errors.Is(w.Err, offset.ErrNoLeader) {
		t.Error(w)
	}
	if n, _ := slave.Offset("billing", "orders", 0); n != 5 {
		t.Error("a slave was written to")
	}
	if g := c.Describe(t.Context(), []string{"billing"})[0]; !errors.Is(g.Err, offset.ErrNoLeader) {
		t.Error("whether the group is live was told without a master:", g)
	}
}

func TestNameServers(t *testing.T) {
	fake := remotingtest.New(t, remotingtest.Options{NameServers: 2})
	fake.Broker("broker-a").Topic("orders", 1)
	dead := nowhere(t)
	c := connect(t, testEnv(), append([]string{dead}, fake.NameServers()...))
	for range 2 {
		if top, err := c.Topology(t.Context(), []string{"orders"}); err != nil || top.Topics[0].Err != nil {
			t.Fatal(err, top)
		}
	}
	// A young name server that does not know the topic yet is not believed while another knows it.
	young := fake.NameServers()[0]
	fake.Intercept(func(x *remotingtest.Call) bool {
		if x.Server != "ns0" {
			return false
		}
		a := &remoting.Command{Code: remoting.TopicNotExist, Opaque: x.Request.Opaque, Flag: remoting.FlagAnswer}
		frame, _ := a.Append(nil)
		x.Conn.Write(frame)
		return true
	})
	c = connect(t, testEnv(), []string{young, fake.NameServers()[1]})
	if top, err := c.Topology(t.Context(), []string{"orders"}); err != nil || top.Topics[0].Err != nil {
		t.Error(err, top)
	}
	other := nowhere(t)
	c = connect(t, testEnv(), []string{dead, other})
	_, err := c.Topology(t.Context(), []string{"orders"})
	if !errors.Is(err, offset.ErrUnreachable) || !strings.Contains(err.Error(), dead+`, "105 route": connect: connection refused; `+other) {
		t.Error(err)
	}
}

func TestAdvertisedAddress(t *testing.T) {
	fake := remotingtest.New(t, remotingtest.Options{})
	fake.Broker("broker-a").Topic("orders", 1)
	addr := nowhere(t)
	fake.Broker("broker-a").Advertise(addr)
	c := connect(t, testEnv(), fake.NameServers())
	if _, err := c.Topology(t.Context(), []string{"orders"}); err != nil {
		t.Fatal(err)
	}
	q := queue("orders", "broker-a", 0)
	for what, err := range map[string]error{
		"bounds":    c.Logs(t.Context(), []offset.LogQuery{{Partition: q}})[0].Err,
		"positions": read(t, c, "g", q)[0].Err,
		"group":     c.Describe(t.Context(), []string{"g"})[0].Err,
	} {
		if !errors.Is(err, offset.ErrUnreachable) || !strings.Contains(err.Error(), "advertised by the name servers as "+addr) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestProxyForNameServer(t *testing.T) {
	fake := remotingtest.New(t, remotingtest.Options{})
	fake.Intercept(func(x *remotingtest.Call) bool {
		a := &remoting.Command{Opaque: x.Request.Opaque, Flag: remoting.FlagAnswer, Ext: map[string]string{"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"},
			Body: []byte(`{"brokerDatas":[{"brokerAddrs":{"0":"h:1","1":"h:1"},"brokerName":"broker-a","cluster":"c"}],"queueDatas":[]}`)}
		frame, _ := a.Append(nil)
		x.Conn.Write(frame)
		return true
	})
	c := connect(t, testEnv(), fake.NameServers())
	if _, err := c.Topology(t.Context(), []string{"orders"}); !errors.Is(err, offset.ErrConfig) || !strings.Contains(err.Error(), "is a RocketMQ 5 proxy") {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, options := range []string{"access-key=a", "secret-key=b", "token=c", "brokers=a,,b", "timeout=5", "timeout=-1s"} {
		t.Run(options, func(t *testing.T) {
			a := parsed(t, "rocketmq://h:9876?"+options)
			if _, err := Open(t.Context(), testEnv(), a); !errors.Is(err, offset.ErrConfig) {
				t.Error(err)
			}
		})
	}
}

func TestAccessControl(t *testing.T) {
	for name, v := range versions {
		fake := remotingtest.New(t, remotingtest.Options{Version: v, Accounts: map[string]string{"reader001": "readsecret1"}})
		fake.Broker("broker-a").Topic("orders", 1)
		q := queue("orders", "broker-a", 0)
		wrong := connect(t, testEnv(), fake.NameServers(), "access-key=reader001", "secret-key=wrongsecret")
		r := read(t, wrong, "g", q)[0]
		if !errors.Is(r.Err, offset.ErrDenied) || strings.Contains(r.Err.Error(), "wrongsecret") {
			t.Error(name, r)
		}
		right := connect(t, testEnv(), fake.NameServers(), "access-key=reader001", "secret-key=readsecret1")
		if r := read(t, right, "g", q)[0]; show(r) != "absent" {
			t.Error(name, show(r))
		}
		if got := rights(t, right, "g", "orders"); got != "yes yes yes yes" {
			t.Error(name, got)
		}
		if got := rights(t, wrong, "g", "orders"); got != "no no no no" {
			t.Error(name, got)
		}
	}
}
