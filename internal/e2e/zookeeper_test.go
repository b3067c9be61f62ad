package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/offsetctl/offsetctl/internal/testservers"
)

// znodes is a ZooKeeper as a job uses it, below a node of the test's own.
type znodes struct {
	t            testing.TB
	conn         *zk.Conn
	addr, chroot string
	node         func(group, topic, partition string) string
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func openZnodes(t testing.TB, addr string) *znodes {
	t.Helper()
	conn, _, err := zk.Connect(strings.Split(addr, ","), 10*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	z := &znodes{t: t, conn: conn, addr: addr, chroot: fmt.Sprintf("/e2e-%x", rand.Uint64())}
	z.node = func(group, topic, partition string) string {
		return path.Join("/consumers", group, "offsets", topic, partition)
	}
	return z
}

func (z *znodes) url(options string) string { return "zk://" + z.addr + z.chroot + options }

// create makes a node, and those above it.
func (z *znodes) create(node string, data []byte, acl []zk.ACL) {
	z.t.Helper()
	for i := 1; i < len(node); i++ {
		if node[i] == '/' {
			if _, err := z.conn.Create(node[:i], nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
				z.t.Fatalf("%s: %v", node[:i], err)
			}
		}
	}
	if _, err := z.conn.Create(node, data, 0, acl); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		z.t.Fatalf("%s: %v", node, err)
	}
}

func (z *znodes) put(group, topic, partition, raw string) {
	z.t.Helper()
	node := z.chroot + z.node(group, topic, partition)
	z.create(node, nil, zk.WorldACL(zk.PermAll))
	if _, err := z.conn.Set(node, []byte(raw), -1); err != nil {
		z.t.Fatalf("%s: %v", node, err)
	}
}

func (z *znodes) raw(group, topic, partition string) string {
	z.t.Helper()
	node := z.chroot + z.node(group, topic, partition)
	if _, err := z.conn.Sync(node); err != nil && !errors.Is(err, zk.ErrNoNode) {
		z.t.Fatalf("%s: %v", node, err)
	}
	b, _, err := z.conn.Get(node)
	if errors.Is(err, zk.ErrNoNode) {
		return gone
	}
	if err != nil {
		z.t.Fatalf("%s: %v", node, err)
	}
	return string(b)
}

// serialized is a string as Java's own serialisation writes it.
func serialized(s string) string {
	return "\xac\xed\x00\x05t" + string([]byte{byte(len(s) >> 8), byte(len(s))}) + s
}

// TestZooKeeperSeed: the layout of Kafka's old consumers, in the form of a job that opens its client with a string serializer and of
// one that does not.
func TestZooKeeperSeed(t *testing.T) {
	for name, form := range map[string]func(string) string{"text": func(s string) string { return s }, "java": serialized} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, z := kafkaCluster(t, "kafka44"), openZnodes(t, testservers.Need(t, "zookeeper").Addr["plain"])
			o := c.operator("OFFSETCTL_STORE=" + z.url(""))
			o.exits(2, "inspect", "-g", "billing").says(z.chroot, "store init")
			o.exits(0, "store", "init", "--store", z.url("")).says(z.chroot)
			o.exits(0, "store", "init", "--store", z.url("")).says("already")
			sown(t, c, "billing", seed{job: z, store: z.url(""),
				was:      map[string]string{"0": form("5"), "1": form("300"), "2": form("50"), "3": form("abc"), "9": form("44")},
				repaired: map[string]string{"0": form("20"), "1": form("100"), "2": form("50"), "3": form("20"), "4": form("20"), "5": form("20")},
				more:     []string{"--prune"},
			})
		})
	}
}

