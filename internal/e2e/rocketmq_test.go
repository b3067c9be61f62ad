package e2e

import (
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/internal/testservers"
	rockets "github.com/offsetctl/offsetctl/internal/testservers/rocketmq"
	"github.com/offsetctl/offsetctl/offset"
)

// rocket is a real RocketMQ cluster and an operator at it.
type rocket struct {
	*rockets.Cluster
	*operator
}

func rocketAt(t testing.TB, s testservers.Server, options string) *rocket {
	return &rocket{rockets.Use(t, s), newOperator(t, "OFFSETCTL_BROKER=rocketmq://"+s.Addr["namesrv"]+options)}
}

func everyRocket(t *testing.T, f func(t *testing.T, r *rocket)) {
	for _, name := range []string{"rocketmq49", "rocketmq55"} {
		t.Run(name, func(t *testing.T) { f(t, rocketAt(t, testservers.Need(t, name), "")) })
	}
}

func queue(topic, broker string, index int32) offset.Partition {
	return offset.Partition{Topic: topic, Broker: broker, Index: index}
}

// at wants a stored position.
func (r *rocket) at(group string, p offset.Partition, want int64) {
	r.t.Helper()
	if got, found := r.Stored(group, p); got != want || !found {
		r.t.Errorf("%s: %s is at %d (%v), want %d", group, p, got, found, want)
	}
}

// Reset of a group without members: by every kind of target, and back.
func TestRocketMQReset(t *testing.T) {
	everyRocket(t, func(t *testing.T, r *rocket) {
		topic, group := r.Topic("orders", 2, "broker-a", "broker-b"), r.Group("billing")
		a, b := queue(topic, "broker-a", 0), queue(topic, "broker-b", 0)
		r.Produce(a, 20, "x", "")
		between := time.Now().UTC()
		time.Sleep(50 * time.Millisecond)
		r.Produce(a, 10, "x", "")
		r.Produce(b, 5, "x", "")
		r.Store(group, a, 12)
		r.Store(group, b, 99)

		r.exits(1, "inspect", "-g", group, "-t", topic).says(`@broker-a\s+0\s+12\s+0\s+30\s+18\s+ok`, `@broker-b\s+0\s+99\s+0\s+5\s+-\s+tail-overflow\s+94 past the log end`,
			`@broker-a\s+1\s+-.*absent`)
		r.exits(4, "reset", "-g", group, "-t", topic+"@broker-a:0", "--to-offset", "31", "--yes").says("0..30|0 to 30")
		r.exits(0, "reset", "-g", group, "-t", topic, "--to-earliest", "--yes").says("written 4 of 4, read back")
		r.at(group, a, 0)
		r.at(group, b, 0)
		r.exits(0, "undo", "--yes")
		r.at(group, a, 12)
		r.at(group, b, 99)
		r.exits(1, "inspect", "-g", group, "-t", topic).says(`@broker-a\s+1\s+-.*absent`)
		r.exits(0, "reset", "-g", group, "-t", topic+"@broker-a:0", "--to-time", between.Format("2006-01-02T15:04:05.000Z"), "--allow-skip", "--yes")
		r.at(group, a, 20)
		r.exits(0, "reset", "-g", group, "-t", topic+"@broker-b", "--to-latest", "--yes")
		r.at(group, b, 5)
		r.exits(0, "reset", "-g", group, "-t", topic+"@broker-a:0", "--to-offset", "7", "--yes")
		r.at(group, a, 7)
		r.exits(0, "copy", "--from-group", group, "--to-group", r.Group("second"), "-t", topic+"@broker-a:0", "--new-group", "--yes")
		r.at(r.Name+"-second", a, 7)
	})
}

// BR-02 and BR-05: topics that are made again or grow.
func TestRocketMQTopicsChange(t *testing.T) {
	everyRocket(t, func(t *testing.T, r *rocket) {
		topic, group := r.Topic("again", 1, "broker-a"), r.Group("again")
		q := queue(topic, "broker-a", 0)
		r.Produce(q, 50, "x", "")
		r.Store(group, q, 40)
		r.DeleteTopic("broker-a", topic)
		r.Topic("again", 1, "broker-a")
		r.Produce(q, 5, "x", "")
		s := r.exits(1, "inspect", "-g", group, "-t", topic)
		if r.Old() {
			s.says(`\s0\s+40\s+0\s+5\s+-\s+tail-overflow\s+35 past the log end`)
		} else {
			s.says(`no stored offsets|nothing stored|absent`, "!tail-overflow")
		}
		r.Store(group, q, 5)
		r.Topic("again", 2, "broker-a")
		r.exits(1, "inspect", "-g", group, "-t", topic).says(`\s0\s+5\s+0\s+5\s+0\s+ok`, `\s1\s+-.*absent\s+other partitions of it are stored`)
	})
}

// A group that a broker of 5.x does not know is made only when that was asked for.
func TestRocketMQUnknownGroup(t *testing.T) {
	everyRocket(t, func(t *testing.T, r *rocket) {
		topic, group := r.Topic("new", 1, "broker-a"), r.Name+"-new"
		r.exits(4, "reset", "-g", group, "-t", topic, "--to-earliest", "--yes").says("--new-group")
		if !r.Old() {
			r.exits(4, "reset", "-g", group, "-t", topic, "--to-earliest", "--yes", "--new-group").says("does not exist on broker-a", "--create-group")
		}
		if _, found := r.Stored(group, queue(topic, "broker-a", 0)); found && !r.Old() {
			t.Error("something was written")
		}
		r.exits(0, "reset", "-g", group, "-t", topic, "--to-earliest", "--yes", "--new-group", "--create-group").says("written 1 of 1")
		r.at(group, queue(topic, "broker-a", 0), 0)
	})
}
