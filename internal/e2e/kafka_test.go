package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// cluster is a real Kafka with a client that makes faults in it. Names are the test's own: servers are shared.
type cluster struct {
	t    testing.TB
	ctx  context.Context
	addr string
	adm  *kadm.Client
	name string
}

func kafkaCluster(t testing.TB, server string) *cluster {
	t.Helper()
	return clusterAt(t, testservers.Need(t, server).Addr["plain"])
}

func clusterAt(t testing.TB, addr string) *cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())) + fmt.Sprintf("-%d", time.Now().UnixNano()%1e6)
	c := &cluster{t: t, ctx: ctx, addr: addr, name: name}
	cl := c.dial()
	t.Cleanup(cl.Close)
	c.adm = kadm.NewClient(cl)
	return c
}

func (c *cluster) dial(opts ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(strings.Split(c.addr, ",")...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(20 * time.Millisecond), kgo.ProducerBatchCompression(kgo.NoCompression())}, opts...)...)
	c.must(err)
	return cl
}

func (c *cluster) url() string { return "kafka://" + c.addr }

func (c *cluster) operator(env ...string) *operator {
	return newOperator(c.t, append([]string{"OFFSETCTL_BROKER=" + c.url()}, env...)...)
}

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// topic makes a topic of the test's own and waits until every partition has a leader.
func (c *cluster) topic(suffix string, partitions int32, configs ...string) string {
	c.t.Helper()
	name := c.name + "." + suffix
	m := map[string]*string{}
	for i := 0; i < len(configs); i += 2 {
		m[configs[i]] = &configs[i+1]
	}
	var err error
	for range 50 { // a name that was deleted a moment ago may still be taken
		if _, err = c.adm.CreateTopic(c.ctx, partitions, 1, m, name); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.must(err)
	c.until("leaders of "+name, func() bool {
		d, err := c.adm.ListTopics(c.ctx, name)
		if err != nil || d[name].Err != nil || len(d[name].Partitions) != int(partitions) {
			return false
		}
		for _, p := range d[name].Partitions {
			if p.Err != nil || p.Leader < 0 {
				return false
			}
		}
		return true
	})
	return name
}

func (c *cluster) until(what string, ok func() bool) {
	c.t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("%s: not within a minute", what)
		}
	}
}

// produce appends n records, the last of them age old.
func (c *cluster) produce(topic string, part int32, n int, age time.Duration) {
	c.t.Helper()
	rs := make([]*kgo.Record, n)
	for i := range rs {
		rs[i] = &kgo.Record{Topic: topic, Partition: part, Timestamp: time.Now().Add(-age - time.Duration(n-i)*time.Millisecond), Key: fmt.Appendf(nil, "k%d", i%5), Value: fmt.Appendf(nil, "v%d", i)}
	}
	// A client of its own: one that knows a topic does not see at once that it was made again or has more partitions.
	cl := c.dial()
	defer cl.Close()
	c.must(cl.ProduceSync(c.ctx, rs...).FirstErr())
}

func (c *cluster) deleteTo(topic string, part int32, at int64) {
	c.t.Helper()
	os := kadm.Offsets{}
	os.Add(kadm.Offset{Topic: topic, Partition: part, At: at})
	res, err := c.adm.DeleteRecords(c.ctx, os)
	c.must(err)
	c.must(res.Error())
}

func (c *cluster) commit(group, topic string, part int32, at int64, epoch int32, meta string) {
	c.t.Helper()
	os := kadm.Offsets{}
	os.Add(kadm.Offset{Topic: topic, Partition: part, At: at, LeaderEpoch: epoch, Metadata: meta})
	var err error
	for range 50 { // a cluster that has just started has no coordinator yet
		var res kadm.OffsetResponses
		if res, err = c.adm.CommitOffsets(c.ctx, group, os); err == nil {
			if err = res.Error(); err == nil {
				return
			}
		}
		time.Sleep(200 * time.Millisecond)
	}
	c.must(err)
}

// versions are the brokers on which the main job is shown.
var versions = []string{"kafka44", "kafka39", "kafka28"}

// everyVersion runs f on each of them.
func everyVersion(t *testing.T, f func(t *testing.T, c *cluster)) {
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			f(t, kafkaCluster(t, v))
		})
	}
}

