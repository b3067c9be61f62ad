package fake

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"
)

// envOrder carries the order to the process that serves it.
const envOrder = "OFFSETCTL_BENCH_FAKE"

// order is what a process is started for.
type order struct {
	Shape   Shape
	Brokers []string // of a real cluster to be filled; none: a fake one
}

// keyDescribeTopicPartitions is a request that the fake answers in a way that Kafka's own tools do not take; without it they ask
// for metadata, as all others do.
const keyDescribeTopicPartitions = 75

// nodes is how many brokers a fake cluster has.
const nodes = 3

// Cluster is a cluster that another process has filled, and serves where it is a fake one.
type Cluster struct {
	Brokers []string // host:port of each broker

	process *exec.Cmd
	stdin   io.Closer
}

// Start starts the same binary again as a cluster of this shape, and waits until everything is in it. With brokers it fills that
// cluster instead, and empties it at the end.
func Start(s Shape, brokers ...string) (*Cluster, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(order{s, brokers})
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), envOrder+"="+string(text))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &Cluster{process: cmd, stdin: stdin}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the cluster did not get its topics and positions: %w", err), c.Stop())
	}
	c.Brokers = strings.Split(strings.TrimSpace(line), ",")
	return c, nil
}

// Stop ends the process, and with it a fake cluster, or what was filled into a real one.
func (c *Cluster) Stop() error {
	_ = c.stdin.Close()
	return c.process.Wait()
}

// ServeIfAsked does nothing in a process that Start did not start. In one that it did, it serves until standard input ends, and
// does not return.
func ServeIfAsked() {
	text := os.Getenv(envOrder)
	if text == "" {
		return
	}
	var o order
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		err = o.carryOut(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchmark's cluster:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (o order) carryOut(ctx context.Context) error {
	if len(o.Brokers) == 0 {
		return serve(ctx, o.Shape)
	}
	err := o.Shape.Fill(ctx, o.Brokers...)
	if err == nil {
		err = untilEnd(o.Brokers)
	}
	return errors.Join(err, o.Shape.Empty(ctx, o.Brokers...))
}

func serve(ctx context.Context, s Shape) error {
	w := &wire{}
	versions := kversion.Tip()
	versions.SetMaxKeyVersion(keyDescribeTopicPartitions, -1)
	cluster, err := kfake.NewCluster(kfake.NumBrokers(nodes), kfake.ListenFn(w.listen), kfake.MaxVersions(versions))
	if err != nil {
		return err
	}
	defer cluster.Close()
	if err := s.Fill(ctx, cluster.ListenAddrs()...); err != nil {
		return err
	}
	w.delay.Store(int64(s.Delay))
	return untilEnd(cluster.ListenAddrs())
}

// untilEnd tells the starting process where the brokers are, and waits until it wants no more of them.
func untilEnd(brokers []string) error {
	fmt.Println(strings.Join(brokers, ","))
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}
