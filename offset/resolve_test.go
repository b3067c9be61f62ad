package offset

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// The log of every row: 100 to 200, of which 190 to 200 is held by an open transaction.
var log = Bounds{Start: 100, Stable: 190, End: 200}

var (
	orders = Partition{Topic: "orders"}
	retry  = Partition{Topic: "%RETRY%billing", Broker: "broker-a"}
	absent = Stored{State: Absent}
)

func set(n int64) Stored { return Stored{State: Set, Next: n} }

func to(k Kind) Target { return Target{Kind: k} }

func offsetOf(n int64) Target { return Target{Kind: ToOffset, Offset: n} }

func shift(n int64) Target { return Target{Kind: ToShift, Offset: n} }

func mapOf(p Partition, n int64) Target {
	return Target{Kind: ToOffsets, Offsets: map[Partition]int64{p: n}}
}

type row struct {
	name string
	rule Rule
	view View
	want Resolution // Why: a part of it
	stop Obstacle   // looked at where want.Why is ""
}

func (r row) run(t *testing.T) {
	t.Helper()
	if r.view.Partition == (Partition{}) {
		r.view.Partition = orders
	}
	if r.view.Bounds == (Bounds{}) {
		r.view.Bounds = log
	}
	got, err := Resolve(r.rule, r.view)
	if r.want.Why == "" {
		var stop *StopError
		if !errors.As(err, &stop) || !errors.Is(err, ErrStop) {
			t.Fatalf("answered %+v, %v; want a stop", got, err)
		}
		if stop.Obstacle != r.stop || stop.Partition != r.view.Partition || got != (Resolution{}) {
			t.Errorf("stopped with %d for %v and %+v; want %d", stop.Obstacle, stop.Partition, got, r.stop)
		}
		if !strings.HasPrefix(err.Error(), r.view.Partition.String()+": ") {
			t.Errorf("%q does not name the partition", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.Why, r.want.Why) {
		t.Errorf("why is %q, want %q", got.Why, r.want.Why)
	}
	if got.Why = r.want.Why; got != r.want {
		t.Errorf("got %+v, want %+v", got, r.want)
	}
}

func TestJob(t *testing.T) {
	latest := to(ToLatest)
	for _, r := range []row{
		{"inside", Rule{Target: latest}, View{Stored: set(150)}, Resolution{Next: 150, Wanted: 150, Why: "stored"}, 0},
		{"inside, at the start", Rule{Target: latest}, View{Stored: set(100)}, Resolution{Next: 100, Wanted: 100, Why: "stored"}, 0},
		{"inside, at the end", Rule{Target: latest}, View{Stored: set(200)}, Resolution{Next: 200, Wanted: 200, Why: "stored"}, 0},
		{"inside, beyond the last stable offset, read-committed", Rule{Target: latest}, View{Stored: set(195)}, Resolution{Next: 195, Wanted: 195, Why: "stored"}, 0},
		{"inside beats an explicit number", Rule{Target: offsetOf(120)}, View{Stored: set(150)}, Resolution{Next: 150, Wanted: 150, Why: "stored"}, 0},

		{"head overflow", Rule{Target: latest}, View{Stored: set(40)}, Resolution{}, HeadOverflow},
		{"head overflow, earliest", Rule{Target: latest, Head: GoStart}, View{Stored: set(40)}, Resolution{Next: 100, Wanted: 40, Lost: 60, Why: "log start"}, 0},
		{"head overflow, latest", Rule{Head: GoEnd}, View{Stored: set(40)}, Resolution{Next: 190, Wanted: 40, Lost: 60, Skipped: 90, Why: "end"}, 0},
		{"head overflow, latest, read-uncommitted", Rule{Head: GoEnd, Isolation: ReadUncommitted}, View{Stored: set(40)}, Resolution{Next: 200, Wanted: 40, Lost: 60, Skipped: 100, Why: "end"}, 0},
		{"head overflow is not the tail's choice", Rule{Target: latest, Tail: GoStart}, View{Stored: set(99)}, Resolution{}, HeadOverflow},

		{"tail overflow", Rule{Target: latest}, View{Stored: set(201)}, Resolution{}, TailOverflow},
		{"tail overflow, earliest", Rule{Tail: GoStart}, View{Stored: set(250)}, Resolution{Next: 100, Wanted: 250, Replayed: 100, Why: "log start"}, 0},
		{"tail overflow, latest", Rule{Tail: GoEnd}, View{Stored: set(250)}, Resolution{Next: 190, Wanted: 250, Replayed: 10, Why: "end"}, 0},
		{"tail overflow is not the head's choice", Rule{Target: latest, Head: GoStart}, View{Stored: set(math.MaxInt64)}, Resolution{}, TailOverflow},

		{"absent retry topic", Rule{Target: latest}, View{Partition: retry, Stored: absent}, Resolution{Next: 100, Wanted: 100, Why: "retry topic"}, 0},
		{"absent retry topic with --ignore-stored", Rule{Target: latest, IgnoreStored: true}, View{Partition: retry, Stored: absent}, Resolution{Next: 100, Wanted: 100, Why: "retry topic"}, 0},
		{"stored retry topic", Rule{Target: latest}, View{Partition: retry, Stored: set(150)}, Resolution{Next: 150, Wanted: 150, Why: "stored"}, 0},

		{"absent alone, earliest", Rule{Target: to(ToEarliest)}, View{Stored: absent}, Resolution{Next: 100, Wanted: 100, Why: "log start"}, 0},
		{"absent alone, latest", Rule{Target: latest}, View{Stored: absent}, Resolution{Next: 190, Wanted: 190, Why: "end"}, 0},
		{"absent alone, latest, read-uncommitted", Rule{Target: latest, Isolation: ReadUncommitted}, View{Stored: absent}, Resolution{Next: 200, Wanted: 200, Why: "end"}, 0},
		{"absent alone, one number", Rule{Target: offsetOf(120)}, View{Stored: absent}, Resolution{Next: 120, Wanted: 120, Why: "given"}, 0},
		{"absent alone, explicit map", Rule{Target: mapOf(orders, 120)}, View{Stored: absent}, Resolution{Next: 120, Wanted: 120, Why: "given"}, 0},
		{"absent alone, left out of the map", Rule{Target: mapOf(retry, 120)}, View{Stored: absent}, Resolution{Next: 100, Wanted: 100, Why: "not among the given"}, 0},
		{"absent alone, time", Rule{Target: to(ToTime)}, View{Stored: absent, AtTime: 130}, Resolution{Next: 130, Wanted: 130, Why: "at or after the time"}, 0},
		{"absent alone, no policy", Rule{}, View{Stored: absent}, Resolution{}, NoTarget},

		{"absent beside stored ones", Rule{Target: latest}, View{Stored: absent, Beside: true}, Resolution{Next: 100, Wanted: 100, Why: "added or expired"}, 0},
		{"absent beside, explicit map", Rule{Target: mapOf(orders, 150)}, View{Stored: absent, Beside: true}, Resolution{Next: 100, Wanted: 100, Why: "added or expired"}, 0},

		{"--ignore-stored inside", Rule{Target: latest, IgnoreStored: true}, View{Stored: set(150)}, Resolution{Next: 190, Wanted: 190, Skipped: 40, Why: "end"}, 0},
		{"--ignore-stored below", Rule{Target: to(ToEarliest), IgnoreStored: true}, View{Stored: set(40)}, Resolution{Next: 100, Wanted: 100, Lost: 60, Why: "log start"}, 0},
		{"--ignore-stored above", Rule{Target: latest, IgnoreStored: true}, View{Stored: set(250)}, Resolution{Next: 190, Wanted: 190, Replayed: 10, Why: "end"}, 0},
		{"absent, others not known", Rule{Target: latest}, View{Stored: absent, Unsure: true}, Resolution{}, StoredUnknown},
		{"absent, others not known, earliest", Rule{Target: to(ToEarliest)}, View{Stored: absent, Unsure: true}, Resolution{Next: 100, Wanted: 100, Why: "start"}, 0},
		{"absent, others not known, explicit map", Rule{Target: mapOf(Partition{Topic: "x"}, 150)}, View{Stored: absent, Unsure: true}, Resolution{Next: 100, Wanted: 100, Why: "not among"}, 0},
		{"--ignore-stored absent, others not known", Rule{Target: latest, IgnoreStored: true}, View{Stored: absent, Unsure: true}, Resolution{Next: 190, Wanted: 190, Why: "end"}, 0},
		{"--ignore-stored absent beside", Rule{Target: latest, IgnoreStored: true}, View{Stored: absent, Beside: true}, Resolution{Next: 190, Wanted: 190, Why: "end"}, 0},
		{"--ignore-stored, left out, inside", Rule{Target: mapOf(retry, 120), IgnoreStored: true}, View{Stored: set(150)}, Resolution{Next: 150, Wanted: 150, Why: "stored"}, 0},
		{"--ignore-stored, left out, above", Rule{Target: mapOf(retry, 120), IgnoreStored: true}, View{Stored: set(250)}, Resolution{}, TailOverflow},
		{"--ignore-stored, left out, absent", Rule{Target: mapOf(retry, 120), IgnoreStored: true}, View{Stored: absent}, Resolution{Next: 100, Wanted: 100, Why: "not among"}, 0},

		{"explicit below", Rule{Target: offsetOf(40)}, View{Stored: absent}, Resolution{}, HeadOverflow},
		{"explicit below, earliest", Rule{Target: offsetOf(40), Head: GoStart}, View{Stored: absent}, Resolution{Next: 100, Wanted: 40, Lost: 60, Why: "log start"}, 0},
		{"explicit below, latest", Rule{Target: mapOf(orders, 40), Head: GoEnd}, View{Stored: absent}, Resolution{Next: 190, Wanted: 40, Lost: 60, Why: "end"}, 0},
		{"explicit above", Rule{Target: offsetOf(201), Head: GoStart, Tail: GoStart}, View{Stored: absent}, Resolution{}, GivenOutside},

		{"invalid", Rule{Target: latest, IgnoreStored: true, Head: GoStart, Tail: GoStart}, View{Stored: Stored{State: Invalid}}, Resolution{}, StoredInvalid},
		{"unknown", Rule{Target: latest, IgnoreStored: true, Head: GoStart, Tail: GoStart}, View{}, Resolution{}, StoredUnknown},
	} {
		t.Run(r.name, r.run)
	}
}

func TestReset(t *testing.T) {
	for _, r := range []row{
		{"earliest", Rule{Target: to(ToEarliest)}, View{Stored: set(150)}, Resolution{Next: 100, Wanted: 100, Replayed: 50, Why: "log start"}, 0},
		{"latest", Rule{Target: to(ToLatest)}, View{Stored: set(150)}, Resolution{Next: 190, Wanted: 190, Skipped: 40, Why: "end"}, 0},
		{"latest, from between stable and end", Rule{Target: to(ToLatest)}, View{Stored: set(195)}, Resolution{Next: 190, Wanted: 190, Replayed: 5, Why: "end"}, 0},
		{"from below the log", Rule{Target: to(ToEarliest)}, View{Stored: set(40)}, Resolution{Next: 100, Wanted: 100, Lost: 60, Why: "log start"}, 0},
		{"from above the log", Rule{Target: to(ToEarliest)}, View{Stored: set(1000)}, Resolution{Next: 100, Wanted: 100, Replayed: 100, Why: "log start"}, 0},
		{"from invalid", Rule{Target: to(ToLatest)}, View{Stored: Stored{State: Invalid}}, Resolution{Next: 190, Wanted: 190, Why: "end"}, 0},
		{"from absent beside", Rule{Target: to(ToLatest)}, View{Stored: absent, Beside: true}, Resolution{Next: 190, Wanted: 190, Why: "end"}, 0},
		{"from unknown", Rule{Target: to(ToLatest)}, View{}, Resolution{}, StoredUnknown},
		{"retry topic obeys too", Rule{Target: to(ToLatest)}, View{Partition: retry, Stored: absent}, Resolution{Next: 190, Wanted: 190, Why: "end"}, 0},

		{"BR-25 the end", Rule{Target: offsetOf(200)}, View{Stored: set(150)}, Resolution{Next: 200, Wanted: 200, Skipped: 50, Why: "given"}, 0},
		{"BR-25 below", Rule{Target: offsetOf(99)}, View{Stored: set(150)}, Resolution{}, GivenOutside},
		{"BR-25 below, whatever a job would do", Rule{Target: offsetOf(99), Head: GoStart}, View{Stored: set(150)}, Resolution{}, GivenOutside},
		{"BR-25 above", Rule{Target: offsetOf(201)}, View{Stored: set(150)}, Resolution{}, GivenOutside},
		{"BR-25 below, clamped", Rule{Target: offsetOf(99), Clamp: true}, View{Stored: set(150)}, Resolution{Next: 100, Wanted: 99, Replayed: 50, Why: "moved to the log start"}, 0},
		{"BR-25 above, clamped", Rule{Target: offsetOf(201), Clamp: true}, View{Stored: set(150)}, Resolution{Next: 200, Wanted: 201, Skipped: 50, Why: "moved to the end"}, 0},
		{"BR-08 a symbol is a number like any other, outside", Rule{Target: offsetOf(-1)}, View{Bounds: Bounds{0, 30, 30}, Stored: set(5)}, Resolution{}, GivenOutside},
		{"explicit map", Rule{Target: mapOf(orders, 120)}, View{Stored: set(150)}, Resolution{Next: 120, Wanted: 120, Replayed: 30, Why: "given"}, 0},
		{"left out of the map", Rule{Target: mapOf(retry, 120)}, View{Stored: set(150)}, Resolution{}, NotInGivenSet},

		{"BR-13 time after the last record", Rule{Target: to(ToTime)}, View{Bounds: Bounds{0, 18, 18}, Stored: set(3), AtTime: NoRecord}, Resolution{Next: 18, Wanted: 18, Skipped: 15, Why: "no record at or after the time"}, 0},
		{"BR-13 time within", Rule{Target: to(ToTime)}, View{Bounds: Bounds{0, 9, 9}, Stored: set(9), AtTime: 4}, Resolution{Next: 4, Wanted: 4, Replayed: 5, Why: "at or after the time"}, 0},
		{"BR-13 time on an empty log", Rule{Target: to(ToTime)}, View{Bounds: Bounds{50, 50, 50}, Stored: set(50), AtTime: NoRecord}, Resolution{Next: 50, Wanted: 50, Why: "no record"}, 0},
		{"time found below a start that moved since", Rule{Target: to(ToTime)}, View{Stored: set(150), AtTime: 90}, Resolution{Next: 100, Wanted: 100, Replayed: 50, Why: "at or after"}, 0},

		{"shift back", Rule{Target: shift(-20)}, View{Stored: set(150)}, Resolution{Next: 130, Wanted: 130, Replayed: 20, Why: "shifted by -20"}, 0},
		{"shift forward", Rule{Target: shift(1)}, View{Stored: set(150)}, Resolution{Next: 151, Wanted: 151, Skipped: 1, Why: "shifted by 1"}, 0},
		{"shift out of the log", Rule{Target: shift(-51)}, View{Stored: set(150)}, Resolution{}, GivenOutside},
		{"shift out of the log, clamped", Rule{Target: shift(-51), Clamp: true}, View{Stored: set(150)}, Resolution{Next: 100, Wanted: 99, Replayed: 50, Why: "moved to the log start"}, 0},
		{"shift past every number", Rule{Target: shift(1), Clamp: true}, View{Stored: set(math.MaxInt64)}, Resolution{}, ShiftOverflowed},
		{"shift nothing", Rule{Target: shift(1)}, View{Stored: absent}, Resolution{}, NothingStored},
		{"shift an invalid value", Rule{Target: shift(1)}, View{Stored: Stored{State: Invalid}}, Resolution{}, NothingStored},
		{"current", Rule{Target: to(ToCurrent)}, View{Stored: set(150)}, Resolution{Next: 150, Wanted: 150, Why: "stored"}, 0},
		{"current below the log", Rule{Target: to(ToCurrent)}, View{Stored: set(40)}, Resolution{}, GivenOutside},
		{"current, clamped", Rule{Target: to(ToCurrent), Clamp: true}, View{Stored: set(40)}, Resolution{Next: 100, Wanted: 40, Lost: 60, Why: "moved to the log start"}, 0},
		{"current of nothing", Rule{Target: to(ToCurrent)}, View{Stored: absent}, Resolution{}, NothingStored},
		{"no target", Rule{}, View{Stored: set(150)}, Resolution{}, NoTarget},
	} {
		r.rule.Reset = true
		t.Run(r.name, r.run)
	}
}

// A refusal tells the range, and how far away a number is, without overflowing.
func TestReasons(t *testing.T) {
	for _, x := range []struct {
		rule Rule
		next int64
		want string
	}{
		{Rule{Target: offsetOf(201), Reset: true}, 150, "orders:0: given 201 is outside the log, which has 100 to 200"},
		{Rule{}, 40, "orders:0: stored 40 is 60 before the log start 100"},
		{Rule{}, 250, "orders:0: stored 250 is 50 past the log end 200"},
		{Rule{}, math.MinInt64, "orders:0: stored -9223372036854775808 is 9223372036854775807 before the log start 100"},
	} {
		_, err := Resolve(x.rule, View{Partition: orders, Bounds: log, Stored: set(x.next)})
		if err == nil || err.Error() != x.want {
			t.Errorf("%v, want %s", err, x.want)
		}
	}
}

// TestShiftOutsideSaysWhere: the refusal has the number that was stored and the one that it would be.
func TestShiftOutsideSaysWhere(t *testing.T) {
	v := View{Partition: Partition{Topic: "orders"}, Bounds: Bounds{Start: 100, Stable: 200, End: 200}, Stored: Stored{State: Set, Next: 150}}
	_, err := Resolve(Rule{Target: Target{Kind: ToShift, Offset: -51}, Reset: true}, v)
	if err == nil || err.Error() != "orders:0: stored 150 shifted by -51 is 99, outside the log, which has 100 to 200" {
		t.Errorf("%v", err)
	}
}
