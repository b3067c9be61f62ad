// Package rocketmq is a RocketMQ cluster: its Broker, and the store of its brokers' consumer offsets on the same connections.
//
// A queue belongs to one broker, and only the master of that broker is asked: a slave's numbers are older, and what a slave is
// told is overwritten. Brokers answer 0 for topics, queues and positions that they do not know, so nothing is believed that the
// route or another answer does not confirm.
package rocketmq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/offset"
)

// Cluster is a RocketMQ cluster behind its name servers.
type Cluster struct {
	env      offset.Env
	client   *remoting.Client
	servers  []string // name servers
	expected []string // broker names that should be there, sorted; nil: not known
	pace     pace
	met      met
	routing  busy // Topology calls

	mu        sync.Mutex
	preferred int                          // the name server that answered last
	masters   map[string]string            // address of the master by broker name; "" where there is none
	seen      map[string]bool              // brokers that were there once
	routes    map[string]remoting.Route    // by topic, the latest
	configs   map[string]map[string]string // by address
	version   int                          // of the name server
	clusters  map[string]bool
}

// Open makes a cluster of an address whose secrets are revealed. Nothing is sent yet.
func Open(_ context.Context, env offset.Env, a address.Address) (offset.Broker, error) {
	c, err := open(env, a)
	if err != nil {
		return nil, offset.As(offset.ErrConfig, fmt.Errorf("%s: %w", a, err))
	}
	return c, nil
}

func open(env offset.Env, a address.Address) (*Cluster, error) {
	o := remoting.Options{Trace: env.Call}
	var err error
	if o.TLS, err = a.TLS(); err != nil {
		return nil, err
	}
	if t := a.Get("timeout"); t != "" {
		if o.Timeout, err = time.ParseDuration(t); err != nil || o.Timeout <= 0 {
			return nil, fmt.Errorf("option timeout is %q: it is a duration such as 5s", t)
		}
	}
	key, secret := a.Get("access-key"), a.Get("secret-key")
	switch {
	case key != "" && secret != "":
		o.Credentials = &remoting.Credentials{AccessKey: key, SecretKey: secret, Token: a.Get("token")}
	case key != "" || secret != "" || a.Has("token"):
		return nil, errors.New("options access-key and secret-key belong together")
	}
	c := &Cluster{
		env: env, servers: a.Hosts, client: remoting.New(o), pace: usualPace,
		masters: map[string]string{}, seen: map[string]bool{}, routes: map[string]remoting.Route{}, configs: map[string]map[string]string{}, clusters: map[string]bool{},
	}
	if names := a.Get("brokers"); names != "" {
		c.expected = strings.Split(names, ",")
		slices.Sort(c.expected)
		c.expected = slices.Compact(c.expected)
		if slices.Contains(c.expected, "") {
			return nil, fmt.Errorf("option brokers is %q: one of its names is empty", names)
		}
	}
	return c, nil
}

var (
	_ offset.Broker   = (*Cluster)(nil)
	_ offset.Warner   = (*Cluster)(nil)
	_ offset.Expecter = (*Cluster)(nil)
)

// Expect adds brokers to those that should be there.
func (c *Cluster) Expect(names []string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected = slices.Concat(c.expected, names)
	slices.Sort(c.expected)
	c.expected = slices.Compact(c.expected)
	return len(c.expected)
}

// Offsets is the store of the consumer offsets that the brokers keep.
func (c *Cluster) Offsets() offset.Store { return store{c} }

// Close ends all connections.
func (c *Cluster) Close() error { return c.client.Close() }

// Warnings tells what the metadata cannot: brokers that are dead, and queues that nobody can read.
func (c *Cluster) Warnings(context.Context) []offset.Warning {
	var out []offset.Warning
	if c.expected == nil {
		out = append(out, offset.Warning{
			Text: "brokers expected: not known; a broker that is dead and has no slave is missing from RocketMQ's metadata as if it had never been",
			Next: "put brokers=NAME,NAME into the address",
		})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for topic, r := range c.routes {
		for _, q := range r.Queues {
			if q.Write > q.Read {
				out = append(out, offset.Warning{
					Text: fmt.Sprintf("%s: queues %d to %d of %s are written and can be read by nobody", topic, q.Read, q.Write-1, q.Broker),
					Next: fmt.Sprintf("give the topic as many queues for reading (%d) as for writing (%d)", q.Read, q.Write),
				})
			}
		}
	}
	slices.SortFunc(out, func(a, b offset.Warning) int { return strings.Compare(a.Text, b.Text) })
	return out
}

// each runs f for 0 to n-1, a bounded number at a time.
func each(n int, f func(i int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, 64)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			f(i)
			<-slots
		})
	}
	wg.Wait()
}
