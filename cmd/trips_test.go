package cmd

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/demo"
)

// looks runs a command of the demo's world and counts how often it asks the broker who consumes: once a survey.
func looks(t *testing.T, env map[string]string, args ...string) int {
	t.Helper()
	var out, trace bytes.Buffer
	sys := &IO{In: strings.NewReader(""), Out: &out, Err: &trace, Now: time.Now, Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if code := Run(ctx, sys, append(args, "-v")); code != exitOK {
		t.Fatalf("%v: exit code %d\n%s%s", args, code, out.String(), trace.String())
	}
	return strings.Count(trace.String(), " DescribeGroups\n")
}

// TestLooksOfAWrite: a write looks once to plan and once more just before it is sent. A refusal that is known before anybody is
// asked goes by the look that the plan was made from.
func TestLooksOfAWrite(t *testing.T) {
	dir := t.TempDir()
	w, err := demo.Start(t.Context(), dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	env := map[string]string{"OFFSETCTL_CONFIG": w.Config, "XDG_STATE_HOME": dir}
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
