//go:build linux

package machine

import (
	"context"
	"net"
	"time"
)

// Listening is ready when something accepts connections at an address.
func Listening(addr string) func(context.Context) error {
	return func(ctx context.Context) error {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		return c.Close()
	}
}

// Await asks until the condition holds, for as long as a node gets to start.
func Await(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, defaultPatience)
	defer cancel()
	for {
		try, endTry := context.WithTimeout(ctx, tryTimeout)
		err := ready(try)
		endTry()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pollEvery):
		}
	}
}
