//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// envUnderTest makes the test binary be the supervisor, for run starts its own
// program anew.
const envUnderTest = "OFFSETCTL_SUPERVISOR_UNDER_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(envUnderTest) == "1" {
		os.Exit(exitCodeOf(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// supervisor runs the program under test and returns what it printed.
func supervisor(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), envUnderTest+"=1")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), errs.String(), cmd.ProcessState.ExitCode()
}

func TestRunPassesTheExitCodeOn(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -TERM $$": 128 + 15} {
		if _, stderr, code := supervisor(t, "run", "--", "sh", "-c", script); code != want {
			t.Errorf("%s: exit code %d, want %d (%s)", script, code, want, stderr)
		}
	}
}

func TestRunGivesASocketAndALoopbackOnly(t *testing.T) {
	stdout, stderr, code := supervisor(t, "run", "--", "sh", "-c", `test -S "$OFFSETCTL_TESTSERVERS" && cat /proc/net/dev`)
	if code != 0 {
		t.Fatalf("no socket: exit code %d, %s", code, stderr)
	}
	if strings.Contains(stderr, "no network of its own is permitted") {
		return // said aloud, and then the plain network is right
	}
	var interfaces []string
	for line := range strings.Lines(stdout) {
		if name, _, ok := strings.Cut(line, ":"); ok {
			interfaces = append(interfaces, strings.TrimSpace(name))
		}
	}
	if len(interfaces) != 1 || interfaces[0] != "lo" {
		t.Errorf("the command sees the interfaces %q, want lo alone", interfaces)
	}
}

func TestRunLeavesNothingBehind(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	if _, stderr, code := supervisor(t, "run", "--", "true"); code != 0 {
		t.Fatal(stderr)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"nosuch"}, {"run"}, {"run", "--"}, {"serve", "more"}} {
		if _, stderr, code := supervisor(t, args...); code != 2 || !strings.Contains(stderr, "usage:") {
			t.Errorf("%q: exit code %d and %q, want 2 and the usage", args, code, stderr)
		}
	}
}

func TestListObeysTheChoice(t *testing.T) {
	t.Setenv("SERVERS", "newest")
	t.Setenv("MYSQL8", "")
	newest, _, _ := supervisor(t, "list")
	t.Setenv("SERVERS", "")
	t.Setenv("MYSQL8", "1")
	all, _, _ := supervisor(t, "list")
	for name, inNewest := range map[string]bool{"kafka44 ": true, "kafka39 ": false, "rocketmq49 ": false, "mysql8 ": false, "mariadb ": true} {
		if strings.Contains(newest, "\n"+name) != inNewest {
			t.Errorf("SERVERS=newest: %s is listed %v, want %v", name, !inNewest, inNewest)
		}
		if !strings.Contains(all, "\n"+name) {
			t.Errorf("%s is not listed with all", name)
		}
	}
}
