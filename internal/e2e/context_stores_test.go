package e2e

import (
	"fmt"
	"testing"

	"github.com/offsetctl/offsetctl/internal/testservers"
)

// TestContextStores: one context whose groups keep their positions in different places; each command finds the group's own.
func TestContextStores(t *testing.T) {
	c := kafkaCluster(t, "kafka44")
	z, k := openZnodes(t, testservers.Need(t, "zookeeper").Addr["plain"]), openKeys(t, testservers.Need(t, "redis").Addr["plain"])
	topic, inZK, inRedis := c.topic("orders", 1, "retention.ms", "-1"), c.name+"-zk", c.name+"-redis"
	c.produce(topic, 0, 30, 0)
	z.put(inZK, topic, "0", "10")
	k.put(inRedis, topic, "0", "20")
	o := newOperator(t)
	config := o.file("config.yaml", fmt.Sprintf("current-context: prod\ncontexts:\n  prod:\n    broker: %s\n    stores:\n      %s: %s\n      %s: %s\n",
		c.url(), inZK, z.url("?user=job&password=env:ZK_PASSWORD"), inRedis, k.url("")))
	o.env = append(o.env, "OFFSETCTL_CONFIG="+config, "ZK_PASSWORD=node-secret")
	o.verdict(o.inspect(inZK), topic+":0", "ok", 10)
	o.verdict(o.inspect(inRedis), topic+":0", "ok", 20)
	o.exits(0, "inspect", "-g", inZK).says("prod", "ZooKeeper")
	o.exits(0, "reset", "-g", inRedis, "-t", topic, "--to-earliest", "--yes", "--settle", "0").says("Redis", "written 1 of 1")
	o.exits(0, "config", "view").says("zk://", "redis://", "!node-secret")
	if a, b := z.raw(inZK, topic, "0"), k.raw(inRedis, topic, "0"); a != "10" || b != "0" {
		t.Errorf("ZooKeeper has %s, Redis %s", a, b)
	}
}
