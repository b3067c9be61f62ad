// Package bintest builds the program for tests that run it as users do.
package bintest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Main builds offsetctl, with the race detector where the tests have it, puts its folder first on PATH, runs the tests and
// answers their exit code.
func Main(run func() int) int {
	dir, err := os.MkdirTemp("", "offsetctl-bin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	args := append(append([]string{"build"}, raceFlags...), "-o", filepath.Join(dir, "offsetctl"), "github.com/offsetctl/offsetctl")
	build := exec.Command("go", args...)
	build.Stderr = os.Stderr
	if err = build.Run(); err == nil {
		err = os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the program does not build:", err)
		return 1
	}
	return run()
}
