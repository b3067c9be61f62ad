package e2e

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/brokers/remoting/remotingtest"
)

// fakeRocket is a fake cluster and an operator at it.
type fakeRocket struct {
	*remotingtest.Cluster
	*operator
	url string
}

func fakeRocketOf(t *testing.T, o remotingtest.Options, options string) *fakeRocket {
	c := remotingtest.New(t, o)
	url := "rocketmq://" + strings.Join(c.NameServers(), ",") + options
	return &fakeRocket{c, newOperator(t, "OFFSETCTL_BROKER="+url), url}
}

// everyFake runs a test on a fake cluster of each version.
func everyFake(t *testing.T, f func(t *testing.T, r *fakeRocket)) {
	for name, v := range map[string]int{"4.9.7": remotingtest.V4_9_7, "5.5.0": remotingtest.V5_5_0} {
		t.Run(name, func(t *testing.T) { f(t, fakeRocketOf(t, remotingtest.Options{Version: v}, "")) })
	}
}

// both makes a topic with queues, and the group, on both brokers.
func (r *fakeRocket) both(topic string, queues int, group string) (a, b *remotingtest.Broker) {
	a, b = r.Broker("broker-a"), r.Broker("broker-b")
	for _, x := range []*remotingtest.Broker{a, b} {
		x.Topic(topic, queues)
		x.Group(group)
	}
	return a, b
}

func (r *fakeRocket) stored(b *remotingtest.Broker, topic string, id int32, want int64) {
	r.t.Helper()
	if got, ok := b.Offset("g", topic, id); !ok || got != want {
		r.t.Errorf("%s:%d is at %d (%v), want %d", topic, id, got, ok, want)
	}
}

// BR-26: the same number on two brokers is two queues; a row of another store without a broker's name is none of them.
func TestBR26SameQueueOnTwoBrokers(t *testing.T) {
	everyFake(t, func(t *testing.T, r *fakeRocket) {
		a, b := r.both("orders", 1, "g")
		a.Fill("orders", 0, 0, 20, time.Now())
		b.Fill("orders", 0, 400, 600, time.Now())
		a.SetOffset("g", "orders", 0, 10)
		b.SetOffset("g", "orders", 0, 500)
		r.exits(0, "inspect", "-g", "g", "-t", "orders").says(`orders@broker-a +0 +10 +0 +20 +10 +ok`, `orders@broker-b +0 +500 +400 +600 +100 +ok`, `2 partitions: 2 ok`)
		r.exits(0, "peek", "orders@broker-b:0@400").says("400")
		r.exits(2, "peek", "orders:0@3").says("partition orders:0 does not exist: the topic has orders@broker-a:0, orders@broker-b:0$")
		r.exits(0, "reset", "-g", "g", "-t", "orders", "--to-earliest", "--yes").says("written 2 of 2", "Not selected: %RETRY%g")
		r.stored(a, "orders", 0, 0)
		r.stored(b, "orders", 0, 400)
		r.exits(0, "undo", "--yes")
		r.stored(a, "orders", 0, 10)
		r.stored(b, "orders", 0, 500)

		file := filepath.Join(r.dir, "positions.json")
		r.exits(0, "store", "init", "--store", "file:"+file)
		r.exits(0, "copy", "--from", r.url, "--to", "file:"+file, "--from-group", "g", "--to-group", "g", "-t", "orders", "--new-group", "--yes", "--settle", "0")
		r.exits(0, "inspect", "-g", "g", "--broker", r.url, "--store", "file:"+file).says(`orders@broker-a +0 +10 `, `orders@broker-b +0 +500 `)
		path := filepath.Join(r.dir, "jobs.db")
		jobs, err := sql.Open("sqlite", path)
		if err == nil {
			_, err = jobs.ExecContext(t.Context(), `CREATE TABLE mytopic(topic TEXT, partid INTEGER, "offset" INTEGER, PRIMARY KEY(topic, partid));
				INSERT INTO mytopic VALUES('orders', 0, 7)`)
		}
		if err = errors.Join(err, jobs.Close()); err != nil {
			t.Fatal(err)
		}
		db := "sqlite:" + path + "?table=mytopic&topic=topic&partition=partid&offset=offset"
		r.exits(3, "inspect", "-g", "g", "--broker", r.url, "--store", db).says("orders +0 +7 .*invalid +ambiguous: on broker-a, broker-b", "orders@broker-a +0 .*unknown", "orders@broker-b +0 .*unknown")
		r.exits(4, "reset", "-g", "g", "-t", "orders", "--broker", r.url, "--store", db, "--to-earliest", "--yes", "--settle", "0")
	})
}

