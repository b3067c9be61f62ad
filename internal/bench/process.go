package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// cost is what one run of a program took.
type cost struct {
	wall, cpu time.Duration
	rss       int64 // the most memory it had, bytes
}

// program is one way to do what a scene measures.
type program struct {
	name string
	args func(round int) []string // the command line; rounds differ where a run must find something to do
	done func(out []byte) error   // nil: whatever it prints is right. Some tools fail with exit code 0
	slow bool                     // a Java program: fewer rounds
}

// measure runs a program once.
func (p *program) measure(round int, env []string) (cost, error) {
	args := p.args(round)
	cmd := exec.Command(args[0], args[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &stdout, &stderr, env
	began := time.Now()
	err := cmd.Run()
	wall := time.Since(began)
	if err == nil && p.done != nil {
		err = p.done(stdout.Bytes())
	}
	if err != nil {
		return cost{}, fmt.Errorf("%s: %w\n%s%s", p.name, err, tail(stdout.Bytes()), tail(stderr.Bytes()))
	}
	c := cost{wall: wall, cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.rss = used.Maxrss * 1024
	}
	return c, nil
}

func tail(b []byte) []byte { return b[max(0, len(b)-2000):] }

// lines wants at least so many lines of output: what was asked about is all there.
func lines(n int) func([]byte) error {
	return func(out []byte) error {
		if got := bytes.Count(out, []byte("\n")); got < n {
			return fmt.Errorf("it printed %d lines, want %d", got, n)
		}
		return nil
	}
}

// says wants a text in the output.
func says(text string) func([]byte) error {
	return func(out []byte) error {
		if !bytes.Contains(out, []byte(text)) {
			return fmt.Errorf("it did not print %q", text)
		}
		return nil
	}
}

// median takes each number's own median.
func median(cs []cost) cost {
	return cost{middle(cs, func(c cost) time.Duration { return c.wall }), middle(cs, func(c cost) time.Duration { return c.cpu }), middle(cs, func(c cost) int64 { return c.rss })}
}

func middle[T ~int64](cs []cost, of func(cost) T) T {
	all := make([]T, len(cs))
	for i, c := range cs {
		all[i] = of(c)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// homeless is an environment in which programs find no settings and leave their files in dir.
func homeless(dir string) []string {
	return append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir+"/config", "XDG_STATE_HOME="+dir+"/state", "XDG_CACHE_HOME="+dir+"/cache", "NO_COLOR=1")
}
