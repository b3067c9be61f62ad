package rocketmq

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Consume starts a push consumer of rocketmq-client-go in a process of its own; seen counts its messages.
func (c *Cluster) Consume(group, topic, tag string, seen *atomic.Int64) (stop func()) {
	c.t.Helper()
	return c.consume(group, topic, tag, "clustering", 0, seen)
}

// ConsumeSlowly starts one that takes so long for each message, one after the other.
func (c *Cluster) ConsumeSlowly(group, topic string, pause time.Duration, seen *atomic.Int64) (stop func()) {
	c.t.Helper()
	return c.consume(group, topic, "*", "clustering", pause, seen)
}

// Broadcast starts one that keeps its own positions.
func (c *Cluster) Broadcast(group, topic string, seen *atomic.Int64) (stop func()) {
	c.t.Helper()
	return c.consume(group, topic, "*", "broadcasting", 0, seen)
}

func (c *Cluster) consume(group, topic, tag, model string, pause time.Duration, seen *atomic.Int64) (stop func()) {
	c.t.Helper()
	program, err := consumerProgram()
	c.Must(err)
	cmd := exec.Command(program, c.Addr["namesrv"], group, fmt.Sprint(c.Name, "-c", serial.Add(1)), topic, tag, model, pause.String())
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.Env = append(os.Environ(), "HOME="+c.t.TempDir()) // where the library keeps a broadcasting client's positions
	in, err := cmd.StdinPipe()
	c.Must(err)
	out, err := cmd.StdoutPipe()
	c.Must(err)
	c.Must(cmd.Start())
	started, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if n, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
				seen.Add(n)
			} else if lines.Text() == "started" {
				close(started)
			}
		}
	}()
	stop = sync.OnceFunc(func() {
		_ = in.Close()
		<-ended
		_ = cmd.Wait()
	})
	c.t.Cleanup(stop)
	select {
	case <-started:
	case <-ended:
		_ = cmd.Wait()
		c.t.Fatalf("the consumer of %s ended: %s", group, said.String())
	case <-time.After(time.Minute):
		c.t.Fatalf("the consumer of %s does not start: %s", group, said.String())
	}
	return stop
}

// consumerProgram builds the consumer once for all tests of a package.
var consumerProgram = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "rocketmq-consumer-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "consumer")
	build := exec.Command("go", "build", "-o", program, "github.com/offsetctl/offsetctl/internal/testservers/rocketmq/consumer")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the consumer does not build: %w: %s", err, said)
	}
	return program, nil
})
