package machine

import (
	"context"
	"net"
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
