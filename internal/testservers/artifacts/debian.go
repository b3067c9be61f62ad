package artifacts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Package is a Debian package, known to be there by a program of it, or else
// by a file: a machine that has them from elsewhere needs no package.
type Package struct {
	Name    string
	Program string
	File    string // a pattern, for a package without a program
}

// String returns the package's name.
func (p Package) String() string { return "package " + p.Name }

// Have says whether the program or the file can be found.
func (p Package) Have() bool {
	if p.Program != "" {
		return p.Path() != ""
	}
	found, _ := filepath.Glob(p.File)
	return len(found) > 0
}

// Path is the program's path, or empty.
func (p Package) Path() string { return Program(p.Program) }

// outsidePath holds where Debian puts servers that are on no search path.
var outsidePath = []string{"/usr/sbin", "/usr/local/sbin", "/sbin", "/usr/lib/postgresql/*/bin"}

// Program finds a program, also where servers hide from the search path. Of
// several versions the newest is taken.
func Program(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, dir := range outsidePath {
		found, _ := filepath.Glob(filepath.Join(dir, name))
		slices.Sort(found)
		for _, path := range slices.Backward(found) {
			if _, err := exec.LookPath(path); err == nil {
				return path
			}
		}
	}
	return ""
}

func install(ctx context.Context, out io.Writer, packages []Package) error {
	var names []string
	for _, p := range packages {
		if !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	fmt.Fprintf(out, "installing %s\n", strings.Join(names, " "))
	line := append([]string{"-o", "DPkg::Lock::Timeout=300", "install", "-y", "--no-install-recommends"}, names...)
	if os.Getuid() != 0 {
		return fmt.Errorf("programs are missing and this user may not install them: sudo apt-get %s", strings.Join(line, " "))
	}
	allow, err := denyDaemons()
	if err != nil {
		return err
	}
	defer allow()
	if err := aptGet(ctx, out, "-o", "DPkg::Lock::Timeout=300", "update", "-q"); err != nil {
		return err
	}
	return aptGet(ctx, out, line...)
}

func aptGet(ctx context.Context, out io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, "apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	text, err := cmd.CombinedOutput()
	if err != nil {
		_, _ = out.Write(text)
		return fmt.Errorf("apt-get %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// denyDaemons keeps packages from starting their daemons while they are
// installed. A policy that somebody else has set is left as it is.
func denyDaemons() (allow func(), err error) {
	const policy = "/usr/sbin/policy-rc.d"
	f, err := os.OpenFile(policy, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if errors.Is(err, os.ErrExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString("#!/bin/sh\nexit 101\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return func() { _ = os.Remove(policy) }, nil
}
