package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/demo"
	"github.com/offsetctl/offsetctl/internal/bintest"
	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) { os.Exit(bintest.Main(m.Run)) }

// TestScripts runs testdata/script/*.txtar, the command line's specification, on the built program.
func TestScripts(t *testing.T) { runScripts(t, "testdata/script") }

func runScripts(t *testing.T, dir string) {
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("TZ", "UTC")
			return os.Mkdir(filepath.Join(e.WorkDir, "home"), 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"demo":   startDemo,
			"need":   func(ts *testscript.TestScript, neg bool, args []string) { need(t, ts, neg, args) },
			"exits":  exits,
			"undoid": undoID,
		},
		RequireExplicitExec: true,
	})
}

// startDemo starts the demo's world for one script: OFFSETCTL_CONFIG is its contexts file, BROKER and TABLE (a job's own) its addresses.
func startDemo(ts *testscript.TestScript, _ bool, _ []string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	w, err := demo.Start(ctx, ts.MkAbs("."), time.Now())
	ts.Check(err)
	ts.Defer(w.Close)
	ts.Setenv("OFFSETCTL_CONFIG", w.Config)
	ts.Setenv("BROKER", w.Broker)
	ts.Setenv("TABLE", w.Store)
}

// need starts a real server and sets NAME_KEY for each of its addresses: need kafka44 sets KAFKA44_PLAIN.
func need(t *testing.T, ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: need SERVER")
	}
	s := testservers.Need(t, args[0])
	for k, v := range s.Addr {
		ts.Setenv(strings.ToUpper(args[0]+"_"+strings.NewReplacer("/", "_", "-", "_").Replace(k)), v)
	}
}

// exits runs a command and wants exactly this exit code: exits 4 offsetctl reset …
func exits(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if err != nil {
		var ee *exec.ExitError
		if !errors.As(err, &ee) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		code = ee.ExitCode()
	}
	if want := args[0]; fmt.Sprint(code) != want {
		ts.Fatalf("exit code %d, want %s", code, want)
	}
}

// undoID sets UNDO to the journal id that the last command's output names.
func undoID(ts *testscript.TestScript, _ bool, _ []string) {
	_, rest, ok := strings.Cut(ts.ReadFile("stdout")+ts.ReadFile("stderr"), " undo ")
	if !ok {
		ts.Fatalf("no undo command in the output")
	}
	ts.Setenv("UNDO", strings.Fields(rest)[0])
}
