package cmd

import (
	"path/filepath"
	"strings"
	"testing"
)

// looks runs a command of the demo's world and counts how often it asks the broker who consumes: once a survey.
func looks(t *testing.T, env map[string]string, args ...string) int {
	t.Helper()
	code, out, trace := on(t, env, &IO{In: strings.NewReader("")}, append(args, "-v")...)
	if code != exitOK {
		t.Fatalf("%v: exit code %d\n%s%s", args, code, out, trace)
	}
	return strings.Count(trace, " DescribeGroups\n")
}

// TestLooksOfAWrite: a write looks once to plan and once more just before it is sent. A refusal that is known before anybody is
// asked goes by the look that the plan was made from.
func TestLooksOfAWrite(t *testing.T) {
	_, dir, env := fixture(t)
	plan := filepath.Join(dir, "plan.json")
	for _, x := range []struct {
		want int
		args []string
	}{
		{1, []string{"reset", "-g", "billing", "-t", "orders", "--to-earliest", "--dry-run"}},
		{2, []string{"reset", "-g", "billing", "-t", "orders:0", "--to-earliest", "--yes"}},
		{2, []string{"undo", "--yes"}},
		{2, []string{"reset", "-g", "etl", "-t", "orders:0", "--to-earliest", "--yes", "--settle", "0"}},
		{1, []string{"reset", "-g", "billing", "-t", "orders:2", "--to-earliest", "--plan-out", plan}},
		{1, []string{"apply", plan, "--dry-run"}},
		{2, []string{"apply", plan, "--yes"}},
		{3, []string{"copy", "--from-group", "billing", "--to-group", "billing-2", "-t", "orders:2", "--yes", "--new-group"}}, // source and target
		{2, []string{"groups", "delete", "billing-2", "--yes"}},
	} {
		if got := looks(t, env, x.args...); got != x.want {
			t.Errorf("%v: %d looks, want %d", x.args, got, x.want)
		}
	}
}
