package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// at makes a topic whose only partition has its replicas on these nodes.
func (c *cluster) at(suffix string, configs map[string]string, nodes ...int32) string {
	c.t.Helper()
	name := c.name + "." + suffix
	cfg := map[string]*string{}
	for k, v := range configs {
		cfg[k] = &v
	}
	c.must(createAt(c, name, cfg, nodes))
	c.until("leader of "+name, func() bool {
		d, err := c.adm.ListTopics(c.ctx, name)
		return err == nil && d[name].Err == nil && len(d[name].Partitions) == 1 && d[name].Partitions[0].Leader >= 0
	})
	return name
}

// TestBR07LeaderlessOnACluster: one broker is down; its partition is unknown with its position shown, the others are judged, and
// a reset refuses as a whole unless it is narrowed.
func TestBR07LeaderlessOnACluster(t *testing.T) {
	s := testservers.NeedOwn(t, "kafka44x3")
	c := clusterAt(t, s.Addr["plain"])
	keep := map[string]string{"retention.ms": "-1"}
	up, down := c.at("up", keep, 1), c.at("down", keep, 2)
	group := c.name
	for _, topic := range []string{up, down} {
		c.produce(topic, 0, 9, 0)
		c.commit(group, topic, 0, 5, -1, "")
	}
	s.Kill("2")
	o := newOperator(t, "OFFSETCTL_BROKER=kafka://"+s.Addr["plain/1"]+","+s.Addr["plain/3"])
	c.until("the cluster notices that broker 2 is gone", func() bool { return strings.Contains(o.run("topics", "-t", down).out, "leader") })
	c.until("the group has a coordinator again", func() bool { return o.inspect(group)[up+":0"].Verdict == "ok" })
	begun := time.Now()
	rows := o.inspect(group)
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("inspect took %s, longer than its timeout", took)
	}
	o.verdict(rows, up+":0", "ok", 5)
	o.verdict(rows, down+":0", "unknown", 5)
	o.exits(3, "inspect", "-g", group, "--fail-on", "none").says("exit 3: incomplete", "broker 2")
	o.exits(4, "reset", "-g", group, "-t", up, "-t", down, "--to-latest", "--yes").says("down:0")
	o.verdict(o.inspect(group), up+":0", "ok", 5)
	o.exits(0, "reset", "-g", group, "-t", up, "--to-latest", "--yes").says("written 1 of 1")
	s.Start("2")
	c.until("broker 2 is back", func() bool { return o.inspect(group)[down+":0"].Verdict == "ok" })
}

// TestUncleanElection: a replica that was behind leads; the position is past the end, and later, when the log has grown, behind
// a number that looks valid: the committed epoch's end is the evidence.
func TestUncleanElection(t *testing.T) {
	s := testservers.NeedOwn(t, "kafka44x3")
	c := clusterAt(t, s.Addr["plain"])
	topic := c.at("t", map[string]string{"retention.ms": "-1", "unclean.leader.election.enable": "true", "min.insync.replicas": "1"}, 1, 2)
	group := c.name
	c.produce(topic, 0, 100, 0)
	s.Kill("2")
	leader := func(n int32) func() bool {
		return func() bool {
			d, err := c.adm.ListTopics(c.ctx, topic)
			return err == nil && len(d[topic].Partitions) == 1 && d[topic].Partitions[0].Leader == n && (n != 1 || len(d[topic].Partitions[0].ISR) == 1)
		}
	}
	c.until("broker 1 leads alone", leader(1))
	c.produce(topic, 0, 100, 0)
	var epoch int32
	if ends, err := c.adm.ListEndOffsets(c.ctx, topic); err == nil {
		l, _ := ends.Lookup(topic, 0)
		epoch = l.LeaderEpoch
	}
	c.commit(group, topic, 0, 200, epoch, "kgo-e2e")
	s.Kill("1")
	s.Start("2")
	alive := s.Addr["plain/2"] + "," + s.Addr["plain/3"]
	c2 := clusterAt(t, alive)
	c = &cluster{t: t, ctx: c.ctx, addr: alive, adm: c2.adm, name: c.name}
	c.until("broker 2 leads", leader(2))
	o := c.operator()
	c.until("the group can be read", func() bool { return o.run("inspect", "-g", group).code != 5 })
	o.verdict(o.inspect(group), topic+":0", "tail-overflow", 200)
	o.exits(1, "inspect", "-g", group).says("100 past the log end")
	c.produce(topic, 0, 150, -time.Minute)
	rows := o.inspect(group)
	o.verdict(rows, topic+":0", "diverged", 200)
	o.exits(1, "inspect", "-g", group).says("epoch")
	if r := o.run("reset", "-g", group, "-t", topic, "--repair", "--yes"); r.code == 0 {
		o.verdict(o.inspect(group), topic+":0", "ok", 100)
	} else {
		r.says("--to-offset|--to-current")
	}
}

