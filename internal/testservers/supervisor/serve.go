//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/offsetctl/offsetctl/internal/testservers/pool"
	"github.com/offsetctl/offsetctl/internal/testservers/wire"
)

// How long an unused server is kept: a developer looks at a failure between
// two runs, a test run goes on to the next package at once.
const (
	idleServed = 10 * time.Minute
	idleRun    = 90 * time.Second
)

// serve listens where Need looks without any setting. Servers that listen on
// every interface are started only where the developer says so.
func serve(ctx context.Context, everywhere bool) error {
	socket := wire.DefaultSocket()
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		return err
	}
	if c, err := net.Dial("unix", socket); err == nil {
		_ = c.Close()
		return fmt.Errorf("a supervisor serves already at %s", socket)
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	s, err := start(ctx, socket, pool.Options{Idle: idleServed, AllInterfaces: everywhere})
	if err != nil {
		return err
	}
	fmt.Printf("export %s=%s   # not needed by this user: it is looked at anyway\n", wire.EnvSocket, socket)
	<-ctx.Done()
	return s.stop()
}

// service is a pool with its socket and folder.
type service struct {
	pool     *pool.Pool
	listener net.Listener
	dir      string
	cancel   context.CancelFunc
	served   chan error
}

// start makes a pool that answers at the socket. The caller stops it, also
// after the context has ended.
func start(ctx context.Context, socket string, opts pool.Options) (*service, error) {
	dir, err := os.MkdirTemp("", "testservers-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o711); err != nil { // servers of other users look in
		return nil, err
	}
	memory, err := memoryLimit()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	opts.Dir, opts.Memory, opts.Log = dir, memory, os.Stderr
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &service{pool: pool.New(opts), listener: l, dir: dir, cancel: cancel, served: make(chan error, 1)}
	go func() { s.served <- s.pool.Serve(ctx, l) }()
	go s.pool.StopIdle(ctx)
	return s, nil
}

func (s *service) stop() error {
	err := s.listener.Close()
	s.cancel()
	s.pool.Close()
	return errors.Join(err, <-s.served, os.RemoveAll(s.dir))
}
