package e2e

import (
	"database/sql"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/brokers/remoting/remotingtest"
)

// Clients that come through a proxy are in no broker's list: positions that move, or a retry topic of popping, tell them from nobody.
func TestRocketMQUnlistedClients(t *testing.T) {
	r := fakeRocketOf(t, remotingtest.Options{}, "")
	a, _ := r.both("orders", 1, "g")
	a.Fill("orders", 0, 0, 500, time.Now())
	a.SetOffset("g", "orders", 0, 100)
	args := []string{"reset", "-g", "g", "-t", "orders@broker-a", "--to-earliest", "--yes"}

	var looks atomic.Int32 // after the question for retry topics of popping
	r.Intercept(func(c *remotingtest.Call) bool {
		switch code := remoting.Code(c.Request.Code); {
		case c.Server != "broker-a":
		case code == remoting.CodeTopicsOfGroup:
			looks.Store(1)
		case code == remoting.CodeConsumeStats && looks.Load() > 0 && looks.Add(1) == 3:
			a.SetOffset("g", "orders", 0, 101)
		}
		return false
	})
	r.exits(4, args...).says("although no broker lists a client: orders@broker-a:0 moved from 100 to 101", "--allow-live")
	r.Intercept(nil)
	a.SetOffset("g", "orders", 0, 100)
	a.SetOffset("g", "%RETRY%g_orders", 0, 1)
	r.exits(4, args...).says("consumes by popping", "%RETRY%g_orders", "--allow-live")
	r.stored(a, "orders", 0, 100)
	r.exits(0, append(args, "--allow-live")...).says("written 1 of 1")
	r.stored(a, "orders", 0, 0)
}

// Ages come from the times of storing: what lies unread for long is stale, and what goes off the log when is foretold.
func TestRocketMQAges(t *testing.T) {
	everyFake(t, func(t *testing.T, r *fakeRocket) {
		a, b := r.both("orders", 1, "g")
		a.Fill("orders", 0, 0, 100, time.Now().Add(-70*time.Hour)) // kept for 72 hours
		a.SetOffset("g", "orders", 0, 90)
		b.Fill("orders", 0, 0, 100, time.Now())
		b.SetOffset("g", "orders", 0, 90)
		sel := []string{"inspect", "-g", "g", "-t", "orders"}
		r.exits(1, sel...).says(`@broker-a +0 +90 .* 10 +stale +oldest unread record is .*2 d 2[12] h old`, `@broker-b +0 +90 .* 10 +ok`)
		r.exits(0, append(sel, "--stale-after", "80h")...)
		r.exits(1, append(sel, "--time-lag", "-o", "wide")...).says(`@broker-a .*stale +2 d 22 h +(1 h 5\d min|119 min|2 h)`, `@broker-b .*ok .*2 d 23 h`)
		r.exits(1, append(sel, "--min-headroom", "6h", "--stale-after", "80h")...).says("oldest unread gone in")
		r.exits(0, append(sel, "--min-headroom", "1h", "--stale-after", "80h")...)
	})
}

// Positions of queues that a topic no longer has.
func TestRocketMQOrphans(t *testing.T) {
	everyFake(t, func(t *testing.T, r *fakeRocket) {
		a, _ := r.both("orders", 4, "g")
		for id := range int32(4) {
			a.Fill("orders", id, 0, 10, time.Now())
			a.SetOffset("g", "orders", id, 5)
		}
		a.Topic("orders", 2)
		r.exits(1, "inspect", "-g", "g").says(`orders@broker-a +3 +5 .*orphan`, `orders@broker-a +1 +5 .*ok`)
		r.exits(0, "reset", "-g", "g", "-t", "orders@broker-a:0,1", "--to-earliest", "--yes")
		r.stored(a, "orders", 3, 5)
	})
}

// Dead letters have a topic of their own, which is listed apart and can be looked into.
func TestRocketMQDeadLetters(t *testing.T) {
	everyFake(t, func(t *testing.T, r *fakeRocket) {
		a, _ := r.both("orders", 1, "g")
		a.Fill("orders", 0, 0, 10, time.Now())
		a.SetOffset("g", "orders", 0, 10)
		a.Topic("%DLQ%g", 1)
		a.Append("%DLQ%g", 0, remotingtest.Message{Time: time.Now(), Body: "poison"})
		r.exits(0, "inspect", "-g", "g", "-t", "orders@broker-a").says("!DLQ")
		r.exits(0, "topics").says("!DLQ")
		r.exits(0, "topics", "--internal").says("%DLQ%g")
		r.exits(0, "topics", "-t", "%DLQ%g").says(`%DLQ%g@broker-a +0 .* 1$`)
		r.exits(0, "peek", "%DLQ%g@broker-a:0@0").says("poison")
	})
}