// TestBR03CommitsThatOutliveTheTopic: the coordinator was down when topics were deleted, so their commits stay: for the topic that
// was made again it is proof of another log, for the other one an orphan.
func TestBR03CommitsThatOutliveTheTopic(t *testing.T) {
	s := testservers.NeedOwn(t, "kafka44x3")
	c := clusterAt(t, s.Addr["plain"])
	keep := map[string]string{"retention.ms": "-1"}
	again, gone, other := c.at("again", keep, 1), c.at("gone", keep, 1), c.at("other", keep, 1)
	c.produce(again, 0, 90, 0)
	c.produce(gone, 0, 10, 0)
	_, err := c.adm.CreateTopic(c.ctx, 1, 1, nil, c.name+".warm") // the offsets topic exists after the first commit
	c.must(err)
	var groups []string
	for i := range 6 {
		g := fmt.Sprintf("%s-%d", c.name, i)
		groups = append(groups, g)
		c.commit(g, again, 0, 80, -1, "")
		c.commit(g, gone, 0, 4, -1, "")
		c.commit(g, other, 0, 0, -1, "")
	}
	o := newOperator(t, "OFFSETCTL_BROKER=kafka://"+s.Addr["plain"])
	s.Kill("2")
	c.until("broker 2 is noticed to be gone", func() bool {
		b, err := c.adm.ListBrokers(c.ctx)
		return err == nil && len(b) == 2
	})
	_, err = c.adm.DeleteTopics(c.ctx, again, gone)
	c.must(err)
	time.Sleep(time.Second)
	c.must(createAt(c, again, map[string]*string{"retention.ms": new("-1")}, []int32{1}))
	c.produce(again, 0, 100, 0)
	s.Start("2")
	c.until("every group can be read", func() bool { return o.run("inspect", "-A").code != 5 && o.run("inspect", "-A").code != 3 })
	kept := ""
	for _, g := range groups {
		if r, ok := o.inspect(g)[gone+":0"]; ok && r.Verdict == "orphan" {
			kept = g
		}
	}
	if kept == "" {
		t.Skip("with the offsets topic replicated every coordinator moved, and dropped the commits: nothing outlived the topics")
	}
	rows := o.inspect(kept)
	o.verdict(rows, again+":0", "diverged", 80)
	o.exits(4, "reset", "-g", kept, "-t", gone, "--repair", "--prune", "--yes").says("orphan|does not exist")
}

// TestBR49ConnectionErrors: one line that names host, stage and the likely setting; no secret, no retry storm.
func TestBR49ConnectionErrors(t *testing.T) {
	s := testservers.Need(t, "kafka44")
	o := newOperator(t, "PW=wr0ng-secret")
	for _, x := range []struct {
		name, url string
		want      []string
	}{
		{"a TLS client at a plain port", "kafka://" + s.Addr["plain"] + "?tls=on", []string{"TLS|tls"}},
		{"a plain client at a TLS port", "kafka://" + s.Addr["tls"], []string{"tls=on"}},
		{"no SASL where it is required", "kafka://" + s.Addr["sasl"], []string{"set the option sasl"}},
		{"a wrong password, PLAIN", "kafka://" + s.Addr["sasl"] + "?sasl=plain&user=alice&password=env:PW", []string{"are user and password right"}},
		{"a wrong password, SCRAM", "kafka://" + s.Addr["sasl"] + "?sasl=scram-sha-512&user=alice&password=env:PW", []string{"are user and password right"}},
		{"an authority that nobody knows", "kafka://" + s.Addr["tls"] + "?tls=on", []string{"the option ca"}},
		{"mTLS without a certificate", "kafka://" + s.Addr["mtls"] + "?tls=on&ca=" + s.Files["ca"], []string{"options cert and key"}},
		{"a host that does not exist", "kafka://no-such-host.invalid:9092", []string{"no-such-host.invalid"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			o := &operator{t: t, env: o.env, dir: o.dir}
			begun := time.Now()
			o.exits(5, "inspect", "-g", "g", "--broker", x.url, "--timeout", "15s").says(append(x.want, "!wr0ng-secret")...)
			if took := time.Since(begun); took > 20*time.Second {
				t.Errorf("took %s", took)
			}
			o.exits(5, "check", "--broker", x.url, "--timeout", "15s").says("FAIL", "!wr0ng-secret")
		})
	}
	for name, url := range map[string]string{
		"tls":   "kafka://" + s.Addr["tls"] + "?ca=" + s.Files["ca"],
		"mtls":  "kafka://" + s.Addr["mtls"] + "?ca=" + s.Files["ca"] + "&cert=" + s.Files["client-cert"] + "&key=" + s.Files["client-key"],
		"plain": "kafka://" + s.Addr["sasl"] + "?sasl=plain&user=admin&password=admin-secret",
		"scram": "kafka://" + s.Addr["sasltls"] + "?sasl=scram-sha-256&user=admin&password=admin-secret&ca=" + s.Files["ca"],
	} {
		t.Run("works: "+name, func(t *testing.T) {
			o := &operator{t: t, env: o.env, dir: o.dir}
			s := o.exits(0, "check", "--broker", url).says("login metadata", "1 broker$", "!admin-secret")
			if user := strings.Contains(url, "sasl="); user {
				s.says("^ok +sasl +.* as admin$")
			}
		})
	}
}

