package config

import (
	"strings"
	"testing"
)

func TestUseContext(t *testing.T) {
	got, err := UseContext([]byte(example), "prod-eu")
	if err != nil || string(got) != strings.Replace(example, "current-context: dev", "current-context: prod-eu", 1) {
		t.Errorf("%v\n%s", err, got)
	}
	for in, want := range map[string]string{
		"contexts:\n  b: {broker: x}\n":                              "current-context: b\ncontexts:\n  b: {broker: x}\n",
		"current-context:\ncontexts: {b: {broker: x}}\n":             "current-context: b\ncontexts: {b: {broker: x}}\n",
		"contexts: {b: {broker: x}}\ncurrent-context: \"a b\" # c\n": "contexts: {b: {broker: x}}\ncurrent-context: b # c\n",
		"contexts: {b: {broker: x}}\r\ncurrent-context: 'a'\r\n":     "contexts: {b: {broker: x}}\r\ncurrent-context: b\r\n",
	} {
		if got, err := UseContext([]byte(in), "b"); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	if got, err := UseContext([]byte("contexts:\n  \"007\": {broker: x}\n"), "007"); err != nil || load(t, string(got)).CurrentContext != "007" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestSetContext(t *testing.T) {
	for name, in := range map[string]string{"empty": "", "a comment": "# mine", "no contexts": "current-context: x\n"} {
		got, err := SetContext([]byte(in), "a", Context{Broker: "kafka://a", Brokers: []string{"x"}})
		if err != nil || !strings.HasPrefix(string(got), in) || load(t, string(got)).Contexts["a"].Broker != "kafka://a" {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	got, err := SetContext([]byte(example), "stage", Context{Broker: "kafka://stage", Protected: true})
	if err != nil || string(got) != example+"  stage:\n    broker: kafka://stage\n    protected: true\n" {
		t.Errorf("%v\n%s", err, got)
	}
	got, err = SetContext([]byte(example), "dev", Context{Broker: "kafka://other"})
	if err != nil || strings.Count(string(got), "#") != strings.Count(example, "#") || load(t, string(got)).Contexts["dev"].Broker != "kafka://other" {
		t.Errorf("%v\n%s", err, got)
	}
	if got, err := SetContext(nil, "a b", Context{}); err == nil {
		t.Errorf("%s", got)
	}
}

func TestDeleteContext(t *testing.T) {
	got, err := DeleteContext([]byte(example), "audit")
	if want, _, _ := strings.Cut(example, "  audit"); err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
	if got, err = DeleteContext([]byte(example), "prod-eu"); err != nil || len(load(t, string(got)).Contexts) != 2 || !strings.HasPrefix(string(got), "# Who may do what") {
		t.Errorf("%v\n%s", err, got)
	}
	if got, err = DeleteContext([]byte("contexts:\n  a:\n    broker: x\n"), "a"); err != nil || len(load(t, string(got)).Contexts) != 0 {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestForgetBroker(t *testing.T) {
	got, err := ForgetBroker([]byte(example), "prod-eu", "broker-a")
	if err != nil || string(got) != strings.Replace(example, "      - broker-a\n", "", 1) {
		t.Errorf("%v\n%s", err, got)
	}
	if got, err = ForgetBroker([]byte(example), "dev", "x"); err != nil || string(got) != strings.Replace(example, "[x, y]", "[y]", 1) {
		t.Errorf("%v\n%s", err, got)
	}
	if got, err = ForgetBroker(got, "dev", "y"); err != nil || len(load(t, string(got)).Contexts["dev"].Brokers) != 0 {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestEditRefused(t *testing.T) {
	for name, x := range map[string]struct {
		edit func(data []byte) ([]byte, error)
		in   string
		want string
	}{
		"use: no such context":    {func(b []byte) ([]byte, error) { return UseContext(b, "x") }, example, `no context "x"; there are ["audit" "dev" "prod-eu"]`},
		"use: broken":             {func(b []byte) ([]byte, error) { return UseContext(b, "x") }, "contexts: [", "line 1"},
		"use: a document mark":    {func(b []byte) ([]byte, error) { return UseContext(b, "a") }, "---\ncontexts: {a: {broker: x}}\n", "by hand"},
		"delete: the current one": {func(b []byte) ([]byte, error) { return DeleteContext(b, "dev") }, example, "use another first"},
		"delete: no such context": {func(b []byte) ([]byte, error) { return DeleteContext(b, "x") }, example, "no context"},
		"delete: an anchor's":     {func(b []byte) ([]byte, error) { return DeleteContext(b, "a") }, "contexts:\n  a: &x {broker: y}\n  b: *x\n", "by hand"},
		"forget: not expected":    {func(b []byte) ([]byte, error) { return ForgetBroker(b, "dev", "z") }, example, "does not expect a broker z"},
		"forget: no such context": {func(b []byte) ([]byte, error) { return ForgetBroker(b, "x", "z") }, example, "no context"},
	} {
		if got, err := x.edit([]byte(x.in)); err == nil || !strings.Contains(err.Error(), x.want) || got != nil {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

// An edited file says what it said, but for the edit, or the edit was refused.
func FuzzEdit(f *testing.F) {
	for _, s := range []string{example, "", "contexts: {a: {broker: x}}", "current-context: \"a#b\"\ncontexts:\n  a: &x {brokers: [y]}\n  b: *x\n", "---\n# x\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		before, err := Parse(in)
		if err != nil {
			return
		}
		for _, name := range before.Names() {
			if got, err := UseContext(in, name); err == nil && load(t, string(got)).CurrentContext != name {
				t.Fatalf("%q: %q", in, got)
			}
			if got, err := DeleteContext(in, name); err == nil && len(load(t, string(got)).Contexts) != len(before.Contexts)-1 {
				t.Fatalf("%q: %q", in, got)
			}
		}
		if got, err := SetContext(in, "new", Context{Broker: "kafka://new"}); err == nil && load(t, string(got)).Contexts["new"].Broker != "kafka://new" {
			t.Fatalf("%q: %q", in, got)
		}
	})
}
