package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/offsetctl/offsetctl/internal/config"
	"github.com/spf13/cobra"
)

func newConfig(f *factory) *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Show and change the contexts",
		Long: `A context is a cluster and the places where its jobs keep their offsets. The file is ` + defaultConfigHelp + ` (--config,
OFFSETCTL_CONFIG and XDG_CONFIG_HOME name another); it is never looked for in the working directory.

  current-context: prod-eu
  contexts:
    prod-eu:
      broker: kafka://k1:9093,k2:9093?tls=on&sasl=scram-sha-512&user=svc-oncall&password=file:/run/secrets/kafka
      stores:
        billing: mysql://app@db/jobs?password=env:DB_PASSWORD
      journal: /var/lib/offsetctl/prod-eu    # or a database: mysql://…; default: the user's state directory
      protected: true       # a write needs --context prod-eu and --confirm GROUP, both typed
      brokers: ["1", "2", "3"]               # that should be there
      limits: {max-skip: 100000, timeout: 60s, settle: 30s, stale-after: 6h}
    audit:
      broker: kafka://k1:9093?tls=on
      read-only: true

A typed --context beats OFFSETCTL_CONTEXT, OFFSETCTL_BROKER and OFFSETCTL_STORE, and those beat current-context. Broker, store and
journal come from one of them together, or the command is refused. OFFSETCTL_NO_INPUT=1 is --no-input.`,
		Example: "  offsetctl config get-contexts\n  offsetctl config use-context prod-eu\n  offsetctl config view",
		Args:    noCommand,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		&cobra.Command{Use: "get-contexts", Short: "List the contexts; * marks the current one", Args: noArgs, Example: "  offsetctl config get-contexts",
			RunE: func(*cobra.Command, []string) error { return listContexts(f) }},
		&cobra.Command{Use: "current-context", Short: "Say which context is used where none is named", Args: noArgs, Example: "  offsetctl config current-context",
			RunE: func(*cobra.Command, []string) error { return currentContext(f) }},
		&cobra.Command{Use: "use-context NAME", Short: "Make a context the current one", Args: oneArg("the context's name"), Example: "  offsetctl config use-context prod-eu",
			ValidArgsFunction: f.completeContexts,
			RunE: func(_ *cobra.Command, args []string) error {
				return editConfig(f, func(b []byte) ([]byte, error) { return config.UseContext(b, args[0]) }, "current context: "+args[0])
			}},
		&cobra.Command{Use: "delete-context NAME", Short: "Take a context out of the file", Args: oneArg("the context's name"), Example: "  offsetctl config delete-context old",
			ValidArgsFunction: f.completeContexts,
			RunE: func(_ *cobra.Command, args []string) error {
				return editConfig(f, func(b []byte) ([]byte, error) { return config.DeleteContext(b, args[0]) }, "deleted context "+args[0])
			}},
		newSetContext(f),
		&cobra.Command{Use: "forget-broker NAME", Short: "Miss a broker no more that was retired", Args: oneArg("the broker's name"),
			Long: `Takes a broker out of those that the context expects (brokers:), and out of those that earlier runs saw: a RocketMQ broker that
is dead leaves no trace in its cluster's metadata, so what was seen once is missed until it is forgotten.`,
			Example: "  offsetctl --context prod-eu config forget-broker 4\n  offsetctl --broker rocketmq://ns1:9876 config forget-broker broker-b",
			RunE:    func(_ *cobra.Command, args []string) error { return forgetBroker(f, args[0]) }},
		&cobra.Command{Use: "view", Short: "Show the file without its secrets", Args: noArgs, Example: "  offsetctl config view",
			RunE: func(*cobra.Command, []string) error { return viewConfig(f) }},
	)
	return c
}

func forgetBroker(f *factory, name string) error {
	s, err := f.settings()
	if err != nil {
		return err
	}
	if s.Broker == "" {
		return usagef("no cluster is named: --context NAME, or --broker ADDRESS")
	}
	a, err := f.syntax(s.Broker)
	if err != nil {
		return usage(err)
	}
	known, err := f.roster().Forget(a.Hosts, name)
	if err != nil {
		return err
	}
	if known {
		f.hint("broker %s is not remembered any more", name)
	}
	if slices.Contains(s.Expected, name) {
		return editConfig(f, func(b []byte) ([]byte, error) { return config.ForgetBroker(b, s.Context, name) }, "context "+s.Context+" expects broker "+name+" no more")
	}
	if !known {
		return usagef("no broker %s is expected: neither the context names it, nor has an earlier run seen it", name)
	}
	return nil
}

