package near

import (
	"slices"
	"testing"
)

func TestName(t *testing.T) {
	names := []string{"group", "group-regex", "topic", "o"}
	for typed, want := range map[string]string{"grup": "group", "topics": "topic", "group_regex": "group-regex", "broker": "", "x": "o"} {
		if got := Name(typed, slices.Values(names)); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}
