package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/internal/testservers"
	rockets "github.com/offsetctl/offsetctl/internal/testservers/rocketmq"
	"github.com/offsetctl/offsetctl/offset"
)

// Head overflow for real: files expire, also of a queue whose start 4.9 goes on telling. Repaired, and taken back. It is the first
// test on these brokers: after others with live clients one was seen to keep its files.
func TestRocketMQExpiredFiles(t *testing.T) {
	for _, name := range []string{"rocketmq49", "rocketmq55"} {
		t.Run(name, func(t *testing.T) {
			r := rocketAt(t, testservers.Exclusive(t, name), "")
			topic, group := r.Topic("old", 2, "broker-a"), r.Group("old")
			small, large := queue(topic, "broker-a", 0), queue(topic, "broker-a", 1)
			r.Produce(small, 10, "small", "")
			r.Produce(large, 1103, strings.Repeat("x", 4000), "") // more than four files of 1 MiB
			r.Store(group, small, 3)
			r.Store(group, large, 5)
			r.exits(0, "inspect", "-g", group, "-t", topic).says("2 partitions: 2 ok")
			r.Expire(large)
			r.exits(1, "inspect", "-g", group, "-t", topic).says(`\s1 +5 .*head-overflow +[0-9,]+ before the log start`, `\s0 +3 +10 +10 +0 +head-overflow +7 before the log start`, "already lost", "--repair")
			r.exits(0, "reset", "-g", group, "-t", topic, "--repair", "--yes").says("written 2 of 2", "--wait-durable")
			r.at(group, small, 10)
			rows := r.inspect(group, "-t", topic)
			if row := rows[topic+":1"]; row.Verdict != "ok" || row.Stored.Next <= 5 {
				t.Errorf("%+v", row)
			}
			r.exits(0, "undo", "--yes")
			r.at(group, small, 3)
			r.at(group, large, 5)
			r.exits(1, "inspect", "-g", group, "-t", topic).says("head-overflow")
		})
	}
}

// A broker is killed: missed because an earlier run saw it, refused in a reset of all, not in the way of the other's queues. What
// was written durably is there when it comes back; when it comes back without its messages, positions are past the end. A broker
// that hangs is unknown, too.
func TestRocketMQBrokerStopped(t *testing.T) {
	for _, name := range []string{"rocketmq49", "rocketmq55"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testservers.NeedOwn(t, name)
			booted := time.Now()
			r := rocketAt(t, s, "?timeout=3s")
			topic, group := r.Topic("down", 1, "broker-a", "broker-b"), r.Group("down")
			a, b := queue(topic, "broker-a", 0), queue(topic, "broker-b", 0)
			r.Produce(a, 9, "x", "")
			r.Produce(b, 9, "x", "")
			r.Store(group, a, 5)
			r.Store(group, b, 5)
			time.Sleep(time.Until(booted.Add(12 * time.Second))) // the first flush comes ten seconds after the boot
			r.exits(0, "reset", "-g", group, "-t", topic, "--to-offset", "3", "--yes", "--wait-durable").says("written 2 of 2, read back", "!is killed")
			r.exits(0, "inspect", "-g", group, "-t", topic).says("2 partitions: 2 ok")
			s.Kill("broker-b")
			rockets.Eventually(t, time.Minute, func() string {
				if x := r.run("inspect", "-g", group, "-t", topic); x.code != 3 || !strings.Contains(x.out, "broker-b") {
					return x.String()
				}
				return ""
			})
			told := newOperator(t, "OFFSETCTL_BROKER=rocketmq://"+s.Addr["namesrv"]+"?timeout=3s&brokers=broker-a,broker-b")
			told.exits(3, "inspect", "-g", group, "-t", topic).says("^unknown .*broker-b", `@broker-a +0 +3 .*ok`)
			r.exits(3, "inspect", "-g", group, "-t", topic, "--fail-on", "none").says(`@broker-a +0 +3 .*ok`, "^unknown .*broker-b.*last seen", "exit 3: incomplete")
			r.exits(4, "reset", "-g", group, "-t", topic, "--to-earliest", "--yes").says("broker-b")
			r.at(group, a, 3)
			r.exits(0, "reset", "-g", group, "-t", topic+"@broker-a", "--to-earliest", "--yes").says("written 1 of 1")
			r.at(group, a, 0)
			s.Start("broker-b")
			rockets.Eventually(t, time.Minute, func() string {
				if x := r.run("inspect", "-g", group, "-t", topic); x.code != 0 {
					return x.String()
				}
				return ""
			})
			r.at(group, b, 3)

			s.Pause("broker-b") // stays in the metadata, and does not answer
			r.exits(3, "inspect", "-g", group, "-t", topic).says(`@broker-b +0 .*unknown`, `@broker-a +0 .*ok`)
			r.exits(4, "reset", "-g", group, "-t", topic, "--to-earliest", "--yes").says("broker-b")
			s.Resume("broker-b")

			s.Kill("broker-b")
			lose(t, filepath.Join(s.Dir, "broker-b", "store"))
			s.Start("broker-b")
			rockets.Eventually(t, time.Minute, func() string {
				if x := r.run("inspect", "-g", group, "-t", topic); x.code != 1 || !strings.Contains(x.out, "3 past the log end") {
					return x.String()
				}
				return ""
			})
			r.exits(4, "reset", "-g", group, "-t", topic+"@broker-b", "--repair", "--yes").says("--on-tail-overflow|--to-earliest")
			r.exits(0, "reset", "-g", group, "-t", topic+"@broker-b", "--repair", "--on-tail-overflow", "earliest", "--yes")
			r.at(group, b, 0)
		})
	}
}

