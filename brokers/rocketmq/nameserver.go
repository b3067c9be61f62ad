package rocketmq

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/offset"
)

// askNameServers asks one name server after the other until one answers. That a topic is unknown is believed only when none
// that answers knows it: a name server may be behind the others.
func (c *Cluster) askNameServers(ctx context.Context, ask func(addr string) error) error {
	c.mu.Lock()
	first := c.preferred
	c.mu.Unlock()
	var unknown error
	var failed []error
	for i := range c.servers {
		if i > 0 && ctx.Err() != nil {
			break
		}
		k := (first + i) % len(c.servers)
		err := ask(c.servers[k])
		switch {
		case err == nil:
			c.mu.Lock()
			c.preferred, c.version = k, c.client.Version(c.servers[k])
			c.mu.Unlock()
			return nil
		case errors.Is(err, remoting.ErrNoNameServer):
			return err
		case remoting.IsCode(err, remoting.TopicNotExist):
			unknown = err
		default:
			failed = append(failed, err)
			c.env.Log.Info("name server failed", "server", c.servers[k], "error", err)
		}
	}
	switch {
	case unknown != nil:
		return unknown
	case len(failed) == 1:
		return fmt.Errorf("the name server did not answer: %w", failed[0])
	}
	return fmt.Errorf("none of %d name servers answered: %w", len(failed), joined(failed...))
}

// route asks for a topic's route and remembers it.
func (c *Cluster) route(ctx context.Context, topic string) (r remoting.Route, err error) {
	err = c.askNameServers(ctx, func(addr string) (err error) {
		r, err = c.client.Route(ctx, addr, topic)
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		delete(c.routes, topic)
		if remoting.IsCode(err, remoting.TopicNotExist) {
			err = fmt.Errorf("topic %s %w", topic, offset.ErrUnknownName)
		}
		return r, err
	}
	c.routes[topic] = r
	c.learn(r.Brokers)
	return r, nil
}

// learn remembers the brokers of an answer; c.mu is held.
func (c *Cluster) learn(brokers []remoting.RouteBroker) {
	for _, b := range brokers {
		c.masters[b.Name], c.seen[b.Name] = b.Master(), true
		if b.Cluster != "" {
			c.clusters[b.Cluster] = true
		}
	}
}

// knownRoute is the route as it was when it was last asked for; it is asked for where that was never.
func (c *Cluster) knownRoute(ctx context.Context, topic string) (remoting.Route, error) {
	c.mu.Lock()
	r, ok := c.routes[topic]
	c.mu.Unlock()
	if ok {
		return r, nil
	}
	return c.route(ctx, topic)
}

// allMasters asks for every registered broker and answers the masters, sorted by name. gaps name the brokers without one.
func (c *Cluster) allMasters(ctx context.Context) (masters []remoting.Broker, gaps []error, err error) {
	var all []remoting.RouteBroker
	err = c.askNameServers(ctx, func(addr string) (err error) {
		all, err = c.client.Brokers(ctx, addr)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	c.mu.Lock()
	clear(c.masters)
	c.learn(all)
	known, expected := maps.Clone(c.masters), c.expected
	c.mu.Unlock()
	for _, name := range expected {
		if _, ok := known[name]; !ok {
			known[name] = ""
		}
	}
	masters, gaps = mastersOf(known)
	return masters, gaps, nil
}

// knownMasters are the masters of the routes that were asked for, or of the whole cluster where none was.
func (c *Cluster) knownMasters(ctx context.Context) ([]remoting.Broker, []error, error) {
	c.mu.Lock()
	known := maps.Clone(c.masters)
	c.mu.Unlock()
	if len(known) == 0 {
		return c.allMasters(ctx)
	}
	masters, gaps := mastersOf(known)
	return masters, gaps, nil
}

// mastersOf are the brokers of addresses by name, sorted. gaps name those without one.
func mastersOf(known map[string]string) (masters []remoting.Broker, gaps []error) {
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if known[name] == "" {
			gaps = append(gaps, noMaster(name))
			continue
		}
		masters = append(masters, remoting.Broker{Name: name, Addr: known[name]})
	}
	return masters, gaps
}

// master is the master of one broker. One that was not met yet is looked for among all that are registered.
func (c *Cluster) master(ctx context.Context, name string) (remoting.Broker, error) {
	if name == "" {
		return remoting.Broker{}, fmt.Errorf("a queue without a broker's name %w on RocketMQ", offset.ErrUnknownName)
	}
	c.mu.Lock()
	addr, ok := c.masters[name]
	c.mu.Unlock()
	if !ok {
		if _, _, err := c.allMasters(ctx); err != nil {
			return remoting.Broker{}, err
		}
		c.mu.Lock()
		addr = c.masters[name]
		c.mu.Unlock()
	}
	if addr == "" {
		return remoting.Broker{}, noMaster(name)
	}
	return remoting.Broker{Name: name, Addr: addr}, nil
}

// noMaster wraps ErrNoLeader: a slave's numbers are not taken for the truth.
func noMaster(name string) error {
	return fmt.Errorf("the master of %s is not available: %w", name, errNoMaster)
}

var errNoMaster = kind{offset.ErrNoLeader, "it is not registered at the name servers"}

// kind is an error with its own words that is one of offset's kinds.
type kind struct {
	is   error
	text string
}

func (k kind) Error() string        { return k.text }
func (k kind) Is(target error) bool { return target == k.is }

// joined is errors.Join in one line.
func joined(errs ...error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return several(errs)
}

type several []error

func (s several) Error() string {
	texts := make([]string, len(s))
	for i, err := range s {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (s several) Unwrap() []error { return s }

// asked makes an error of a broker name the address under which the name servers told to find it.
func asked(b remoting.Broker, err error) error {
	var t *remoting.TransportError
	if errors.As(err, &t) && t.Stage == remoting.StageConnect {
		return fmt.Errorf("%s, advertised by the name servers as %s, cannot be connected to: %w", b.Name, b.Addr, err)
	}
	return err
}

// config is a broker's settings, asked for once.
func (c *Cluster) config(ctx context.Context, b remoting.Broker) (map[string]string, error) {
	c.mu.Lock()
	conf, ok := c.configs[b.Addr]
	c.mu.Unlock()
	if ok {
		return conf, nil
	}
	conf, err := c.client.Config(ctx, b)
	if err != nil {
		return nil, asked(b, err)
	}
	c.mu.Lock()
	c.configs[b.Addr] = conf
	c.mu.Unlock()
	return conf, nil
}
