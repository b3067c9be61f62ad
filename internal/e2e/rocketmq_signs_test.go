package e2e

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/brokers/remoting/remotingtest"
)

// Answers that are none: one sentence that names the server, the right exit code, and nothing written.
func TestRocketMQAnswersThatAreNone(t *testing.T) {
	for what, x := range map[string]struct {
		bytes []byte
		want  string
	}{
		"truncated": {append(binary.BigEndian.AppendUint64(nil, 100<<32|50), '{'), "unexpected EOF"},
		"oversized": {binary.BigEndian.AppendUint32(nil, 1<<31-1), "too large"},
		"no frame":  {[]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), "not a RocketMQ frame"},
		"closed":    {nil, "closed|EOF"},
	} {
		t.Run(what, func(t *testing.T) {
			r := fakeRocketOf(t, remotingtest.Options{}, "")
			a, b := r.both("orders", 1, "g")
			for _, broker := range []*remotingtest.Broker{a, b} {
				broker.Fill("orders", 0, 0, 20, time.Now())
				broker.SetOffset("g", "orders", 0, 5)
			}
			answer := func(servers ...string) {
				r.Intercept(func(c *remotingtest.Call) bool {
					for _, s := range servers {
						if c.Server == s {
							_, _ = c.Conn.Write(x.bytes)
							_ = c.Conn.Close()
							return true
						}
					}
					return false
				})
			}
			answer("broker-a")
			r.exits(3, "inspect", "-g", "g", "-t", "orders").says(`@broker-a +0 .*unknown`, `@broker-b +0 .*ok`, a.Addr(), x.want)
			r.exits(4, "reset", "-g", "g", "-t", "orders", "--to-earliest", "--yes").says(a.Addr())
			answer("ns0")
			r.exits(5, "inspect", "-g", "g", "-t", "orders").says(r.NameServers()[0], x.want)
			r.exits(5, "reset", "-g", "g", "-t", "orders", "--to-earliest", "--yes").says(r.NameServers()[0])
			r.stored(a, "orders", 0, 5)
			r.stored(b, "orders", 0, 5)
		})
	}
}

// A proxy's address given for a name server's is recognised: it lists itself as every broker, and knows nothing of the cluster.
func TestRocketMQProxyForNameServer(t *testing.T) {
	r := fakeRocketOf(t, remotingtest.Options{}, "")
	r.Intercept(func(c *remotingtest.Call) bool {
		a := &remoting.Command{Opaque: c.Request.Opaque, Flag: remoting.FlagAnswer, Ext: map[string]string{"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}}
		if c.Request.Code == int(remoting.CodeRoute) {
			a.Body = []byte(`{"brokerDatas":[{"brokerAddrs":{"0":"h:1","1":"h:1"},"brokerName":"broker-a","cluster":"c"}],"queueDatas":[]}`)
		} else {
			a.Code = remoting.NotSupported
		}
		frame, _ := a.Append(nil)
		_, _ = c.Conn.Write(frame)
		return true
	})
	for _, args := range [][]string{{"inspect", "-g", "g", "-t", "orders"}, {"groups"}, {"reset", "-g", "g", "-t", "orders", "--to-earliest", "--yes"}} {
		r.exits(2, args...).says(r.NameServers()[0] + ": this is a RocketMQ 5 proxy and no name server; give the address of a name server")
	}
}

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
		r.exits(1, append(sel, "--time-lag", "-o", "wide")...).says(`@broker-a .*stale +2 d 22 h +(1 h 5\d min|119 min|2 h)`, `@broker-b .*ok +[0-9]+ s +2 d 23 h`)
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
