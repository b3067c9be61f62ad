package render

import (
	"errors"
	"fmt"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
)

// Only what rights hide is said to be hidden from the user, and it is said once.
func TestGapText(t *testing.T) {
	for want, e := range map[string]error{
		"as far as this user may see: listing topics not permitted":    fmt.Errorf("listing topics %w", offset.ErrDenied),
		"as far as this user may see: topics are hidden not permitted": fmt.Errorf("as far as this user may see: topics are hidden %w", offset.ErrDenied),
		"may not be all: node /a/b names no partition":                 errors.New("node /a/b names no partition"),
	} {
		if got := gapText(e); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
