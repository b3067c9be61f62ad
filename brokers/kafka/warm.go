package kafka

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// mostWarm is how many brokers are connected to before anything is asked of them.
const mostWarm = 16

// warming opens connections ahead: otherwise each stage's first request to a broker waits for the connection, the versions and the
// login, which is several round trips.
type warming struct {
	once sync.Once
	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup
}

func newWarming() *warming {
	w := &warming{}
	w.ctx, w.stop = context.WithCancel(context.Background())
	return w
}

// warm connects to the known brokers, once, side by side and beside what the caller asks; what asks for positions and logs comes
// to them soon. A broker that is down shows where it is needed.
func (c *Cluster) warm() {
	c.warming.once.Do(func() {
		nodes := c.table.Load().nodes
		for _, n := range nodes[:min(len(nodes), mostWarm)] {
			c.warming.wg.Go(func() {
				ctx, cancel := context.WithTimeout(c.warming.ctx, dialTimeout)
				defer cancel()
				_, _ = once[*kmsg.ApiVersionsResponse](ctx, c, n.id, versionsRequest())
			})
		}
	})
}

// end lets no more connections be opened; wait comes back when none is being opened.
func (w *warming) end() (wait func()) {
	w.once.Do(func() {})
	w.stop()
	return w.wg.Wait
}
