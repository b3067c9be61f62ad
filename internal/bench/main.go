// Command bench measures offsetctl as its users run it, whole process by whole process, beside other programs that do the
// same job or a part of it: a bare kadm.Lag, Kafka's own kafka-consumer-groups, kcat, and RocketMQ's mqadmin. Programs take turns, and what is
// printed are medians and their ratios: on a busy machine those mean something, milliseconds do not. Nothing is asserted.
//
//	make bench                                       everything, with the real Kafka
//	go run ./internal/bench -only inspect,loopback   only scenes with these words in the title
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/offsetctl/offsetctl/internal/bench/fake"
)

// bench is one run of this program.
type bench struct {
	offsetctl, lag string // paths of the programs
	servers        servers
	rounds         rounds
	env            []string
}

func main() {
	fake.ServeIfAsked()
	var b bench
	flag.IntVar(&b.rounds.quick, "runs", 7, "how often each program runs")
	flag.IntVar(&b.rounds.slow, "slow-runs", 3, "how often the Java programs run")
	only := flag.String("only", "", "only scenes whose title has all of these words, comma separated")
	flag.Parse()
	var words []string
	if *only != "" {
		words = strings.Split(*only, ",")
	}
	if err := b.run(words); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) run(words []string) error {
	dir, err := os.MkdirTemp("", "offsetctl-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b.env = homeless(dir)
	if b.offsetctl, err = build(dir, "offsetctl", "github.com/offsetctl/offsetctl"); err != nil {
		return err
	}
	if b.lag, err = build(dir, "lag", "github.com/offsetctl/offsetctl/internal/bench/lag"); err != nil {
		return err
	}
	var chosen []scene
	needReal := false
	for _, s := range b.scenes() {
		if matches(s.title, words) {
			chosen, needReal = append(chosen, s), needReal || s.real
		}
	}
	if b.servers, err = findServers(os.Stderr, needReal); err != nil {
		return err
	}
	defer b.servers.release()
	fmt.Printf("%d processors, %s; medians of %d runs in turns, of Java programs %d\n\n", runtime.NumCPU(), runtime.Version(), b.rounds.quick, b.rounds.slow)
	if err := b.playAll(chosen); err != nil {
		return err
	}
	if err := b.stores(os.Stdout, words); err != nil {
		return err
	}
	return b.rocketmq(os.Stdout, words)
}

func (b *bench) playAll(scenes []scene) error {
	var idle cost
	partitions, groups := series{what: "partitions"}, series{what: "groups"}
	for _, s := range scenes {
		if s.real && b.servers.kafka == "" {
			continue
		}
		o, err := b.play(s)
		if err != nil {
			return err
		}
		show(os.Stdout, o)
		switch {
		case s.shape.Topics == 0:
			idle, _ = o.byName(offsetctl)
		case s.real || s.shape.Delay > 0 || s.shape.Records > 0:
		case s.shape.Groups == 1:
			partitions.add(o, s.shape.Topics*s.shape.Partitions)
		default:
			groups.add(o, s.shape.Groups)
		}
	}
	partitions.show(os.Stdout, idle)
	groups.show(os.Stdout, idle)
	return nil
}

// build compiles a program of this module.
func build(dir, name, path string) (string, error) {
	out := filepath.Join(dir, name)
	cmd := exec.Command("go", "build", "-trimpath", "-o", out, path)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("building %s: %w", path, err)
	}
	return out, nil
}
