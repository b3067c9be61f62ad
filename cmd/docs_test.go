package cmd

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDocsAreCurrent: the generated pages in docs/ are what the program would write now.
func TestDocsAreCurrent(t *testing.T) {
	pages, err := docPages()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range pages {
		got, err := os.ReadFile(filepath.Join("..", "docs", name))
		if err != nil || string(got) != string(want) {
			t.Errorf("docs/%s is not what the program says (make docs)", name)
		}
	}
	there, err := filepath.Glob("../docs/commands/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range there {
		if pages["commands/"+filepath.Base(f)] == nil {
			t.Errorf("%s is the page of no command (make docs)", f)
		}
	}
}
