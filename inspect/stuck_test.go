package inspect_test

import (
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

// Where the store says beforehand that it writes no position, no command is offered that would fail, and the reason is said; what
// a flag overrules is no such reason, and a broker's own store is not asked.
func TestNoCommandThatTheStoreRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		own     bool
		objects offset.Objection
		stuck   bool
	}{
		{"refused", false, offset.Objection{Text: "no key"}, true},
		{"refused by partition", false, offset.Objection{Text: "orders:1: no key"}, true},
		{"overruled by a flag", false, offset.Objection{Text: "a batch is pending", Allow: "allow-pending"}, false},
		{"a broker's own", true, offset.Objection{Text: "it is live"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := table()
			w.Caps.Members = c.own
			w.Objections = []offset.Objection{c.objects}
			w.Log("orders:0", 0, 10)
			w.Log("orders:1", 0, 10)
			w.Commit("g", "orders:0", 10)
			if c.own {
				w.Group(offset.Group{Name: "g", Phase: offset.Empty})
			}
			r := judge(t, w, inspect.Ask{Groups: []string{"g"}})
			f := row(t, r, "orders:1").Findings[0]
			if (len(f.Repairs) == 0) != c.stuck || strings.Contains(f.Text, "; no reset can write it: no key") != c.stuck {
				t.Errorf("%+v", f)
			}
			if row(t, r, "orders:0").Verdict != inspect.OK {
				t.Error("what the store refuses is no fault of a sound position")
			}
		})
	}
}
