package cmd

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/demo"
)

// terminal is somebody at a terminal of the demo's world who types an answer.
func terminal(t *testing.T, env map[string]string, answer string, args ...string) (code int, out, asked string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	sys := &IO{In: strings.NewReader(answer), Out: &stdout, Err: &stderr, InTTY: true, ErrTTY: true, Now: time.Now,
		Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	code = Run(ctx, sys, args)
	return code, stdout.String(), stderr.String()
}

// TestConsentOnATerminal: the default is no; a skip that nobody asked for takes the group's name typed.
func TestConsentOnATerminal(t *testing.T) {
	dir := t.TempDir()
	w, err := demo.Start(t.Context(), dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	env := map[string]string{"OFFSETCTL_CONFIG": w.Config, "XDG_STATE_HOME": dir}
	mend := []string{"reset", "-g", "billing", "-t", "orders:1", "--repair"}
	skip := []string{"reset", "-g", "billing", "-t", "orders:3", "--to-time", "-2h"}
	one := []string{"reset", "-g", "billing", "-t", "orders:0,5", "--to-offset", "100"}
	for _, x := range []struct {
		name, answer string
		args         []string
		code         int
		asked, out   string
	}{
		{"no answer", "", mend, exitRefused, "Write this? [y/N]", ""},
		{"enter alone", "\n", mend, exitRefused, "Write this? [y/N]", ""},
		{"no", "n\n", mend, exitRefused, "refused, nothing written", ""},
		{"yes", "y\n", mend, exitOK, "Write this? [y/N]", "written 1 of 1"},
		{"a skip, and yes", "yes\n", skip, exitRefused, `type "billing"`, ""},
		{"a skip with --yes alone", "\n", append(skip[:len(skip):len(skip)], "--yes"), exitRefused, `type "billing"`, ""},
		{"a skip, and another group", "shop\n", skip, exitRefused, "skips 190 unread records", ""},
		{"one number for several", "n\n", one, exitRefused, "One number, 100, for all of 2 partitions", ""},
		{"nobody may be asked", "y\n", append(one[:len(one):len(one)], "--no-input"), exitRefused, "repeat with --yes", ""},
		{"a skip, and the group's name", "billing\n", skip, exitOK, "type", "written 1 of 1"},
		{"a new group", "y\n", []string{"reset", "-g", "billling", "-t", "payments", "--to-earliest"}, exitOK, "NEW GROUP", "written 1 of 1"},
	} {
		code, out, asked := terminal(t, env, x.answer, x.args...)
		if code != x.code || !strings.Contains(asked, x.asked) || !strings.Contains(out, x.out) {
			t.Errorf("%s: exit code %d, want %d\n%s%s", x.name, code, x.code, out, asked)
		}
	}
}
