package config

import (
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/address"
)

var forms = []address.Form{
	{Schemes: []string{"kafka"}, Example: "kafka://h1:9092", Port: 9092, Many: true, User: true, TLS: true},
	{Schemes: []string{"mysql"}, Example: "mysql://u@h/db", Port: 3306, Path: true, User: true},
	{Schemes: []string{"sqlite"}, Example: "sqlite:FILE", Opaque: true},
}

func parse(text string) (address.Address, error) { return address.Parse(text, forms) }

func env(vars ...string) Env {
	return func(name string) (string, bool) {
		for _, v := range vars {
			if k, v, _ := strings.Cut(v, "="); k == name {
				return v, true
			}
		}
		return "", false
	}
}

const example = `# Who may do what: see the team's page.
current-context: dev # for every day

contexts:
  # billing and audit
  prod-eu:
    broker: kafka://k1.prod-eu:9093,k2.prod-eu:9093?tls=on&user=svc&password=env:KAFKA_PASSWORD
    store: mysql://offsets@db/jobs # most jobs
    stores:
      billing: mysql://billing@db2/billing
    journal: /var/lib/offsetctl
    protected: true
    brokers:
      - broker-b # the new one
      - broker-a
    limits:
      max-skip: 100000
      timeout: 10s
      settle: 1d
  dev:
    broker: kafka://localhost
    brokers: [x, y]
  audit: {broker: "kafka://audit", read-only: true}
`

func load(t *testing.T, text string) File {
	t.Helper()
	f, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	f.Path = "/etc/offsetctl.yaml"
	return f
}

func TestParse(t *testing.T) {
	f := load(t, example)
	skip, timeout, settle := Count(100000), Duration(10*time.Second), Duration(24*time.Hour)
	want := File{CurrentContext: "dev", Path: f.Path, Contexts: map[string]Context{
		"prod-eu": {
			Broker: "kafka://k1.prod-eu:9093,k2.prod-eu:9093?tls=on&user=svc&password=env:KAFKA_PASSWORD", Store: "mysql://offsets@db/jobs",
			Stores: map[string]string{"billing": "mysql://billing@db2/billing"}, Journal: "/var/lib/offsetctl", Protected: true,
			Brokers: []string{"broker-b", "broker-a"}, Limits: Limits{MaxSkip: &skip, Timeout: &timeout, Settle: &settle},
		},
		"dev":   {Broker: "kafka://localhost", Brokers: []string{"x", "y"}},
		"audit": {Broker: "kafka://audit", ReadOnly: true},
	}}
	if !reflect.DeepEqual(f, want) {
		t.Errorf("%+v", f)
	}
	for _, empty := range []string{"", "\n", "# nothing yet\n", "---\n", "contexts:\n"} {
		if f, err := Parse([]byte(empty)); err != nil || len(f.Contexts) != 0 || f.CurrentContext != "" {
			t.Errorf("%q: %+v, %v", empty, f, err)
		}
	}
}

