package cmd

import (
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/internal/config"
	"github.com/offsetctl/offsetctl/internal/roster"
	"github.com/offsetctl/offsetctl/offset"
)

// expected is what is known beforehand of the brokers of a cluster whose metadata leaves no trace of one that is gone.
type expected struct {
	by       offset.Expecter // nil: the cluster's own metadata tells
	names    int             // how many are expected; 0: not known
	servers  []string
	lastSeen map[string]time.Time // of those that only earlier runs tell of
}

// roster is where earlier runs have left what they saw, beside the journal.
func (f *factory) roster() roster.Dir {
	state := config.StateDir(f.sys.Env)
	if state == "" {
		return ""
	}
	return roster.Dir(filepath.Join(state, "brokers"))
}

// expect tells a broker which servers should be there: those of the context, and those that earlier runs saw.
func (f *factory) expect(b offset.Broker, a address.Address, named []string) (e expected) {
	by, ok := b.(offset.Expecter)
	if !ok {
		return e
	}
	seen, err := f.roster().Seen(a.Hosts)
	if err != nil {
		f.warn("what earlier runs saw of the brokers is not known: %v", err)
	}
	for _, name := range named {
		delete(seen, name)
	}
	names := slices.Concat(named, slices.Sorted(maps.Keys(seen)))
	return expected{by: by, names: by.Expect(names), servers: a.Hosts, lastSeen: seen}
}

// ask puts what is expected into a question. Brokers that nobody asks about are not missed.
func (f *factory) ask(a *inspect.Ask, sel *selection) {
	if s, err := f.settings(); err == nil {
		a.Expected = s.Expected
	}
	a.LastSeen, a.Brokers = f.expected.lastSeen, sel.parsed.Brokers()
}

// remember keeps the brokers that are there for later runs. That it cannot is no reason to fail.
func (f *factory) remember(t offset.Topology) {
	if f.expected.by == nil {
		return
	}
	var names []string
	for _, s := range t.Brokers {
		if s.Err == nil {
			names = append(names, s.Name)
		}
	}
	if err := f.roster().See(f.expected.servers, names, f.sys.Now()); err != nil {
		f.env().Log.Info("the brokers that were seen could not be remembered", "error", err)
	}
}