// Only a declared value=last converts: a job's own table of RocketMQ queues that keeps the last offset read.
func TestRocketMQValueLast(t *testing.T) {
	r := fakeRocketOf(t, remotingtest.Options{}, "")
	a, b := r.both("orders", 1, "g")
	a.Fill("orders", 0, 0, 20, time.Now())
	b.Fill("orders", 0, 0, 30, time.Now())
	path := filepath.Join(r.dir, "jobs.db")
	db, err := sql.Open("sqlite", path)
	if err == nil {
		_, err = db.ExecContext(t.Context(), `CREATE TABLE pos(topic TEXT, broker TEXT, part INTEGER, off INTEGER, PRIMARY KEY(topic, broker, part));
			INSERT INTO pos VALUES('orders', 'broker-a', 0, 19), ('orders', 'broker-b', 0, 29)`)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	store := "sqlite:" + path + "?table=pos&topic=topic&partition=part&offset=off&broker=broker"
	sel := []string{"-g", "g", "-t", "orders", "--broker", r.url, "--store"}
	r.exits(0, append([]string{"inspect"}, append(sel, store)...)...).says(`@broker-a +0 +19 .* 1 +ok`, `@broker-b +0 +29 .* 1 +ok`)
	r.exits(0, append([]string{"inspect"}, append(sel, store+"&value=last")...)...).says(`@broker-a +0 +20 .* 0 +ok`, `@broker-b +0 +30 .* 0 +ok`)
}

// What rocketmq-spark's ConsumerStrategy takes.
func TestRocketMQSparkPositions(t *testing.T) {
	r := fakeRocketOf(t, remotingtest.Options{}, "")
	a, b := r.both("orders", 2, "g")
	for id := range int32(2) {
		a.SetOffset("g", "orders", id, int64(id)+3)
		b.SetOffset("g", "orders", id, int64(id)+7)
		a.Fill("orders", id, 0, 20, time.Now())
		b.Fill("orders", id, 0, 20, time.Now())
	}
	r.exits(0, "resolve", "-g", "g", "-t", "orders", "-o", "rocketmq-spark").says(
		`\("orders", "broker-a", 0\), 3L`, `\("orders", "broker-a", 1\), 4L`, `\("orders", "broker-b", 0\), 7L`, `\("orders", "broker-b", 1\), 8L`,
		`ConsumerStrategy.specificOffset`, `forceSpecial`)
}

// A static topic is looked at, and never moved.
func TestRocketMQStaticTopic(t *testing.T) {
	r := fakeRocketOf(t, remotingtest.Options{}, "")
	a, _ := r.both("orders", 1, "g")
	a.Fill("orders", 0, 0, 20, time.Now())
	a.SetOffset("g", "orders", 0, 5)
	a.Static("orders")
	a.SetOffset("g", "orders", 1, 0) // it has two logical queues
	r.exits(0, "inspect", "-g", "g", "-t", "orders@broker-a").says(`@broker-a +0 +5 +0 +20 +15 +ok`, `@broker-a +1 +0 +0 +0 +0 +ok`)
	r.exits(4, "reset", "-g", "g", "-t", "orders@broker-a", "--to-earliest", "--yes").says("static topic")
	a.Expire("orders", 0, 8, false)
	r.exits(1, "inspect", "-g", "g", "-t", "orders@broker-a", "-o", "json").says("no reset can write it: a write is not possible there: it is a queue of a static topic", "!--repair")
	r.stored(a, "orders", 0, 5)
}

// A reset that somebody left pending on a 5.x broker would swallow the write: it is ended, and that is said.
func TestRocketMQPendingReset(t *testing.T) {
	r := fakeRocketOf(t, remotingtest.Options{}, "")
	a, b := r.both("orders", 2, "g")
	admin := remoting.New(remoting.Options{})
	t.Cleanup(func() { _ = admin.Close() })
	for _, x := range []*remotingtest.Broker{a, b} {
		for id := range int32(2) {
			x.Fill("orders", id, 0, 20, time.Now())
			x.SetOffset("g", "orders", id, 15)
		}
	}
	for id := range int32(2) {
		if err := admin.ResetQueue(t.Context(), a.Remoting(), "g", "orders", id, 9); err != nil {
			t.Fatal(err)
		}
	}
	r.exits(0, "reset", "-g", "g", "-t", "orders", "--to-offset", "4", "--yes").says("written 4 of 4, read back", "^orders@broker-a:0-1: somebody had reset it on the broker")
	r.stored(a, "orders", 0, 4)
	r.exits(0, "reset", "-g", "g", "-t", "orders", "--to-offset", "5", "--yes", "-o", "json").says(`"status": "written"`, `!"note"`)
}