// BR-27: who never consumed has no position, although brokers answer 0; a 0 that is stored is one.
func TestBR27ZeroIsNotNone(t *testing.T) {
	everyFake(t, func(t *testing.T, r *fakeRocket) {
		a, b := r.both("orders", 2, "g")
		a.Fill("orders", 0, 0, 50, time.Now())
		a.Fill("orders", 1, 30, 80, time.Now())
		r.exits(1, "inspect", "-g", "g", "-t", "orders@broker-a").says(`@broker-a +0 +- +0 +50 +50 +absent`, `@broker-a +1 +- +30 +80 +50 +absent`, "nothing is stored")
		r.exits(0, "resolve", "-g", "g", "-t", "orders@broker-a", "--start", "latest").says(`broker-a +0 +- +50`, `broker-a +1 +- +80`)
		b.SetOffset("g", "orders", 0, 0)
		r.exits(0, "inspect", "-g", "g", "-t", "orders@broker-b:0").says(`@broker-b +0 +0 +0 +0 +0 +ok`)
		r.exits(1, "inspect", "-g", "nobody", "-t", "orders").says("there is no group of this name")
	})
}

// BR-30: a broadcasting group's positions live on its clients.
func TestBR30Broadcast(t *testing.T) {
	everyFake(t, func(t *testing.T, r *fakeRocket) {
		a, _ := r.both("orders", 1, "g")
		a.Fill("orders", 0, 0, 50, time.Now())
		a.Connect("g", remotingtest.Client{ID: "10.0.0.1@1", Filters: map[string]string{"orders": "*"}, Broadcast: true})
		r.exits(3, "inspect", "-g", "g", "-t", "orders").says("unknown", "broadcasting", "positions live on its clients", "!absent")
		r.exits(4, "reset", "-g", "g", "-t", "orders", "--to-earliest", "--yes")
		r.exits(4, "reset", "-g", "g", "-t", "orders", "--to-earliest", "--yes", "--allow-live")
		if _, ok := a.Offset("g", "orders", 0); ok {
			t.Error("written")
		}
	})
}

// BR-31: clients of one group with different tags are a finding that names who subscribes to what.
func TestBR31DifferentTags(t *testing.T) {
	everyFake(t, func(t *testing.T, r *fakeRocket) {
		a, _ := r.both("orders", 1, "g")
		a.Fill("orders", 0, 0, 100, time.Now())
		a.SetOffset("g", "orders", 0, 100)
		a.Connect("g", remotingtest.Client{ID: "10.0.0.1@1", Filters: map[string]string{"orders": "tag1"}},
			remotingtest.Client{ID: "10.0.0.2@2", Filters: map[string]string{"orders": "tag2 || tag1"}})
		r.exits(1, "inspect", "-g", "g", "-t", "orders@broker-a").says("mixed-subscriptions", `10\.0\.0\.1@1 to orders \(tag1\); 10\.0\.0\.2@2 to`, `orders \(tag1 \|\| tag2\)`, "messages are lost with a lag")
		r.exits(0, "inspect", "-g", "g", "-t", "orders@broker-a", "--fail-on", "tail-overflow")
		r.exits(1, "inspect", "-g", "g", "-t", "orders@broker-a", "--fail-on", "loss")
	})
}