// TestBR32ZooKeeperOddNodes, and BR-12, BR-40: what nodes of a foreign job may hold.
func TestBR32ZooKeeperOddNodes(t *testing.T) {
	c, z := kafkaCluster(t, "kafka44"), openZnodes(t, testservers.Need(t, "zookeeper").Addr["plain"])
	topic := c.topic("odd", 9, "retention.ms", "-1")
	for p := range int32(9) {
		c.produce(topic, p, 200, 0)
	}
	binary := "\x00\x00\x00\x00\x00\x00\x00\x4b"
	for p, raw := range []string{"120", "", "75\n", gone, binary, "abc", serialized("75"), "9223372036854775808", "9007199254740993"} {
		if raw != gone {
			z.put("g", topic, fmt.Sprint(p), raw)
		}
	}
	o := c.operator("OFFSETCTL_STORE=" + z.url(""))
	rows := o.inspect("g")
	for p, want := range []struct {
		verdict string
		at      int64
	}{{"ok", 120}, {"invalid", -1}, {"ok", 75}, {"absent", -1}, {"invalid", -1}, {"invalid", -1}, {"ok", 75}, {"invalid", -1}, {"tail-overflow", 9007199254740993}} {
		o.verdict(rows, fmt.Sprintf("%s:%d", topic, p), want.verdict, want.at)
	}
	o.exits(1, "inspect", "-g", "g").says(`"abc"`, `x00`, "empty value", "9223372036854775808", "9007199254740993", `!e\+`)
	o.exits(0, "reset", "-g", "g", "-t", topic+":1", "--to-earliest", "--yes", "--settle", "0").says("written 1 of 1")
	o.exits(0, "reset", "-g", "g", "-t", topic+":6", "--to-offset", "80", "--allow-skip", "--yes", "--settle", "0").says("written 1 of 1")
	for p, want := range []string{"120", "0", "75\n", gone, binary, "abc", serialized("80")} {
		if got := z.raw("g", topic, fmt.Sprint(p)); got != want {
			t.Errorf("partition %d holds %q, want %q", p, got, want)
		}
	}
	o.run("inspect", "-g", "gg", "-t", topic).says("gg", "no|absent|nothing")
}

// TestBR10ZooKeeperLastDone: a job that keeps the last record that it has done.
func TestBR10ZooKeeperLastDone(t *testing.T) {
	c, z := kafkaCluster(t, "kafka44"), openZnodes(t, testservers.Need(t, "zookeeper").Addr["plain"])
	topic := c.topic("last", 2, "retention.ms", "-1")
	c.produce(topic, 0, 4, 0)
	c.produce(topic, 1, 4, 0)
	z.put("g", topic, "0", "3")
	z.put("g", topic, "1", "-1")
	o := c.operator("OFFSETCTL_STORE=" + z.url("?value=last"))
	rows := o.inspect("g")
	o.verdict(rows, topic+":0", "ok", 4)
	o.verdict(rows, topic+":1", "ok", 0)
	o.exits(0, "reset", "-g", "g", "-t", topic, "--to-earliest", "--yes", "--settle", "0")
	if a, b := z.raw("g", topic, "0"), z.raw("g", topic, "1"); a != "-1" || b != "-1" {
		t.Errorf("at the beginning the nodes hold %q and %q", a, b)
	}
}

