package positions

import (
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// BR-08: a symbol of some tool is no offset, however it is given.
func TestBR08(t *testing.T) {
	for _, symbol := range []string{"-1", "-2", "-1001"} {
		if s, err := ParseOffsets(symbol); err == nil {
			t.Errorf("--to-offset %s is %v", symbol, s)
		}
		if s, err := ParseOffsets("orders:0=" + symbol); err == nil {
			t.Errorf("--to-offset orders:0=%s is %v", symbol, s)
		}
		if s, err := (Clock{Now: now}).Start("offsets=" + symbol); err == nil {
			t.Errorf("--start offsets=%s is %v", symbol, s)
		}
		for _, file := range []string{"orders,0," + symbol, `{"orders":{"0":` + symbol + `}}`, `{"schema":"offsetctl.positions/v1","positions":[{"topic":"orders","partition":0,"offset":` + symbol + `}]}`} {
			if f, err := parseFile([]byte(file)); err == nil || !strings.Contains(err.Error(), symbol) {
				t.Errorf("%s is %+v, %v", file, f, err)
			}
		}
	}
}

// BR-12: every digit up to 2^63-1 comes back from every file; what is beyond, or no whole number, is refused.
func TestBR12(t *testing.T) {
	for _, digits := range []string{"2623027957", "9007199254740993", "9223372036854775807"} {
		s := set("billing orders:0=" + digits)
		for _, f := range []func() ([]byte, error){func() ([]byte, error) { return JSON(Origin{}, s) }, func() ([]byte, error) { return Spark(s) }, func() ([]byte, error) { return CSV(s) }} {
			b, err := f()
			if err != nil || !strings.Contains(string(b), digits) {
				t.Fatalf("%s, %v", b, err)
			}
			back, err := parseFile(b)
			if err != nil || back.Sets[0].Positions[0] != s.Positions[0] {
				t.Errorf("%s is %+v, %v", b, back, err)
			}
		}
	}
	for _, digits := range []string{"9223372036854775808", "12.0", "1e6"} {
		for _, file := range []string{"orders,0," + digits, `{"orders":{"0":` + digits + `}}`} {
			if f, err := parseFile([]byte(file)); err == nil {
				t.Errorf("%s is %+v", file, f)
			}
		}
	}
}

// BR-16: seconds, milliseconds and microseconds are never mixed up.
func TestBR16(t *testing.T) {
	want := time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC)
	for _, text := range []string{"1717200000000", "1717200000s", "1717200000000ms", "1717200000000000us"} {
		got, err := Clock{Now: now}.Time(text)
		if err != nil || !got.Equal(want) || !strings.HasPrefix(Moment(got, now), "2024-06-01 00:00:00Z") {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for text, readings := range map[string][]string{"1717200000": {"2024-06-01", "1970-01-20", "1717200000s"}, "1717200000000000": {"2024-06-01", "the year 56385", "1717200000000000us"}} {
		_, err := Clock{Now: now}.Time(text)
		for _, r := range readings {
			if err == nil || !strings.Contains(err.Error(), r) {
				t.Errorf("%s: %v does not name %s", text, err, r)
			}
		}
	}
}

// BR-17: the machine's zone decides nothing, half hours count, and the nights when clocks change are errors.
func TestBR17(t *testing.T) {
	old := time.Local
	defer func() { time.Local = old }()
	for _, machine := range []string{"UTC", "Asia/Kolkata"} {
		time.Local = zone(t, machine)
		got, err := Clock{Now: now}.Time("2024-06-01T10:00:00+05:30")
		if err != nil || utc(got) != "2024-06-01T04:30:00Z" {
			t.Errorf("%s: %v, %v", machine, got, err)
		}
		if got, err := (Clock{Now: now}).Time("2024-06-01T10:00:00"); err == nil {
			t.Errorf("%s: %v", machine, got)
		}
		berlin := Clock{now, zone(t, "Europe/Berlin")}
		if _, err := berlin.Time("2023-10-29T02:30"); err == nil || !strings.Contains(err.Error(), "2023-10-29T00:30:00Z and 2023-10-29T01:30:00Z") {
			t.Errorf("%s: %v", machine, err)
		}
		if _, err := berlin.Time("2023-03-26T02:30"); err == nil || !strings.Contains(err.Error(), "never was") {
			t.Errorf("%s: %v", machine, err)
		}
	}
}

// BR-23: names with dots, numbers and percent signs are names, and no pattern.
func TestBR23(t *testing.T) {
	s, err := ParseOffsets("orders.v1.0:2=77")
	if err != nil || len(s.Each) != 1 || s.Each[0] != (Placed{offset.Partition{Topic: "orders.v1.0", Index: 2}, Point{Kind: offset.ToOffset, Offset: 77}}) {
		t.Errorf("%+v, %v", s, err)
	}
	sel, err := ParseSelection("orders.v1", "a-b_c.%RETRY%x", "%RETRY%grp")
	if err != nil || sel.String() != "%RETRY%grp, a-b_c.%RETRY%x, orders.v1" || sel.Match(at("ordersXv1:0")) || !sel.Match(at("orders.v1:0")) || !sel.Match(at("%RETRY%grp@b:0")) {
		t.Errorf("%v, %v", sel, err)
	}
	for _, text := range []string{"orders:a", "orders:*", "orders:0-", "orders:0x1", "orders:0,,1", "orders:٣"} {
		if sel, err := ParseSelection(text); err == nil {
			t.Errorf("%s is %v", text, sel)
		}
	}
}
