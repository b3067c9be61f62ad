package e2e

import (
	"path"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/offsetctl/offsetctl/brokers/remoting/remotingtest"
	"github.com/offsetctl/offsetctl/internal/testservers"
)

// What a job keeps in ZooKeeper and in Redis, the same of both.

// retired deletes a group with what it has, sound or not, and brings it back byte for byte; its neighbour stays.
func retired(t *testing.T, c *cluster, j job, store, group string) {
	t.Helper()
	topic := bounds(c, "orders")
	was := map[string]string{"0": "5", "1": "300", "2": "", "3": "75\n", "9": "44"}
	for p, raw := range was {
		j.put(group, topic, p, raw)
	}
	j.put(group+"2", topic, "0", "30")
	s := seed{job: j}
	o := c.operator("OFFSETCTL_STORE=" + store)
	o.exits(0, "groups", "delete", group, "--dry-run").says("deletes 5 positions", "nothing was written")
	s.has(t, group, topic, was)
	o.exits(0, "groups", "delete", group, "--yes", "--settle", "0").says("written 5 of 5", "undo")
	s.has(t, group, topic, nil)
	o.exits(0, "groups").says(group+"2", "!^"+group+" ")
	o.exits(0, "inspect", "-g", group+"2", "-t", topic+":0")
	o.exits(0, "undo", "--yes", "--settle", "0").says("written 5 of 5")
	s.has(t, group, topic, was)
	o.exits(4, "groups", "delete", group+"3", "--yes").says("nothing stored")
}

