package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/internal/config"
	"github.com/offsetctl/offsetctl/internal/render"
	"github.com/offsetctl/offsetctl/repair"
	"github.com/offsetctl/offsetctl/stores/sqljournal"
)

const defaultConfigHelp = "~/.config/offsetctl/config.yaml"

// place of the configuration file, never the working directory.
func (f *factory) configPlace() config.Place { return config.Find(f.global.config, f.sys.Env) }

// file reads the configuration file; one that is not there is an empty one.
func (f *factory) file() (config.File, string, error) {
	file, warning, err := config.Load(f.configPlace(), config.Access{Read: readConfig, Parse: f.syntax})
	return file, warning, usage(err)
}

func readConfig(path string) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	b, err := os.ReadFile(path)
	return b, info.Mode(), err
}

// syntax parses an address without looking its secrets up.
func (f *factory) syntax(text string) (address.Address, error) {
	return address.Parse(text, storeForms())
}

// settings decides once which broker, store and journal the command works with.
func (f *factory) settings() (*config.Settings, error) {
	if f.loaded != nil {
		return f.loaded, nil
	}
	file, warning, err := f.file()
	if err != nil {
		return nil, err
	}
	if warning != "" {
		f.warn("%s", warning)
	}
	g := &f.global
	s, err := config.Resolve(file, config.Given{Context: g.context, Broker: g.broker, Store: g.store, NoInput: g.noInput, Env: f.sys.Env, Same: f.samePlace})
	if err != nil {
		return nil, usage(err)
	}
	if s.Limits.Timeout != nil && !f.global.timeoutTyped {
		g.timeout = time.Duration(*s.Limits.Timeout)
	}
	f.loaded = &s
	return &s, nil
}

// samePlace tells whether two addresses share a host: such are one cluster.
func (f *factory) samePlace(a, b string) bool {
	x, errA := f.syntax(a)
	y, errB := f.syntax(b)
	if errA != nil || errB != nil || x.Scheme != y.Scheme {
		return false
	}
	return slices.ContainsFunc(x.Hosts, func(h string) bool { return slices.Contains(y.Hosts, h) })
}

func (f *factory) noInput() bool {
	s, err := f.settings()
	return err != nil || s.NoInput
}

// openJournal is the journal of the context, a directory or a table of a database, or the one in the user's state directory.
func (f *factory) openJournal(ctx context.Context) (*repair.Journal, error) {
	if f.journal != nil {
		return f.journal, nil
	}
	s, err := f.settings()
	if err != nil {
		return nil, err
	}
	log, err := f.openLog(ctx, s.Journal)
	if err != nil {
		return nil, err
	}
	f.journal = repair.NewJournal(log)
	return f.journal, nil
}

func (f *factory) openLog(ctx context.Context, text string) (repair.Log, error) {
	switch {
	case filepath.IsAbs(text):
		return repair.OpenDir(text), nil
	case text != "":
		a, err := f.parse(text, storeForms())
		if err != nil {
			return nil, err
		}
		ctx, cancel := f.step(ctx)
		defer cancel()
		log, err := sqljournal.Open(ctx, f.env(), a)
		if err != nil {
			return nil, err
		}
		f.keep(log)
		return log, nil
	}
	state := config.StateDir(f.sys.Env)
	if state == "" {
		return nil, usagef("there is no home directory to keep the journal in: set XDG_STATE_HOME, or journal: in a context")
	}
	return repair.OpenDir(filepath.Join(state, "journal")), nil
}

func (f *factory) probeJournal(ctx context.Context) (string, error) {
	j, err := f.openJournal(ctx)
	if err != nil {
		return "", err
	}
	if err := j.Try(ctx); err != nil {
		return "", &codeError{exitRefused, fmt.Errorf("journal %s cannot be written, so nothing would be: %w; make it writable, or name another one by journal: in a context", j.Name(), err)}
	}
	return j.Name(), nil
}

// program is how a command that the user may copy begins: with the flags that name this broker and store.
func (f *factory) program() string {
	out := []string{"offsetctl"}
	g := &f.global
	if g.config != "" {
		out = append(out, "--config", g.config)
	}
	if g.context != "" {
		out = append(out, "--context", g.context)
	}
	if g.broker != "" {
		out = append(out, "--broker", f.shown(g.broker))
	}
	if store := cmp.Or(f.target, g.store); store != "" {
		out = append(out, "--store", f.shown(store))
	}
	if g.isolation != "read-committed" {
		out = append(out, "--isolation", g.isolation)
	}
	return render.Command(out)
}

// shown is an address without its secrets.
func (f *factory) shown(text string) string { return config.Shown(text, f.syntax) }

// addressFlags are the flags whose values may hold a secret.
var addressFlags = []string{"--broker", "--store", "--from", "--to", "--from-broker"}

// commandLine is the command as it was typed, without secrets, for the journal.
func (f *factory) commandLine() string {
	out := slices.Clone(f.args)
	for i, a := range out {
		if i > 0 && slices.Contains(addressFlags, f.args[i-1]) {
			out[i] = f.shown(a)
		} else if flag, value, ok := strings.Cut(a, "="); ok && slices.Contains(addressFlags, flag) {
			out[i] = flag + "=" + f.shown(value)
		}
	}
	return render.Command(out)
}

// hint says something that is no result; -q leaves it out.
func (f *factory) hint(format string, args ...any) {
	if !f.global.quiet {
		fmt.Fprintf(f.sys.Err, format+"\n", args...)
	}
}

// warn says something that matters also with -q.
func (f *factory) warn(format string, args ...any) {
	fmt.Fprintf(f.sys.Err, "offsetctl: warning: "+format+"\n", args...)
}