// No message has a piece of a value in it: it may be a secret.
func TestParseRefused(t *testing.T) {
	in := func(text string) string { return "contexts:\n  a:\n    " + text + "\n" }
	for text, want := range map[string]string{
		in("brokr: kafka://u:SECRET@h"):                `line 3: unknown key "brokr"`,
		"context: {}\n":                                `line 1: unknown key "context"`,
		in("limits: {max-lag: 5}"):                     `line 3: unknown key "max-lag"`,
		in("protected: SECRET"):                        "line 3: true or false is expected",
		in("broker: [SECRET]"):                         "line 3: a text is expected",
		in("brokers: SECRET"):                          "line 3: ",
		in("broker: x\n    broker: SECRET"):            `line 4: mapping key "broker" already defined`,
		in("broker: \"SECRET"):                         "line 3: could not find end",
		in("broker: *SECRET"):                          "line 3: could not find alias",
		in("broker: @SECRET"):                          "line 3: '@' is a reserved character",
		in("limits: {timeout: 5}"):                     `line 3: duration "5" has no unit`,
		in("limits: {timeout: [5]}"):                   "line 3: ",
		in("limits: {max-skip: 1.5}"):                  `line 3: "1.5" is no number of records`,
		in("limits: {max-skip: -1}"):                   `line 3: "-1" is no number of records`,
		in("limits: {max-skip: 99999999999999999999}"): "line 3: ",
		in("journal: var/journal"):                     "depends on the working directory",
		in("brokers: !x\nSECRET"):                      "look for a tag",
		"contexts: [a]\n":                              "line 1: a mapping is expected",
		"contexts:\n\ta: b\n":                          "line 2: ",
		"hello SECRET":                                 "line 1: a mapping is expected",
		"contexts:\n  a: SECRET\n":                     "line 2: ",
		"contexts:\n  a b: {}\n":                       "a name has no blanks",
		"contexts: {}\n---\ncontexts: {}\n":            "more than one document",
		"contexts: {}\n---\nbroker: SECRET\n":          "more than one document",
		"contexts:\n  a: {}\n  a: {}\n":                "already defined",
	} {
		f, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %+v, %v; want %q", text, f, err, want)
		}
	}
}

func TestFind(t *testing.T) {
	for _, x := range []struct {
		flag string
		env  Env
		want Place
	}{
		{"x.yaml", env("OFFSETCTL_CONFIG=/e.yaml", "HOME=/home/anna"), Place{"x.yaml", "--config"}},
		{"", env("OFFSETCTL_CONFIG=/e.yaml", "HOME=/home/anna"), Place{"/e.yaml", "OFFSETCTL_CONFIG"}},
		{"", env("XDG_CONFIG_HOME=/xdg", "HOME=/home/anna"), Place{Path: "/xdg/offsetctl/config.yaml"}},
		{"", env("HOME=/home/anna"), Place{Path: "/home/anna/.config/offsetctl/config.yaml"}},
		{"", env("XDG_CONFIG_HOME=relative", "HOME=/home/anna"), Place{Path: "/home/anna/.config/offsetctl/config.yaml"}},
		{"", env(), Place{}},
		{"", env("HOME=."), Place{}},
	} {
		if got := Find(x.flag, x.env); got != x.want {
			t.Errorf("%+v, want %+v", got, x.want)
		}
	}
	if got := StateDir(env("HOME=/home/anna")); got != "/home/anna/.local/state/offsetctl" {
		t.Error(got)
	}
	if got := StateDir(env("XDG_STATE_HOME=/s", "HOME=/home/anna")); got != "/s/offsetctl" {
		t.Error(got)
	}
}

