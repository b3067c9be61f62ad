package cmd

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	noSlug  = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// TestLinks: what the README and the pages point to is there.
func TestLinks(t *testing.T) {
	n := 0
	for _, pattern := range []string{"../README.md", "../docs/*.md", "../docs/commands/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			for _, m := range link.FindAllStringSubmatch(read(t, f), -1) {
				n++
				to, anchor, _ := strings.Cut(m[1], "#")
				page := f
				if to != "" {
					page = filepath.Join(filepath.Dir(f), to)
				}
				if _, err := os.Stat(page); err != nil {
					t.Errorf("%s points to %s: %v", f, m[1], err)
				} else if anchor != "" && !slices.Contains(anchors(read(t, page)), anchor) {
					t.Errorf("%s points to %s, which is no heading of %s", f, m[1], page)
				}
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d links were found", n)
	}
}

// anchors are what the headings of a page are called in links.
func anchors(page string) (out []string) {
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		out = append(out, strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return out
}

func read(t *testing.T, file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