// TestBR01HeadOverflow: retention overtook the position; by DeleteRecords and by real retention.
func TestBR01HeadOverflow(t *testing.T) {
	everyVersion(t, func(t *testing.T, c *cluster) {
		topic, group := c.topic("orders", 3, "retention.ms", "-1"), c.name
		c.produce(topic, 0, 40, 0)
		c.produce(topic, 1, 50, 0)
		c.produce(topic, 2, 50, 0)
		c.commit(group, topic, 0, 10, -1, "")
		c.commit(group, topic, 1, 10, -1, "")
		c.commit(group, topic, 2, 40, -1, "")
		c.deleteTo(topic, 0, 40)
		c.deleteTo(topic, 1, 30)
		o := c.operator()
		rows := o.inspect(group)
		o.verdict(rows, topic+":0", "head-overflow", 10)
		o.verdict(rows, topic+":1", "head-overflow", 10)
		o.verdict(rows, topic+":2", "ok", 40)
		o.exits(1, "inspect", "-g", group).says("lag 30; already lost 50", `:1 --repair|:0-1 --repair`)

		o.exits(0, "reset", "-g", group, "-t", topic, "--repair", "--yes").says("written 2 of 2, read back; 1 unchanged")
		rows = o.inspect(group)
		o.verdict(rows, topic+":0", "ok", 40)
		o.verdict(rows, topic+":1", "ok", 30)
		o.exits(0, "undo", "--yes").says("back, below the log start again")
		o.verdict(o.inspect(group), topic+":1", "head-overflow", 10)
	})
}

func TestRetentionByTime(t *testing.T) {
	c := kafkaCluster(t, "kafka44")
	topic, group := c.topic("t", 1, "retention.ms", "60000"), c.name
	c.produce(topic, 0, 20, 10*time.Second)
	c.commit(group, topic, 0, 5, -1, "")
	o := c.operator()
	o.exits(1, "inspect", "-g", group, "--time-lag", "--min-headroom", "5m", "-o", "wide").says(topic + ":0")
	_, err := c.adm.AlterTopicConfigs(c.ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: new("1000")}}, topic)
	c.must(err)
	c.until("retention takes the old records", func() bool {
		l, err := c.adm.ListStartOffsets(c.ctx, topic)
		if err != nil {
			return false
		}
		s, _ := l.Lookup(topic, 0)
		return s.Offset > 5
	})
	o.verdict(o.inspect(group), topic+":0", "head-overflow", 5)
	o.exits(0, "reset", "-g", group, "-t", topic, "--repair", "--yes")
	if v := o.inspect(group)[topic+":0"].Verdict; v == "head-overflow" {
		t.Error("not repaired")
	}
}

// TestBR02TailOverflow: a position past the end, committed from outside, and in a table after the topic was made again.
func TestBR02TailOverflow(t *testing.T) {
	everyVersion(t, func(t *testing.T, c *cluster) {
		topic, group := c.topic("refunds", 1, "retention.ms", "-1"), c.name
		c.produce(topic, 0, 160, 0)
		c.commit(group, topic, 0, 202, -1, "")
		o := c.operator()
		o.verdict(o.inspect(group), topic+":0", "tail-overflow", 202)
		o.exits(1, "inspect", "-g", group).says("42 past the log end", "reads 160 .*--to-earliest", "skips 160 .*--to-latest", "!-42")
		o.exits(4, "reset", "-g", group, "-t", topic, "--repair", "--yes").says("choose with --on-tail-overflow earliest or latest")
		o.exits(4, "resolve", "-g", group, "-t", topic).says("42 past the log end 160")
		o.exits(0, "reset", "-g", group, "-t", topic, "--to-earliest", "--yes")
		o.verdict(o.inspect(group), topic+":0", "ok", 0)
		o.exits(0, "undo", "--yes")
		o.verdict(o.inspect(group), topic+":0", "tail-overflow", 202)
		o.exits(0, "reset", "-g", group, "-t", topic, "--to-latest", "--yes")
		o.verdict(o.inspect(group), topic+":0", "ok", 160)

		table := "sqlite:" + o.dir + "/own.db"
		o.exits(0, "store", "init", "--store", table)
		o.exits(0, "copy", "--broker", c.url(), "--from-group", group, "--to", table, "-t", topic, "--yes", "--new-group", "--settle", "0")
		_, err := c.adm.DeleteTopic(c.ctx, topic)
		c.must(err)
		c.topic("refunds", 1, "retention.ms", "-1")
		c.produce(topic, 0, 16, 0)
		o.exits(1, "inspect", "--broker", c.url(), "--store", table, "-g", group).says("tail-overflow", "144 past the log end")
	})
}

