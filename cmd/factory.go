package cmd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/brokers"
	"github.com/offsetctl/offsetctl/internal/config"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/repair"
	"github.com/offsetctl/offsetctl/stores"
)

// factory makes what commands need the first time they need it, so that --help and a wrong flag never dial anybody.
type factory struct {
	sys    *IO
	global global
	args   []string // as typed
	target string   // the store that a copy's --to names: it is what an undo of it needs

	mu         sync.Mutex // -v prints from many goroutines; completion opens in one
	loaded     *config.Settings
	broker     offset.Broker
	brokerAddr address.Address
	expected   expected
	journal    *repair.Journal
	opened     []io.Closer
}

func newFactory(sys *IO) *factory { return &factory{sys: sys} }

// keep closes c when the command ends.
func (f *factory) keep(c io.Closer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened = append(f.opened, c)
}

func (f *factory) close() {
	f.mu.Lock()
	opened := f.opened
	f.mu.Unlock()
	for _, c := range slices.Backward(opened) {
		_ = c.Close() // everything was read or answered by now
	}
}

// step bounds one step of a command by --timeout.
func (f *factory) step(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, f.global.timeout)
}

func (f *factory) isolation() (offset.Isolation, error) {
	switch f.global.isolation {
	case "read-committed":
		return offset.ReadCommitted, nil
	case "read-uncommitted":
		return offset.ReadUncommitted, nil
	}
	return 0, usagef("--isolation is read-committed or read-uncommitted, not %q", f.global.isolation)
}

// format is the output format; the first of the allowed ones is the default.
func (f *factory) format(allowed ...string) (string, error) {
	o := f.global.output
	if o == "" {
		return allowed[0], nil
	}
	if !slices.Contains(allowed, o) {
		return "", usagef("-o %s is not possible here; possible are: %s", o, strings.Join(allowed, ", "))
	}
	return o, nil
}

// env is what drivers are handed.
func (f *factory) env() offset.Env {
	e := offset.Env{Log: slog.New(slog.DiscardHandler), Now: f.sys.Now}
	if f.global.verbose {
		e.Log = slog.New(slog.NewTextHandler(f.sys.Err, &slog.HandlerOptions{Level: slog.LevelInfo}))
		began := f.sys.Now()
		e.Trace = func(server, call string) {
			f.mu.Lock()
			defer f.mu.Unlock()
			fmt.Fprintf(f.sys.Err, "%7.3fs %s %s\n", f.sys.Now().Sub(began).Seconds(), server, call)
		}
	}
	return e
}

func (f *factory) secrets() address.Secrets {
	return address.Secrets{
		Env:  f.sys.Env,
		File: func(p string) (string, error) { b, err := os.ReadFile(p); return string(b), err },
		Command: func(line string) (string, error) {
			c := exec.Command("/bin/sh", "-c", line)
			c.Stderr = f.sys.Err
			b, err := c.Output()
			return string(b), err
		},
	}
}

func brokerForms() []address.Form {
	out := make([]address.Form, len(brokers.Drivers))
	for i, d := range brokers.Drivers {
		out[i] = d.Form
	}
	return out
}

func storeForms() []address.Form {
	out := make([]address.Form, len(stores.Drivers))
	for i, d := range stores.Drivers {
		out[i] = d.Form
	}
	return append(brokerForms(), out...)
}

func (f *factory) parse(text string, forms []address.Form) (address.Address, error) {
	a, err := address.Parse(text, forms)
	if err == nil {
		a, err = a.Reveal(f.secrets())
	}
	return a, usage(err)
}

// brokerAddress is the address of the broker, from a flag, the environment or a context.
func (f *factory) brokerAddress() (address.Address, error) {
	s, err := f.settings()
	if err != nil {
		return address.Address{}, err
	}
	if s.Broker == "" {
		return address.Address{}, usagef("no broker is named: give --broker kafka://HOST:PORT or rocketmq://NAMESERVER:PORT, or --context with a configuration file (see: offsetctl config --help), or try offsetctl demo")
	}
	a, err := f.parse(s.Broker, brokerForms())
	if x, not := f.syntax(s.Broker); err != nil && not == nil && brokerDriver(x.Scheme) == nil {
		return a, usagef("%s is the address of a store, not of a broker: give it as --store, and the cluster as --broker", x)
	}
	return a, err
}

