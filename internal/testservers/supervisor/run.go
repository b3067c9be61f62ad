//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/offsetctl/offsetctl/internal/testservers/pool"
	"github.com/offsetctl/offsetctl/internal/testservers/wire"
)

// insideName is the subcommand under which run starts itself anew in a network
// of its own.
const insideName = "run-inside"

// envNoNetwork tells the inner supervisor that it has a network of its own.
const envNoNetwork = "OFFSETCTL_TESTSERVERS_LOOPBACK_ONLY"

// run enters a network of loopback alone and goes on there. Where the system
// does not permit that, it says so and stays in the plain network.
func run(ctx context.Context, command []string) (int, error) {
	if err := tryNamespace(); err != nil {
		fmt.Fprintf(os.Stderr, "test servers: no network of its own is permitted here (%v): servers and tests run in the plain one\n", err)
		return inside(ctx, command)
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, append([]string{insideName, "--"}, command...)...)
	cmd.Env = append(os.Environ(), envNoNetwork+"=1")
	cmd.SysProcAttr = ownNetwork()
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM // a killed outer process takes the inner one with it, in order
	return attached(cmd)
}

// inside starts a supervisor, runs the command with its socket, and stops
// everything when the command has ended.
func inside(ctx context.Context, command []string) (int, error) {
	alone := os.Getenv(envNoNetwork) == "1"
	if alone {
		if err := raiseLoopback(); err != nil {
			return 0, fmt.Errorf("bringing up the loopback interface: %w", err)
		}
	}
	dir, err := os.MkdirTemp("", "testservers-socket-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "socket")
	s, err := start(ctx, socket, pool.Options{Idle: idleRun, Offline: alone, AllInterfaces: alone})
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), wire.EnvSocket+"="+socket)
	code, err := attached(cmd)
	return code, errors.Join(err, s.stop())
}

// attached runs a command on this one's streams, passes signals on to it, and
// returns its exit code; 128 and the signal's number where it was killed.
func attached(cmd *exec.Cmd) (int, error) {
	runtime.LockOSThread() // the signal of a parent's death is that of its thread's
	defer runtime.UnlockOSThread()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case sig := <-signals:
			// At a terminal the whole process group has got it already; a second one does no harm.
			_ = cmd.Process.Signal(sig)
		case err := <-ended:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				return 0, err
			}
			return exitCode(cmd.ProcessState), nil
		}
	}
}

func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
