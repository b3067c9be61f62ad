package cmd

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/demo"
	"github.com/twmb/franz-go/pkg/kgo"
)

// terminal is somebody at a terminal of the demo's world who types an answer.
func terminal(t *testing.T, env map[string]string, answer string, args ...string) (code int, out, asked string) {
	return on(t, env, &IO{In: strings.NewReader(answer), InTTY: true, ErrTTY: true}, args...)
}

// on runs a command with a terminal or without one.
func on(t *testing.T, env map[string]string, sys *IO, args ...string) (code int, out, said string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	sys.Out, sys.Err, sys.Now = &stdout, &stderr, time.Now
	sys.Env = func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	code = Run(ctx, sys, args)
	return code, stdout.String(), stderr.String()
}

// fixture is the demo's broker and stores, a folder, and the environment that leads to them.
func fixture(t *testing.T) (w *demo.World, dir string, env map[string]string) {
	t.Helper()
	dir = t.TempDir()
	w, err := demo.Start(t.Context(), dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w, dir, map[string]string{"OFFSETCTL_CONFIG": w.Config, "XDG_STATE_HOME": dir}
}

// TestConsentOnATerminal: the default is no; a skip that nobody asked for takes the group's name typed.
func TestConsentOnATerminal(t *testing.T) {
	_, _, env := fixture(t)
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

// TestDryRunIsRefusedAsTheWriteWouldBe: by the context, and where more than a yes is missing and nobody can be asked.
func TestDryRunIsRefusedAsTheWriteWouldBe(t *testing.T) {
	w, dir, env := fixture(t)
	contexts := filepath.Join(dir, "contexts.yaml")
	text := fmt.Sprintf("contexts:\n  prod: {broker: %q, protected: true}\n  ro: {broker: %q, read-only: true}\n", w.Broker, w.Broker)
	if err := os.WriteFile(contexts, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := filepath.Join(dir, "skip.json")
	skip := []string{"reset", "-g", "billing", "-t", "orders:3", "--to-time", "-2h"}
	if code, _, said := terminal(t, env, "", append(skip[:len(skip):len(skip)], "--plan-out", plan)...); code != exitOK {
		t.Fatal(said)
	}
	guarded := map[string]string{"OFFSETCTL_CONFIG": contexts, "XDG_STATE_HOME": dir}
	mend := []string{"reset", "-g", "billing", "-t", "orders:1", "--repair"}
	for _, x := range []struct {
		name string
		env  map[string]string
		args []string
		code int
		said string
	}{
		{"a plain write", env, append(mend, "--no-input"), exitOK, ""},
		{"a skip", env, append(skip, "--no-input"), exitRefused, "repeat with --allow-skip; --rewind-only instead"},
		{"a skip, and somebody can be asked", env, skip, exitOK, "the write asks first: it skips 190"},
		{"a skip of a saved plan", env, []string{"apply", plan, "--no-input"}, exitRefused, "a plan made anew with --rewind-only"},
		{"a new group", env, []string{"reset", "-g", "biling", "-t", "payments", "--to-earliest", "--no-input"}, exitRefused, "repeat with --new-group"},
		{"a read-only context", guarded, append(mend, "--context", "ro"), exitRefused, "context ro is read-only"},
		{"a protected context", guarded, append(mend, "--context", "prod", "--no-input"), exitRefused, "repeat with --confirm billing"},
		{"a protected context, confirmed", guarded, append(mend, "--context", "prod", "--no-input", "--confirm", "billing"), exitOK, ""},
	} {
		code, out, said := terminal(t, x.env, "", append(x.args[:len(x.args):len(x.args)], "--dry-run")...)
		if code != x.code || !strings.Contains(said, x.said) || !strings.Contains(out, "dry run: nothing was written") {
			t.Errorf("%s: exit code %d, want %d\n%s%s", x.name, code, x.code, out, said)
		}
	}
}

// TestUndoWithoutAnID: the last write of the context that is in force, to whichever of its stores.
func TestUndoWithoutAnID(t *testing.T) {
	_, _, env := fixture(t)
	for _, x := range []struct {
		out  string
		args []string
	}{
		{"undo 1", []string{"reset", "-g", "billing", "-t", "orders:0", "--to-earliest", "--yes"}},
		{"undo 2", []string{"reset", "-g", "etl", "-t", "orders:0", "--to-earliest", "--yes", "--settle", "0"}},
		{"UNDO 2 ", []string{"undo", "--yes", "--settle", "0"}},      // 3, in the table of the group's job
		{"UNDO 3 ", []string{"undo", "3", "--yes", "--settle", "0"}}, // 4: 2 is in force again
		{"UNDO 2 ", []string{"undo", "--dry-run", "--settle", "0"}},
		{"UNDO 2 ", []string{"undo", "--yes", "--settle", "0"}}, // 5
		{"UNDO 1 ", []string{"undo", "--yes", "--settle", "0"}}, // 6
	} {
		if code, out, said := terminal(t, env, "", x.args...); code != exitOK || !strings.Contains(out, x.out) {
			t.Errorf("%v: exit code %d, want %q in\n%s%s", x.args, code, x.out, out, said)
		}
	}
	if code, out, said := terminal(t, env, "", "undo", "--yes"); code != exitUsage || !strings.Contains(said, "could be undone") {
		t.Errorf("exit code %d\n%s%s", code, out, said)
	}
}

// TestWaitingForAnEmptyGroup: the last member commits as it leaves, so the plan is made and shown anew. Whoever is interrupted
// before reads that nothing was written.
func TestWaitingForAnEmptyGroup(t *testing.T) {
	w, _, env := fixture(t)
	reset := []string{"reset", "-g", "waiting", "-t", "payments", "--to-earliest", "--yes", "--wait-empty", "1m"}
	if code, out, said := terminal(t, env, "", "reset", "-g", "waiting", "-t", "payments", "--to-offset", "10", "--yes", "--new-group"); code != exitOK {
		t.Fatal(out, said)
	}
	member, err := kgo.NewClient(kgo.SeedBrokers(strings.TrimPrefix(w.Broker, "kafka://")), kgo.ConsumerGroup("waiting"), kgo.ConsumeTopics("payments"), kgo.DisableAutoCommit())
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	for read := 0; read == 0; { // until it has joined
		fetches := member.PollRecords(t.Context(), 1)
		if fetches.IsClientClosed() || t.Context().Err() != nil {
			t.Fatal("the member reads nothing")
		}
		read = fetches.NumRecords()
	}

	var out, errs bytes.Buffer
	began := time.Now()
	interrupt := sync.OnceFunc(func() { _ = syscall.Kill(os.Getpid(), syscall.SIGINT) })
	sys := &IO{In: strings.NewReader(""), Out: &out, Err: &errs, Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	sys.Now = func() time.Time { // asked for at each look, while the signal is caught
		if time.Since(began) > time.Second {
			interrupt()
		}
		return time.Now()
	}
	if code := Run(t.Context(), sys, reset); code != exitInterrupted || !strings.Contains(errs.String(), "offsetctl: interrupted: nothing was written") {
		t.Errorf("exit code %d\n%s%s", code, out.String(), errs.String())
	}

	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(2 * time.Second)
		if err := member.CommitUncommittedOffsets(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		member.Close()
	}()
	code, shown, said := terminal(t, env, "", reset...)
	<-done
	if code != exitOK || !strings.Contains(shown, "payments     0      10      0       10") || !strings.Contains(shown, "payments     0      11      0       11") {
		t.Errorf("exit code %d\n%s%s", code, shown, said)
	}
}