// BR-02: a position past the end, also as large as they get (BR-12): shown, repaired only by choice, and put back by undo.
func TestBR02BR12RocketMQPastTheEnd(t *testing.T) {
	everyFake(t, func(t *testing.T, r *fakeRocket) {
		a, _ := r.both("orders", 3, "g")
		a.Fill("orders", 0, 0, 1600, time.Now())
		a.SetOffset("g", "orders", 0, 2020)
		a.SetOffset("g", "orders", 1, 9223372036854775807)
		a.SetOffset("g", "orders", 2, 9007199254740993)
		with := func(cmd string, more ...string) []string {
			return append([]string{cmd, "-g", "g", "-t", "orders@broker-a"}, more...)
		}
		r.exits(1, with("inspect")...).says(`@broker-a +0 +2020 +0 +1600 +- +tail-overflow +420 past`, `@broker-a +1 +9223372036854775807 `, `@broker-a +2 +9007199254740993 `,
			"--to-earliest", "--to-latest")
		r.exits(1, with("inspect", "-o", "json")...).says(`"next": 9223372036854775807\b`, `"next": 9007199254740993\b`)
		r.exits(4, with("resolve")...).says("420 past the log end 1600")
		r.exits(0, with("reset", "--to-earliest", "--yes")...)
		r.stored(a, "orders", 1, 0)
		r.exits(0, "undo", "--yes")
		r.stored(a, "orders", 0, 2020)
		r.stored(a, "orders", 1, 9223372036854775807)
		r.stored(a, "orders", 2, 9007199254740993)
		r.exits(4, with("reset", "--to-offset", "1601", "--yes")...)
		r.exits(4, with("reset", "--repair", "--yes")...)
		r.stored(a, "orders", 0, 2020)
		r.exits(0, with("reset", "--repair", "--on-tail-overflow", "latest", "--yes")...)
		r.stored(a, "orders", 0, 1600)
	})
}

// BR-13: where no message is at or after the time, the end is stored, never -1 and never 0 of a queue that has another end.
func TestBR13RocketMQTimeAfterTheLastMessage(t *testing.T) {
	everyFake(t, func(t *testing.T, r *fakeRocket) {
		a, _ := r.both("orders", 3, "g")
		begin := time.Now().Add(-time.Hour)
		for i := range 9 {
			a.Append("orders", 1, remotingtest.Message{Time: begin.Add(time.Duration(i) * time.Minute)})
		}
		a.Fill("orders", 0, 0, 18, begin.Add(-time.Minute))
		a.Fill("orders", 2, 50, 50, begin)
		r.exits(0, "reset", "-g", "g", "-t", "orders@broker-a", "--to-time", begin.Add(4*time.Minute).UTC().Format("2006-01-02T15:04:05.000Z"), "--yes", "--allow-skip").
			says(`@broker-a +0 .* 18 .*no record at or after`, `@broker-a +1 .* 4 `, `@broker-a +2 .* 50 .*no record at or after`)
		r.stored(a, "orders", 0, 18)
		r.stored(a, "orders", 1, 4)
		r.stored(a, "orders", 2, 50)
	})
}

// BR-16: seconds or microseconds for milliseconds are refused before anybody is asked, and both readings are named; a unit is
// taken, and the instant is shown.
func TestBR16RocketMQSecondsForMilliseconds(t *testing.T) {
	r := fakeRocketOf(t, remotingtest.Options{}, "")
	a, _ := r.both("orders", 1, "g")
	a.Fill("orders", 0, 0, 10, time.UnixMilli(1717200005000))
	a.SetOffset("g", "orders", 0, 10)
	reset := func(text string) []string {
		return []string{"reset", "-g", "g", "-t", "orders@broker-a", "--to-time", text, "--dry-run"}
	}
	r.Counts()
	for _, bad := range []string{"1717200000", "1717200000000000"} {
		r.exits(2, reset(bad)...).says("1970|5[0-9]{4}", "2024")
	}
	if n := r.Counts(); len(n) > 0 {
		t.Error("somebody was asked:", n)
	}
	for _, good := range []string{"1717200000000", "1717200000s"} {
		r.exits(0, reset(good)...).says("2024-06-01 00:00:00Z", `@broker-a +0 +10 +4 +6 `)
	}
}

// What a group has to try again stands below its own topics, is counted apart, and is not moved with all of them.
func TestRocketMQRetryTopicsStandApart(t *testing.T) {
	everyFake(t, func(t *testing.T, r *fakeRocket) {
		a, _ := r.both("orders", 1, "g")
		a.Fill("orders", 0, 0, 20, time.Now())
		a.SetOffset("g", "orders", 0, 15)
		a.Topic("%RETRY%g", 1)
		a.Fill("%RETRY%g", 0, 0, 7, time.Now())
		a.SetOffset("g", "%RETRY%g", 0, 4)
		s := r.run("inspect", "-g", "g").says("lag 5; to be tried again 3", "%RETRY%g@broker-a")
		if strings.Index(s.out, "orders@broker-a") > strings.Index(s.out, "%RETRY%g@broker-a") {
			t.Error("the retry topic stands first: ", s)
		}
		r.exits(0, "reset", "-g", "g", "--all-topics", "--to-earliest", "--yes").says("Not selected: .*%RETRY%g")
		r.stored(a, "orders", 0, 0)
		r.stored(a, "%RETRY%g", 0, 4)
		r.exits(0, "topics").says("orders", "!RETRY")
		r.exits(0, "topics", "--internal").says("%RETRY%g")
		r.exits(0, "reset", "-g", "g", "-t", "%RETRY%g@broker-a", "--to-latest", "--yes")
		r.stored(a, "%RETRY%g", 0, 7)
	})
}

