package artifacts

import (
	"archive/zip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPomNamesEveryArtifact(t *testing.T) {
	pom, err := Jars{Name: "set-1", Artifacts: []string{"org.a:b_2.13:1.0", "org.c:d:2"}}.pom()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<packaging>pom</packaging>",
		"<groupId>org.a</groupId>\n      <artifactId>b_2.13</artifactId>\n      <version>1.0</version>",
		"<groupId>org.c</groupId>\n      <artifactId>d</artifactId>\n      <version>2</version>",
	} {
		if !strings.Contains(string(pom), want) {
			t.Errorf("the pom lacks %s:\n%s", want, pom)
		}
	}
	if _, err := (Jars{Artifacts: []string{"no-version"}}).pom(); err == nil {
		t.Error("an artifact without a version was taken")
	}
}

func TestSetIsThereOnlyWhenWhole(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	set := Jars{Name: "set-1", Artifacts: []string{"a:b:1"}}
	fault := errors.New("the registry hung up")
	err := fill(set.Dir(), func(tmp string) error {
		if set.Have() {
			t.Error("there while it is being fetched")
		}
		return errors.Join(fault, os.WriteFile(filepath.Join(tmp, "half.jar"), nil, 0o600))
	})
	if !errors.Is(err, fault) || set.Have() {
		t.Errorf("after a fault: %v, there: %v", err, set.Have())
	}
	whole := func(tmp string) error { return os.WriteFile(filepath.Join(tmp, "b.jar"), nil, 0o600) }
	for range 2 { // the second as another process that fetched at the same time
		if err := fill(set.Dir(), whole); err != nil || !set.Have() {
			t.Errorf("after it was fetched: %v, there: %v", err, set.Have())
		}
	}
	if left, err := os.ReadDir(filepath.Dir(set.Dir())); err != nil || len(left) != 1 {
		t.Errorf("the cache holds %v (%v), want the set alone", left, err)
	}
	set.Artifacts = append(set.Artifacts, "c:d:2")
	if set.Have() {
		t.Error("there although an artifact was added since")
	}
}

func TestRetryGivesThreeTries(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // so that it does not wait between the tries
	tries := 0
	if err := retry(ctx, io.Discard, func() error { tries++; return errors.New("no") }); err == nil || tries != 1 {
		t.Errorf("an ended context: %d tries, %v", tries, err)
	}
	tries = 0
	if err := retry(t.Context(), io.Discard, func() error { tries++; return nil }); err != nil || tries != 1 {
		t.Errorf("a first try that works: %d tries, %v", tries, err)
	}
}

func TestUnpackKeepsWhatIsAskedFor(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.zip")
	writeZip(t, file, map[string]string{
		"bin/server": "server", "bin/other": "other", "share/text/a": "a", "../outside": "x", "share/../../outside": "x",
	})
	z := Zip{Keep: []string{"bin/server", "share/"}}
	into := filepath.Join(dir, "into")
	if err := os.Mkdir(into, 0o755); err != nil {
		t.Fatal(err)
	}
	err := z.unpack(file, into)
	if err == nil || !strings.Contains(err.Error(), "outside") {
		t.Errorf("a name that leads out: %v, want an error with it", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "outside")); err == nil {
		t.Error("a file was written outside")
	}
	good := filepath.Join(dir, "b.zip")
	writeZip(t, good, map[string]string{"bin/server": "server", "bin/other": "other", "share/text/a": "a"})
	if err := z.unpack(good, into); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(into, "bin", "server")); err != nil || string(got) != "server" {
		t.Errorf("bin/server holds %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(into, "bin", "other")); err == nil {
		t.Error("bin/other was unpacked")
	}
	if info, err := os.Stat(filepath.Join(into, "bin", "server")); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("bin/server cannot be run: %v, %v", info, err)
	}
}

func writeZip(t *testing.T, file string, contents map[string]string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	for name, text := range contents {
		entry, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(entry, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestPackageIsThereByItsProgram(t *testing.T) {
	dir := t.TempDir()
	lib := filepath.Join(dir, "libx.so.1")
	for _, p := range []Package{{Name: "x", Program: "no-such-program-" + filepath.Base(dir)}, {Name: "x", File: lib + "*"}} {
		if p.Have() {
			t.Errorf("%+v is there", p)
		}
	}
	if err := os.WriteFile(lib, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []Package{{Name: "x", Program: "sh"}, {Name: "x", File: lib + "*"}} {
		if !p.Have() {
			t.Errorf("%+v is not there", p)
		}
	}
}
