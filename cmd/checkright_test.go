package cmd

import (
	"errors"
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
)

// A right is there, missing, or not known, and one that only something else needs fails nothing.
func TestRight(t *testing.T) {
	unsure := errors.New("nobody says")
	for _, c := range []struct {
		right offset.Permission
		says  string
		code  int
		warns bool
	}{
		{offset.Permission{Right: "READ", Granted: true}, "READ", exitOK, false},
		{offset.Permission{Right: "READ"}, "READ: not permitted", exitUnreachable, false},
		{offset.Permission{Right: "READ", Err: unsure}, "READ: it could not be told: nobody says", exitIncomplete, false},
		{offset.Permission{Right: "READ", Only: "peek", Granted: true}, "READ (only for peek)", exitOK, false},
		{offset.Permission{Right: "READ", Only: "peek"}, "READ (only for peek): not permitted", exitOK, true},
		{offset.Permission{Right: "READ", Only: "peek", Err: unsure}, "READ (only for peek): it could not be told: nobody says", exitOK, true},
	} {
		k := &checking{can: "reset"}
		k.right(c.right)
		if got := k.lines[0]; !strings.HasSuffix(got.Text, c.says) || got.Warn != c.warns || got.OK != (c.code == exitOK) || k.code != c.code {
			t.Errorf("%+v: %+v, exit %d", c.right, got, k.code)
		}
	}
}
