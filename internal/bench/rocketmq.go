package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/internal/testservers/wire"
)

const (
	mqadmin      = "mqadmin consumerProgress"
	rocketServer = "rocketmq55"
	rocketQueues = 64 // on each of two masters
)

// rocketmq looks at one group of 2 masters with 64 queues each, beside RocketMQ's own tool, which does not show where a log starts.
func (b *bench) rocketmq(w io.Writer, words []string) (err error) {
	s := scene{
		title: fmt.Sprintf("inspect of one group, 2 masters x %d queues; real RocketMQ 5.5", rocketQueues),
		aims:  []aim{against(mqadmin, wallOf, "of mqadmin's wall time, aim 1/20", 1.0/20), against(mqadmin, cpuOf, "of mqadmin's CPU", 1)},
	}
	if !matches(s.title, words) || b.servers.classPath == "" { // no supervisor, as has been said
		return nil
	}
	socket := os.Getenv(wire.EnvSocket)
	if socket == "" {
		socket = wire.DefaultSocket()
	}
	jars, err := ask(socket, wire.Request{Op: wire.Jars, Name: rocketServer, Test: "bench"}, nil)
	if err != nil {
		return err
	}
	var held io.Closer
	own, err := ask(socket, wire.Request{Op: wire.Own, Name: rocketServer, Test: "bench"}, &held)
	if held != nil {
		defer func() { err = errors.Join(err, held.Close()) }()
	}
	if err != nil {
		return err
	}
	const topic, group = "bench-orders", "bench-billing"
	if err := fillRocket(own.Server.Addr, topic, group); err != nil {
		return err
	}
	ns := own.Server.Addr["namesrv"]
	o, err := b.inTurns(s, []program{
		b.own(says(fmt.Sprint(rocketQueues, " partitions: 0-", rocketQueues-1)), "inspect", "-g", group, "-t", topic, "--broker", "rocketmq://"+ns),
		b.mqadmin(jars.Text, lines(2*rocketQueues), "consumerProgress", "-n", ns, "-g", group, "-t", topic),
	})
	if err != nil {
		return err
	}
	show(w, o)
	return nil
}

// mqadmin is RocketMQ's tool, as its shell script starts it but for flags that make a short run shorter.
func (b *bench) mqadmin(classPath string, done func([]byte) error, args ...string) program {
	p := fixed(mqadmin, done, append([]string{"java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
		"--add-opens=java.base/java.nio=ALL-UNNAMED", "-cp", classPath, "org.apache.rocketmq.tools.command.MQAdminStartup"}, args...)...)
	p.slow = true
	return p
}

// fillRocket makes the topic and the group, and a position for each queue.
func fillRocket(addr map[string]string, topic, group string) error {
	ctx := context.Background()
	c := remoting.New(remoting.Options{})
	defer c.Close()
	for _, name := range []string{"broker-a", "broker-b"} {
		b := remoting.Broker{Name: name, Addr: addr[name]}
		if err := errors.Join(c.CreateTopic(ctx, b, topic, rocketQueues), c.CreateGroup(ctx, b, group)); err != nil {
			return err
		}
		for i := range int32(rocketQueues) {
			if _, err := c.UpdateOffset(ctx, b, group, topic, i, 0); err != nil {
				return err
			}
		}
	}
	return nil
}
