package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// member joins a group and reads until the test ends.
func (c *cluster) member(group, topic string, opts ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	cl := c.dial(append([]kgo.Opt{kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ClientID("e2e-member"), kgo.DisableAutoCommit()}, opts...)...)
	ctx, cancel := context.WithCancel(c.ctx)
	done := make(chan struct{})
	read := make(chan struct{})
	go func() {
		defer close(done)
		first := true
		for ctx.Err() == nil {
			if fs := cl.PollFetches(ctx); fs.NumRecords() > 0 && first {
				first = false
				close(read)
			}
		}
	}()
	c.t.Cleanup(func() { cancel(); <-done; cl.Close() })
	select {
	case <-read:
	case <-time.After(90 * time.Second):
		c.t.Fatalf("the member of %s reads nothing", group)
	}
	return cl
}

// TestBR18LiveGroups: classic and KIP-848 groups are told apart, refused with their members, and written when they are empty.
func TestBR18LiveGroups(t *testing.T) {
	for _, x := range []struct {
		name, server, kind string
		opts               []kgo.Opt
	}{
		{"classic44", "kafka44", "classic", nil},
		{"classic28", "kafka28", "classic", nil},
		{"classic39", "kafka39", "classic", nil},
		{"kip848", "kafka44", "consumer", []kgo.Opt{kgo.ServerSideBalancer()}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			c := kafkaCluster(t, x.server)
			topic, group := c.topic("t", 1, "retention.ms", "-1"), c.name
			c.produce(topic, 0, 30, 0)
			c.commit(group, topic, 0, 10, -1, "")
			cl := c.member(group, topic, x.opts...)
			o := c.operator()
			o.exits(4, "reset", "-g", group, "-t", topic, "--to-earliest", "--yes").says("is live, "+x.kind, "e2e-member", "nothing can force it", "!written 1")
			o.exits(4, "reset", "-g", group, "-t", topic, "--to-earliest", "--dry-run").says("is live")
			o.exits(4, "reset", "-g", group, "-t", topic, "--to-earliest", "--yes", "--wait-empty", "1s").says("is live")
			o.verdict(o.inspect(group), topic+":0", "ok", 10)
			o.exits(0, "groups").says(strings.ReplaceAll(group, ".", `\.`)+` +(`+x.kind+`|-)? +live`, "!(?i)dead")
			go func() { time.Sleep(3 * time.Second); cl.Close() }()
			o.exits(0, "reset", "-g", group, "-t", topic, "--to-earliest", "--yes", "--wait-empty", "120s").says("written 1 of 1")
			o.verdict(o.inspect(group), topic+":0", "ok", 0)
			o.exits(0, "undo", "--yes")
			o.verdict(o.inspect(group), topic+":0", "ok", 10)
		})
	}
}

// TestShareGroup: a share group has positions of its own; they are shown, and moved while it is empty.
func TestShareGroup(t *testing.T) {
	c := kafkaCluster(t, "kafka44")
	topic, group := c.topic("t", 1, "retention.ms", "-1"), c.name
	c.produce(topic, 0, 30, 0)
	cl := c.dial(kgo.ShareGroup(group), kgo.ConsumeTopics(topic))
	ctx, cancel := context.WithCancel(c.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			cl.PollFetches(ctx)
		}
	}()
	stop := func() { cancel(); <-done; cl.Close() }
	o := c.operator()
	c.until("the share group lives", func() bool {
		return strings.Contains(o.run("groups").out, group+"  share  live") || liveShare(o, group)
	})
	o.exits(4, "reset", "-g", group, "-t", topic, "--to-earliest", "--yes").says("is live, share")
	stop()
	c.until("the share group is empty", func() bool { return !liveShare(o, group) })
	o.exits(0, "reset", "-g", group, "-t", topic, "--to-offset", "12", "--allow-skip", "--yes").says("written 1 of 1")
	o.verdict(o.inspect(group, "--stale-after", "0"), topic+":0", "ok", 12)
}

func liveShare(o *operator, group string) bool {
	for _, l := range strings.Split(o.run("groups").out, "\n") {
		if f := strings.Fields(l); len(f) > 2 && f[0] == group && f[1] == "share" && f[2] == "live" {
			return true
		}
	}
	return false
}

