// Command consumer is a push consumer of rocketmq-client-go for tests. It runs in a process of its own, built without the race
// detector, because the library has races of its own where a broker resets a live client.
//
//	consumer NAMESRV GROUP INSTANCE TOPIC TAG clustering|broadcasting PAUSE
//
// It writes a line "started", then the number of messages of each batch, and ends when its input does. With a pause, such as 100ms,
// it takes one message after the other and so long for each.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

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
	if len(args) != 7 {
		return fmt.Errorf("seven arguments, not %d", len(args))
	}
	pause, err := time.ParseDuration(args[6])
	if err != nil {
		return err
	}
	rlog.SetLogLevel("fatal") // the library logs every reconnect to stderr
	model := consumer.Clustering
	if args[5] == "broadcasting" {
		model = consumer.BroadCasting
	}
	options := []consumer.Option{consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{args[0]})),
		consumer.WithGroupName(args[1]), consumer.WithInstance(args[2]),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset), consumer.WithConsumerModel(model)}
	if pause > 0 {
		options = append(options, consumer.WithConsumeGoroutineNums(1))
	}
	push, err := client.NewPushConsumer(options...)
	if err != nil {
		return err
	}
	err = push.Subscribe(args[3], consumer.MessageSelector{Type: consumer.TAG, Expression: args[4]},
		func(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			time.Sleep(pause)
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
