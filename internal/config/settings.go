package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Given is what the command line and the environment say.
type Given struct {
	Context, Broker, Store string // as typed; "" where not
	NoInput                bool
	StoreOnly              bool // the command needs no broker: a typed --store is enough
	Env                    Env
	Same                   func(a, b string) bool // whether two addresses are one cluster
}

// Settings are what a command works with. Broker, store and journal come from one source.
type Settings struct {
	Context      string // "" where no context is used
	TypedContext bool   // it was typed with --context
	Broker       string // "" where none is named
	Store        string // for every group that has none of its own; "": the broker's own. StoreFor decides
	Journal      string // "": the state directory
	Protected    bool
	ReadOnly     bool
	Expected     []string // brokers that should be there, sorted
	Limits       Limits
	NoInput      bool   // never ask
	Source       string // where the broker comes from, for people: "--broker", "context prod-eu"

	stores map[string]string
	guard  string // the context that makes this broker protected or read-only, where none is used
}

// StoreFor answers the address of the store that keeps the group's positions; "" is the broker's own.
func (s Settings) StoreFor(group string) string {
	if text, ok := s.stores[group]; ok {
		return text
	}
	return s.Store
}

// Resolve decides. What is typed beats the environment, and that beats the current context; a broker from one of them and a store
// from another is an error.
func Resolve(f File, g Given) (Settings, error) {
	s, err := f.source(g)
	if err != nil {
		return Settings{}, err
	}
	s.NoInput = g.NoInput || yes(g.Env.get("OFFSETCTL_NO_INPUT")) || yes(g.Env.get("CI"))
	s.Expected = slices.Clone(s.Expected)
	slices.Sort(s.Expected)
	if rest, ok := strings.CutPrefix(s.Journal, "~/"); ok {
		home := g.Env.get("HOME")
		if !filepath.IsAbs(home) {
			return Settings{}, fmt.Errorf("context %s: journal %s needs HOME, which is not set", s.Context, s.Journal)
		}
		s.Journal = filepath.Join(home, rest)
	}
	if s.Context == "" && s.Broker != "" {
		f.guarded(&s, g.Same)
	}
	return s, nil
}

// yes tells whether a variable that switches something on does.
func yes(v string) bool { return v != "" && v != "0" && !strings.EqualFold(v, "false") }

func (f File) source(g Given) (Settings, error) {
	broker, store, context := g.Env.get("OFFSETCTL_BROKER"), g.Env.get("OFFSETCTL_STORE"), g.Env.get("OFFSETCTL_CONTEXT")
	switch {
	case g.Context != "" && g.Broker != "":
		return Settings{}, errors.New("--context and --broker both say which broker: give one of them")
	case g.Context != "":
		s, err := f.use(g.Context, "--context", g.Store)
		s.TypedContext = true
		return s, err
	case g.Broker != "" && g.Store == "" && store != "":
		return Settings{}, mixed("--broker", "OFFSETCTL_STORE", "add --store, or unset OFFSETCTL_STORE")
	case g.Broker != "":
		return Settings{Broker: g.Broker, Store: g.Store, Source: "--broker"}, nil
	case g.Store != "" && g.StoreOnly:
		return Settings{Store: g.Store, Source: "--store"}, nil
	case broker != "" && context != "":
		return Settings{}, errors.New("OFFSETCTL_BROKER and OFFSETCTL_CONTEXT both say which broker: unset one of them")
	case broker != "" && g.Store != "":
		return Settings{}, mixed("OFFSETCTL_BROKER", "--store", "add --broker")
	case broker != "":
		return Settings{Broker: broker, Store: store, Source: "OFFSETCTL_BROKER"}, nil
	case context != "" && g.Store != "":
		return Settings{}, mixed("OFFSETCTL_CONTEXT", "--store", "add --context "+context)
	case context != "":
		return f.use(context, "OFFSETCTL_CONTEXT", store)
	case f.CurrentContext != "" && g.Store != "":
		return Settings{}, mixed("the current context", "--store", "add --context "+f.CurrentContext)
	case f.CurrentContext != "" && store != "":
		return Settings{}, mixed("the current context", "OFFSETCTL_STORE", "set OFFSETCTL_CONTEXT="+f.CurrentContext+" too, or unset OFFSETCTL_STORE")
	case f.CurrentContext != "":
		return f.use(f.CurrentContext, "current-context", "")
	case g.Store != "":
		return Settings{Store: g.Store, Source: "--store"}, nil
	}
	return Settings{Store: store}, nil
}

func mixed(broker, store, next string) error {
	return fmt.Errorf("the broker comes from %s and the store from %s, which need not belong together: %s", broker, store, next)
}

// use takes a context; a store that was named in the same place as the context replaces those of the context.
func (f File) use(name, by, store string) (Settings, error) {
	c, ok := f.Contexts[name]
	switch {
	case !ok && f.Path == "":
		return Settings{}, fmt.Errorf("context %q (%s): there is no configuration file (see: offsetctl config --help)", name, by)
	case !ok && len(f.Contexts) == 0:
		return Settings{}, fmt.Errorf("context %q (%s): there is none in %s (see: offsetctl config --help)", name, by, f.Path)
	case !ok:
		return Settings{}, fmt.Errorf("context %q (%s) is not in %s, which has %s", name, by, f.Path, strings.Join(f.Names(), ", "))
	case c.Broker == "":
		return Settings{}, fmt.Errorf("context %s in %s has no broker", name, f.Path)
	}
	s := Settings{
		Context: name, Broker: c.Broker, Store: c.Store, Journal: c.Journal, Protected: c.Protected, ReadOnly: c.ReadOnly,
		Expected: c.Brokers, Limits: c.Limits, Source: "context " + name + " from " + f.Path, stores: c.Stores,
	}
	if store != "" {
		s.Store, s.stores = store, nil
	}
	return s, nil
}

// guarded makes a broker that was named by its address as protected as the context that has it: the address is no way around.
func (f File) guarded(s *Settings, same func(a, b string) bool) {
	for _, name := range f.Names() {
		c := f.Contexts[name]
		if (c.Protected || c.ReadOnly) && c.Broker != "" && same(c.Broker, s.Broker) {
			s.Protected = s.Protected || c.Protected
			s.ReadOnly = s.ReadOnly || c.ReadOnly
			s.guard = name
		}
	}
}

// GuardedBy is the context that protects the broker: the one in use, or one that has it, too.
func (s Settings) GuardedBy() string {
	if s.Context != "" {
		return s.Context
	}
	return s.guard
}