// A group in which every queue lags by one and nobody consumes may be rocketmq-spark's.
func TestRocketMQUntilMinusOne(t *testing.T) {
	everyFake(t, func(t *testing.T, r *fakeRocket) {
		a, b := r.both("orders", 1, "g")
		for _, x := range []*remotingtest.Broker{a, b} {
			x.Fill("orders", 0, 0, 20, time.Now())
			x.SetOffset("g", "orders", 0, 19)
		}
		r.exits(0, "inspect", "-g", "g", "-t", "orders").says("note: each of 2 queues lags by exactly 1", "looks like rocketmq-spark's", "nothing is$")
		r.exits(0, "resolve", "-g", "g", "-t", "orders", "-o", "rocketmq-spark").says("broker-a", "19")
		a.SetOffset("g", "orders", 0, 18)
		r.exits(0, "inspect", "-g", "g", "-t", "orders").says("!rocketmq-spark")
	})
}

// The question about one group and topic costs one request to a name server and three to each master, whatever the number of
// queues, and that the whole program sees.
func TestRocketMQRoundTrips(t *testing.T) {
	for _, queues := range []int{1, 64} {
		r := fakeRocketOf(t, remotingtest.Options{}, "")
		a, b := r.both("orders", queues, "g")
		for i := range int32(queues) {
			a.SetOffset("g", "orders", i, 1)
			b.SetOffset("g", "orders", i, 1)
			a.Fill("orders", i, 0, 1, time.Now())
			b.Fill("orders", i, 0, 1, time.Now())
		}
		r.exits(0, "inspect", "-g", "g", "-t", "orders")
		r.Counts()
		r.exits(0, "inspect", "-g", "g", "-t", "orders")
		got := r.Counts()
		want := map[remoting.Code]int{remoting.CodeRoute: 1, remoting.CodeTopicStats: 2, remoting.CodeConsumeStats: 2, remoting.CodeConnections: 2}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d queues: %v, want %v", queues, got, want)
		}
	}
}

// Two clusters of RocketMQ have one name as often as not: numbers of one mean nothing on the other all the same, and half a cluster
// is not copied.
func TestRocketMQCopyBetweenClusters(t *testing.T) {
	r, other := fakeRocketOf(t, remotingtest.Options{}, ""), fakeRocketOf(t, remotingtest.Options{}, "")
	for _, x := range []*fakeRocket{r, other} {
		a, b := x.both("orders", 1, "g")
		a.Fill("orders", 0, 0, 20, time.Now())
		b.Fill("orders", 0, 0, 20, time.Now())
	}
	r.Broker("broker-a").SetOffset("g", "orders", 0, 5)
	r.Broker("broker-b").SetOffset("g", "orders", 0, 6)
	args := []string{"copy", "--from-broker", r.url, "--broker", other.url, "--from-group", "g", "--to-group", "g", "-t", "orders", "--yes", "--new-group"}
	r.exits(4, args...).says("different clusters", "--translate")
	if _, ok := other.Broker("broker-a").Offset("g", "orders", 0); ok {
		t.Error("written")
	}
	r.exits(0, append(args, "--translate", "none")...).says("written 2 of 2")
	r.exits(0, "inspect", "-g", "g", "-t", "orders")
	r.Broker("broker-b").Kill()
	r.exits(4, "copy", "--from-group", "g", "--to-group", "h", "-t", "orders", "--yes", "--new-group", "--create-group").says("broker-b")
	r.Broker("broker-a").Group("h")
	r.exits(0, "copy", "--from-group", "g", "--to-group", "h", "-t", "orders@broker-a", "--yes", "--new-group").says("written 1 of 1")
}
