package inspect_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

// Where the store knows that it can write no position, no command is offered that would fail, and the reason is said. What it
// has to ask somebody for, such as whether a consumer lives, is no such reason: that is looked at before a write.
func TestNoCommandThatTheStoreRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		own     bool
		refusal error
		objects []offset.Objection
		stuck   bool
	}{
		{name: "refused", refusal: errors.New("no key"), stuck: true},
		{name: "refused by partition", refusal: errors.New("orders:1: no key"), stuck: true},
		{name: "a broker's own", own: true, refusal: errors.New("no key"), stuck: true},
		{name: "overruled by a flag", objects: []offset.Objection{{Text: "a batch is pending", Allow: "allow-pending"}}},
		{name: "while a consumer lives", objects: []offset.Objection{{Text: "it is live"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := table()
			w.Caps.Members = c.own
			w.Objections, w.Refusal = c.objects, c.refusal
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
