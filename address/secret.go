package address

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Secrets looks secrets up where references point. Its functions come from the command line, which alone reads the environment.
type Secrets struct {
	Env     func(name string) (string, bool)
	File    func(path string) (string, error)
	Command func(line string) (string, error)
}

var references = []string{"env:", "file:", "command:"}

func isReference(s string) bool {
	return slices.ContainsFunc(references, func(p string) bool { return strings.HasPrefix(s, p) })
}

// Lookup answers what a reference points to; any other text is the secret itself. Trailing line ends are cut.
func (l Secrets) Lookup(ref string) (v string, err error) {
	kind, what, _ := strings.Cut(ref, ":")
	switch {
	case strings.HasPrefix(ref, "env:"):
		var ok bool
		if v, ok = l.Env(what); !ok {
			err = errors.New("it is not set")
		}
	case strings.HasPrefix(ref, "file:"):
		v, err = l.File(what)
	case strings.HasPrefix(ref, "command:"):
		v, err = l.Command(what)
	default:
		return ref, nil
	}
	if err != nil {
		return "", fmt.Errorf("secret %s:%s: %w", kind, what, err)
	}
	return strings.TrimRight(v, "\r\n"), nil
}

// Reveal answers the address with its secrets looked up, so that Get answers them.
func (a Address) Reveal(l Secrets) (Address, error) {
	a.secrets = l
	return a.lookedUp(func(s setting) bool { return !s.revealed })
}

// Renew answers a revealed address with those secrets looked up once more that files and commands give: what expires is replaced
// there. The address itself keeps what it has.
func (a Address) Renew() (Address, error) {
	return a.lookedUp(func(s setting) bool { return isReference(s.text) && !strings.HasPrefix(s.text, "env:") })
}

// lookedUp answers the address with the secrets filled in for which it is due.
func (a Address) lookedUp(due func(setting) bool) (Address, error) {
	a.options = slices.Clone(a.options)
	for i, o := range a.options {
		if !o.secret || !due(o) {
			continue
		}
		v, err := a.secrets.Lookup(o.text)
		if err != nil {
			return Address{}, fmt.Errorf("%s address, option %s: %w", a.Scheme, o.name, err)
		}
		a.options[i].value, a.options[i].revealed = v, true
	}
	return a, nil
}
