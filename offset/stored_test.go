package offset

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestEpoch(t *testing.T) {
	var zero Epoch
	if n, known := zero.Get(); known || n != -1 || zero.Wire() != -1 || zero != EpochOf(-1) || zero != EpochOf(math.MinInt32) {
		t.Errorf("the zero epoch is %d, %v", n, known)
	}
	for _, want := range []int32{0, 7, math.MaxInt32} {
		if n, known := EpochOf(want).Get(); !known || n != want || EpochOf(want).Wire() != want {
			t.Errorf("%d is %d, %v", want, n, known)
		}
	}
}

func TestEpochJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := EpochOf(rapid.Int32Min(-1).Draw(t, "epoch"))
		b, err := json.Marshal(e)
		back := EpochOf(5)
		if err == nil {
			err = json.Unmarshal(b, &back)
		}
		if err != nil || back != e {
			t.Fatalf("%s is %v, %v", b, back, err)
		}
	})
	e := EpochOf(5)
	if err := json.Unmarshal([]byte("null"), &e); err != nil || e != (Epoch{}) {
		t.Errorf("null is %v, %v", e, err)
	}
	e = EpochOf(5)
	if err := json.Unmarshal([]byte(`"7"`), &e); err == nil || e != EpochOf(5) {
		t.Errorf("a text is %v, %v", e, err)
	}
}

func TestStateText(t *testing.T) {
	for s, name := range map[State]string{Unknown: "unknown", Absent: "absent", Set: "set", Invalid: "invalid"} {
		b, err := s.MarshalText()
		back := State(9)
		if err != nil || string(b) != name || back.UnmarshalText(b) != nil || back != s {
			t.Errorf("%d is %s is %d, %v", s, b, back, err)
		}
	}
	s := Set
	if err := s.UnmarshalText([]byte("Set")); err == nil || s != Set {
		t.Errorf("%v, %v", s, err)
	}
}

func anyStored(t *rapid.T) Stored {
	at := func(label string) time.Time {
		if rapid.Bool().Draw(t, label+" known") {
			return time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, label)).UTC()
		}
		return time.Time{}
	}
	text := rapid.StringMatching(`[ -~äß]{0,8}`)
	s := Stored{
		State: State(rapid.IntRange(0, 3).Draw(t, "state")), Next: rapid.Int64().Draw(t, "next"),
		LeaderEpoch: EpochOf(rapid.Int32Min(-1).Draw(t, "epoch")), TopicID: text.Draw(t, "id"), Metadata: text.Draw(t, "metadata"), Owner: text.Draw(t, "owner"),
		Committed: at("committed"), LastRead: at("last read"), Version: Version(text.Draw(t, "version")),
	}
	if rapid.Bool().Draw(t, "raw") {
		s.Raw = rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
	}
	if rapid.Bool().Draw(t, "pending") {
		s.Pending = &Pending{rapid.Int64().Draw(t, "pending next"), text.Draw(t, "what")}
	}
	if rapid.Bool().Draw(t, "evidence") {
		s.Evidence = &Evidence{rapid.Bool().Draw(t, "proof"), text.Draw(t, "text")}
	}
	return s
}

// A position in a plan or a journal comes back whole: digit for digit, and an empty value as an empty one.
func TestStoredJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Change{anyPartition(t), anyStored(t), anyStored(t)}
		b, err := json.Marshal(c)
		var back Change
		if err == nil {
			err = json.Unmarshal(b, &back)
		}
		if err != nil || !reflect.DeepEqual(back, c) {
			t.Fatalf("%+v is %s is %+v, %v", c, b, back, err)
		}
	})
}

func TestSame(t *testing.T) {
	for _, x := range []struct {
		a, b Stored
		want bool
	}{
		{set(5), set(5), true},
		{set(5), set(6), false},
		{set(5), Stored{State: Set, Next: 5, Version: "2", Owner: "x"}, true},
		{set(5), Stored{State: Set, Next: 5, Metadata: "m"}, false},
		{set(5), absent, false},
		{absent, Stored{State: Absent, Next: 9}, true},
		{Stored{State: Invalid, Raw: []byte("a")}, Stored{State: Invalid, Raw: []byte("b")}, false},
		{Stored{State: Invalid, Raw: []byte("a")}, Stored{State: Invalid, Raw: []byte("a")}, true},
	} {
		if x.a.Same(x.b) != x.want || x.b.Same(x.a) != x.want {
			t.Errorf("%+v and %+v: not %v", x.a, x.b, x.want)
		}
	}
}

func TestUndo(t *testing.T) {
	c := Change{orders, Stored{State: Invalid, Raw: []byte{}, Version: "1"}, Stored{State: Set, Next: 7}}
	now := Stored{State: Set, Next: 7, Version: "2"}
	if got := c.Undo(now); got.From.Version != "2" || got.To.Version != "1" || got.To.Raw == nil || !got.To.Same(c.From) || got.Partition != orders {
		t.Errorf("%+v", got)
	}
}

func TestBounds(t *testing.T) {
	if log.Reach(ReadCommitted) != 190 || log.Reach(ReadUncommitted) != 200 {
		t.Error("the reach is not that of the isolation")
	}
	for n, want := range map[int64]bool{99: false, 100: true, 195: true, 200: true, 201: false, -1: false} {
		if log.Inside(n) != want {
			t.Errorf("%d inside is not %v", n, want)
		}
	}
}
