//go:build linux

package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Node is one process of a server and how to treat it.
type Node struct {
	Name    string
	Command []string // program and arguments
	Env     []string // in addition to the supervisor's own
	User    string   // the system user to run as where the supervisor is root; empty: its own

	// A node is ready once its log has ReadyLine, written since this start, and
	// Ready returns nil; each may be left out. Ready is asked again and again,
	// a try bounded by its context. Patience is how long; zero means three
	// minutes, for the machine may be loaded many times over.
	ReadyLine string
	Ready     func(context.Context) error
	Patience  time.Duration

	// OwnLog is a file that the server logs to by itself; may be empty.
	OwnLog string

	// StopSignal asks for a clean end; zero means SIGTERM.
	StopSignal syscall.Signal
	// BeforeStart clears what a killed predecessor left; may be nil.
	BeforeStart func() error
	// Restarts is how often a start that ends early is tried again.
	Restarts int
}

const (
	defaultPatience = 3 * time.Minute
	stopPatience    = 30 * time.Second
	pollEvery       = 100 * time.Millisecond
	tryTimeout      = 5 * time.Second
)

// process is a Node that was started at least once.
type process struct {
	node    Node
	dir     string // working directory
	logFile string

	mu      sync.Mutex
	cmd     *exec.Cmd
	done    chan struct{} // closed when cmd has ended
	err     error         // how it ended
	logFrom int64         // where this start begins in the log
}

func (p *process) start(ctx context.Context) error {
	for try := 0; ; try++ {
		err := p.startOnce(ctx)
		if err == nil || !errors.Is(err, errEnded) || try >= p.node.Restarts || ctx.Err() != nil {
			return err
		}
		time.Sleep(time.Second)
	}
}

var errEnded = errors.New("ended while it started")

func (p *process) startOnce(ctx context.Context) error {
	if p.running() {
		return fmt.Errorf("%s runs already", p.node.Name)
	}
	if p.node.BeforeStart != nil {
		if err := p.node.BeforeStart(); err != nil {
			return err
		}
	}
	if err := p.launch(); err != nil {
		return fmt.Errorf("%s: %w", p.node.Name, err)
	}
	if err := p.awaitReady(ctx); err != nil {
		p.kill()
		return fmt.Errorf("%s: %w", p.node.Name, err)
	}
	return nil
}

func (p *process) launch() error {
	out, err := os.OpenFile(p.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	logFrom, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	cmd := exec.Command(p.node.Command[0], p.node.Command[1:]...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), p.node.Env...)
	cmd.Stdout, cmd.Stderr = out, out
	if cmd.SysProcAttr, err = attributes(p.node.User); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	p.mu.Lock()
	p.cmd, p.done, p.err, p.logFrom = cmd, done, nil, logFrom
	p.mu.Unlock()
	go func() {
		err := cmd.Wait()
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
		close(done)
	}()
	return nil
}

// attributes gives a child its own process group, so that an interrupt at the
// terminal reaches the supervisor alone, and an end together with it.
func attributes(name string) (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if name == "" || os.Getuid() != 0 {
		return attr, nil
	}
	uid, gid, err := ids(name)
	if err != nil {
		return nil, err
	}
	attr.Credential = &syscall.Credential{Uid: uid, Gid: gid}
	return attr, nil
}

func ids(name string) (uid, gid uint32, err error) {
	u, err := user.Lookup(name)
	if err != nil {
		return 0, 0, err
	}
	uid64, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return 0, 0, err
	}
	gid64, err := strconv.ParseUint(u.Gid, 10, 32)
	return uint32(uid64), uint32(gid64), err
}

func (p *process) awaitReady(ctx context.Context) error {
	patience := p.node.Patience
	if patience == 0 {
		patience = defaultPatience
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		try, endTry := context.WithTimeout(ctx, tryTimeout)
		err := p.ready(try)
		endTry()
		if !p.running() {
			return fmt.Errorf("%w: %w", errEnded, p.how())
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready after %v: %w", patience, err)
		case <-time.After(pollEvery):
		}
	}
}

func (p *process) ready(ctx context.Context) error {
	if line := p.node.ReadyLine; line != "" && !p.logged(line) {
		return fmt.Errorf("no line with %q in its log", line)
	}
	if p.node.Ready == nil {
		return nil
	}
	return p.node.Ready(ctx)
}

func (p *process) logged(words string) bool {
	f, err := os.Open(p.logFile)
	if err != nil {
		return false
	}
	defer f.Close()
	p.mu.Lock()
	from := p.logFrom
	p.mu.Unlock()
	text, err := io.ReadAll(io.NewSectionReader(f, from, 1<<30))
	return err == nil && bytes.Contains(text, []byte(words))
}

func (p *process) how() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		return errors.New("exit status 0")
	}
	return p.err
}

func (p *process) running() bool {
	p.mu.Lock()
	done := p.done
	p.mu.Unlock()
	if done == nil {
		return false
	}
	select {
	case <-done:
		return false
	default:
		return true
	}
}

// stop asks for a clean end and kills where that takes too long.
func (p *process) stop() {
	sig := p.node.StopSignal
	if sig == 0 {
		sig = syscall.SIGTERM
	}
	p.mu.Lock()
	cmd, done := p.cmd, p.done
	p.mu.Unlock()
	if !p.running() {
		return
	}
	_ = cmd.Process.Signal(sig)
	select {
	case <-done:
	case <-time.After(stopPatience):
		p.kill()
	}
}

// kill ends the process and its descendants with SIGKILL and waits.
func (p *process) kill() {
	if !p.running() {
		return
	}
	p.signalTree(syscall.SIGKILL)
	<-p.done
}

// signalTree sends to the process and all its descendants, for some servers
// serve from child processes.
func (p *process) signalTree(sig syscall.Signal) {
	for _, each := range tree(p.pid()) {
		_ = syscall.Kill(each, sig)
	}
}

func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Pid
}

// tail returns the last bytes of a log, from the start of a line on.
func tail(file string, limit int64) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	cut := false
	if size, err := f.Seek(0, io.SeekEnd); err == nil && size > limit {
		cut = true
		_, _ = f.Seek(-limit, io.SeekEnd)
	} else {
		_, _ = f.Seek(0, io.SeekStart)
	}
	text, _ := io.ReadAll(io.LimitReader(f, limit))
	if cut {
		for i, b := range text {
			if b == '\n' {
				return string(text[i+1:])
			}
		}
	}
	return string(text)
}