func TestLoad(t *testing.T) {
	literal := "contexts:\n  a:\n    stores: {g: 'mysql://u:SECRET@h/db'}\n"
	unreadable := "contexts:\n  a:\n    broker: 'kafka:u:SECRET@h'\n"
	for _, x := range []struct {
		name, text    string
		mode          fs.FileMode
		place         Place
		warning, fail string
	}{
		{"private", literal, 0o600, Place{Path: "/c"}, "", ""},
		{"read-only", literal, 0o400, Place{Path: "/c"}, "", ""},
		{"read by the group", literal, 0o640, Place{Path: "/c"}, "may be read by its group, and context a has a secret", ""},
		{"read by all", literal, 0o644, Place{Path: "/c"}, "", "may be read by everybody, and context a has a secret"},
		{"read by others alone", literal, 0o604, Place{Path: "/c"}, "", "chmod 600 /c"},
		{"may be a secret", unreadable, 0o644, Place{Path: "/c"}, "", "context a has a secret"},
		{"no secret in it", example, 0o644, Place{Path: "/c"}, "", ""},
		{"no secret in it, group may write", example, 0o664, Place{Path: "/c"}, "", ""},
		{"written by all", example, 0o666, Place{Path: "/c"}, "", "may be written by everybody"},
		{"broken", "contexts: [", 0o600, Place{Path: "/c"}, "", "configuration file /c: line 1: "},
		{"too large", strings.Repeat("#", 1<<20+1), 0o600, Place{Path: "/c"}, "", "larger than 1 MiB"},
		{"not there", "", 0, Place{Path: "/none"}, "", ""},
		{"not there, though named", "", 0, Place{"/none", "--config"}, "", "configuration file (--config): open /none"},
		{"not to be read", "", 0, Place{Path: "/denied"}, "", "permission denied"},
		{"nowhere", "", 0, Place{}, "", ""},
	} {
		read := func(path string) ([]byte, fs.FileMode, error) {
			switch path {
			case "/none":
				return nil, 0, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
			case "/denied":
				return nil, 0, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
			}
			return []byte(x.text), x.mode, nil
		}
		f, warning, err := Load(x.place, Access{read, parse})
		if x.fail == "" && err != nil || x.fail != "" && (err == nil || !strings.Contains(err.Error(), x.fail)) {
			t.Errorf("%s: %v; want %q", x.name, err, x.fail)
		}
		if (x.warning == "") != (warning == "") || !strings.Contains(warning, x.warning) {
			t.Errorf("%s: warning %q, want %q", x.name, warning, x.warning)
		}
		if err != nil && (strings.Contains(err.Error(), "SECRET") || !reflect.DeepEqual(f, File{})) {
			t.Errorf("%s: %v, %+v", x.name, err, f)
		}
		if err == nil && x.place.Path == "/c" && f.Path != "/c" {
			t.Errorf("%s: path %q", x.name, f.Path)
		}
	}
}

func same(a, b string) bool {
	x, err := parse(a)
	y, err2 := parse(b)
	return err == nil && err2 == nil && x.Identity() == y.Identity()
}

func TestResolve(t *testing.T) {
	f := load(t, example)
	const prod, dev = "kafka://k1.prod-eu:9093,k2.prod-eu:9093?tls=on&user=svc&password=env:KAFKA_PASSWORD", "kafka://localhost"
	for _, x := range []struct {
		name                 string
		given                Given
		broker, store, other string // store: of group billing, other: of any other
		source               string
	}{
		{"current context", Given{Env: env()}, dev, "", "", "context dev from /etc/offsetctl.yaml"},
		{"typed context", Given{Context: "prod-eu", Env: env()}, prod, "mysql://billing@db2/billing", "mysql://offsets@db/jobs", "context prod-eu from /etc/offsetctl.yaml"},
		{"typed context beats the environment", Given{Context: "prod-eu", Env: env("OFFSETCTL_BROKER=kafka://e", "OFFSETCTL_STORE=sqlite:e", "OFFSETCTL_CONTEXT=dev")}, prod, "mysql://billing@db2/billing", "mysql://offsets@db/jobs", "context prod-eu from /etc/offsetctl.yaml"},
		{"typed context and store", Given{Context: "prod-eu", Store: "sqlite:x", Env: env()}, prod, "sqlite:x", "sqlite:x", "context prod-eu from /etc/offsetctl.yaml"},
		{"typed broker", Given{Broker: "kafka://b", Env: env("OFFSETCTL_CONTEXT=prod-eu", "OFFSETCTL_BROKER=kafka://e")}, "kafka://b", "", "", "--broker"},
		{"typed broker and store", Given{Broker: "kafka://b", Store: "sqlite:x", Env: env("OFFSETCTL_STORE=sqlite:e")}, "kafka://b", "sqlite:x", "sqlite:x", "--broker"},
		{"environment", Given{Env: env("OFFSETCTL_BROKER=kafka://e", "OFFSETCTL_STORE=sqlite:e")}, "kafka://e", "sqlite:e", "sqlite:e", "OFFSETCTL_BROKER"},
		{"environment without store", Given{Env: env("OFFSETCTL_BROKER=kafka://e")}, "kafka://e", "", "", "OFFSETCTL_BROKER"},
		{"context of the environment", Given{Env: env("OFFSETCTL_CONTEXT=prod-eu")}, prod, "mysql://billing@db2/billing", "mysql://offsets@db/jobs", "context prod-eu from /etc/offsetctl.yaml"},
		{"context and store of the environment", Given{Env: env("OFFSETCTL_CONTEXT=prod-eu", "OFFSETCTL_STORE=sqlite:e")}, prod, "sqlite:e", "sqlite:e", "context prod-eu from /etc/offsetctl.yaml"},
		{"a store alone", Given{Store: "sqlite:x", StoreOnly: true, Env: env("OFFSETCTL_BROKER=kafka://e")}, "", "sqlite:x", "sqlite:x", "--store"},
		{"a set and empty variable is none", Given{Env: env("OFFSETCTL_BROKER=", "OFFSETCTL_STORE=")}, dev, "", "", "context dev from /etc/offsetctl.yaml"},
	} {
		x.given.Same = same
		s, err := Resolve(f, x.given)
		if err != nil || s.Broker != x.broker || s.StoreFor("billing") != x.store || s.StoreFor("other") != x.other || s.Source != x.source {
			t.Errorf("%s: %+v, %v", x.name, s, err)
		}
		if s.TypedContext != (x.given.Context != "") {
			t.Errorf("%s: typed is %v", x.name, s.TypedContext)
		}
	}
	s, err := Resolve(f, Given{Context: "prod-eu", Env: env()})
	if err != nil || s.Journal != "/var/lib/offsetctl" || !s.Protected || s.ReadOnly || !reflect.DeepEqual(s.Expected, []string{"broker-a", "broker-b"}) || *s.Limits.MaxSkip != 100000 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = Resolve(File{}, Given{Env: env(), Same: same}); err != nil || !reflect.DeepEqual(s, Settings{}) {
		t.Errorf("nothing at all: %+v, %v", s, err)
	}
}

