// Package config reads the contexts file, and decides which broker, store and journal a command works with.
// It is pure: files and the environment come in as functions. Its errors are mistakes of the configuration or of the
// command line.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/offsetctl/offsetctl/positions"
)

// File is the contexts file.
type File struct {
	CurrentContext string             `yaml:"current-context,omitempty"`
	Contexts       map[string]Context `yaml:"contexts,omitempty"`
	Path           string             `yaml:"-"` // where it was read, "" where there is none
}

// Context is one cluster and the places where its jobs keep their offsets. Addresses are kept as they are written.
type Context struct {
	Broker    string            `yaml:"broker,omitempty"`
	Store     string            `yaml:"store,omitempty"`     // "": the broker's own
	Stores    map[string]string `yaml:"stores,omitempty"`    // by group, before Store
	Journal   string            `yaml:"journal,omitempty"`   // a directory, absolute or below ~/, or the address of a SQL store; "": the state directory
	Protected bool              `yaml:"protected,omitempty"` // a write needs a typed --context and the group's name
	ReadOnly  bool              `yaml:"read-only,omitempty"` // no write
	Brokers   []string          `yaml:"brokers,omitempty"`   // the brokers that should be there
	Limits    Limits            `yaml:"limits,omitempty"`
}

// Limits replace the defaults of flags. What is not set is nil.
type Limits struct {
	MaxSkip    *Count    `yaml:"max-skip,omitempty"`
	Timeout    *Duration `yaml:"timeout,omitempty"`
	Settle     *Duration `yaml:"settle,omitempty"`
	StaleAfter *Duration `yaml:"stale-after,omitempty"`
}

// Count is a whole number of records.
type Count int64

// UnmarshalYAML reads digits.
func (c *Count) UnmarshalYAML(n ast.Node) error {
	v, err := positions.ParseOffset(n.GetToken().Value)
	if err != nil {
		return at(n, "%q is no number of records", n.GetToken().Value)
	}
	*c = Count(v)
	return nil
}

// Duration is written like 30s, 24h or 7d.
type Duration time.Duration

// UnmarshalYAML reads what positions.ParseDuration reads.
func (d *Duration) UnmarshalYAML(n ast.Node) error {
	v, err := positions.ParseDuration(n.GetToken().Value)
	if err != nil {
		return at(n, "%w", err)
	}
	*d = Duration(v)
	return nil
}

// Duration is d as the standard library has it.
func (d Duration) Duration() time.Duration { return time.Duration(d) }

// MarshalYAML writes what UnmarshalYAML reads.
func (d Duration) MarshalYAML() (any, error) { return positions.FormatDuration(d.Duration()), nil }

func at(n ast.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: "+format, append([]any{n.GetToken().Position.Line}, args...)...)
}

// Parse reads the file. Keys that are not known are refused. Errors name the line and never show a value that may be a secret.
func Parse(data []byte) (File, error) {
	var f File
	if err := guarded(func() error {
		dec := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict())
		if err := dec.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
			return plain(err)
		}
		if err := dec.Decode(&File{}); !errors.Is(err, io.EOF) {
			return errors.New("there is more than one document in it")
		}
		return nil
	}); err != nil {
		return File{}, err
	}
	return f, f.check()
}

// guarded makes an error of a panic in the YAML library, which has some for texts that nobody writes on purpose: a tag
// of nothing where a list is expected.
func guarded(step func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("this YAML cannot be read: look for a tag, an anchor or an alias (!, &, *) that stands for nothing")
		}
	}()
	return step()
}

func (f File) check() error {
	for _, name := range f.Names() {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
			return fmt.Errorf("context %q: a name has no blanks", name)
		}
		if t := f.Contexts[name].Limits.Timeout; t != nil && *t == 0 {
			return fmt.Errorf("context %s: a timeout of 0 leaves no time for anything: write 30s or 2m", name)
		}
		j := f.Contexts[name].Journal
		if j != "" && !strings.Contains(j, ":") && !strings.HasPrefix(j, "~/") && !filepath.IsAbs(j) {
			return fmt.Errorf("context %s: journal %s depends on the working directory; write it from / or ~/ on", name, j)
		}
	}
	return nil
}

// Names are the names of the contexts, sorted.
func (f File) Names() []string { return slices.Sorted(maps.Keys(f.Contexts)) }

// plain makes a sentence out of the YAML library's errors, which by themselves show the source and with it secrets.
func plain(err error) error {
	y, ok := errors.AsType[yaml.Error](err)
	if !ok || y.GetToken() == nil {
		return err
	}
	what := y.GetMessage()
	switch e := y.(type) {
	case *yaml.UnknownFieldError:
		what = strings.Replace(what, "unknown field", "unknown key", 1)
	case *yaml.TypeError:
		what = "a value of another kind is expected"
		if e.DstType != nil {
			what = fmt.Sprintf("%s is expected", kinds[e.DstType.Kind().String()])
		}
	case *yaml.UnexpectedNodeTypeError:
		what = strings.ToLower(fmt.Sprintf("a %s is expected, not a %s", e.Expected, e.Actual))
	default:
		if !strings.HasPrefix(what, "mapping key") {
			what, _, _ = strings.Cut(what, ` "`)
		}
	}
	return fmt.Errorf("line %d: %s", y.GetToken().Position.Line, what)
}

var kinds = map[string]string{"bool": "true or false", "string": "a text", "slice": "a list", "map": "a mapping", "struct": "a mapping"}
