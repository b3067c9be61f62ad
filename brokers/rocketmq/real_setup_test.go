package rocketmq

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	rocket "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
)

func init() { rlog.SetLogLevel("fatal") } // the library logs every reconnect to stderr

// realCluster is a real cluster of two masters, with names of the test's own.
type realCluster struct {
	testservers.Server
	*Cluster
	admin *remoting.Client // for what a test does beside the code under test
	t     testing.TB
	name  string
}

var serial atomic.Int64

// onReal runs a test on a real cluster of each version.
func onReal(t *testing.T, f func(t *testing.T, r *realCluster)) {
	for _, name := range []string{"rocketmq49", "rocketmq55"} {
		t.Run(name, func(t *testing.T) { f(t, needReal(t, testservers.Need(t, name))) })
	}
}

func needReal(t testing.TB, s testservers.Server, options ...string) *realCluster {
	r := &realCluster{Server: s, t: t, admin: remoting.New(remoting.Options{Credentials: credentials(s)})}
	t.Cleanup(func() { r.admin.Close() })
	r.Cluster = connect(t, testEnv(), []string{s.Addr["namesrv"]}, options...)
	r.name = fmt.Sprintf("rmq-%d-%d", os.Getpid(), serial.Add(1))
	return r
}

func credentials(s testservers.Server) *remoting.Credentials {
	if s.Vars["access-key"] == "" {
		return nil
	}
	return &remoting.Credentials{AccessKey: s.Vars["access-key"], SecretKey: s.Vars["secret-key"]}
}

func (r *realCluster) old() bool { return strings.HasPrefix(r.Version, "4.") }

// on names one of the brokers.
func (r *realCluster) on(broker string) remoting.Broker {
	addr := r.Addr[broker]
	if addr == "" {
		r.t.Fatalf("there is no %s in %v", broker, r.Addr)
	}
	return remoting.Broker{Name: broker, Addr: addr}
}

// topic makes a topic with so many queues on each of the brokers, and answers its name.
func (r *realCluster) topic(suffix string, queues int, brokers ...string) string {
	r.t.Helper()
	name := r.name + "-" + suffix
	for _, b := range brokers {
		r.must(r.admin.CreateTopic(r.t.Context(), r.on(b), name, queues))
	}
	return name
}

// deleteTopic deletes a topic of a broker. 5.5.0 without a timer wheel does so and then fails on it.
func (r *realCluster) deleteTopic(broker, topic string) {
	r.t.Helper()
	if err := r.admin.DeleteTopic(r.t.Context(), r.on(broker), topic); err != nil && !strings.Contains(err.Error(), "getTimerMetrics") {
		r.t.Fatal(err)
	}
	r.must(r.admin.ForgetTopic(r.t.Context(), r.Addr["namesrv"], topic))
	if _, err := r.admin.TopicStats(r.t.Context(), r.on(broker), topic); !remoting.IsCode(err, remoting.TopicNotExist) {
		r.t.Fatalf("%s is not gone from %s: %v", topic, broker, err)
	}
}

// group makes a group on both brokers, and answers its name.
func (r *realCluster) group(suffix string) string {
	r.t.Helper()
	name := r.name + "-" + suffix
	for _, b := range []string{"broker-a", "broker-b"} {
		r.must(r.admin.CreateGroup(r.t.Context(), r.on(b), name))
	}
	return name
}

func (r *realCluster) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// store writes a position as a consumer does.
func (r *realCluster) store(group string, p offset.Partition, next int64) {
	r.t.Helper()
	swallowed, err := r.admin.UpdateOffset(r.t.Context(), r.on(p.Broker), group, p.Topic, p.Index, next)
	if err != nil || swallowed != "" {
		r.t.Fatal(swallowed, err)
	}
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

// produce sends n messages to one queue, and waits until they are in it: a moment after they were stored.
func (r *realCluster) produce(p offset.Partition, n int, body, tag string) {
	r.t.Helper()
	pr, err := rocket.NewProducer(producer.WithNsResolver(primitive.NewPassthroughResolver([]string{r.Addr["namesrv"]})),
		producer.WithInstanceName(fmt.Sprint(r.name, "-p", serial.Add(1))), producer.WithQueueSelector(toQueue{p}), producer.WithRetry(2))
	r.must(err)
	r.must(pr.Start())
	defer func() { _ = pr.Shutdown() }()
	end := r.bounds(p, false).End + int64(n)
	for i := range n {
		m := primitive.NewMessage(p.Topic, []byte(body))
		if tag != "" {
			m.WithTag(tag)
		}
		if _, err := pr.SendSync(r.t.Context(), m); err != nil {
			r.t.Fatalf("message %d to %s: %v", i, p, err)
		}
	}
	eventually(r.t, 10*time.Second, func() string {
		if l := r.bounds(p, false); l.End < end {
			return fmt.Sprintf("%s ends at %d, not %d", p, l.End, end)
		}
		return ""
	})
}

// consume starts a push consumer; seen counts its messages.
func (r *realCluster) consume(group, topic, tag string, seen *atomic.Int64, more ...consumer.Option) (stop func()) {
	r.t.Helper()
	options := append([]consumer.Option{
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{r.Addr["namesrv"]})),
		consumer.WithGroupName(group), consumer.WithInstance(fmt.Sprint(r.name, "-c", serial.Add(1))),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	}, more...)
	c, err := rocket.NewPushConsumer(options...)
	r.must(err)
	r.must(c.Subscribe(topic, consumer.MessageSelector{Type: consumer.TAG, Expression: tag},
		func(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			seen.Add(int64(len(ms)))
			return consumer.ConsumeSuccess, nil
		}))
	r.must(c.Start())
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = c.Shutdown()
		}
	}
	r.t.Cleanup(stop)
	return stop
}

// eventually waits until ask answers "", which it must within the time.
func eventually(t testing.TB, within time.Duration, ask func() string) {
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

// bounds asks for one queue's.
func (r *realCluster) bounds(p offset.Partition, prove bool) offset.Log {
	r.t.Helper()
	return log1(r.t, r.Cluster, offset.LogQuery{Partition: p, Prove: prove})
}
