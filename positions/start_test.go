package positions

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/offsetctl/offsetctl/offset"
)

func TestStart(t *testing.T) {
	for in, want := range map[string]string{
		"earliest":                    "earliest",
		"latest":                      "latest",
		"offsets=500":                 "offsets=500",
		"offsets=0":                   "offsets=0",
		"offsets=9223372036854775807": "offsets=9223372036854775807",
		"offsets=latest":              "latest",
		"offsets=orders:1=latest,orders:0=500,orders@broker-a:2=earliest": "offsets=orders:0=500,orders:1=latest,orders@broker-a:2=earliest",
		"offsets=%RETRY%g@b:0=7":            "offsets=%RETRY%g@b:0=7",
		"offsets=a=b:0=7":                   "offsets=a=b:0=7",
		"offsets=@/etc/positions.json":      "offsets=@/etc/positions.json",
		"time=2026-11-29T14:05+01:00":       "time=2026-11-29T13:05:00Z",
		"time=-2h":                          "time=2026-11-30T00:17:00Z",
		"time=orders:1=-2h,orders:0=latest": "time=orders:0=latest,orders:1=2026-11-30T00:17:00Z",
		"time=earliest":                     "earliest",
	} {
		s, err := Clock{Now: now}.Start(in)
		if err != nil || s.String() != want {
			t.Errorf("%s: %s, %v; want %s", in, s, err, want)
		}
	}
}

func TestStartRefused(t *testing.T) {
	for in, want := range map[string]string{
		"":                                "digits only",
		"Earliest":                        "it is earliest, latest, time=T",
		"earliest=1":                      "not TOPIC:PARTITION",
		"orders:0=-1":                     "symbols",
		"@":                               "file after @ is missing",
		"offsets=":                        "digits only",
		"offsets=@":                       "file after @ is missing",
		"offsets=-1":                      "symbols",
		"offsets=orders:0=-2":             "symbols",
		"offsets=orders=5":                "not TOPIC:PARTITION",
		"offsets=:0=5":                    "not TOPIC:PARTITION",
		"offsets=orders:0=5,orders:0=6":   "orders:0 is given twice",
		"offsets=5,6":                     "stands alone",
		"offsets=5,orders:0=6":            "5 for all partitions stands alone; write TOPIC:PARTITION=5",
		"offsets=orders:0=5,":             "digits only",
		"offsets=2026-11-29T14:05Z":       "digits only",
		"time=1717200000":                 "no unit",
		"time=orders:0=2027-01-01T00:00Z": "in the future",
		"time=2026-11-29T14:05":           "no time zone",
	} {
		s, err := Clock{Now: now}.Start(in)
		if err == nil || !strings.Contains(err.Error(), want) || !reflect.DeepEqual(s, Start{}) {
			t.Errorf("%q: %v, %v; want %q", in, s, err, want)
		}
	}
}

func TestParseOffsets(t *testing.T) {
	s, err := ParseOffsets("orders:3=88122", "orders:1=latest,payments@b:0=1")
	if err != nil || s.String() != "offsets=orders:1=latest,orders:3=88122,payments@b:0=1" {
		t.Error(s, err)
	}
	if s, err = ParseOffsets("500"); err != nil || s.All == nil || s.All.Offset != 500 || s.Each != nil {
		t.Error(s, err)
	}
	for in, want := range map[string]string{
		"":                      "digits only",
		"latest":                "use --to-latest",
		"earliest":              "use --to-earliest",
		"5 6":                   "stands alone",
		"5 orders:0=6":          "stands alone",
		"orders:0=5 orders:0=5": "orders:0 is given twice",
		"-1":                    "-1 is no offset: negative numbers are symbols", // BR-08
		"-2":                    "symbols",
		"-0":                    "digits only",
		"-99999999999999999999": "symbols",
		"+5":                    "digits only",
		"12.0":                  "digits only", // BR-12
		"1e6":                   "digits only",
		"1_000":                 "digits only",
		"0x10":                  "digits only",
		"9223372036854775808":   "larger than every offset",
		"orders:0":              "digits only",
		"orders:2147483648=5":   "not TOPIC:PARTITION",
	} {
		s, err := ParseOffsets(strings.Split(in, " ")...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", in, s, err, want)
		}
	}
}

// BR-12: every digit counts.
func TestParseOffset(t *testing.T) {
	for in, want := range map[string]int64{"2623027957": 2623027957, "9007199254740993": 9007199254740993, "9223372036854775807": math.MaxInt64, "00000000000000368769": 368769} {
		if got, err := ParseOffset(in); err != nil || got != want {
			t.Errorf("%s: %d, %v", in, got, err)
		}
	}
}

