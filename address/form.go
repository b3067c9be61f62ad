// Package address is the one parser of the addresses that brokers and stores are named by:
// scheme://[user[:password]@]host[:port][,host[:port]…][/path][?option=value&…], or scheme:path for files.
//
// Every driver declares the Form of its scheme: an option that is not in it is refused, and help texts are made from it.
package address

import (
	"fmt"
	"slices"
	"strings"
)

// Option documents one option of a scheme.
type Option struct {
	Name   string
	Value  string // what may stand there: "plain|scram-sha-256", "SECONDS"
	Help   string
	Secret bool // holds a secret or a reference to one; never shown
}

// Form is how the addresses of one scheme look.
type Form struct {
	Schemes []string // the first is the canonical one
	Example string
	Opaque  bool // scheme:path; no hosts, the path is a file's
	Port    int  // of a host without one
	Many    bool // several hosts
	Path    bool // a path may follow the hosts
	User    bool // user:password@ may stand before the hosts; "user" and "password" are options too
	TLS     bool // tls=, ca=, cert=, key=, server-name=
	Options []Option
}

var userOptions = []Option{
	{Name: "user", Value: "NAME", Help: "who logs in"},
	{Name: "password", Value: "env:NAME|file:PATH|command:LINE", Help: "where the password is found", Secret: true},
}

// All lists the form's own options and those that it shares with others.
func (f Form) All() []Option {
	out := slices.Clone(f.Options)
	if f.User {
		out = append(out, userOptions...)
	}
	if f.TLS {
		out = append(out, tlsOptions...)
	}
	return out
}

func (f Form) option(name string) (Option, error) {
	all := f.All()
	names := make([]string, len(all))
	for i, o := range all {
		if o.Name == name {
			return o, nil
		}
		names[i] = o.Name
	}
	slices.Sort(names)
	if len(names) == 0 {
		return Option{}, fmt.Errorf("unknown option %q: a %s address has none", name, f.Schemes[0])
	}
	return Option{}, fmt.Errorf("unknown option %q: a %s address has %s", name, f.Schemes[0], strings.Join(names, ", "))
}