// openBroker connects to the broker once.
func (f *factory) openBroker(ctx context.Context) (offset.Broker, error) {
	if f.broker != nil {
		return f.broker, nil
	}
	a, err := f.brokerAddress()
	if err != nil {
		return nil, err
	}
	b, err := f.dial(ctx, a)
	if err != nil {
		return nil, err
	}
	f.broker, f.brokerAddr = b, a
	s, err := f.settings()
	if err != nil {
		return nil, err
	}
	f.expected = f.expect(b, a, s.Expected)
	return b, nil
}

func (f *factory) dial(ctx context.Context, a address.Address) (offset.Broker, error) {
	d := brokerDriver(a.Scheme)
	ctx, cancel := f.step(ctx)
	defer cancel()
	b, err := d.Open(ctx, f.env(), a)
	if err != nil {
		return nil, err
	}
	f.keep(b)
	return b, nil
}

func brokerDriver(scheme string) *brokers.Driver {
	i := slices.IndexFunc(brokers.Drivers, func(d brokers.Driver) bool { return d.Schemes[0] == scheme })
	if i < 0 {
		return nil
	}
	return &brokers.Drivers[i]
}

func storeDriver(scheme string) *stores.Driver {
	i := slices.IndexFunc(stores.Drivers, func(d stores.Driver) bool { return d.Schemes[0] == scheme })
	if i < 0 {
		return nil
	}
	return &stores.Drivers[i]
}

// place is an opened store and where it is.
type place struct {
	offset.Store
	addr  address.Address
	own   bool   // the broker's own
	title string // "Kafka group (default)", "SQL table mysql://…"
}

// openStore opens the place where the group's offsets are: the broker's own, unless a flag, the environment or the context says otherwise.
func (f *factory) openStore(ctx context.Context, group string) (*place, error) {
	s, err := f.settings()
	if err != nil {
		return nil, err
	}
	text := s.StoreFor(group)
	var a address.Address
	if text != "" { // a mistake in it is said before any server is asked
		if a, err = f.parse(text, storeForms()); err != nil {
			return nil, err
		}
	}
	b, err := f.openBroker(ctx)
	if err != nil {
		return nil, err
	}
	if text == "" {
		return &place{Store: b.Offsets(), addr: f.brokerAddr, own: true, title: brokerDriver(f.brokerAddr.Scheme).Store + " (default)"}, nil
	}
	return f.openStoreOf(ctx, a)
}

// openStoreAt opens the store that a text means.
func (f *factory) openStoreAt(ctx context.Context, text string) (*place, error) {
	a, err := f.parse(text, storeForms())
	if err != nil {
		return nil, err
	}
	return f.openStoreOf(ctx, a)
}

// openStoreOf opens the store of an address; a broker's address means its own store.
func (f *factory) openStoreOf(ctx context.Context, a address.Address) (*place, error) {
	if d := brokerDriver(a.Scheme); d != nil {
		b := f.broker
		if b == nil || a.Identity() != f.brokerAddr.Identity() {
			var err error
			if b, err = f.dial(ctx, a); err != nil {
				return nil, err
			}
			f.expect(b, a, nil)
		}
		return &place{Store: b.Offsets(), addr: a, own: b == f.broker, title: d.Store + " at " + a.String()}, nil
	}
	d := storeDriver(a.Scheme)
	ctx, cancel := f.step(ctx)
	defer cancel()
	st, err := d.Open(ctx, f.env(), a)
	if err != nil {
		return nil, err
	}
	f.keep(st)
	return &place{Store: st, addr: a, title: d.Title + " " + a.String()}, nil
}

// wait sleeps, unless ctx ends first.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
