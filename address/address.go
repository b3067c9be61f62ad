package address

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Address is one parsed address. Its zero value is no address.
type Address struct {
	Scheme  string   // canonical
	Hosts   []string // host:port, in the order given
	Path    string   // unescaped; of a host address without the leading slash
	options []setting
	secrets Secrets // where they are looked up, once Reveal has told
	form    Form
}

type setting struct {
	name     string
	text     string // as given: of a secret a reference, or the secret itself
	secret   bool
	value    string // of a secret that was revealed
	revealed bool
}

// Parse reads an address of one of the forms.
func Parse(s string, forms []Form) (Address, error) {
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || scheme == "" {
		return Address{}, fmt.Errorf("%q is no address: it has no scheme%s", redactText(s), known(forms))
	}
	i := slices.IndexFunc(forms, func(f Form) bool { return slices.Contains(f.Schemes, strings.ToLower(scheme)) })
	if i < 0 {
		return Address{}, fmt.Errorf("unknown scheme %q%s", redactText(scheme), known(forms))
	}
	a := Address{Scheme: forms[i].Schemes[0], form: forms[i]}
	rest, query, _ := strings.Cut(rest, "?")
	err := a.parseOptions(query)
	if err == nil {
		if a.form.Opaque {
			err = a.parsePath(rest)
		} else {
			err = a.parseHosts(rest)
		}
	}
	if err != nil {
		return Address{}, fmt.Errorf("%s address: %w; it looks like %s", a.Scheme, err, a.form.Example)
	}
	return a, nil
}

// known tells the schemes, and how an address of the first one looks without its options.
func known(forms []Form) string {
	var all []string
	for _, f := range forms {
		all = append(all, f.Schemes[0])
	}
	slices.Sort(all)
	like, _, _ := strings.Cut(forms[0].Example, "?")
	return fmt.Sprintf(" (known: %s); an address looks like %s", strings.Join(all, ", "), like)
}

func (a *Address) parsePath(s string) (err error) {
	if strings.Contains(s, "#") {
		return fmt.Errorf("write # as %%23")
	}
	if a.Path, err = url.PathUnescape(s); err != nil {
		return fmt.Errorf("path: %w (write %% as %%25)", err)
	}
	if a.form.Opaque && a.Path == "" {
		return fmt.Errorf("the path is missing")
	}
	return nil
}

func (a *Address) parseHosts(s string) error {
	s, ok := strings.CutPrefix(s, "//")
	if !ok {
		return fmt.Errorf("// is missing after the scheme")
	}
	hosts, path, hasPath := strings.Cut(s, "/")
	if a.form.User && strings.Contains(path, "@") && !strings.Contains(hosts, "@") {
		return fmt.Errorf("a / before the @ is written as %%2F")
	}
	if i := strings.LastIndexByte(hosts, '@'); i >= 0 {
		if err := a.parseUser(hosts[:i]); err != nil {
			return err
		}
		hosts = hosts[i+1:]
	}
	if hasPath && path != "" && !a.form.Path {
		return fmt.Errorf("no path belongs behind the hosts")
	}
	if err := a.parsePath(path); err != nil {
		return err
	}
	for h := range strings.SplitSeq(hosts, ",") {
		host, err := normalHost(h, a.form.Port)
		if err != nil {
			return err
		}
		if slices.Contains(a.Hosts, host) {
			return fmt.Errorf("host %s stands twice", host)
		}
		a.Hosts = append(a.Hosts, host)
	}
	if len(a.Hosts) > 1 && !a.form.Many {
		return fmt.Errorf("only one host is possible")
	}
	return nil
}

func (a *Address) parseUser(s string) error {
	if !a.form.User {
		return fmt.Errorf("user and password do not belong before the host")
	}
	user, pass, hasPass := strings.Cut(s, ":")
	add := func(name, text string, secret bool) error {
		v, err := url.PathUnescape(text)
		if err != nil {
			return fmt.Errorf("the %s before @ is not escaped rightly (write %% as %%25)", name)
		}
		return a.set(setting{name: name, text: v, secret: secret})
	}
	if err := add("user", user, false); err != nil || !hasPass {
		return err
	}
	return add("password", pass, true)
}

