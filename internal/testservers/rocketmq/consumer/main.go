// Command consumer is a push consumer of rocketmq-client-go for tests. It runs in a process of its own, built without the race
// detector, because the library has races of its own where a broker resets a live client.
//
//	consumer NAMESRV GROUP INSTANCE TOPIC TAG clustering|broadcasting
//
// It writes a line "started", then the number of messages of each batch, and ends when its input does.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	client "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 6 {
		return fmt.Errorf("six arguments, not %d", len(args))
	}
	rlog.SetLogLevel("fatal") // the library logs every reconnect to stderr
	model := consumer.Clustering
	if args[5] == "broadcasting" {
		model = consumer.BroadCasting
	}
	push, err := client.NewPushConsumer(consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{args[0]})),
		consumer.WithGroupName(args[1]), consumer.WithInstance(args[2]),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset), consumer.WithConsumerModel(model))
	if err != nil {
		return err
	}
	err = push.Subscribe(args[3], consumer.MessageSelector{Type: consumer.TAG, Expression: args[4]},
		func(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			fmt.Println(len(ms))
			return consumer.ConsumeSuccess, nil
		})
	if err != nil {
		return err
	}
	if err := push.Start(); err != nil {
		return err
	}
	fmt.Println("started")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return push.Shutdown()
}
