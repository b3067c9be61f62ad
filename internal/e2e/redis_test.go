package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/offsetctl/offsetctl/internal/testservers"
)

// keys is a Redis as a job uses it: hashes, or a string for each partition.
type keys struct {
	t       testing.TB
	client  redis.UniversalClient
	addr    string
	strings bool
}

func openKeys(t testing.TB, addr string) *keys {
	t.Helper()
	client := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: strings.Split(addr, ",")})
	t.Cleanup(func() { _ = client.Close() })
	return &keys{t: t, client: client, addr: addr}
}

func (k *keys) url(options string) string { return "redis://" + k.addr + options }

func (k *keys) put(group, topic, partition, raw string) {
	k.t.Helper()
	args := []any{"HSET", "{" + group + "}:" + topic, partition, raw}
	if k.strings {
		args = []any{"SET", "{" + group + "}:" + topic + ":" + partition, raw}
	}
	k.do(args...)
}

func (k *keys) do(args ...any) {
	k.t.Helper()
	if err := k.client.Do(context.Background(), args...).Err(); err != nil {
		k.t.Fatalf("%v: %v", args, err)
	}
}

func (k *keys) raw(group, topic, partition string) string {
	k.t.Helper()
	cmd := k.client.HGet(context.Background(), "{"+group+"}:"+topic, partition)
	if k.strings {
		cmd = k.client.Get(context.Background(), "{"+group+"}:"+topic+":"+partition)
	}
	v, err := cmd.Result()
	switch {
	case errors.Is(err, redis.Nil):
		return gone
	case err != nil:
		k.t.Fatal(err)
	}
	return v
}

// TestRedisSeed: a hash for each topic, a string for each partition, and a cluster.
func TestRedisSeed(t *testing.T) {
	for _, x := range []struct{ name, server, options string }{{"hash", "redis", ""}, {"string", "redis", "?type=string"}, {"cluster", "rediscluster", ""}} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			c, k := kafkaCluster(t, "kafka44"), openKeys(t, testservers.Need(t, x.server).Addr["plain"])
			k.strings = x.options != ""
			sown(t, c, c.name, seed{job: k, store: k.url(x.options),
				was:      map[string]string{"0": "5", "1": "300", "2": "50", "3": "1e3", "9": "44"},
				repaired: map[string]string{"0": "20", "1": "100", "2": "50", "3": "20", "4": "20", "5": "20"},
				more:     []string{"--prune"},
			})
		})
	}
}

// TestBR38RedisKeys: a position ahead of the log, one that is gone, a neighbour, an expiry, a key of another type.
func TestBR38RedisKeys(t *testing.T) {
	c, k := kafkaCluster(t, "kafka44"), openKeys(t, testservers.Need(t, "redis").Addr["plain"])
	topic, g1, g2 := c.topic("orders", 2, "retention.ms", "-1"), c.name, c.name+"2"
	c.produce(topic, 0, 30, 0)
	c.produce(topic, 1, 30, 0)
	k.put(g1, topic, "0", "40")
	k.put(g2, topic, "0", "7")
	k.do("EXPIRE", "{"+g1+"}:"+topic, 1000)
	o := c.operator("OFFSETCTL_STORE=" + k.url(""))
	rows := o.inspect(g1)
	o.verdict(rows, topic+":0", "tail-overflow", 40)
	o.verdict(rows, topic+":1", "absent", -1)
	o.exits(1, "inspect", "-g", g1).says("10 past the log end", "expires in")
	o.exits(0, "reset", "-g", g1, "-t", topic, "--to-latest", "--yes", "--settle", "0").says("written 2 of 2")
	if ttl := k.client.TTL(context.Background(), "{"+g1+"}:"+topic).Val(); ttl >= 0 {
		t.Errorf("the positions still expire in %s", ttl)
	}
	if got := k.raw(g2, topic, "0"); got != "7" {
		t.Errorf("the neighbour holds %q", got)
	}
	wrong := c.name + "3"
	k.do("SET", "{"+wrong+"}:"+topic, "12")
	s := o.run("inspect", "-g", wrong, "-t", topic)
	if s.code != 1 && s.code != 3 {
		t.Errorf("a key of another type: %s", s)
	}
	s.says("another type|no hash|string|WRONGTYPE", "!absent")
	o.run("reset", "-g", wrong, "-t", topic, "--to-earliest", "--yes", "--settle", "0").says("type=string|another type|no hash|WRONGTYPE")
	if got := k.client.Get(context.Background(), "{"+wrong+"}:"+topic).Val(); got != "12" {
		t.Errorf("the key of another type holds %q now", got)
	}
}

// TestBR24RedisNames: a name is byte for byte a part of its key; and two resets of one group at once (BR-34).
func TestBR24RedisNames(t *testing.T) {
	c, k := kafkaCluster(t, "kafka44"), openKeys(t, testservers.Need(t, "redis").Addr["plain"])
	var groups []string
	for _, g := range []string{"a", "a|b", "a:b", "a{b", "a%2Fb", "a/b", "a b", "a*", "a[b]", "中文"} {
		groups = append(groups, c.name+g)
	}
	neighbours(t, c, k.url(""), groups...)
	duel(t, c, k.url(""), c.name+"raced")
}

