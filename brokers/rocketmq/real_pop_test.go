package rocketmq

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/internal/testservers"
	rockettest "github.com/offsetctl/offsetctl/internal/testservers/rocketmq"
	"github.com/offsetctl/offsetctl/offset"
)

func TestRealProxyForNameServer(t *testing.T) {
	s := testservers.Need(t, "rocketmq55proxy")
	c := connect(t, testEnv(), []string{s.Addr["proxy"]})
	for what, ask := range map[string]func() error{
		"a topic":    func() error { _, err := c.Topology(t.Context(), []string{"TBW102"}); return err },
		"all topics": func() error { _, err := c.Topology(t.Context(), nil); return err },
		"groups":     func() error { _, _, err := c.Groups(t.Context()); return err },
		"positions":  func() error { _, _, err := c.Offsets().Groups(t.Context()); return err },
	} {
		if err := ask(); !errors.Is(err, remoting.ErrNoNameServer) || !errors.Is(err, offset.ErrConfig) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A group that pops has no client that the broker would list: what it left behind tells that somebody may be there.
func TestRealPoppingGroup(t *testing.T) {
	r := needReal(t, testservers.Need(t, "rocketmq55proxy"))
	topic, group := r.Topic("pop", 1, "broker-a"), r.Name+"-pop"
	r.Must(r.Admin.CreateGroup(t.Context(), r.On("broker-a"), group))
	q := queue(topic, "broker-a", 0)
	r.Produce(q, 10, "x", "")
	pop := func() {
		const code = 200050
		_, err := r.Admin.Do(t.Context(), r.Addr["broker-a"], remoting.Request{Code: code, Ext: map[string]string{
			"consumerGroup": group, "topic": topic, "queueId": "0", "maxMsgNums": "4", "invisibleTime": "1000", "pollTime": "0",
			"bornTime": fmt.Sprint(time.Now().UnixMilli()), "initMode": "1", "expType": "TAG", "exp": "*", "order": "false",
		}})
		if !remoting.IsCode(err, 210) { // now and then a broker looks only where what comes back is
			r.Must(err)
		}
	}
	rockettest.Eventually(t, time.Minute, func() string {
		pop()
		if now := read(t, r.c, group, q)[0]; show(now) != "4" {
			return "positions move when messages are popped, not when they are acknowledged: " + show(now)
		}
		return ""
	})
	g := r.c.Describe(t.Context(), []string{group})[0]
	if g.Err != nil || g.Value.Phase != offset.Empty {
		t.Errorf("%+v", g)
	}
	// What nobody acknowledged comes back in a topic of its own; once it was popped too, the group has a position of it.
	rockettest.Eventually(t, time.Minute, func() string {
		time.Sleep(time.Second)
		pop()
		at := read(t, r.c, group, q)[0]
		o := (store{r.c}).Guard(t.Context(), group, []offset.Change{{Partition: q, From: at.Value, To: offset.Stored{State: offset.Set}}})
		if len(o) != 1 || o[0].Allow != allowLive || !strings.Contains(o[0].Text, "popping") {
			return fmt.Sprintf("%+v", o)
		}
		return ""
	})
	// Nobody pops any more: a write is taken, and the next pop starts there. A broker now and then hands out first what came back.
	if w := put1(t, r.c, group, q, at(2)); show(w) != "2" {
		t.Error(show(w))
	}
	rockettest.Eventually(t, time.Minute, func() string {
		pop()
		if now := read(t, r.c, group, q)[0]; now.Err != nil || now.Value.Next <= 2 || now.Value.Next > 6 {
			return "after the next pop: " + show(now)
		}
		return ""
	})
}
