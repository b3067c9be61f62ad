package kafka

import (
	"context"
	"net"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// What asks for positions connects to all brokers at once; what asks one server does not.
func TestWarming(t *testing.T) {
	f := fake(t, kfake.NumBrokers(3))
	var dialled atomic.Int32
	count := func(ctx context.Context, network, addr string) (net.Conn, error) {
		dialled.Add(1)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	c := dialTo(t, f.ListenAddrs()[:1], "", nil, kgo.Dialer(count))
	if _, err := c.Topology(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if n := dialled.Load(); n != 1 {
		t.Errorf("%d connections for the topics alone", n)
	}
	readOne(t, c, "nobody", partition("orders", 0))
	eventually(t, func() bool { return dialled.Load() == 4 }) // the bootstrap server is one of the three, too
	readOne(t, c, "nobody", partition("orders", 0))
	if n := dialled.Load(); n != 4 {
		t.Errorf("%d connections after the second read", n)
	}
}

// Close does not wait for brokers that do not answer, and leaves nobody waiting for them.
func TestCloseWhileWarming(t *testing.T) {
	f := fake(t, kfake.NumBrokers(3))
	boot := f.ListenAddrs()[:1]
	var waiting atomic.Int32
	hang := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if slices.Contains(boot, addr) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
		waiting.Add(1)
		defer waiting.Add(-1)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	c := dialTo(t, boot, "", nil, kgo.Dialer(hang))
	c.warm()
	eventually(t, func() bool { return waiting.Load() == 2 })
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return waiting.Load() == 0 })
	c.warm() // nothing any more
}
