package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/stores/hbase/hbasetest"
)

// TestBR10HBaseLastDone: a job that keeps the last record that it has done.
func TestBR10HBaseLastDone(t *testing.T) {
	c, h := kafkaCluster(t, "kafka44"), openCells(t, testservers.Need(t, "hbase26"))
	topic := c.topic("last", 2, "retention.ms", "-1")
	c.produce(topic, 0, 4, 0)
	c.produce(topic, 1, 4, 0)
	o := c.operator("OFFSETCTL_STORE=" + h.url("&value=last"))
	o.exits(0, "store", "init")
	h.put("g", topic, "0", "3")
	h.put("g", topic, "1", "-1")
	rows := o.inspect("g")
	o.verdict(rows, topic+":0", "ok", 4)
	o.verdict(rows, topic+":1", "ok", 0)
	next := c.operator("OFFSETCTL_STORE=" + h.url(""))
	rows = next.inspect("g")
	next.verdict(rows, topic+":0", "ok", 3)
	next.verdict(rows, topic+":1", "invalid", -1)
	for target, want := range map[string]string{"--to-latest": "3", "--to-earliest": "-1"} {
		o.exits(0, "reset", "-g", "g", "-t", topic, target, "--allow-skip", "--yes", "--settle", "0")
		for _, p := range []string{"0", "1"} {
			if got := h.raw("g", topic, p); got != want {
				t.Errorf("%s: partition %s holds %q, want %q", target, p, got, want)
			}
		}
	}
}

// TestBR32HBaseOddValues, and BR-12, BR-40: what cells of a foreign job may hold.
func TestBR32HBaseOddValues(t *testing.T) {
	c, h := kafkaCluster(t, "kafka44"), openCells(t, testservers.Need(t, "hbase26"))
	topic := c.topic("odd", 9, "retention.ms", "-1")
	for p := range int32(9) {
		c.produce(topic, p, 200, 0)
	}
	o := c.operator("OFFSETCTL_STORE=" + h.url(""))
	o.exits(0, "store", "init")
	raws := []string{"100|120", "", "75\n", gone, long(75), "abc", "12.0", "9223372036854775808", "9007199254740993"}
	for p, raw := range raws {
		if raw != gone {
			h.put("g", topic, fmt.Sprint(p), raw)
		}
	}
	h.put("g", topic, "owner", "job-7")
	rows := o.inspect("g")
	for p, want := range []struct {
		verdict string
		at      int64
	}{{"ok", 120}, {"invalid", -1}, {"ok", 75}, {"absent", -1}, {"ok", 75}, {"invalid", -1}, {"invalid", -1}, {"invalid", -1}, {"tail-overflow", 9007199254740993}} {
		o.verdict(rows, fmt.Sprintf("%s:%d", topic, p), want.verdict, want.at)
	}
	o.exits(1, "inspect", "-g", "g").says(`"abc"`, "empty value", "9223372036854775808", "9007199254740993", `"owner" is no partition`, `!e\+`)
	o.exits(0, "reset", "-g", "g", "-t", topic+":1", "--to-earliest", "--yes", "--settle", "0").says("written 1 of 1")
	o.exits(0, "reset", "-g", "g", "-t", topic+":4", "--to-offset", "80", "--allow-skip", "--yes", "--settle", "0").says("written 1 of 1")
	raws[1], raws[4] = "0|0", long(80)
	for p, want := range raws {
		if got := h.raw("g", topic, fmt.Sprint(p)); got != want {
			t.Errorf("partition %d holds %q, want %q", p, got, want)
		}
	}
	o.exits(1, "inspect", "-g", "gg", "-t", topic).says("nothing is stored")
}

// TestBR26HBaseQueues: RocketMQ's queues carry their broker in the column; one without is nobody's where two have the topic.
func TestBR26HBaseQueues(t *testing.T) {
	everyFake(t, func(t *testing.T, r *fakeRocket) {
		a, b := r.both("orders", 1, "g")
		a.Fill("orders", 0, 0, 20, time.Now())
		b.Fill("orders", 0, 400, 600, time.Now())
		c := hbasetest.Start(t, hbasetest.Options{Now: milliseconds})
		store := []string{"--broker", r.url, "--store", c.URL("")}
		run := func(code int, args ...string) *said { return r.exits(code, append(args, store...)...) }
		c.Put("g|orders", "broker-a-0", "5|10", 0)
		c.Put("g|orders", "broker-b-0", "500", 0)
		run(0, "inspect", "-g", "g").says(`orders@broker-a +0 +10 +0 +20 +10 +ok`, `orders@broker-b +0 +500 +400 +600 +100 +ok`)
		run(0, "reset", "-g", "g", "-t", "orders", "--to-earliest", "--yes", "--settle", "0").says("written 2 of 2")
		for column, want := range map[string]string{"broker-a-0": "0|0", "broker-b-0": "400"} {
			if raw, _, _ := c.Value("g|orders", column); raw != want {
				t.Errorf("column %s holds %q, want %q", column, raw, want)
			}
		}
		c.Put("old|orders", "0", "7|7", 0)
		run(1, "inspect", "-g", "old").says("orders +0 +7 .*invalid +ambiguous: on broker-a, broker-b", "orders@broker-a +0 +- .*absent", "orders@broker-b +0 +- .*absent")
	})
}

func milliseconds() int64 { return time.Now().UnixMilli() }

// TestHBaseGroupsDelete: a group goes with its rows, its neighbours and the job's log stay, and an undo brings it back as it was.
func TestHBaseGroupsDelete(t *testing.T) {
	c, h := kafkaCluster(t, "kafka44"), openCells(t, testservers.Need(t, "hbase26"))
	topic := c.topic("gone", 3, "retention.ms", "-1")
	o := c.operator("OFFSETCTL_STORE=" + h.url(""))
	o.exits(0, "store", "init")
	was := map[string]string{"0": "3|5", "1": "abc", "2": long(7)}
	groups := []string{"g", "g|x", "g1", "LOG|g"}
	for _, g := range groups {
		for p, raw := range was {
			h.put(g, topic, p, raw)
		}
	}
	has := func(group string, there bool) {
		t.Helper()
		for p, want := range was {
			if !there {
				want = gone
			}
			if got := h.raw(group, topic, p); got != want {
				t.Errorf("group %s: %s:%s holds %q, want %q", group, topic, p, got, want)
			}
		}
	}
	o.exits(0, "groups", "delete", "g", "--yes", "--settle", "0").says("g DELETED", "written 3 of 3")
	for _, g := range groups {
		has(g, g != "g")
	}
	o.exits(0, "groups").says("^g1 ", `^g\|x `, "!^g ", "!LOG")
	o.exits(0, "undo", "--yes", "--settle", "0").says("written 3 of 3")
	has("g", true)
	h.put("g", topic, "owner", "job-7")
	o.exits(2, "groups", "delete", "g", "--yes", "--settle", "0").says(`"owner", which is no partition`, "nothing was written")
	has("g", true)
}
