// Package rocketmq helps tests with a real RocketMQ cluster: topics and groups with names of their own, messages, consumers.
package rocketmq

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	client "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
)

func init() { rlog.SetLogLevel("fatal") } // the library logs every reconnect to stderr

// Cluster is a real cluster, and a prefix that no other test uses.
type Cluster struct {
	testservers.Server
	Admin *remoting.Client // what a test does beside the code under test
	Name  string
	t     testing.TB
}

var serial atomic.Int64

// Use makes a server that the test holds usable.
func Use(t testing.TB, s testservers.Server) *Cluster {
	o := remoting.Options{}
	if s.Vars["access-key"] != "" {
		o.Credentials = &remoting.Credentials{AccessKey: s.Vars["access-key"], SecretKey: s.Vars["secret-key"]}
	}
	c := &Cluster{Server: s, t: t, Admin: remoting.New(o), Name: fmt.Sprintf("rmq-%d-%d", os.Getpid(), serial.Add(1))}
	t.Cleanup(func() { _ = c.Admin.Close() })
	return c
}

// Old tells a cluster of before 5.0.
func (c *Cluster) Old() bool { return strings.HasPrefix(c.Version, "4.") }

// On names one of the brokers.
func (c *Cluster) On(broker string) remoting.Broker {
	c.t.Helper()
	addr := c.Addr[broker]
	if addr == "" {
		c.t.Fatalf("there is no %s in %v", broker, c.Addr)
	}
	return remoting.Broker{Name: broker, Addr: addr}
}

// Topic makes a topic with so many queues on each of the brokers, and answers its name.
func (c *Cluster) Topic(suffix string, queues int, brokers ...string) string {
	c.t.Helper()
	name := c.Name + "-" + suffix
	for _, b := range brokers {
		c.Must(c.Admin.CreateTopic(c.t.Context(), c.On(b), name, queues))
	}
	return name
}

// DeleteTopic deletes a topic of a broker. 5.5.0 without a timer wheel does so and then fails on it.
func (c *Cluster) DeleteTopic(broker, topic string) {
	c.t.Helper()
	if err := c.Admin.DeleteTopic(c.t.Context(), c.On(broker), topic); err != nil && !strings.Contains(err.Error(), "getTimerMetrics") {
		c.t.Fatal(err)
	}
	c.Must(c.Admin.ForgetTopic(c.t.Context(), c.Addr["namesrv"], topic))
	if _, err := c.Admin.TopicStats(c.t.Context(), c.On(broker), topic); !remoting.IsCode(err, remoting.TopicNotExist) {
		c.t.Fatalf("%s is not gone from %s: %v", topic, broker, err)
	}
}

// Group makes a group on both brokers, and answers its name.
func (c *Cluster) Group(suffix string) string {
	c.t.Helper()
	name := c.Name + "-" + suffix
	for _, b := range []string{"broker-a", "broker-b"} {
		c.Must(c.Admin.CreateGroup(c.t.Context(), c.On(b), name))
	}
	return name
}

// Must ends the test on an error.
func (c *Cluster) Must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// Store writes a position as a consumer does.
func (c *Cluster) Store(group string, p offset.Partition, next int64) {
	c.t.Helper()
	swallowed, err := c.Admin.UpdateOffset(c.t.Context(), c.On(p.Broker), group, p.Topic, p.Index, next)
	if err != nil || swallowed != "" {
		c.t.Fatal(swallowed, err)
	}
}

// Stored is a position as the broker answers it: false where it says that there is none.
func (c *Cluster) Stored(group string, p offset.Partition) (int64, bool) {
	c.t.Helper()
	n, found, err := c.Admin.QueryOffset(c.t.Context(), c.On(p.Broker), group, p.Topic, p.Index)
	c.Must(err)
	return n, found
}

// stats are what the broker tells of one queue.
func (c *Cluster) stats(p offset.Partition) remoting.QueueStats {
	c.t.Helper()
	all, err := c.Admin.TopicStats(c.t.Context(), c.On(p.Broker), p.Topic)
	c.Must(err)
	return all[p.Index]
}

// toQueue sends every message to one queue.
type toQueue struct{ p offset.Partition }

func (s toQueue) Select(_ *primitive.Message, queues []*primitive.MessageQueue, _ string) *primitive.MessageQueue {
	for _, q := range queues {
		if q.BrokerName == s.p.Broker && q.QueueId == int(s.p.Index) {
			return q
		}
	}
	return nil
}

// Produce sends n messages to one queue, and waits until they are in it: a moment after they were stored.
func (c *Cluster) Produce(p offset.Partition, n int, body, tag string) {
	c.t.Helper()
	pr, err := client.NewProducer(producer.WithNsResolver(primitive.NewPassthroughResolver([]string{c.Addr["namesrv"]})),
		producer.WithInstanceName(fmt.Sprint(c.Name, "-p", serial.Add(1))), producer.WithQueueSelector(toQueue{p}), producer.WithRetry(2))
	c.Must(err)
	c.Must(pr.Start())
	defer func() { _ = pr.Shutdown() }()
	end := c.stats(p).Max + int64(n)
	for i := range n {
		m := primitive.NewMessage(p.Topic, []byte(body))
		if tag != "" {
			m.WithTag(tag)
		}
		Eventually(c.t, time.Minute, func() string {
			_, err := pr.SendSync(c.t.Context(), m)
			switch {
			case err == nil:
				return ""
			case strings.Contains(err.Error(), "broker busy"): // refused before anything was stored, as on a busy machine
				return err.Error()
			}
			c.t.Fatalf("message %d to %s: %v", i, p, err)
			return ""
		})
	}
	Eventually(c.t, 10*time.Second, func() string {
		if got := c.stats(p).Max; got < end {
			return fmt.Sprintf("%s ends at %d, not %d", p, got, end)
		}
		return ""
	})
}

// Expire has a broker delete its old files, and waits until the queue's start has moved: not before a minute after its boot.
// Only for servers of Exclusive and NeedOwn.
func (c *Cluster) Expire(p offset.Partition) {
	c.t.Helper()
	set := func(hours string) {
		_, err := c.Admin.Do(c.t.Context(), c.Addr[p.Broker], remoting.Request{Code: remoting.CodeUpdateConfig, Body: []byte("fileReservedTime=" + hours + "\n")})
		c.Must(err)
	}
	before := c.stats(p).Min
	set("0")
	defer set("72")
	Eventually(c.t, 5*time.Minute, func() string {
		_, err := c.Admin.Do(c.t.Context(), c.Addr[p.Broker], remoting.Request{Code: remoting.CodeDeleteExpired})
		c.Must(err)
		if c.stats(p).Min == before {
			return "nothing has expired"
		}
		return ""
	})
}

// Eventually waits until ask answers "", which it must within the time.
func Eventually(t testing.TB, within time.Duration, ask func() string) {
	t.Helper()
	end := time.Now().Add(within)
	for {
		last := ask()
		if last == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after %v: %s", within, last)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
