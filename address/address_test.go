package address

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var forms = []Form{
	{Schemes: []string{"kafka"}, Example: "kafka://h1:9092,h2:9092", Port: 9092, Many: true, User: true, TLS: true, Options: []Option{{Name: "sasl", Value: "plain"}}},
	{Schemes: []string{"postgres", "postgresql"}, Example: "postgres://user@host/db", Port: 5432, Path: true, User: true, TLS: true},
	{Schemes: []string{"sqlite"}, Example: "sqlite:offsets.db", Opaque: true, Options: []Option{{Name: "table", Value: "NAME"}}},
}

func TestParse(t *testing.T) {
	for _, x := range []struct{ in, text, shown, identity string }{
		{"kafka://H1,h2:9093?sasl=plain&user=a&password=env:P", "kafka://h1:9092,h2:9093?password=env:P&sasl=plain&user=a", "kafka://h1:9092,h2:9093?password=env:P&sasl=plain&user=a", "kafka://h1:9092,h2:9093?sasl=plain"},
		{"kafka://a:s%40crt@h2,h1", "kafka://h2:9092,h1:9092?password=s@crt&user=a", "kafka://h2:9092,h1:9092?password=***&user=a", "kafka://h1:9092,h2:9092"},
		{"postgresql://u@[::1]/my%3Fdb", "postgres://[::1]:5432/my%3Fdb?user=u", "postgres://[::1]:5432/my%3Fdb?user=u", "postgres://[::1]:5432/my%3Fdb"},
		{"sqlite:/tmp/odd%3Fx%23y.db?table=a+b", "sqlite:/tmp/odd%3Fx%23y.db?table=a+b", "sqlite:/tmp/odd%3Fx%23y.db?table=a+b", "sqlite:/tmp/odd%3Fx%23y.db?table=a+b"},
	} {
		a, err := Parse(x.in, forms)
		if err != nil {
			t.Errorf("%s: %v", x.in, err)
			continue
		}
		if a.Text() != x.text || a.String() != x.shown || a.Identity() != x.identity {
			t.Errorf("%s:\n text %s\nshown %s\nident %s", x.in, a.Text(), a.String(), a.Identity())
		}
	}
}

func TestRefused(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "no scheme",
		"nats://h":                   "unknown scheme",
		"localhost":                  "has no scheme (known: kafka, postgres, sqlite); an address looks like kafka://h1:9092,h2:9092",
		"localhost:9092":             "unknown scheme \"localhost\" (known: kafka, postgres, sqlite); an address looks like kafka://",
		"kafka:h":                    "// is missing",
		"kafka://":                   "a host is missing",
		"kafka://h,":                 "a host is missing",
		"kafka://h:99999":            "no valid port",
		"kafka://h,H:9092":           "stands twice",
		"kafka://h/x":                "no path",
		"kafka://h?colour=red":       "unknown option \"colour\": a kafka address has ca, cert",
		"kafka://h?sasl=a&sasl=b":    "given twice",
		"kafka://u@h?user=v":         "given twice",
		"postgres://a,b/db":          "only one host",
		"sqlite:":                    "path is missing",
		"sqlite:100%.db":             "write % as %25",
		"sqlite:a#b":                 "write # as %23",
		"postgres://u:pa%ss@h/db":    "not escaped rightly",
		"postgres://u:secret@h:x/d":  "no valid port",
		"postgres://u:secret/@h/d":   "written as %2F",
		"postgres://u:secret?@h/d":   "unknown option",
		"kafka://a:b:secret":         "is not host:port",
		"postgres://u:secret@[::1/d": "a bracket around an IPv6 address is missing",
		"postgres://u:secret@::1]/d": "is not host:port",
	} {
		_, err := Parse(in, forms)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows the password: %v", in, err)
		}
	}
}

func TestReveal(t *testing.T) {
	l := Secrets{Env: func(n string) (string, bool) { return "pw-" + n + "\n", n == "P" }}
	a, err := Parse("kafka://h?user=u&password=env:P", forms)
	if err != nil {
		t.Fatal(err)
	}
	if a.Get("password") != "" {
		t.Error("a secret was there before it was revealed")
	}
	b, err := a.Reveal(l)
	if err != nil || b.Get("password") != "pw-P" || strings.Contains(b.String(), "pw-P") {
		t.Error(b, err)
	}
	a, _ = Parse("kafka://h?password=env:NOPE", forms)
	if _, err = a.Reveal(l); err == nil || !strings.Contains(err.Error(), "env:NOPE: it is not set") {
		t.Error(err)
	}
}

// What a file or a command gives may be another secret by now; what the environment gives cannot change.
func TestRenew(t *testing.T) {
	n := 0
	count := func(kind string) (string, error) { n++; return fmt.Sprint(kind, n), nil }
	l := Secrets{
		Env:     func(string) (string, bool) { v, _ := count("env"); return v, true },
		File:    func(string) (string, error) { return count("file") },
		Command: func(string) (string, error) { return count("command") },
	}
	for in, want := range map[string][2]string{
		"plain": {"plain", "plain"}, "env:P": {"env1", "env1"}, "file:/p": {"file1", "file2"}, "command:p": {"command1", "command2"},
	} {
		n = 0
		a, err := Parse("kafka://h?user=u&password="+in, forms)
		if err == nil {
			a, err = a.Reveal(l)
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := a.Renew()
		if got := [2]string{a.Get("password"), b.Get("password")}; err != nil || got != want || b.Text() != a.Text() {
			t.Errorf("%s: %q, want %q, %v", in, got, want, err)
		}
	}
	a, _ := Parse("kafka://h?password=file:/p", forms)
	a, _ = a.Reveal(l)
	a.secrets.File = func(string) (string, error) { return "", errors.New("gone") }
	if _, err := a.Renew(); err == nil || !strings.Contains(err.Error(), "file:/p: gone") {
		t.Error(err)
	}
}

func TestPrintParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.OneOf(
			rapid.StringMatching(`kafka://([a-z]{1,4}(:[1-9][0-9]{0,3})?)(\?(sasl|user|ca)=[ -~]{0,9})?`),
			rapid.StringMatching(`sqlite:[ -~]{1,12}(\?table=[ -~é世]{0,9})?`),
			rapid.StringMatching(`postgres://([ -~]{0,6}@)?(h|\[::1\])/[ -~]{0,6}`),
		).Draw(t, "in")
		a, err := Parse(in, forms)
		if err != nil {
			return
		}
		b, err := Parse(a.Text(), forms)
		if err != nil || a.Text() != b.Text() || a.Path != b.Path || a.Identity() != b.Identity() {
			t.Fatalf("%q printed as %q: %v", in, a.Text(), err)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"kafka://u:p@h1,h2:1?sasl=plain", "sqlite:a%3F?table=x", "postgres://[::1]/d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := Parse(s, forms)
		if err != nil {
			return
		}
		if b, err := Parse(a.Text(), forms); err != nil || b.Text() != a.Text() {
			t.Fatalf("%q printed as %q: %v", s, a.Text(), err)
		}
	})
}

// A command that is offered can be pasted: nothing in an address means anything to the shell.
func TestQuoted(t *testing.T) {
	a, err := Parse("x:a'b.db?table=t&who=$HOME", []Form{{Schemes: []string{"x"}, Opaque: true, Options: []Option{{Name: "table"}, {Name: "who"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if want := `'x:a'\''b.db?table=t&who=$HOME'`; a.Quoted() != want {
		t.Errorf("%s; it should be: %s", a.Quoted(), want)
	}
}