// BR-23: one topic with dots, one partition, one number, and nothing for any other.
func TestTarget(t *testing.T) {
	s, err := Clock{Now: now}.Start("offsets=orders.v1.0:2=77,orders.v1.0:3=latest,orders@a:0=5")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]offset.Target{
		"orders.v1.0:2": {Kind: offset.ToOffset, Offset: 77},
		"orders.v1.0:3": {Kind: offset.ToLatest},
		"orders@a:0":    {Kind: offset.ToOffset, Offset: 5},
		"orders.v1:2":   {Kind: offset.ToOffsets},
		"ordersXv1.0:2": {Kind: offset.ToOffsets},
		"orders:0":      {Kind: offset.ToOffsets},
		"orders@b:0":    {Kind: offset.ToOffsets},
	} {
		if got := s.Target(at(name)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if got := s.Partitions(); !reflect.DeepEqual(got, list("orders@a:0", "orders.v1.0:2", "orders.v1.0:3")) {
		t.Error(got)
	}
	all, err := Clock{Now: now}.Start("time=-2h")
	if got := all.Target(at("x:0")); err != nil || got.Kind != offset.ToTime || !got.Time.Equal(now.Add(-2*time.Hour)) {
		t.Error(got, err)
	}
}

// A job starts what the list leaves out at the log start, a reset refuses it: what Target answers means that to the start rule.
func TestTargetLeavesOut(t *testing.T) {
	s := StartAt([]offset.Position{{Partition: at("orders:0"), Offset: 5}})
	v := offset.View{Partition: at("orders:1"), Bounds: offset.Bounds{Start: 3, Stable: 9, End: 9}, Stored: offset.Stored{State: offset.Absent}}
	if got, err := offset.Resolve(offset.Rule{Target: s.Target(v.Partition)}, v); err != nil || got.Next != 3 {
		t.Error(got, err)
	}
	if got, err := offset.Resolve(offset.Rule{Target: s.Target(v.Partition), Reset: true}, v); err == nil {
		t.Error(got)
	}
	v.Partition = at("orders:0")
	if got, err := offset.Resolve(offset.Rule{Target: s.Target(v.Partition), Reset: true}, v); err != nil || got.Next != 5 {
		t.Error(got, err)
	}
}

func TestStartRoundTrip(t *testing.T) {
	partition := rapid.Custom(func(t *rapid.T) offset.Partition {
		return offset.Partition{Topic: rapid.StringMatching(`[a-zA-Z0-9._%|=:-]{1,9}`).Draw(t, "topic"), Broker: rapid.StringMatching(`([a-z-]{1,5})?`).Draw(t, "broker"), Index: rapid.Int32Min(0).Draw(t, "index")}
	})
	rapid.Check(t, func(t *rapid.T) {
		timed := rapid.Bool().Draw(t, "timed")
		point := rapid.Custom(func(t *rapid.T) Point {
			switch kind := rapid.IntRange(0, 2).Draw(t, "kind"); {
			case kind == 0:
				return Point{Kind: offset.ToEarliest}
			case kind == 1:
				return Point{Kind: offset.ToLatest}
			case timed:
				return Point{Kind: offset.ToTime, Time: time.UnixMilli(rapid.Int64Range(0, now.UnixMilli()).Draw(t, "ms")).UTC()}
			}
			return Point{Kind: offset.ToOffset, Offset: rapid.Int64Min(0).Draw(t, "offset")}
		})
		var s Start
		if rapid.Bool().Draw(t, "all") {
			p := point.Draw(t, "point")
			s.All = &p
		} else {
			ps := rapid.SliceOfNDistinct(partition, 1, 5, rapid.ID[offset.Partition]).Draw(t, "partitions")
			for _, p := range ps {
				s.Each = append(s.Each, Placed{p, point.Draw(t, "point")})
			}
			sortPlaced(s.Each)
		}
		if again, err := (Clock{Now: now}).Start(s.String()); err != nil || !reflect.DeepEqual(again, s) {
			t.Fatalf("%+v is %s is %+v, %v", s, s, again, err)
		}
	})
}

func FuzzStart(f *testing.F) {
	for _, s := range []string{"earliest", "latest", "offsets=5", "offsets=orders:0=500,orders:1=latest,orders@broker-a:2=earliest", "offsets=@f", "time=-2h", "time=a:0=1717200000s,a:1=latest", "offsets=a=b:0=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Clock{Now: now}.Start(text)
		if err != nil {
			return
		}
		if again, err := (Clock{Now: now}).Start(s.String()); err != nil || again.String() != s.String() {
			t.Errorf("%q is %s is %s, %v", text, s, again, err)
		}
		for _, x := range s.Each {
			if x.Point.Kind == offset.ToOffset && x.Point.Offset < 0 || x.Point.Kind == offset.ToTime && x.Point.Time.UnixMilli() < 0 {
				t.Errorf("%q has %+v", text, x)
			}
		}
	})
}
