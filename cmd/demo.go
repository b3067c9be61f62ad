package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/offsetctl/offsetctl/demo"
	"github.com/offsetctl/offsetctl/internal/render"
	"github.com/spf13/cobra"
)

func newDemo(f *factory) *cobra.Command {
	var keep bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "See every fault, its repair and the undo on an embedded broker",
		Long: `Starts an embedded Kafka and a job's table in SQLite with every fault in them, and runs the main job as a tour: inspect,
reset, undo. No server is needed, and environment and contexts are ignored. With --keep it leaves the world running after the
tour and prints the settings to try things by hand.`,
		Example: "  offsetctl demo\n  offsetctl demo --keep",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := f.format("table"); err != nil {
				return err
			}
			return runDemo(c.Context(), f, keep)
		},
	}
	c.Flags().BoolVar(&keep, "keep", false, "leave it running until interrupted")
	return c
}

func runDemo(ctx context.Context, f *factory, keep bool) (err error) {
	dir, err := os.MkdirTemp("", "offsetctl-demo-")
	if err != nil {
		return usagef("the demo needs a folder for its files (TMPDIR names another one): %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w, err := demo.Start(ctx, dir, f.sys.Now())
	if err != nil {
		return err
	}
	defer w.Close()
	env := map[string]string{"OFFSETCTL_CONFIG": w.Config, "XDG_STATE_HOME": filepath.Join(dir, "state")}
	for i, s := range demo.Tour() {
		if err := runStep(ctx, f, env, i+1, s); err != nil {
			return err
		}
	}
	if !keep {
		_, err = fmt.Fprintln(f.sys.Out, "\nThat was the tour. offsetctl demo --keep leaves this world running, to try things by hand.")
		return err
	}
	settings := render.Command([]string{"export", "OFFSETCTL_CONFIG=" + w.Config, "XDG_STATE_HOME=" + env["XDG_STATE_HOME"]})
	fmt.Fprintf(f.sys.Out, "\nThe world stays until you interrupt it. In another terminal:\n\n  %s\n  offsetctl inspect -A\n  offsetctl inspect -g etl\n", settings)
	<-ctx.Done()
	return nil
}

// runStep says what a step shows, and runs it as the command that it is. One that does not end as it must ends the tour.
func runStep(ctx context.Context, f *factory, env map[string]string, n int, s demo.Step) error {
	fmt.Fprintf(f.sys.Out, "\n── %d. %s\n$ offsetctl %s\n", n, s.Say, render.Command(s.Args))
	sys := *f.sys
	sys.InTTY, sys.Err = false, f.sys.Out
	sys.Env = func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	if _, no := f.sys.Env("NO_COLOR"); no {
		env["NO_COLOR"] = "1"
	}
	if code := Run(ctx, &sys, s.Args); code != s.Exit {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &codeError{exitIncomplete, fmt.Errorf("step %d of the tour ended with exit code %d instead of %d", n, code, s.Exit)}
	} else if code != 0 {
		fmt.Fprintf(f.sys.Out, "(exit %d)\n", code)
	}
	return nil
}
