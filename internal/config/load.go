package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/offsetctl/offsetctl/address"
)

// maxFile is the size in bytes that no contexts file may exceed.
const maxFile = 1 << 20

// Env answers an environment variable and whether it is set.
type Env func(name string) (string, bool)

func (e Env) get(name string) string {
	v, _ := e(name)
	return v
}

// Place is where the contexts file is looked for.
type Place struct {
	Path  string // "": nowhere, for there is no home directory
	Named string // what named it: "--config", "OFFSETCTL_CONFIG", or "" for the default, which need not exist
}

// Find answers where the contexts file is: where the flag says, else OFFSETCTL_CONFIG, else the user's configuration directory.
// It is never looked for in the working directory.
func Find(flag string, env Env) Place {
	if flag != "" {
		return Place{flag, "--config"}
	}
	if p := env.get("OFFSETCTL_CONFIG"); p != "" {
		return Place{p, "OFFSETCTL_CONFIG"}
	}
	return Place{Path: userPath(env, "XDG_CONFIG_HOME", ".config", "config.yaml")}
}

// StateDir is where the journal lies by default, "" where there is no home directory.
func StateDir(env Env) string { return userPath(env, "XDG_STATE_HOME", ".local/state", "") }

// userPath ignores a relative variable, as the XDG specification wants it.
func userPath(env Env, variable, below, name string) string {
	dir := env.get(variable)
	if !filepath.IsAbs(dir) {
		home := env.get("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, below)
	}
	return filepath.Join(dir, "offsetctl", name)
}

// Access is what Load needs of the world. Where files have no permissions, Read answers 0600.
type Access struct {
	Read  func(path string) ([]byte, fs.FileMode, error)
	Parse func(text string) (address.Address, error) // any broker's or store's address
}

// Load reads the contexts file. A default file that is not there is an empty one. A file that others may write is refused, for
// it names commands to run; one that others may read is refused if there is a secret in it, and the group's right to read is a warning.
func Load(p Place, a Access) (f File, warning string, err error) {
	if p.Path == "" {
		return File{}, "", nil
	}
	data, mode, err := a.Read(p.Path)
	if errors.Is(err, fs.ErrNotExist) && p.Named == "" {
		return File{}, "", nil
	}
	if err != nil {
		return File{}, "", fmt.Errorf("configuration file%s: %w", by(p.Named), err)
	}
	if len(data) > maxFile {
		return File{}, "", fmt.Errorf("configuration file %s is larger than 1 MiB", p.Path)
	}
	if mode.Perm()&0o002 != 0 {
		return File{}, "", fmt.Errorf("configuration file %s may be written by everybody, and it can name commands to run: chmod 600 %s", p.Path, p.Path)
	}
	if f, err = Parse(data); err != nil {
		return File{}, "", fmt.Errorf("configuration file %s: %w", p.Path, err)
	}
	f.Path = p.Path
	if mode.Perm()&0o044 == 0 {
		return f, "", nil
	}
	name := f.withSecret(a.Parse)
	switch {
	case name == "":
		return f, "", nil
	case mode.Perm()&0o004 != 0:
		return File{}, "", fmt.Errorf("configuration file %s may be read by everybody, and context %s has a secret in it: chmod 600 %s, or write password=env:NAME, file:PATH or command:…", p.Path, name, p.Path)
	}
	return f, fmt.Sprintf("configuration file %s may be read by its group, and context %s has a secret in it", p.Path, name), nil
}

func by(named string) string {
	if named == "" {
		return ""
	}
	return " (" + named + ")"
}

// withSecret is the first context that has a secret written out in an address, or "".
func (f File) withSecret(parse func(string) (address.Address, error)) string {
	for _, name := range f.Names() {
		for _, text := range f.Contexts[name].addresses() {
			// What cannot be read may well hide one.
			if a, err := parse(text); err != nil || a.Text() != a.String() {
				return name
			}
		}
	}
	return ""
}

func (c Context) addresses() (out []string) {
	for _, text := range []string{c.Broker, c.Store} {
		if text != "" {
			out = append(out, text)
		}
	}
	if isAddress(c.Journal) {
		out = append(out, c.Journal)
	}
	for _, text := range c.Stores {
		out = append(out, text)
	}
	return out
}

func isAddress(journal string) bool {
	return journal != "" && !filepath.IsAbs(journal) && journal[0] != '~'
}