// lose deletes what a broker stores but its settings: topics, groups and positions survive, messages do not.
func lose(t *testing.T, store string) {
	t.Helper()
	entries, err := os.ReadDir(store)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "config" {
			if err := os.RemoveAll(filepath.Join(store, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// BR-22, offline: to 400, then to 20, read back. A reset that the broker keeps and nobody has taken does not swallow it.
func TestBR22RocketMQOffline(t *testing.T) {
	everyRocket(t, func(t *testing.T, r *rocket) {
		topic, group := r.Topic("offline", 1, "broker-a"), r.Group("offline")
		q := queue(topic, "broker-a", 0)
		r.Produce(q, 500, "x", "")
		r.Store(group, q, 100)
		for _, n := range []string{"400", "20"} {
			r.exits(0, "reset", "-g", group, "-t", topic, "--to-offset", n, "--yes").says("written 1 of 1, read back")
		}
		r.at(group, q, 20)
		if r.Old() {
			return
		}
		r.Must(r.Admin.ResetQueue(t.Context(), r.On("broker-a"), group, topic, 0, 5))
		if swallowed, err := r.Admin.UpdateOffset(t.Context(), r.On("broker-a"), group, topic, 0, 9); err != nil || swallowed == "" {
			t.Fatalf("no reset is pending: %q %v", swallowed, err)
		}
		r.exits(0, "reset", "-g", group, "-t", topic, "--to-offset", "250", "--yes").says("written 1 of 1, read back", "^"+topic+"@broker-a:0: somebody had reset it on the broker")
		r.at(group, q, 250)
		r.exits(0, "undo", "--yes").says("!somebody had reset")
		r.at(group, q, 5)
		// Back to what no reset takes, a number past the end and none, although a reset is pending.
		r.Store(group, q, 999)
		other := queue(r.Topic("offline2", 1, "broker-a"), "broker-a", 0)
		for _, x := range []struct {
			p     offset.Partition
			there bool
		}{{q, true}, {other, false}} {
			r.exits(0, "reset", "-g", group, "-t", x.p.Topic, "--to-earliest", "--yes")
			r.Must(r.Admin.ResetQueue(t.Context(), r.On("broker-a"), group, x.p.Topic, 0, 0))
			r.exits(0, "undo", "--yes").says("written 1 of 1, read back", "somebody had reset it on the broker")
			if n, found := r.Stored(group, x.p); found != x.there || found && n != 999 {
				t.Errorf("%s is at %d (%v)", x.p, n, found)
			}
		}
	})
}

// The other commands, as an operator uses them on RocketMQ.
func TestRocketMQCommands(t *testing.T) {
	everyRocket(t, func(t *testing.T, r *rocket) {
		topic, group := r.Topic("cmd", 2, "broker-a", "broker-b"), r.Group("cmd")
		q := queue(topic, "broker-a", 1)
		r.Produce(q, 12, "hello", "T1")
		for _, p := range []struct {
			broker string
			id     int32
		}{{"broker-a", 0}, {"broker-a", 1}, {"broker-b", 0}, {"broker-b", 1}} {
			r.Store(group, queue(topic, p.broker, p.id), 0)
		}
		r.Store(group, q, 4)
		version := r.Version
		r.exits(0, "check", "-g", group, "-t", topic, "--can", "reset").says("RocketMQ "+version, "group "+group+": 4 positions", "can reset")
		r.exits(0, "groups").says("^" + group + " +empty")
		r.exits(0, "topics", "-t", topic).says(`@broker-a +1 +\S+ +0 +12 +12`, `@broker-b +1 `)
		r.exits(0, "peek", topic+"@broker-a:1@4").says("hello", "tag T1")
		r.exits(0, "resolve", "-g", group, "-t", topic).says(`@broker-a +1 +4 +4 `)
		r.exits(0, "resolve", "-g", group, "-t", topic, "-o", "rocketmq-spark").says("broker-a", "broker-b")
		r.exits(0, "__complete", "inspect", "-g", group[:len(group)-1]).says("^" + group)
		r.exits(0, "__complete", "inspect", "-t", topic[:len(topic)-1]).says("^" + topic)
		plan := filepath.Join(r.dir, "plan.json")
		r.exits(0, "reset", "-g", group, "-t", topic, "--to-earliest", "--plan-out", plan).says("saved")
		r.at(group, q, 4)
		r.exits(0, "apply", plan, "--yes").says("written 1 of 1")
		r.at(group, q, 0)
		r.exits(0, "history").says("apply|reset", group)
		r.exits(0, "undo", "--yes")
		r.at(group, q, 4)
		r.exits(2, "inspect", "-g", group, "-t", topic+"-nosuch").says("does not exist")
		r.exits(2, "inspect", "-g", group, "-t", topic+"@broker-x").says("does not exist")
		r.exits(2, "inspect", "-g", group, "-t", topic+"@broker-a:9").says("does not exist")
		r.exits(1, "inspect", "-g", group+"-nosuch").says("there is no group of this name")
	})
}

// BR-30 on real brokers: nothing is known of a broadcasting group, and nothing is written.
func TestBR30RocketMQBroadcast(t *testing.T) {
	everyRocket(t, func(t *testing.T, r *rocket) {
		topic, group := r.Topic("radio", 1, "broker-a"), r.Group("radio")
		r.Produce(queue(topic, "broker-a", 0), 5, "x", "")
		var seen atomic.Int64
		r.Broadcast(group, topic, &seen)
		rockets.Eventually(t, time.Minute, func() string {
			if x := r.run("inspect", "-g", group, "-t", topic); x.code != 3 {
				return x.String()
			}
			return ""
		})
		r.exits(3, "inspect", "-g", group, "-t", topic).says("unknown", "broadcasting")
		r.exits(4, "reset", "-g", group, "-t", topic, "--to-earliest", "--yes", "--allow-live").says("broadcasting")
	})
}

// Access control: who may not is told what is missing, and nothing is written.
func TestRocketMQAccessControl(t *testing.T) {
	for _, name := range []string{"rocketmq49acl", "rocketmq55acl"} {
		t.Run(name, func(t *testing.T) {
			s := testservers.Need(t, name)
			url := "rocketmq://" + s.Addr["namesrv"]
			r := rocketAt(t, s, "")
			r.env = append(r.env, "SECRET="+s.Vars["secret-key"], "BAD=wr0ng-secret", "READ=readsecret1")
			topic, group := r.Topic("acl", 1, "broker-a"), r.Group("acl")
			q := queue(topic, "broker-a", 0)
			r.Store(group, q, 0)
			admin := url + "?access-key=" + s.Vars["access-key"] + "&secret-key=env:SECRET"
			at := func(url string, args ...string) []string {
				return append(args, "-g", group, "-t", topic, "--broker", url)
			}
			r.exits(0, at(admin, "inspect")...).says(`@broker-a +0 +0 +0 +0 +0 +ok`)
			r.exits(0, append(at(admin, "reset", "--to-earliest", "--yes"), "--dry-run")...)
			r.exits(5, at(url, "inspect")...).says("access-key|username cannot be null|No accessKey")
			r.exits(5, at(url+"?access-key="+s.Vars["access-key"]+"&secret-key=env:BAD", "inspect")...).says("!wr0ng-secret", "[Cc]heck signature failed")
			if r.Old() { // its reader may look at every group, and write none but its own
				r.Store(group, q, 5)
				reader := url + "?access-key=readonly1&secret-key=env:READ"
				r.exits(1, at(reader, "inspect")...).says(`@broker-a +0 +5 .*tail-overflow`)
				r.exits(5, at(reader, "reset", "--to-earliest", "--yes")...).says("No default permission", "!readsecret1")
				r.at(group, q, 5)
				r.exits(0, at(admin, "reset", "--to-earliest", "--yes")...).says("written 1 of 1")
				r.at(group, q, 0)
			}
		})
	}
}
