package artifacts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Jars is a set of Maven artifacts with all that they need at run time.
type Jars struct {
	Name      string   // the folder in the cache, with the version in it
	Artifacts []string // group:artifact:version
}

// String returns the set's name.
func (j Jars) String() string { return "jars " + j.Name }

// Dir is the folder that holds the jars.
func (j Jars) Dir() string { return folder(j.Name, j.content()) }

// folder is a place in the cache for one content of a set: two checkouts that
// declare it differently do not take it from each other.
func folder(name, content string) string {
	cache, err := CacheDir()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(content))
	return filepath.Join(cache, name+"-"+hex.EncodeToString(sum[:4]))
}

// ClassPath is the set as Java's -cp takes it.
func (j Jars) ClassPath() string { return filepath.Join(j.Dir(), "*") }

// Have says whether the whole set, as it is declared now, was fetched.
func (j Jars) Have() bool { return isFolder(j.Dir()) }

func (j Jars) content() string { return strings.Join(j.Artifacts, "\n") + "\n" }

func isFolder(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// fill makes a folder of the cache whole or not at all, whoever else makes the
// same one at this moment.
func fill(dir string, get func(tmp string) error) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "fetching-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := get(tmp); err != nil {
		return err
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil && !isFolder(dir) {
		return err
	}
	return nil
}

type project struct {
	XMLName      xml.Name     `xml:"project"`
	ModelVersion string       `xml:"modelVersion"`
	GroupID      string       `xml:"groupId"`
	ArtifactID   string       `xml:"artifactId"`
	Version      string       `xml:"version"`
	Packaging    string       `xml:"packaging"`
	Dependencies []dependency `xml:"dependencies>dependency"`
}

type dependency struct {
	GroupID    string `xml:"groupId"`
	ArtifactID string `xml:"artifactId"`
	Version    string `xml:"version"`
}

func (j Jars) fetch(ctx context.Context, out io.Writer) error {
	pom, err := j.pom()
	if err != nil {
		return err
	}
	return fill(j.Dir(), func(tmp string) error {
		file := filepath.Join(tmp, "pom.xml")
		if err := os.WriteFile(file, pom, 0o644); err != nil {
			return err
		}
		return maven(ctx, out, "-f", file, "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+tmp)
	})
}

func maven(ctx context.Context, out io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, "mvn", append([]string{"-B", "-q"}, args...)...)
	text, err := cmd.CombinedOutput()
	if err != nil {
		_, _ = out.Write(text)
		return fmt.Errorf("mvn: %w", err)
	}
	return nil
}

func (j Jars) pom() ([]byte, error) {
	p := project{
		ModelVersion: "4.0.0", GroupID: "offsetctl", ArtifactID: "testservers-" + j.Name, Version: "1", Packaging: "pom",
	}
	for _, a := range j.Artifacts {
		part := strings.Split(a, ":")
		if len(part) != 3 {
			return nil, fmt.Errorf("%q is not group:artifact:version", a)
		}
		p.Dependencies = append(p.Dependencies, dependency{GroupID: part[0], ArtifactID: part[1], Version: part[2]})
	}
	return xml.MarshalIndent(p, "", "  ")
}
