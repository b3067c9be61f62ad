package cmd

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestDemoNeedsAFolder: where its files cannot be, the demo says what would help.
func TestDemoNeedsAFolder(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nosuch"))
	if code, _, said := terminal(t, nil, "", "demo"); code != exitUsage || !strings.Contains(said, "TMPDIR names another one") {
		t.Errorf("exit code %d: %s", code, said)
	}
}