// TestBR09OpenTransactionOnRealBrokers: lag ends at the last stable offset, and so does "latest".
func TestBR09OpenTransactionOnRealBrokers(t *testing.T) {
	everyVersion(t, func(t *testing.T, c *cluster) {
		topic, group := c.topic("t", 1, "retention.ms", "-1"), c.name
		c.produce(topic, 0, 200, 0)
		c.commit(group, topic, 0, 200, -1, "")
		tx := c.dial(kgo.TransactionalID(c.name))
		defer tx.Close()
		c.must(tx.BeginTransaction())
		for i := range 60 {
			c.must(tx.ProduceSync(c.ctx, &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, "%d", i)}).FirstErr())
		}
		o := c.operator()
		o.exits(0, "inspect", "-g", group).says("60 more in an open transaction", "ends: last stable", ` 200 +200 +0 +ok| 200 +0 +ok`)
		o.exits(0, "reset", "-g", group, "-t", topic, "--to-latest", "--yes").says("unchanged")
		o.verdict(o.inspect(group), topic+":0", "ok", 200)
		o.exits(0, "inspect", "-g", group, "--isolation", "read-uncommitted").says("ends: high watermark", "lag 60")
		o.exits(0, "peek", topic+":0@199", "--count", "3").says(`^.*:0@199 `, "^60 from 200 on belong to a transaction that is open", "!:0@200 ")
		o.exits(0, "peek", topic+":0@210").says("no committed record at or after 210")
		o.exits(0, "peek", topic+":0@210", "--isolation", "read-uncommitted").says(`:0@210 `, "^value +10$")
		c.must(tx.EndTransaction(c.ctx, kgo.TryCommit))
		c.until("the transaction is over", func() bool { return *o.inspect(group)[topic+":0"].Lag == 61 })
	})
}

// TestStalledRewoundAndStale: two samples show movement; a busy or empty partition is not accused.
func TestStalledRewoundAndStale(t *testing.T) {
	c := kafkaCluster(t, "kafka44")
	topic, group := c.topic("t", 3, "retention.ms", "-1"), c.name
	for p := range int32(3) {
		c.produce(topic, p, 20, 41*time.Hour)
		c.commit(group, topic, p, 10, -1, "")
	}
	c.commit(group, topic, 2, 20, -1, "")
	o := c.operator()
	o.exits(1, "inspect", "-g", group).says("stale 2|2 stale", "old")
	before := o.file("before.json", o.run("inspect", "-g", group, "-o", "json").out)
	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(time.Second)
		c.commit(group, topic, 1, 15, -1, "")
	}()
	o.exits(1, "inspect", "-g", group, "--over", "4s", "--fail-on", "stalled").says(`\.t +0 .*stalled`, `!\.t +1 .*stalled`, `!\.t +2 .*stalled`)
	<-done
	c.commit(group, topic, 0, 3, -1, "")
	o.exits(1, "inspect", "-g", group, "--compare", before, "--fail-on", "rewound").says(`\.t +0 .*rewound`)
}

// TestCompactedHoles: positions in holes are ok, nothing is lost, and what is left is what peek shows.
func TestCompactedHoles(t *testing.T) {
	c := kafkaCluster(t, "kafka44")
	topic, group := c.topic("t", 1, "cleanup.policy", "compact", "segment.ms", "1000", "min.cleanable.dirty.ratio", "0.01", "max.compaction.lag.ms", "1000"), c.name
	c.produce(topic, 0, 100, 0)
	time.Sleep(1200 * time.Millisecond)
	c.produce(topic, 0, 1, 0)
	c.commit(group, topic, 0, 10, -1, "")
	o := c.operator()
	c.until("compaction", func() bool { return strings.Contains(o.run("peek", topic+":0@10").out, "@95 ") })
	r := o.inspect(group)[topic+":0"]
	if r.Verdict != "ok" || *r.Lag != 91 {
		t.Errorf("%+v", r)
	}
	o.exits(0, "resolve", "-g", group, "-t", topic, "-o", "spark").says(`"0":10`)
}

// TestDiverged: evidence of another log behind a number that looks valid.
func TestDiverged(t *testing.T) {
	everyVersion(t, func(t *testing.T, c *cluster) {
		topic, group := c.topic("t", 2, "retention.ms", "-1"), c.name
		c.produce(topic, 0, 50, 0)
		c.produce(topic, 1, 50, 0)
		c.commit(group, topic, 0, 20, 9, "") // an epoch above the current one: a Java client stands still
		c.commit(group, topic, 1, 20, -1, "")
		o := c.operator()
		rows := o.inspect(group)
		o.verdict(rows, topic+":0", "diverged", 20)
		o.verdict(rows, topic+":1", "ok", 20)
		if rows[topic+":0"].Findings[0].Proof {
			t.Error("a committed epoch alone is no proof")
		}
		o.exits(1, "inspect", "-g", group).says("epoch 9", "reads nothing, for ever", "--to-current")
		o.exits(4, "reset", "-g", group, "-t", topic, "--repair", "--yes").says("--to-current")
		o.exits(0, "reset", "-g", group, "-t", topic+":0", "--to-current", "--yes").says("written 1 of 1")
		o.verdict(o.inspect(group), topic+":0", "ok", 20)
		o.exits(0, "undo", "--yes")
		o.verdict(o.inspect(group), topic+":0", "diverged", 20)
	})
}

