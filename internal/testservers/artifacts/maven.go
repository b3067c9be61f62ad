package artifacts

import (
	"context"
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
func (j Jars) Dir() string {
	cache, err := CacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, j.Name)
}

// ClassPath is the set as Java's -cp takes it.
func (j Jars) ClassPath() string { return filepath.Join(j.Dir(), "*") }

// Have says whether the whole set, as it is declared now, was fetched.
func (j Jars) Have() bool {
	got, err := os.ReadFile(j.stamp())
	return err == nil && string(got) == j.content()
}

// stamp is a file written when a set is whole.
func (j Jars) stamp() string   { return filepath.Join(j.Dir(), "fetched") }
func (j Jars) content() string { return strings.Join(j.Artifacts, "\n") + "\n" }

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
	dir := j.Dir()
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	pom, err := j.pom()
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(file, pom, 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "mvn", "-B", "-q", "-f", file, "dependency:copy-dependencies",
		"-DincludeScope=runtime", "-DoutputDirectory="+dir)
	if text, err := cmd.CombinedOutput(); err != nil {
		_, _ = out.Write(text)
		return fmt.Errorf("mvn: %w", err)
	}
	return os.WriteFile(j.stamp(), []byte(j.content()), 0o644)
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