// TestZooKeeperStorm: of a spout's JSON nothing but the offset changes.
func TestZooKeeperStorm(t *testing.T) {
	c, z := kafkaCluster(t, "kafka44"), openZnodes(t, testservers.Need(t, "zookeeper").Addr["plain"])
	z.node = func(group, _, partition string) string { return path.Join("/spouts", group, "partition_"+partition) }
	topic := bounds(c, "orders")
	spout := func(at, p string) string {
		return `{"topology":{"id":"t-1","name":"t"},"offset":` + at + `,"partition":` + p + `, "broker":{"host":"h","port":9092},"topic":"` + topic + `"}`
	}
	z.put("id", topic, "0", spout("5", "0"))
	z.put("id", topic, "1", spout("50", "1"))
	z.put("id", topic, "2", `{"offset":`)
	o := c.operator("OFFSETCTL_STORE=" + z.url("?layout=storm&root=/spouts"))
	rows := o.inspect("id")
	o.verdict(rows, topic+":0", "head-overflow", 5)
	o.verdict(rows, topic+":1", "ok", 50)
	o.exits(0, "reset", "-g", "id", "-t", topic+":0", "--repair", "--yes", "--settle", "0").says("written 1 of 1")
	if got, want := z.raw("id", topic, "0"), spout("20", "0"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	o.exits(0, "undo", "--yes", "--settle", "0")
	if got, want := z.raw("id", topic, "0"), spout("5", "0"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestBR24ZooKeeperNames: a name is one node, or refused; and two resets of one group at once (BR-34).
func TestBR24ZooKeeperNames(t *testing.T) {
	c, z := kafkaCluster(t, "kafka44"), openZnodes(t, testservers.Need(t, "zookeeper").Addr["plain"])
	o := c.operator("OFFSETCTL_STORE=" + z.url(""))
	o.exits(0, "store", "init", "--store", z.url(""))
	neighbours(t, c, z.url(""), "a", "a|b", "a:b", "a{b}", "{}", "a%2Fb", "a b", "a*", "中文")
	for _, args := range [][]string{{"inspect", "-g", "a/b"}, {"reset", "-g", "a/b", "-t", c.name + ".order_events", "--to-earliest", "--yes", "--new-group"}} {
		s := o.run(args...)
		if s.code != 2 {
			t.Errorf("a name that is a path: %s", s)
		}
		s.says("a/b.*slash|slash.*a/b")
	}
	duel(t, c, z.url(""), "raced")
}

// TestZooKeeperDenied: who may not read a node, or whose ZooKeeper is not there, is told so; nothing is called absent.
func TestZooKeeperDenied(t *testing.T) {
	c, z := kafkaCluster(t, "kafka44"), openZnodes(t, testservers.Need(t, "zookeeper").Addr["plain"])
	topic := c.topic("orders", 1, "retention.ms", "-1")
	c.produce(topic, 0, 30, 0)
	z.create(z.chroot+z.node("g", topic, "0"), []byte("10"), zk.DigestACL(zk.PermAll, "job", "node-secret"))
	o := c.operator("OFFSETCTL_STORE=" + z.url(""))
	s := o.run("inspect", "-g", "g", "-t", topic)
	if s.code != 5 && s.code != 3 {
		t.Errorf("a node that may not be read: %s", s)
	}
	s.says("unknown|not permitted|denied", "!absent")
	o.exits(5, "check", "-g", "g", "-t", topic, "--can", "inspect").says("FAIL.*" + topic + "/0: READ: not permitted")
	may := c.operator("OFFSETCTL_STORE="+z.url("?user=job&password=env:ZK_PASSWORD"), "ZK_PASSWORD=node-secret")
	may.exits(0, "inspect", "-g", "g", "-t", topic)
	may.exits(0, "check", "-g", "g", "-t", topic, "--can", "reset").says("1 node: WRITE$")
	z.create(z.chroot+z.node("read", topic, "0"), []byte("10"), zk.WorldACL(zk.PermRead))
	o.exits(5, "check", "-g", "read", "-t", topic, "--can", "reset").says("FAIL.*" + topic + "/0: WRITE: not permitted")
	o.exits(0, "check", "-g", "read", "-t", topic, "--can", "inspect")
	may.exits(0, "reset", "-g", "g", "-t", topic, "--to-earliest", "--yes", "--settle", "0").says("written 1 of 1")
	may.keepsSecrets("node-secret")
	nowhere := c.operator("OFFSETCTL_STORE=zk://127.0.0.1:1,127.0.0.1:2/x")
	for _, args := range [][]string{{"inspect", "-g", "g"}, {"check", "-g", "g"}, {"store", "init", "--store", "zk://127.0.0.1:1,127.0.0.1:2/x"}} {
		nowhere.exits(5, append(args, "--timeout", "5s")...).says(`127\.0\.0\.1:1.*refused`, "127.0.0.1:2")
	}
}

// TestZooKeeperHalfAQuorum: two of three servers are gone.
func TestZooKeeperHalfAQuorum(t *testing.T) {
	c, server := kafkaCluster(t, "kafka44"), testservers.NeedOwn(t, "zookeeper3")
	z := openZnodes(t, server.Addr["plain"])
	topic := c.topic("orders", 1, "retention.ms", "-1")
	c.produce(topic, 0, 30, 0)
	z.put("g", topic, "0", "10")
	o := c.operator("OFFSETCTL_STORE=" + z.url(""))
	o.exits(0, "inspect", "-g", "g")
	server.Kill(server.Nodes[0])
	server.Kill(server.Nodes[1])
	time.Sleep(3 * time.Second) // the one that is left notices
	for _, args := range [][]string{{"inspect", "-g", "g", "-t", topic}, {"reset", "-g", "g", "-t", topic, "--to-latest", "--yes"}} {
		o.exits(5, append(args, "--timeout", "8s")...).says("zk://|ZooKeeper", "!absent")
	}
	server.Start(server.Nodes[0])
	o.exits(0, "reset", "-g", "g", "-t", topic, "--to-latest", "--yes", "--settle", "0").says("written 1 of 1")
}