// TestPartialRights: what a user may not see is said, never called absent; one forbidden topic does not blank the rest.
func TestPartialRights(t *testing.T) {
	s := testservers.Need(t, "kafka44")
	c := clusterAt(t, s.Addr["plain"])
	seen, hidden, group := c.topic("seen", 1, "retention.ms", "-1"), c.topic("hidden", 1, "retention.ms", "-1"), c.name
	for _, topic := range []string{seen, hidden} {
		c.produce(topic, 0, 10, 0)
		c.commit(group, topic, 0, 4, -1, "")
	}
	allow := func(b *kadm.ACLBuilder) {
		c.t.Helper()
		_, err := c.adm.CreateACLs(c.ctx, b.Allow("User:bob").AllowHosts().ResourcePatternType(kadm.ACLPatternLiteral))
		c.must(err)
	}
	allow(kadm.NewACLs().Topics(seen).Operations(kadm.OpDescribe))
	allow(kadm.NewACLs().Groups(group).Operations(kadm.OpDescribe))
	o := newOperator(t, "OFFSETCTL_BROKER=kafka://"+s.Addr["sasl"]+"?sasl=scram-sha-256&user=bob&password=bob-secret")
	c.until("the rights are in force", func() bool { return o.run("inspect", "-g", group).code != 5 })
	o.run("inspect", "-g", group).says("as far as this user may see", `\.seen +0 +4`, `!\.hidden`)
	rows := o.inspect(group, "-t", seen, "-t", hidden)
	o.verdict(rows, seen+":0", "ok", 4)
	for p, r := range rows {
		if strings.Contains(p, "hidden") && r.Verdict != "unknown" {
			t.Errorf("%s is %s, and nobody may look", p, r.Verdict)
		}
	}
	o.exits(3, "inspect", "-g", group, "-t", seen, "-t", hidden)
	o.exits(5, "inspect", "-g", c.name+"-forbidden")
	if n := strings.Count(o.run("inspect", "-g", group).out, "as far as this user may see"); n != 1 {
		t.Errorf("what may be left out is said %d times", n)
	}
	o.exits(3, "inspect", "-g", group, "-t", hidden).says("^unknown +topic "+hidden+": DESCRIBE", "!topic .*: topic ")
	o.exits(0, "groups").says("as far as this user may see", "^"+group+" ")
	o.exits(0, "topics").says("as far as this user may see", "^"+seen+" ", "!"+hidden)
	o.exits(5, "check", "-g", group, "-t", seen, "--can", "reset").says("FAIL +can reset +.*READ")
	o.exits(0, "check", "-g", group, "-t", seen, "--can", "inspect")
	if r := o.run("reset", "-g", group, "-t", seen, "--to-earliest", "--yes"); r.code != 5 && r.code != 4 {
		t.Error(r)
	}
	o.verdict(o.inspect(group, "-t", seen), seen+":0", "ok", 4)
}

// createAt creates a topic with one partition on these nodes.
func createAt(c *cluster, name string, configs map[string]*string, nodes []int32) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 15000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, -1, -1
	t.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Partition: 0, Replicas: nodes}}
	for k, v := range configs {
		t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: k, Value: v})
	}
	req.Topics = append(req.Topics, t)
	cl := c.dial()
	defer cl.Close()
	resp, err := req.RequestWith(c.ctx, cl)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.Topics[0].ErrorCode)
}