// TestBR05AddedPartitions and BR-11: partitions without a position beside stored ones are absent, never zero.
func TestBR05AddedPartitions(t *testing.T) {
	everyVersion(t, func(t *testing.T, c *cluster) {
		topic, group := c.topic("p", 2, "retention.ms", "-1"), c.name
		for p := range int32(2) {
			c.produce(topic, p, 10, 0)
			c.commit(group, topic, p, 10, -1, "")
		}
		_, err := c.adm.UpdatePartitions(c.ctx, 4, topic)
		c.must(err)
		c.until("partitions are added", func() bool {
			d, err := c.adm.ListTopics(c.ctx, topic)
			return err == nil && len(d[topic].Partitions) == 4
		})
		c.produce(topic, 2, 40, 0)
		c.produce(topic, 3, 60, 0)
		c.deleteTo(topic, 3, 25)
		o := c.operator()
		rows := o.inspect(group)
		o.verdict(rows, topic+":0", "ok", 10)
		o.verdict(rows, topic+":2", "absent", -1)
		o.verdict(rows, topic+":3", "absent", -1)
		o.exits(1, "inspect", "-g", group).says("consume starts at their log", "lag 75")
		o.exits(0, "resolve", "-g", group, "-t", topic, "--start", "latest", "-o", "spark").says(`"2":0,"3":25`)
		o.exits(0, "reset", "-g", group, "-t", topic, "--repair", "--yes").says("written 2 of 2")
		rows = o.inspect(group)
		o.verdict(rows, topic+":2", "ok", 0)
		o.verdict(rows, topic+":3", "ok", 25)
		o.exits(0, "undo", "--yes").says("back to nothing stored")
		o.verdict(o.inspect(group), topic+":3", "absent", -1)
	})
}

// TestBR08StoredMinusOne: a broker stores -1 as it is; a read of all topics shows that somebody wrote it.
func TestBR08StoredMinusOne(t *testing.T) {
	everyVersion(t, func(t *testing.T, c *cluster) {
		topic, group := c.topic("m", 2, "retention.ms", "-1"), c.name
		c.produce(topic, 0, 30, 0)
		c.commit(group, topic, 0, -1, -1, "mine")
		c.commit(group, topic, 1, 0, -1, "")
		o := c.operator()
		o.verdict(o.inspect(group), topic+":0", "invalid", -1)
		o.exits(4, "reset", "-g", group, "-t", topic, "--repair", "--yes").says("--on-invalid")
		o.exits(0, "reset", "-g", group, "-t", topic, "--repair", "--on-invalid", "earliest", "--yes")
		o.verdict(o.inspect(group), topic+":0", "ok", 0)
		o.exits(0, "undo", "--yes")
		o.verdict(o.inspect(group), topic+":0", "invalid", -1)
	})
}

// TestBR13TimeAfterTheLastRecord stores the end, never -1.
func TestBR13TimeAfterTheLastRecord(t *testing.T) {
	everyVersion(t, func(t *testing.T, c *cluster) {
		topic, group := c.topic("t", 3, "retention.ms", "-1"), c.name
		c.produce(topic, 0, 18, 5*time.Hour)
		c.produce(topic, 1, 4, 5*time.Hour)
		c.produce(topic, 1, 5, time.Minute)
		for p := range int32(3) {
			c.commit(group, topic, p, 0, -1, "")
		}
		o := c.operator()
		o.exits(0, "reset", "-g", group, "-t", topic, "--to-time", "-2h", "--allow-skip", "--yes").says("no record at or after the time: end", `:1`+"|written")
		rows := o.inspect(group, "--stale-after", "0")
		o.verdict(rows, topic+":0", "ok", 18)
		o.verdict(rows, topic+":1", "ok", 4)
		o.verdict(rows, topic+":2", "ok", 0)
	})
}