func TestResolveRefused(t *testing.T) {
	f := load(t, example)
	for _, x := range []struct {
		name  string
		file  File
		given Given
		want  string
	}{
		{"two brokers typed", f, Given{Context: "dev", Broker: "kafka://b", Env: env()}, "--context and --broker both"},
		{"two brokers in the environment", f, Given{Env: env("OFFSETCTL_BROKER=kafka://e", "OFFSETCTL_CONTEXT=dev")}, "OFFSETCTL_BROKER and OFFSETCTL_CONTEXT both"},
		{"typed broker, store of the environment", f, Given{Broker: "kafka://b", Env: env("OFFSETCTL_STORE=sqlite:e")}, "the broker comes from --broker and the store from OFFSETCTL_STORE"},
		{"typed store, broker of the environment", f, Given{Store: "sqlite:x", Env: env("OFFSETCTL_BROKER=kafka://e")}, "add --broker"},
		{"typed store, context of the environment", f, Given{Store: "sqlite:x", Env: env("OFFSETCTL_CONTEXT=prod-eu")}, "add --context prod-eu"},
		{"typed store, current context", f, Given{Store: "sqlite:x", Env: env()}, "add --context dev"},
		{"store of the environment, current context", f, Given{Env: env("OFFSETCTL_STORE=sqlite:e")}, "set OFFSETCTL_CONTEXT=dev too"},
		{"no such context", f, Given{Context: "prod", Env: env()}, `context "prod" (--context) is not in /etc/offsetctl.yaml, which has audit, dev, prod-eu`},
		{"no such context in the environment", f, Given{Env: env("OFFSETCTL_CONTEXT=prod")}, "(OFFSETCTL_CONTEXT) is not in"},
		{"no file", File{}, Given{Context: "prod", Env: env()}, "there is no configuration file"},
		{"no contexts", File{Path: "/c"}, Given{Context: "prod", Env: env()}, "there is none in /c"},
		{"current context is gone", File{CurrentContext: "x", Path: "/c", Contexts: map[string]Context{"y": {}}}, Given{Env: env()}, `context "x" (current-context) is not in /c`},
		{"no broker", File{Path: "/c", Contexts: map[string]Context{"y": {}}}, Given{Context: "y", Env: env()}, "context y in /c has no broker"},
		{"no home", File{Path: "/c", Contexts: map[string]Context{"y": {Broker: "b", Journal: "~/j"}}}, Given{Context: "y", Env: env()}, "needs HOME"},
	} {
		s, err := Resolve(x.file, x.given)
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %+v, %v; want %q", x.name, s, err, x.want)
		}
	}
}

