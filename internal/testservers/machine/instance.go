//go:build linux

// Package machine runs servers' processes: folders, ports, certificates,
// start, readiness, logs, and the ways to end or freeze them.
package machine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/offsetctl/offsetctl/internal/testservers/wire"
	"golang.org/x/sync/errgroup"
)

// Instance is one running server: a folder and its nodes.
type Instance struct {
	Dir   string
	Addr  map[string]string
	Files map[string]string
	Vars  map[string]string

	mu    sync.Mutex
	nodes []*process
}

// NewInstance makes the server's folder below parent. It can be searched by
// everybody, for some servers run as another user.
func NewInstance(parent, name string) (*Instance, error) {
	dir, err := os.MkdirTemp(parent, name+"-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	return &Instance{Dir: dir, Addr: map[string]string{}, Files: map[string]string{}, Vars: map[string]string{}}, nil
}

// Path names something in the server's folder.
func (i *Instance) Path(parts ...string) string {
	return filepath.Join(append([]string{i.Dir}, parts...)...)
}

// Mkdir makes a folder in the server's folder, owned by the given user where
// the supervisor may give it away.
func (i *Instance) Mkdir(owner string, parts ...string) (string, error) {
	dir := i.Path(parts...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return dir, Chown(dir, owner)
}

// Chown gives a file to a user where the supervisor is root; else it is the
// supervisor's own already.
func Chown(path, owner string) error {
	if owner == "" || os.Getuid() != 0 {
		return nil
	}
	uid, gid, err := ids(owner)
	if err != nil {
		return err
	}
	return os.Chown(path, int(uid), int(gid))
}

// Write makes a file in the server's folder, mode 0644.
func (i *Instance) Write(name, text string) (string, error) {
	path := i.Path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, []byte(text), 0o644)
}

// Exec runs a command to its end, as the given user, and puts what it prints
// into setup.log.
func (i *Instance) Exec(ctx context.Context, owner string, env []string, command ...string) error {
	out, err := os.OpenFile(i.Path("setup.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = i.Dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = out, out
	if cmd.SysProcAttr, err = attributes(owner); err != nil {
		return err
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	return nil
}

// Run starts a node for the first time and waits until it is ready.
func (i *Instance) Run(ctx context.Context, n Node) error {
	p := &process{node: n, dir: i.Dir, logFile: i.Path(n.Name + ".log")}
	i.mu.Lock()
	i.nodes = append(i.nodes, p)
	i.mu.Unlock()
	return p.start(ctx)
}

// RunTogether starts nodes that wait for one another.
func (i *Instance) RunTogether(ctx context.Context, nodes ...Node) error {
	procs := make([]*process, len(nodes))
	for k, n := range nodes {
		procs[k] = &process{node: n, dir: i.Dir, logFile: i.Path(n.Name + ".log")}
	}
	i.mu.Lock()
	i.nodes = append(i.nodes, procs...)
	i.mu.Unlock()
	return together(procs, func(p *process) error { return p.start(ctx) })
}

func together(procs []*process, do func(*process) error) error {
	var group errgroup.Group
	for _, p := range procs {
		group.Go(func() error { return do(p) })
	}
	return group.Wait()
}

// Do carries out what a test asks of a node, or of all nodes.
func (i *Instance) Do(ctx context.Context, op wire.Op, name string) error {
	procs, err := i.named(name)
	if err != nil {
		return err
	}
	switch op {
	case wire.Kill:
		return together(procs, func(p *process) error { p.kill(); return nil })
	case wire.Stop:
		for _, p := range slices.Backward(procs) { // the later ones lean on the earlier
			p.stop()
		}
		return nil
	case wire.Start:
		return i.startAgain(ctx, procs)
	case wire.Pause:
		if err := signalAll(procs, syscall.SIGSTOP); err != nil {
			return err
		}
		return stopped(ctx, procs)
	case wire.Resume:
		return signalAll(procs, syscall.SIGCONT)
	default:
		return fmt.Errorf("a node cannot be asked to %q", op)
	}
}

func (i *Instance) startAgain(ctx context.Context, procs []*process) error {
	var ended []*process
	for _, p := range procs {
		if !p.running() {
			ended = append(ended, p)
		}
	}
	if len(ended) == 0 {
		return fmt.Errorf("nothing to start: it runs")
	}
	return together(ended, func(p *process) error { return p.start(ctx) })
}

func signalAll(procs []*process, sig syscall.Signal) error {
	for _, p := range procs {
		if !p.running() {
			return fmt.Errorf("%s does not run", p.node.Name)
		}
		p.signalTree(sig)
	}
	return nil
}

// stopped waits until all threads stand still. Until one of them has taken the signal, which on a busy machine may be a while,
// the others go on serving.
func stopped(ctx context.Context, procs []*process) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for _, p := range procs {
		for _, pid := range tree(p.pid()) {
			for !standsStill(pid) {
				select {
				case <-ctx.Done():
					return fmt.Errorf("%s was sent SIGSTOP and does not stop: %w", p.node.Name, context.Cause(ctx))
				case <-time.After(time.Millisecond):
				}
			}
		}
	}
	return nil
}

func (i *Instance) named(name string) ([]*process, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if name == "" {
		return slices.Clone(i.nodes), nil
	}
	for _, p := range i.nodes {
		if p.node.Name == name {
			return []*process{p}, nil
		}
	}
	return nil, fmt.Errorf("there is no node %q", name)
}

// Nodes lists the names of the nodes in the order of their first start.
func (i *Instance) Nodes() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	names := make([]string, len(i.nodes))
	for k, p := range i.nodes {
		names[k] = p.node.Name
	}
	return names
}

// Ended names a node that does not run any more; empty where all do.
func (i *Instance) Ended() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, p := range i.nodes {
		if !p.running() {
			return p.node.Name
		}
	}
	return ""
}

// logTail bounds what is shown of one log, in bytes.
const logTail = 6 << 10

// Log returns the last lines of a node, or of the preparation and all nodes.
func (i *Instance) Log(name string) (string, error) {
	procs, err := i.named(name)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	if name == "" {
		addLog(&text, "setup", i.Path("setup.log"))
	}
	for _, p := range procs {
		addLog(&text, p.node.Name, p.logFile)
		addLog(&text, p.node.Name+", its own log", p.node.OwnLog)
	}
	return text.String(), nil
}

func addLog(text *strings.Builder, title, file string) {
	if last := tail(file, logTail); last != "" {
		fmt.Fprintf(text, "--- %s\n%s", title, last)
	}
}

// Discard ends the server at once and removes its folder. Data of test servers
// are not kept, so nothing is asked to end cleanly.
func (i *Instance) Discard() error {
	i.mu.Lock()
	procs := slices.Clone(i.nodes)
	i.mu.Unlock()
	_ = together(procs, func(p *process) error { p.kill(); return nil })
	var err error
	for range 20 { // descendants that were reparented may still write for a moment
		if err = os.RemoveAll(i.Dir); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}