func normalHost(s string, port int) (string, error) {
	if s == "" {
		return "", fmt.Errorf("a host is missing")
	}
	host, p, err := net.SplitHostPort(s)
	if err != nil {
		host, p = strings.Trim(s, "[]"), ""
		if strings.Count(host, ":") > 0 && !strings.HasPrefix(s, "[") {
			return "", fmt.Errorf("%q is not host:port (an IPv6 address stands in brackets)", host[:strings.IndexByte(host, ':')])
		}
		if strings.HasPrefix(s, "[") != strings.HasSuffix(s, "]") {
			return "", fmt.Errorf("a bracket around an IPv6 address is missing")
		}
	}
	if p == "" {
		if port == 0 {
			return "", fmt.Errorf("host %q needs a port", s)
		}
		p = strconv.Itoa(port)
	}
	if host == "" || strings.ContainsAny(host, " []@%/?#") {
		return "", fmt.Errorf("%q is no valid host", host)
	}
	// The port is not shown: behind an unescaped @ or ? it may be a password.
	if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("host %q has no valid port", host)
	}
	return net.JoinHostPort(strings.ToLower(host), p), nil
}

func (a *Address) parseOptions(query string) error {
	if query == "" {
		return nil
	}
	for kv := range strings.SplitSeq(query, "&") {
		name, text, _ := strings.Cut(kv, "=")
		opt, err := a.form.option(name)
		if err != nil {
			return err
		}
		// PathUnescape, not QueryUnescape: a plus sign is a plus sign.
		v, err := url.PathUnescape(text)
		if err != nil {
			return fmt.Errorf("option %s is not escaped rightly (write %% as %%25)", name)
		}
		if err := a.set(setting{name: name, text: v, secret: opt.Secret}); err != nil {
			return err
		}
	}
	return nil
}

func (a *Address) set(s setting) error {
	i, found := slices.BinarySearchFunc(a.options, s.name, func(o setting, n string) int { return strings.Compare(o.name, n) })
	if found {
		return fmt.Errorf("option %s is given twice", s.name)
	}
	a.options = slices.Insert(a.options, i, s)
	return nil
}

// Get answers an option's value, "" where it is not set. A secret is answered only after Reveal.
func (a Address) Get(name string) string {
	for _, o := range a.options {
		if o.name == name {
			if o.secret {
				return o.value
			}
			return o.text
		}
	}
	return ""
}

// Has tells whether the option was given.
func (a Address) Has(name string) bool {
	return slices.ContainsFunc(a.options, func(o setting) bool { return o.name == name })
}

// IsZero tells whether there is no address.
func (a Address) IsZero() bool { return a.Scheme == "" }

// String is the address in its normal form, without secrets: what is shown, logged and written into plans.
func (a Address) String() string { return a.print(func(setting) bool { return true }, false) }

// Quoted is String as it is typed into a shell.
func (a Address) Quoted() string { return "'" + strings.ReplaceAll(a.String(), "'", `'\''`) + "'" }

// Text is the address in its normal form with whatever was written into it. Parse(Text()) is the same address.
func (a Address) Text() string { return a.print(func(setting) bool { return true }, true) }

// Identity names the place alone: no user, no secret, no TLS. Two addresses of one place have the same.
func (a Address) Identity() string {
	b := a
	b.Hosts = slices.Sorted(slices.Values(a.Hosts))
	return b.print(func(s setting) bool {
		same := func(o Option) bool { return o.Name == s.name }
		return !s.secret && !slices.ContainsFunc(userOptions, same) && !slices.ContainsFunc(tlsOptions, same)
	}, false)
}

func (a Address) print(keep func(setting) bool, secrets bool) string {
	var b strings.Builder
	b.WriteString(a.Scheme + ":")
	special := "%?#"
	if !a.form.Opaque {
		b.WriteString("//" + strings.Join(a.Hosts, ","))
		if a.Path != "" {
			b.WriteByte('/')
		}
		special += "@"
	}
	b.WriteString(escape(a.Path, special))
	sep := "?"
	for _, o := range a.options {
		if !keep(o) {
			continue
		}
		v := escape(o.text, "%&#")
		if o.secret && !secrets && !isReference(o.text) {
			v = "***"
		}
		b.WriteString(sep + o.name + "=" + v)
		sep = "&"
	}
	return b.String()
}

// escape writes the given characters, blanks and control characters as %XX.
func escape(s, special string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == 0x7f || strings.IndexByte(special, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// redactText cuts what may be a password out of a text that is no address.
func redactText(s string) string {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		return "…" + s[i:]
	}
	return s
}