// TestRedisDangers: what may lose positions is said before it happens, and what the operator sees afterwards.
func TestRedisDangers(t *testing.T) {
	c, server := kafkaCluster(t, "kafka44"), testservers.NeedOwn(t, "redis")
	k := openKeys(t, server.Addr["plain"])
	topic := c.topic("orders", 1, "retention.ms", "-1")
	c.produce(topic, 0, 30, 0)
	k.put("g", topic, "0", "10")
	o := c.operator("OFFSETCTL_STORE=" + k.url(""))
	o.exits(0, "inspect", "-g", "g").says("!warning.*Redis", "!append-only")
	k.do("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	k.do("CONFIG", "SET", "appendonly", "no")
	for _, args := range [][]string{{"inspect", "-g", "g", "-t", topic}, {"check", "-g", "g", "-t", topic}} {
		o.run(args...).says("allkeys-lru", "append-only file is off", "CONFIG SET maxmemory-policy noeviction")
	}
	o.exits(0, "reset", "-g", "g", "-t", topic, "--to-latest", "--yes", "--settle", "0").says("allkeys-lru|append-only")
	server.Kill("")
	o.exits(5, "inspect", "-g", "g", "-t", topic, "--timeout", "5s").says("redis://", "refused", "!absent")
	o.exits(5, "reset", "-g", "g", "-t", topic, "--to-earliest", "--timeout", "5s", "--yes").says("redis://", "refused")
	server.Start("")
	k.do("FLUSHALL") // what a restart without an append-only file comes to
	o.exits(1, "inspect", "-g", "g", "-t", topic).says("absent|no stored|nothing")
	o.exits(0, "history").says("reset")
}

// TestRedisRights: a user who may not is told which right is missing.
func TestRedisRights(t *testing.T) {
	c, server := kafkaCluster(t, "kafka44"), testservers.Need(t, "redis")
	topic := c.topic("orders", 1, "retention.ms", "-1")
	c.produce(topic, 0, 30, 0)
	k := openKeys(t, server.Addr["plain"])
	k.put(c.name, topic, "0", "10")
	as := func(user, secret string) *operator {
		return c.operator(fmt.Sprintf("OFFSETCTL_STORE=redis://%s?user=%s&password=%s", k.addr, user, secret), "REDIS_PASSWORD="+server.Vars["password"], "REDIS_WRONG=wr0ng")
	}
	reader := as("reader", "env:REDIS_PASSWORD")
	reader.exits(0, "inspect", "-g", c.name)
	reader.exits(0, "check", "-g", c.name, "-t", topic, "--can", "inspect").says("HGETALL$")
	reader.exits(5, "check", "-g", c.name, "-t", topic, "--can", "reset").says("FAIL.*HSET: not permitted", "warn.*HDEL.*not permitted")
	as("alice", "env:REDIS_PASSWORD").exits(5, "check", "-g", c.name, "-t", topic, "--can", "inspect").says("FAIL.*HGETALL: not permitted")
	reader.exits(5, "reset", "-g", c.name, "-t", topic, "--to-latest", "--yes").says("permi|denied|NOPERM", "!"+server.Vars["password"])
	if got := k.raw(c.name, topic, "0"); got != "10" {
		t.Errorf("the position is %q now", got)
	}
	as("reader", "env:REDIS_WRONG").exits(5, "inspect", "-g", c.name, "-t", topic).says("password|WRONGPASS|denied", "!wr0ng")
	reader.keepsSecrets(server.Vars["password"])
}

// TestRedisFailover: writes that no replica had are lost with their master. What was not replicated was never called done; what was
// planned from the lost value is refused, and shows the one that is there.
func TestRedisFailover(t *testing.T) {
	c, server := kafkaCluster(t, "kafka44"), testservers.NeedOwn(t, "redissentinel")
	topic, secret := c.topic("orders", 1, "retention.ms", "-1"), server.Vars["password"]
	c.produce(topic, 0, 30, 0)
	url := "redis://" + server.Addr["sentinels"] + "?master=" + server.Vars["master-name"] + "&password=env:REDIS_PASSWORD"
	at := func(store string) *operator { return c.operator("OFFSETCTL_STORE="+store, "REDIS_PASSWORD="+secret) }
	o, careful := at(url), at(url+"&wait-replicas=1")
	write := func(code int, o *operator, args ...string) *said {
		t.Helper()
		return o.exits(code, append([]string{"reset", "-g", "g", "-t", topic, "--yes", "--settle", "0", "--timeout", "60s"}, args...)...)
	}
	write(0, careful, "--to-offset", "10", "--new-group", "--allow-skip").says("written 1 of 1")
	o.exits(0, "check", "-g", "g", "-t", topic).says("a failover may lose positions", "min-replicas-to-write", "wait-replicas=1")

	ctx := context.Background()
	for _, x := range []struct {
		addr    string
		command []any
	}{
		{server.Addr["replica"], []any{"CONFIG", "SET", "masterauth", "wrong"}}, // so that it cannot come back
		{server.Addr["master"], []any{"CLIENT", "KILL", "TYPE", "replica"}},
	} {
		one := redis.NewClient(&redis.Options{Addr: x.addr, Password: secret})
		if err := one.Do(ctx, x.command...).Err(); err != nil {
			t.Fatalf("%v: %v", x.command, err)
		}
		_ = one.Close()
	}
	write(0, o, "--to-offset", "20", "--allow-skip").says("written 1 of 1")
	write(3, careful, "--to-offset", "25", "--allow-skip").says("only 0 of 1 replicas")
	plan := o.dir + "/plan.json"
	o.exits(0, "reset", "-g", "g", "-t", topic, "--to-latest", "--plan-out", plan)
	server.Kill("master")
	rows := o.inspect("g", "--timeout", "60s")
	o.verdict(rows, topic+":0", "ok", 10)
	o.exits(4, "apply", plan, "--yes", "--settle", "0", "--timeout", "60s").says("25", "10")
	write(0, o, "--to-latest").says("written 1 of 1")
	at(strings.Replace(url, "master=", "master=no-", 1)).exits(2, "inspect", "-g", "g", "-t", topic).says(`no sentinel that answers knows a master "no-`)
	o.keepsSecrets(secret)
}
