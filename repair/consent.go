package repair

import (
	"fmt"
	"slices"
	"strings"
)

// Limits are what a context says of writes.
type Limits struct {
	MaxSkip      int64 // skips above it are confirmed by typing the group's name
	Protected    bool  // writes need a typed context and the group confirmed by name
	ReadOnly     bool  // nothing is written
	ContextTyped bool  // --context stands on the command line
	Context      string
}

// Given is what the user said on the command line.
type Given struct {
	Yes     bool
	Confirm []string // --confirm GROUP
	Allowed Allowed
	Saved   bool // the plan is a file's: what it was made with stands
}

// Consent is what a person must still agree to. Its zero value: nothing.
type Consent struct {
	Needed bool
	Word   string   // has to be typed; "": y, default No
	Why    []string // sentences for the prompt
	Flags  []string // what would have stood for it on the command line, where nobody can be asked

	cause   Cause  // of Refused
	instead string // another way than the flags
}

// Ask answers what p still needs. Its error, a *Refused, is what no answer could change. --yes never stands for a skip that was
// not asked for, for a large skip, for a group that nobody knows, or for a protected context.
func Ask(p *Plan, l Limits, g Given) (c Consent, err error) {
	if p.Empty() {
		return c, nil
	}
	if l.ReadOnly {
		return c, refuse(CauseProtected, fmt.Sprintf("context %s is read-only", l.Context), "use another context for writes")
	}
	if l.Protected && !l.ContextTyped {
		return c, refuse(CauseProtected, fmt.Sprintf("context %s is protected", l.Context), "repeat with --context "+l.Context+" on the command line")
	}
	names := p.groupNames()
	c.cause = CauseConsent
	need := func(cause Cause, why string, flags ...string) {
		if !c.Needed {
			c.Needed, c.cause = true, cause
		}
		c.Why = append(c.Why, why)
		c.Flags = append(c.Flags, flags...)
	}
	if t := p.Totals(); t.Skips > 0 && p.Kind != KindUndo {
		why := fmt.Sprintf("it skips %s unread records on %s", count(t.Skips), plural(t.Forward, "partition"))
		if !p.Asked && !g.Allowed.Has(AllowSkip) {
			need(CauseSkip, why+", which nobody asked for", "--"+AllowSkip)
			c.Word, c.instead = names, "; --rewind-only instead of --"+AllowSkip+" moves nothing forward"
			if g.Saved {
				c.instead = "; a plan made anew with --rewind-only moves nothing forward"
			}
		}
		if t.Skips > l.MaxSkip {
			need(CauseSkip, fmt.Sprintf("%s, more than --max-skip %s", why, count(l.MaxSkip)), fmt.Sprintf("--max-skip %d", t.Skips))
			c.Word = names
		}
	}
	if l.Protected {
		for _, gr := range p.Groups {
			if !slices.Contains(g.Confirm, gr.Name) {
				need(CauseProtected, fmt.Sprintf("context %s is protected", l.Context), "--confirm "+gr.Name)
				c.Word = names
			}
		}
	}
	if p.NewGroups && !(g.Yes && g.Allowed.Has(AllowNewGroup)) {
		need(CauseNewGroup, "NEW GROUP: nothing is known of "+p.newNames(), "--"+AllowNewGroup)
	}
	if !g.Yes {
		c.Needed = true
		c.Flags = append(c.Flags, "--yes")
	}
	c.Why = slices.Compact(c.Why)
	return c, nil
}

// Answer tells whether what was typed is the consent.
func (c Consent) Answer(typed string) bool {
	typed = strings.TrimRight(typed, "\r\n")
	if c.Word != "" {
		return typed == c.Word
	}
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(typed)))
}

// Refused is the error where nobody can be asked, or somebody said no.
func (c Consent) Refused() error {
	text := "nobody agreed to the write"
	if len(c.Why) > 0 {
		text += ": " + strings.Join(c.Why, "; ")
	}
	return &Refused{[]Reason{{Cause: c.cause, Text: text, Next: "repeat with " + strings.Join(c.Flags, " ") + c.instead}}}
}

func (p *Plan) groupNames() string {
	var out []string
	for _, g := range p.Groups {
		out = append(out, g.Name)
	}
	return strings.Join(out, ",")
}

func (p *Plan) newNames() string {
	var out []string
	for _, g := range p.Groups {
		if g.New {
			out = append(out, g.Name)
		}
	}
	return strings.Join(out, ",")
}

// SameRows tells whether p does the same as q, from the same positions: whoever has seen q has seen p.
func (p *Plan) SameRows(q *Plan) bool {
	return slices.EqualFunc(p.Groups, q.Groups, func(a, b Group) bool {
		return a.Name == b.Name && slices.EqualFunc(a.Items, b.Items, func(a, b Item) bool {
			return a.Partition == b.Partition && a.Action == b.Action && a.From.Same(b.From) && a.To.Same(b.To)
		})
	})
}

// Wider says what a plan made anew does beyond the one that was agreed to; nothing: the consent still holds.
func Wider(agreed, now *Plan) (out []string) {
	a, b := agreed.Totals(), now.Totals()
	if now.Kind != KindUndo && b.Skips > a.Skips {
		out = append(out, fmt.Sprintf("it skips %s unread records by now, not %s", count(b.Skips), count(a.Skips)))
	}
	if b.Deletes > a.Deletes {
		out = append(out, fmt.Sprintf("it deletes %s by now, not %s", plural(b.Deletes, "position"), count(int64(a.Deletes))))
	}
	return out
}