func TestZooKeeperGroupsDelete(t *testing.T) {
	c, z := kafkaCluster(t, "kafka44"), openZnodes(t, testservers.Need(t, "zookeeper").Addr["plain"])
	retired(t, c, z, z.url(""), "g")
	ids := z.chroot + "/consumers/g2/ids"
	z.create(ids, nil, zk.WorldACL(zk.PermAll))
	id, err := z.conn.Create(ids+"/host-1", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	if err != nil {
		t.Fatal(err)
	}
	o := c.operator("OFFSETCTL_STORE=" + z.url(""))
	for _, args := range [][]string{{"groups", "delete", "g2", "--dry-run"}, {"groups", "delete", "g2", "--yes"}, {"reset", "-g", "g2", "-t", c.name + ".orders:0", "--to-latest", "--yes"}} {
		o.exits(4, args...).says("host-1", "being consumed", "!journal [0-9]")
	}
	if err := z.conn.Delete(id, -1); err != nil {
		t.Fatal(err)
	}
	o.exits(0, "groups", "delete", "g2", "--yes", "--settle", "0").says("written 1 of 1")
	if names, _, err := z.conn.Children(z.chroot + "/consumers/g2"); err != nil || len(names) != 1 || names[0] != "ids" {
		t.Errorf("%q is left, %v", names, err)
	}
}

func TestRedisGroupsDelete(t *testing.T) {
	for name, options := range map[string]string{"hash": "", "string": "?type=string"} {
		t.Run(name, func(t *testing.T) {
			c, k := kafkaCluster(t, "kafka44"), openKeys(t, testservers.Need(t, "redis").Addr["plain"])
			k.strings = options != ""
			retired(t, c, k, k.url(options), c.name)
			if k.strings {
				return
			}
			k.do("HSET", "flat-"+c.name+":"+c.name+".orders", "0", "30")
			o := c.operator("OFFSETCTL_STORE=" + k.url("?key=flat-"+c.name+":{topic}"))
			o.exits(0, "groups").says("^flat-" + c.name)
			o.exits(4, "groups", "delete", "any", "--yes").says("no {group}", "--to-absent")
		})
	}
}

// planned changes what a plan is about between the plan and its writing: another's progress is never lost, and nothing overrules that.
func planned(t *testing.T, c *cluster, j job, store, group string) {
	t.Helper()
	topic := bounds(c, "planned")
	j.put(group, topic, "0", "50")
	j.put(group, topic, "1", "60")
	o := c.operator("OFFSETCTL_STORE=" + store)
	plan := path.Join(o.dir, "plan.json")
	o.exits(0, "reset", "-g", group, "-t", topic+":0,1", "--to-earliest", "--plan-out", plan)
	j.put(group, topic, "0", "51")
	o.exits(4, "apply", plan, "--yes", "--settle", "0").says("50", "51")
	if a, b := j.raw(group, topic, "0"), j.raw(group, topic, "1"); a != "51" || b != "60" {
		t.Errorf("they are %s and %s", a, b)
	}
	j.put(group, topic, "0", "50")
	s := o.run("apply", plan, "--yes", "--settle", "0")
	if now := j.raw(group, topic, "0"); (s.code == 0) != (now == "20") || s.code != 0 && now != "50" {
		t.Errorf("it is %s after %s", now, s)
	}
}

func TestBR34ZooKeeperPlanned(t *testing.T) {
	c, z := kafkaCluster(t, "kafka44"), openZnodes(t, testservers.Need(t, "zookeeper").Addr["plain"])
	planned(t, c, z, z.url(""), "g")
}

func TestBR34RedisPlanned(t *testing.T) {
	c, k := kafkaCluster(t, "kafka44"), openKeys(t, testservers.Need(t, "redis").Addr["plain"])
	planned(t, c, k, k.url(""), c.name)
}

// ambiguous keeps queues of two brokers, and one that does not say of which it is: that is no position of either.
func ambiguous(t *testing.T, r *fakeRocket, j job, store, group string) {
	t.Helper()
	a, b := r.both("orders", 1, group)
	a.Fill("orders", 0, 0, 20, time.Now())
	b.Fill("orders", 0, 400, 600, time.Now())
	j.put(group, "orders", "broker-a-0", "10")
	j.put(group, "orders", "broker-b-0", "500")
	at := func(args ...string) []string { return append(args, "--broker", r.url, "--store", store) }
	r.exits(0, at("inspect", "-g", group, "-t", "orders")...).says(`orders@broker-a +0 +10 +0 +20 +10 +ok`, `orders@broker-b +0 +500 +400 +600 +100 +ok`)
	r.exits(0, at("reset", "-g", group, "-t", "orders", "--to-earliest", "--yes", "--settle", "0")...).says("written 2 of 2")
	if x, y := j.raw(group, "orders", "broker-a-0"), j.raw(group, "orders", "broker-b-0"); x != "0" || y != "400" {
		t.Errorf("they are %s and %s", x, y)
	}
	r.exits(0, at("undo", "--yes", "--settle", "0")...)
	j.put(group, "orders", "0", "7")
	r.run(at("inspect", "-g", group)...).says(`orders +0 +7 .*invalid +ambiguous: on broker-a, broker-b`, `orders@broker-a +0 +10 `, `orders@broker-b +0 +500 `)
	for node, want := range map[string]string{"0": "7", "broker-a-0": "10", "broker-b-0": "500"} {
		if got := j.raw(group, "orders", node); got != want {
			t.Errorf("%s is %s, not %s", node, got, want)
		}
	}
}

func TestBR26ZooKeeperQueues(t *testing.T) {
	z := openZnodes(t, testservers.Need(t, "zookeeper").Addr["plain"])
	ambiguous(t, fakeRocketOf(t, remotingtest.Options{Version: remotingtest.V5_5_0}, ""), z, z.url(""), "g")
}

func TestBR26RedisQueues(t *testing.T) {
	for name, options := range map[string]string{"hash": "", "string": "?type=string"} {
		t.Run(name, func(t *testing.T) {
			k := openKeys(t, testservers.Need(t, "redis").Addr["plain"])
			k.strings = options != ""
			ambiguous(t, fakeRocketOf(t, remotingtest.Options{Version: remotingtest.V5_5_0}, ""), k, k.url(options), "br26-"+name)
		})
	}
}

// TestBR32RedisOddValues, and BR-12, BR-40: what keys of a foreign job may hold.
func TestBR32RedisOddValues(t *testing.T) {
	for name, options := range map[string]string{"hash": "", "string": "?type=string"} {
		t.Run(name, func(t *testing.T) {
			c, k := kafkaCluster(t, "kafka44"), openKeys(t, testservers.Need(t, "redis").Addr["plain"])
			k.strings = options != ""
			topic, g := c.topic("odd", 10, "retention.ms", "-1"), c.name
			for p := range int32(10) {
				c.produce(topic, p, 200, 0)
			}
			oddValues(t, c.operator("OFFSETCTL_STORE="+k.url(options)), k, g, topic)
		})
	}
}

// oddValues inspects and repairs what is odd, of which only what is asked for changes.
func oddValues(t *testing.T, o *operator, j job, group, topic string) {
	t.Helper()
	values := []struct {
		raw, verdict string
		at           int64
	}{
		{"120", "ok", 120}, {"", "invalid", -1}, {"75\n", "ok", 75}, {gone, "absent", -1}, {"\x00\x00\x00\x00\x00\x00\x00\x4b", "invalid", -1},
		{"abc", "invalid", -1}, {"1e6", "invalid", -1}, {"9223372036854775808", "invalid", -1}, {"9007199254740993", "tail-overflow", 9007199254740993}, {"12.0", "invalid", -1},
	}
	for p, v := range values {
		if v.raw != gone {
			j.put(group, topic, string(rune('0'+p)), v.raw)
		}
	}
	rows := o.inspect(group)
	for p, v := range values {
		o.verdict(rows, topic+":"+string(rune('0'+p)), v.verdict, v.at)
	}
	o.exits(1, "inspect", "-g", group).says(`"abc"`, `x00`, "empty value", "9223372036854775808", "9007199254740993", `!e\+`)
	o.exits(4, "reset", "-g", group, "-t", topic, "--repair", "--yes", "--settle", "0").says("--on-invalid")
	o.exits(0, "reset", "-g", group, "-t", topic+":1", "--to-earliest", "--yes", "--settle", "0").says("written 1 of 1")
	for p, v := range values {
		want := v.raw
		if p == 1 {
			want = "0"
		}
		if got := j.raw(group, topic, string(rune('0'+p))); got != want {
			t.Errorf("partition %d holds %q, want %q", p, got, want)
		}
	}
}

// TestBR10RedisLastDone: a job that keeps the last record that it has done, and a copy to a store that keeps the next.
func TestBR10RedisLastDone(t *testing.T) {
	c, k := kafkaCluster(t, "kafka44"), openKeys(t, testservers.Need(t, "redis").Addr["plain"])
	topic, g := c.topic("last", 2, "retention.ms", "-1"), c.name
	c.produce(topic, 0, 4, 0)
	c.produce(topic, 1, 4, 0)
	k.put(g, topic, "0", "3")
	k.put(g, topic, "1", "-1")
	o := c.operator("OFFSETCTL_STORE=" + k.url("?value=last"))
	rows := o.inspect(g)
	o.verdict(rows, topic+":0", "ok", 4)
	o.verdict(rows, topic+":1", "ok", 0)
	next := "?key=next-{{{group}}}:{topic}"
	o.exits(0, "copy", "--from", k.url("?value=last"), "--to", k.url(next), "--from-group", g, "--to-group", g, "-t", topic, "--new-group", "--yes", "--settle", "0").says("written 2 of 2")
	if v := k.client.HGetAll(t.Context(), "next-{"+g+"}:"+topic).Val(); v["0"] != "4" || v["1"] != "0" {
		t.Errorf("copied as %v", v)
	}
	o.exits(0, "reset", "-g", g, "-t", topic, "--to-earliest", "--yes", "--settle", "0")
	o.exits(0, "reset", "-g", g, "-t", topic+":1", "--to-latest", "--yes", "--settle", "0")
	if a, b := k.raw(g, topic, "0"), k.raw(g, topic, "1"); a != "-1" || b != "3" {
		t.Errorf("they hold %q and %q", a, b)
	}
}

// TestBR32ZooKeeperStorm: a node that is empty is there, and only the spout can mend it.
func TestBR32ZooKeeperStorm(t *testing.T) {
	c, z := kafkaCluster(t, "kafka44"), openZnodes(t, testservers.Need(t, "zookeeper").Addr["plain"])
	z.node = func(group, _, partition string) string { return path.Join("/spouts", group, "partition_"+partition) }
	topic := bounds(c, "orders")
	z.put("id", topic, "0", strings.ReplaceAll(`{"topology":{"id":"t-1"},"offset":50,"topic":"TOPIC"}`, "TOPIC", topic))
	z.put("id", topic, "1", "")
	z.put("id", topic, "2", `{"offset":`)
	z.put("alone", topic, "0", "")
	o := c.operator("OFFSETCTL_STORE=" + z.url("?layout=storm&root=/spouts"))
	for _, args := range [][]string{nil, {"-t", topic}} {
		rows := o.inspect("id", args...)
		o.verdict(rows, topic+":0", "ok", 50)
		o.verdict(rows, topic+":1", "invalid", -1)
		o.verdict(rows, topic+":2", "invalid", -1)
		o.verdict(rows, topic+":3", "absent", -1)
	}
	o.verdict(o.inspect("alone", "-t", topic), topic+":0", "invalid", -1)
	o.exits(1, "inspect", "-g", "alone").says("/spouts/alone/partition_0 does not say of which topic it is", "!as far as this user")
	for _, part := range []string{":1", ":3"} {
		o.exits(4, "reset", "-g", "id", "-t", topic+part, "--to-earliest", "--dry-run").says("spout")
		o.exits(4, "reset", "-g", "id", "-t", topic+part, "--to-earliest", "--yes", "--settle", "0").says("spout")
	}
	if a, b := z.raw("id", topic, "1"), z.raw("id", topic, "3"); a != "" || b != gone {
		t.Errorf("they hold %q and %q", a, b)
	}
}