func TestNoInput(t *testing.T) {
	for _, x := range []struct {
		flag bool
		env  Env
		want bool
	}{
		{false, env(), false}, {true, env(), true}, {false, env("OFFSETCTL_NO_INPUT=1"), true}, {false, env("OFFSETCTL_NO_INPUT=false"), false}, {false, env("OFFSETCTL_NO_INPUT="), false},
		{false, env("CI=true"), true}, {false, env("CI=0"), false}, {true, env("CI=false"), true},
	} {
		if s, err := Resolve(File{}, Given{NoInput: x.flag, Env: x.env}); err != nil || s.NoInput != x.want {
			t.Errorf("%+v, %v", s, err)
		}
	}
}

func TestJournalBelowHome(t *testing.T) {
	f := File{Path: "/c", Contexts: map[string]Context{"y": {Broker: "b", Journal: "~/j/k"}}}
	if s, err := Resolve(f, Given{Context: "y", Env: env("HOME=/home/anna")}); err != nil || s.Journal != "/home/anna/j/k" {
		t.Error(s, err)
	}
}

func TestGuard(t *testing.T) {
	f := load(t, example)
	for _, x := range []struct {
		name                       string
		given                      Given
		protected, readOnly, typed bool
		by                         string
	}{
		{"not protected", Given{Env: env()}, false, false, false, "dev"},
		{"protected, typed", Given{Context: "prod-eu", Env: env()}, true, false, true, "prod-eu"},
		{"protected, not typed", Given{Env: env("OFFSETCTL_CONTEXT=prod-eu")}, true, false, false, "prod-eu"},
		{"protected, by its address", Given{Broker: "kafka://K2.prod-eu:9093,k1.prod-eu:9093", Env: env()}, true, false, false, "prod-eu"},
		{"another address", Given{Broker: "kafka://k9", Env: env()}, false, false, false, ""},
		{"read-only", Given{Context: "audit", Env: env()}, false, true, true, "audit"},
		{"read-only, by its address", Given{Env: env("OFFSETCTL_BROKER=kafka://audit")}, false, true, false, "audit"},
	} {
		x.given.Same = same
		s, err := Resolve(f, x.given)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		if s.Protected != x.protected || s.ReadOnly != x.readOnly || s.TypedContext != x.typed || s.GuardedBy() != x.by {
			t.Errorf("%s: %+v, guarded by %q", x.name, s, s.GuardedBy())
		}
	}
}

func TestView(t *testing.T) {
	f := load(t, `current-context: a
contexts:
  a:
    broker: kafka://u:SECRET@h
    store: mysql://u@h/db?password=SECRET
    stores: {g: "mysql:SECRET@x", h: "sqlite:f.db"}
    journal: mysql://u:SECRET@h/j
    limits: {timeout: 90s}
  b: {broker: "kafka://h?user=u&password=env:PW", journal: /var/j}
`)
	got, err := f.View(parse)
	want := `current-context: a
contexts:
  a:
    broker: kafka://h:9092?password=***&user=u
    store: mysql://h:3306/db?password=***&user=u
    stores:
      g: "*** (cannot be read, so it is not shown)"
      h: sqlite:f.db
    journal: mysql://h:3306/j?password=***&user=u
    limits:
      timeout: 1m30s
  b:
    broker: kafka://h:9092?password=env:PW&user=u
    journal: /var/j
`
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
	if f.Contexts["a"].Stores["g"] != "mysql:SECRET@x" {
		t.Error("the file itself was changed")
	}
}