func newSetContext(f *factory) *cobra.Command {
	var x config.Context
	var use bool
	c := &cobra.Command{
		Use: "set-context NAME", Short: "Add a context, or replace it as a whole", Args: oneArg("the context's name"),
		Long: "Adds a context with the addresses of --broker and --store, or replaces it as a whole. Passwords are given by reference: password=env:NAME,\npassword=file:PATH or password=command:LINE.",
		Example: `  offsetctl config set-context prod-eu --broker 'kafka://k1:9093?tls=on&sasl=plain&user=me&password=env:PW' --protected
  offsetctl config set-context local --broker kafka://localhost:9092 --use`,
		RunE: func(_ *cobra.Command, args []string) error {
			x.Broker, x.Store = f.global.broker, f.global.store
			if x.Broker == "" {
				return usagef("a context needs a broker: --broker kafka://HOST:PORT")
			}
			for _, text := range []string{x.Broker, x.Store} {
				if text == "" {
					continue
				}
				if _, err := f.syntax(text); err != nil {
					return usage(err)
				}
			}
			return editConfig(f, func(b []byte) (_ []byte, err error) {
				if b, err = config.SetContext(b, args[0], x); err == nil && use {
					b, err = config.UseContext(b, args[0])
				}
				return b, err
			}, "context "+args[0]+" is set")
		},
	}
	p := c.Flags()
	p.StringVar(&x.Journal, "journal", "", "where the journal is kept: a directory, or the address of a database")
	p.BoolVar(&x.Protected, "protected", false, "writes need a typed --context and --confirm GROUP")
	p.BoolVar(&x.ReadOnly, "read-only", false, "nothing is ever written")
	p.StringSliceVar(&x.Brokers, "expect-broker", nil, "a broker that should be there; may be repeated")
	p.BoolVar(&use, "use", false, "make it the current one")
	return c
}

func listContexts(f *factory) error {
	if _, err := f.format("table"); err != nil {
		return err
	}
	file, _, err := f.file()
	if err != nil {
		return err
	}
	for _, n := range file.Names() {
		mark := " "
		if n == file.CurrentContext {
			mark = "*"
		}
		c := file.Contexts[n]
		if _, err := fmt.Fprintf(f.sys.Out, "%s %-20s %s\n", mark, n, f.shown(c.Broker)); err != nil {
			return err
		}
	}
	return nil
}

func currentContext(f *factory) error {
	if _, err := f.format("table"); err != nil {
		return err
	}
	file, _, err := f.file()
	if err != nil {
		return err
	}
	if file.CurrentContext == "" {
		return usagef("there is no current context in %s: offsetctl config use-context NAME", f.configPlace().Path)
	}
	_, err = fmt.Fprintln(f.sys.Out, file.CurrentContext)
	return err
}

func viewConfig(f *factory) error {
	if _, err := f.format("yaml"); err != nil {
		return err
	}
	file, _, err := f.file()
	if err != nil {
		return err
	}
	b, err := file.View(f.syntax)
	if err != nil {
		return err
	}
	_, err = f.sys.Out.Write(b)
	return err
}

// editConfig changes the file as a whole: a new one takes its place, so that a crash leaves the old.
func editConfig(f *factory, edit func([]byte) ([]byte, error), said string) (err error) {
	path := f.configPlace().Path
	if path == "" {
		return usagef("there is no home directory: name the file with --config")
	}
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return usage(err)
	}
	now, err := edit(old)
	if err != nil {
		return usagef("%s: %w; it was left as it is", path, err)
	}
	if err := replaceFile(path, now); err != nil {
		return usagef("%s was left as it is: %w", path, err)
	}
	f.hint("%s", said)
	return nil
}

func replaceFile(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	t, err := os.CreateTemp(filepath.Dir(path), ".config-*") // 0600
	if err != nil {
		return err
	}
	_, err = t.Write(b)
	if err = errors.Join(err, t.Sync(), t.Close()); err == nil {
		err = os.Rename(t.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(t.Name()))
	}
	return nil
}
