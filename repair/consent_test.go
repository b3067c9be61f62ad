package repair

import (
	"slices"
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

func skipping(t *testing.T, o Options) *Plan {
	t.Helper()
	w := external()
	w.Log("orders:0", 0, 5000)
	w.Commit("billing", "orders:0", 1000)
	return mustPlan(t, reportOf(t, w, inspect.Ask{At: noon}), o)
}

func TestConsent(t *testing.T) {
	replay := Options{Target: offset.Target{Kind: offset.ToTime, Time: noon}}
	limits := Limits{MaxSkip: 1_000_000, Context: "prod-eu"}
	yes := Given{Yes: true}
	for _, c := range []struct {
		name   string
		o      Options
		l      Limits
		g      Given
		needed bool
		cause  Cause
		word   string
		flags  []string
		also   string
	}{
		{name: "a replay", o: toEarliest, l: limits, needed: true, cause: CauseConsent, flags: []string{"--yes"}},
		{name: "a replay, agreed", o: toEarliest, l: limits, g: yes},
		{name: "a skip that was asked for", o: toLatest, l: limits, g: yes},
		{name: "a skip as a by-product: --yes never stands for it", o: replay, l: limits, g: yes, needed: true, cause: CauseSkip, word: "billing", flags: []string{"--allow-skip"}, also: "--rewind-only instead of"},
		{name: "a saved plan that skips", o: replay, l: limits, g: Given{Yes: true, Saved: true}, needed: true, cause: CauseSkip, word: "billing", flags: []string{"--allow-skip"}, also: "made anew with --rewind-only"},
		{name: "a skip as a by-product, allowed", o: replay, l: limits, g: Given{Yes: true, Allowed: Allowed{AllowSkip}}},
		{name: "a large skip that was asked for", o: toLatest, l: Limits{MaxSkip: 3999}, g: yes, needed: true, cause: CauseSkip, word: "billing", flags: []string{"--max-skip 4000"}},
		{name: "a large skip that was allowed", o: replay, l: Limits{MaxSkip: 3999}, g: Given{Yes: true, Allowed: Allowed{AllowSkip}}, needed: true, cause: CauseSkip, word: "billing", flags: []string{"--max-skip 4000"}},
		{name: "a skip of exactly the limit", o: toLatest, l: Limits{MaxSkip: 4000}, g: yes},
		{name: "protected", o: toEarliest, l: Limits{MaxSkip: 1, Protected: true, ContextTyped: true}, g: yes, needed: true, cause: CauseProtected, word: "billing", flags: []string{"--confirm billing"}},
		{name: "protected, confirmed", o: toEarliest, l: Limits{MaxSkip: 1, Protected: true, ContextTyped: true}, g: Given{Yes: true, Confirm: []string{"billing"}}},
	} {
		got, err := Ask(skipping(t, c.o), c.l, c.g)
		if err != nil || got.Needed != c.needed || got.Word != c.word || !slices.Equal(got.Flags, c.flags) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
		if c.needed {
			wantRefused(t, got.Refused(), c.cause, append(c.flags, c.also)...)
		}
	}
}

func TestConsentThatNothingStandsFor(t *testing.T) {
	all := Given{Yes: true, Confirm: []string{"billing"}, Allowed: Allowed{AllowSkip, AllowNewGroup}}
	_, err := Ask(skipping(t, toEarliest), Limits{ReadOnly: true, Context: "prod-eu"}, all)
	wantRefused(t, err, CauseProtected, "prod-eu is read-only")
	_, err = Ask(skipping(t, toEarliest), Limits{Protected: true, Context: "prod-eu"}, all)
	wantRefused(t, err, CauseProtected, "--context prod-eu")
	if c, err := Ask(skipping(t, to(1000)), Limits{ReadOnly: true}, Given{}); err != nil || c.Needed {
		t.Errorf("a plan that changes nothing needs %+v, %v", c, err)
	}
}

func TestAnswers(t *testing.T) {
	plain, named := Consent{Needed: true}, Consent{Needed: true, Word: "billing"}
	for text, want := range map[string]bool{"y\n": true, "yes\r\n": true, "Y": true, "": false, "n": false, "billing": false} {
		if plain.Answer(text) != want {
			t.Errorf("%q is %v", text, !want)
		}
	}
	if !named.Answer("billing\n") {
		t.Error("the name is not taken")
	}
	for _, text := range []string{"y", "yes", "Billing", "billing ", " billing", ""} {
		if named.Answer(text) {
			t.Errorf("%q is taken for the name", text)
		}
	}
}

// Waiting for an empty group changes what there is to skip: more than was agreed to needs a new answer.
func TestWider(t *testing.T) {
	a, b := skipping(t, toLatest), skipping(t, toLatest)
	if got := Wider(a, b); got != nil {
		t.Errorf("the same plan is wider: %v", got)
	}
	row(t, b, "orders:0").Effect.Skipped++
	if got := strings.Join(Wider(a, b), ""); !strings.Contains(got, "4,001") {
		t.Errorf("got %q", got)
	}
	if !a.SameRows(a.clone()) {
		t.Error("a plan is another one than itself")
	}
	moved := a.clone()
	moved.Groups[0].Items[0].From.Next++
	if a.SameRows(moved) || a.SameRows(&Plan{}) {
		t.Error("another plan is the same")
	}
	if got := Wider(b, a); got != nil {
		t.Errorf("less is wider: %v", got)
	}
}