// TestBR03RecreatedLongerInATable: the table keeps the topic's id, so the same number in a topic that was made again is proof.
func TestBR03RecreatedLongerInATable(t *testing.T) {
	c := kafkaCluster(t, "kafka44")
	topic, group := c.topic("t", 1, "retention.ms", "-1"), c.name
	c.produce(topic, 0, 10, 0)
	o := newOperator(t)
	at := []string{"--broker", c.url(), "--store", "sqlite:" + o.dir + "/own.db"}
	o.exits(0, "store", "init", "--store", "sqlite:"+o.dir+"/own.db")
	o.exits(0, append([]string{"reset", "-g", group, "-t", topic, "--to-offset", "5", "--yes", "--new-group", "--settle", "0"}, at...)...)
	_, err := c.adm.DeleteTopic(c.ctx, topic)
	c.must(err)
	c.topic("t", 1, "retention.ms", "-1")
	c.produce(topic, 0, 10, 0)
	rows := o.inspect(group, at...)
	o.verdict(rows, topic+":0", "diverged", 5)
	if !rows[topic+":0"].Findings[0].Proof {
		t.Errorf("the topic's id is proof: %+v", rows)
	}
	o.exits(4, append([]string{"reset", "-g", group, "-t", topic, "--repair", "--yes", "--settle", "0"}, at...)...)
	o.exits(0, append([]string{"reset", "-g", group, "-t", topic, "--repair", "--on-tail-overflow", "earliest", "--yes", "--settle", "0"}, at...)...)
	o.verdict(o.inspect(group, at...), topic+":0", "ok", 0)
}

// TestBR19MisspeltGroup and BR-20: a whole topic, and exactly the topic, is written.
func TestBR19MisspeltGroup(t *testing.T) {
	everyVersion(t, func(t *testing.T, c *cluster) {
		a, b, group := c.topic("a", 3, "retention.ms", "-1"), c.topic("b", 1, "retention.ms", "-1"), c.name
		for p := range int32(3) {
			c.produce(a, p, 20, 0)
		}
		c.deleteTo(a, 2, 7)
		o := c.operator()
		o.exits(1, "inspect", "-g", group).says("no group of this name")
		o.exits(2, "reset", "-g", group, "--to-earliest", "--yes").says("no topic is named")
		o.exits(4, "reset", "-g", group, "-t", a, "--to-earliest", "--yes").says("NEW GROUP")
		o.exits(0, "reset", "-g", group, "-t", a, "--to-earliest", "--yes", "--new-group").says("written 3 of 3")
		rows := o.inspect(group)
		o.verdict(rows, a+":0", "ok", 0)
		o.verdict(rows, a+":2", "ok", 7)
		if _, there := rows[b+":0"]; there || len(rows) != 3 {
			t.Errorf("other topics were written: %v", rows)
		}
		o.exits(0, "undo", "--yes").says("deletes 3 positions")
	})
}

// TestGroupsDelete: what the group had is in the journal, and comes back.
func TestGroupsDelete(t *testing.T) {
	everyVersion(t, func(t *testing.T, c *cluster) {
		topic, group := c.topic("t", 2, "retention.ms", "-1"), c.name
		c.produce(topic, 0, 5, 0)
		c.commit(group, topic, 0, 3, -1, "note")
		c.commit(group, topic, 1, 0, -1, "")
		o := c.operator()
		o.exits(0, "groups", "delete", group, "--yes")
		o.exits(1, "inspect", "-g", group).says("no group of this name")
		o.exits(0, "undo", "--yes", "--new-group")
		o.verdict(o.inspect(group), topic+":0", "ok", 3)
		os, err := c.adm.FetchOffsets(c.ctx, group)
		c.must(err)
		if at, _ := os.Lookup(topic, 0); at.Metadata != "note" {
			t.Errorf("the metadata did not come back: %+v", at)
		}
	})
}
