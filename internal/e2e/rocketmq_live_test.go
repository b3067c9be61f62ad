package e2e

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/internal/testservers"
	rockets "github.com/offsetctl/offsetctl/internal/testservers/rocketmq"
	"github.com/offsetctl/offsetctl/offset"
)

// BR-22: a live group is refused; with --allow-live it is watched until its clients really moved. These tests wait most of their
// time, for clients that store every five seconds and pause for ten, so they wait together.
func TestBR22RocketMQLiveGroups(t *testing.T) {
	for _, x := range []struct {
		to string
		f  func(*testing.T, *rocket)
	}{{"explicit", liveExplicit}, {"latest", liveLatest}, {"earliest", liveEarliest}, {"time", liveTime}} {
		for _, name := range []string{"rocketmq55", "rocketmq49"} {
			t.Run(x.to+"/"+name, func(t *testing.T) {
				t.Parallel()
				x.f(t, rocketAt(t, testservers.Need(t, name), ""))
			})
		}
	}
}

// caughtUp waits until a group's client has stored the position in each queue.
func (r *rocket) caughtUp(group string, next int64, queues ...offset.Partition) {
	r.t.Helper()
	rockets.Eventually(r.t, time.Minute, func() string {
		for _, q := range queues {
			if n, _ := r.Stored(group, q); n != next {
				return fmt.Sprintf("the consumer is at %d of %s", n, q)
			}
		}
		return ""
	})
}

// again wants so many messages to be read once more, and no other: a client begins with its queues again within 20 s of its pause.
func (r *rocket) again(group string, q offset.Partition, seen *atomic.Int64, before, want int64) {
	r.t.Helper()
	rockets.Eventually(r.t, time.Minute, func() string {
		if n := seen.Load() - before; n < want {
			stored, _ := r.Stored(group, q)
			return fmt.Sprintf("called written, and %d of %d messages were read again; the group is at %d", n, want, stored)
		}
		return ""
	})
	if n := seen.Load() - before; n != want {
		r.t.Errorf("%d messages were read again, want %d", n, want)
	}
}

// moves resets a live group, and answers how many messages were seen before. Where it is not known whether the clients moved, which
// may happen on a busy machine, the command is repeated, twice at the most, as it says.
func (r *rocket) moves(seen *atomic.Int64, args ...string) (before int64, s *said) {
	r.t.Helper()
	args = append([]string{"reset", "--yes", "--allow-live"}, args...)
	for range 3 {
		before = seen.Load()
		if s = r.run(args...); s.code != 3 || !strings.Contains(s.out, "NOT KNOWN") || !strings.Contains(s.out, "repeat the command") {
			break
		}
		r.t.Log("once more after: ", s)
	}
	if s.code != 0 {
		r.t.Fatal(s)
	}
	return before, s
}

// All messages are read again. With a client of another tag beside it the group is one whose subscriptions differ (BR-31).
func liveEarliest(t *testing.T, r *rocket) {
	topic, group := r.Topic("live", 1, "broker-a"), r.Group("live")
	q := queue(topic, "broker-a", 0)
	r.Produce(q, 20, "x", "A")
	var seen atomic.Int64
	r.Consume(group, topic, "A", &seen)
	r.caughtUp(group, 20, q)
	r.exits(4, "reset", "-g", group, "-t", topic, "--to-earliest", "--yes").says("is live, push, 1 member", "--allow-live")
	r.at(group, q, 20)
	before, s := r.moves(&seen, "-g", group, "-t", topic, "--to-earliest")
	s.says("written 1 of 1")
	r.again(group, q, &seen, before, 20)
	r.Consume(group, topic, "B", &seen)
	rockets.Eventually(t, 2*time.Minute, func() string {
		if s := r.run("inspect", "-g", group, "-t", topic); s.code != 1 || !strings.Contains(s.out, "mixed-subscriptions") {
			return s.String()
		}
		return ""
	})
}

// A client far behind skips to the end: it goes on from there, and never reads what lies between.
func liveLatest(t *testing.T, r *rocket) {
	const backlog = 2000
	topic, group := r.Topic("latest", 1, "broker-a"), r.Group("latest")
	q := queue(topic, "broker-a", 0)
	r.Produce(q, backlog, "x", "")
	var seen atomic.Int64
	r.ConsumeSlowly(group, topic, 100*time.Millisecond, &seen)
	rockets.Eventually(t, time.Minute, func() string {
		if n, _ := r.Stored(group, q); n == 0 { // 4.9 answers it for none, too
			return "the consumer has not stored yet"
		}
		return ""
	})
	r.exits(4, "reset", "-g", group, "-t", topic, "--to-latest", "--yes").says("is live, push, 1 member", "SKIPS [1-9]")
	_, s := r.moves(&seen, "-g", group, "-t", topic, "--to-latest")
	s.says("SKIPS [1-9]", "written 1 of 1")
	if n, found := r.Stored(group, q); n != backlog || !found {
		t.Errorf("called written, and the group is at %d (%v)", n, found)
	}
	r.Produce(q, 3, "x", "")
	r.caughtUp(group, backlog+3, q)
	if n := seen.Load(); n >= backlog {
		t.Errorf("the client read %d messages, so it has not skipped the backlog of %d", n, backlog)
	}
}

// One of two queues to a number, for which no time is right: it moves the client on 5.5; on 4.9 the client overwrites it within
// seconds, which is said before, and reported after.
func liveExplicit(t *testing.T, r *rocket) {
	topic, group := r.Topic("explicit", 2, "broker-a"), r.Group("explicit")
	q := queue(topic, "broker-a", 0)
	r.Produce(q, 20, "x", "")
	var seen atomic.Int64
	r.Consume(group, topic, "*", &seen)
	r.caughtUp(group, 20, q)
	r.exits(4, "reset", "-g", group, "-t", topic+"@broker-a:0", "--to-offset", "7", "--yes").says("1 member", "--allow-live")
	before := seen.Load()
	args := []string{"-g", group, "-t", topic + "@broker-a:0", "--to-offset", "7"}
	if !r.Old() {
		before, s := r.moves(&seen, args...)
		s.says("written 1 of 1")
		r.again(group, q, &seen, before, 13)
		return
	}
	r.exits(3, append([]string{"reset", "--yes", "--allow-live"}, args...)...).says("warning: .*is overwritten by them within seconds", "incomplete \\(exit 3\\)", "overwritten|still there|is there")
	if seen.Load() != before {
		t.Error("messages were read again")
	}
	r.at(group, q, 20)
}

// A time in the middle, for all queues: half of the messages are read again on both versions. The gap is longer than it takes to
// fill both queues, because 4.9 searches the nearest message.
func liveTime(t *testing.T, r *rocket) {
	topic, group := r.Topic("time", 2, "broker-a"), r.Group("time")
	one, two := queue(topic, "broker-a", 0), queue(topic, "broker-a", 1)
	var between time.Time
	for i := range 2 {
		if i == 1 {
			time.Sleep(2 * time.Second)
			between = time.Now().UTC()
			time.Sleep(2 * time.Second)
		}
		r.Produce(one, 10, "x", "")
		r.Produce(two, 10, "x", "")
	}
	var seen atomic.Int64
	r.Consume(group, topic, "*", &seen)
	r.caughtUp(group, 20, one, two)
	before, s := r.moves(&seen, "-g", group, "-t", topic, "--to-time", between.Format("2006-01-02T15:04:05.000Z"))
	s.says("warning: group .* is being consumed by its clients, .*1: ", "written 2 of 2")
	r.again(group, one, &seen, before, 20)
}
