// Command lag is the least that a Go program can do to show lag: kadm.Lag, and a sum. It is the measure of what offsetctl costs.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: lag BROKER [GROUP...]    (no group: all of them)")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "lag:", err)
		os.Exit(1)
	}
}

func run(broker string, groups []string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		return err
	}
	defer client.Close()
	lags, err := kadm.NewClient(client).Lag(context.Background(), groups...)
	if err == nil {
		err = lags.Error()
	}
	if err != nil {
		return err
	}
	partitions, total := 0, int64(0)
	for _, g := range lags {
		total += g.Lag.Total()
		for _, t := range g.Lag {
			partitions += len(t)
		}
	}
	fmt.Printf("%d groups, %d partitions, lag %d\n", len(lags), partitions, total)
	return nil
}
