package offset

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// small numbers meet the edges of a log often, large ones meet overflow.
func number(t *rapid.T, label string) int64 {
	return rapid.OneOf(rapid.Int64Range(0, 12), rapid.Int64Min(0)).Draw(t, label)
}

func anyBounds(t *rapid.T) Bounds {
	ns := []int64{number(t, "a"), number(t, "b"), number(t, "c")}
	b := Bounds{Start: min(ns[0], ns[1], ns[2]), End: max(ns[0], ns[1], ns[2])}
	b.Stable = min(max(ns[0], ns[1]), max(ns[1], ns[2]), max(ns[0], ns[2]))
	return b
}

func anyView(t *rapid.T) View {
	return View{
		Partition: rapid.SampledFrom([]Partition{orders, retry}).Draw(t, "partition"),
		Bounds:    anyBounds(t),
		Stored:    Stored{State: State(rapid.IntRange(0, 3).Draw(t, "state")), Next: number(t, "stored")},
		Beside:    rapid.Bool().Draw(t, "beside"),
		AtTime:    rapid.OneOf(rapid.Just(NoRecord), rapid.Int64Range(0, 12), rapid.Int64Min(0)).Draw(t, "at"),
	}
}

func anyRule(t *rapid.T) Rule {
	given := rapid.OneOf(rapid.Int64Range(-12, 12), rapid.Int64())
	outside := func(label string) Outside { return Outside(rapid.IntRange(0, 2).Draw(t, label)) }
	r := Rule{
		Target:       Target{Kind: Kind(rapid.IntRange(0, int(ToCurrent)).Draw(t, "kind")), Offset: given.Draw(t, "given")},
		Reset:        rapid.Bool().Draw(t, "reset"),
		IgnoreStored: rapid.Bool().Draw(t, "ignore"),
		Isolation:    Isolation(rapid.IntRange(0, 1).Draw(t, "isolation")),
		Head:         outside("head"),
		Tail:         outside("tail"),
		Clamp:        rapid.Bool().Draw(t, "clamp"),
	}
	if r.Target.Kind == ToOffsets {
		r.Target.Offsets = rapid.MapOf(rapid.SampledFrom([]Partition{orders, retry}), given).Draw(t, "map")
	}
	return r
}

// An answer is inside the log, so it is never a symbol; its cost adds up; and the same question has the same answer.
func TestResolveProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, v := anyRule(t), anyView(t)
		got, err := Resolve(r, v)
		if again, err2 := Resolve(r, v); again != got || (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() {
			t.Fatalf("once %+v, %v and once %+v, %v", got, err, again, err2)
		}
		if err != nil {
			if !errors.Is(err, ErrStop) || got != (Resolution{}) {
				t.Fatalf("%+v beside %v", got, err)
			}
			return
		}
		if !v.Bounds.Inside(got.Next) || got.Next < 0 {
			t.Fatalf("%d is outside %+v", got.Next, v.Bounds)
		}
		if got.Lost < 0 || got.Skipped < 0 || got.Replayed < 0 || got.Skipped > 0 && got.Replayed > 0 || got.Why == "" {
			t.Fatalf("%+v", got)
		}
		if s := v.Stored; s.State == Set && s.Next <= v.Bounds.End && s.Next+got.Lost+got.Skipped-got.Replayed != got.Next {
			t.Fatalf("%d + %d + %d - %d is not %d", s.Next, got.Lost, got.Skipped, got.Replayed, got.Next)
		}
	})
}

// A job never leaves a position that is inside, unless it was told to ignore what is stored.
func TestJobKeepsItsPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, v := anyRule(t), anyView(t)
		r.Reset, r.IgnoreStored = false, false
		v.Stored = set(rapid.Int64Range(v.Bounds.Start, v.Bounds.End).Draw(t, "inside"))
		got, err := Resolve(r, v)
		if err != nil || got.Next != v.Stored.Next || got.Lost+got.Skipped+got.Replayed != 0 {
			t.Fatalf("%+v, %v", got, err)
		}
	})
}

// What is not known is never guessed, whatever the rule.
func TestUnknownStops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, v := anyRule(t), anyView(t)
		v.Stored.State = Unknown
		if !r.Reset && rapid.Bool().Draw(t, "invalid") {
			v.Stored.State = Invalid
		}
		if got, err := Resolve(r, v); !errors.Is(err, ErrStop) {
			t.Fatalf("%+v, %v", got, err)
		}
	})
}

// Where a job stands after one start, it starts again: two starts are one.
func TestStartIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, v := anyRule(t), anyView(t)
		r.Reset, r.IgnoreStored = false, false
		first, err := Resolve(r, v)
		if err != nil {
			return
		}
		v.Stored = set(first.Next)
		second, err := Resolve(r, v)
		if err != nil || second.Next != first.Next || second.Lost+second.Skipped+second.Replayed != 0 {
			t.Fatalf("%+v, then %+v, %v", first, second, err)
		}
	})
}
