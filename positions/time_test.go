package positions

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"
)

var now = time.Date(2026, 11, 30, 2, 17, 0, 0, time.UTC)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	if name == "" {
		return nil
	}
	z, err := Zone(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestTime(t *testing.T) {
	for _, x := range []struct{ in, zone, utc string }{
		{"2026-11-29T14:05:00+01:00", "", "2026-11-29T13:05:00Z"},
		{"2026-11-29T14:05+01:00", "", "2026-11-29T13:05:00Z"},
		{"2026-11-29 14:05+01:00", "", "2026-11-29T13:05:00Z"},
		{"2026-11-29t13:05z", "", "2026-11-29T13:05:00Z"},
		{"2026-11-29T13:05:07.25Z", "", "2026-11-29T13:05:07.25Z"},
		{"2026-11-29T13:05:07.0001Z", "", "2026-11-29T13:05:07.001Z"}, // up: nothing before it
		{"2024-06-01T10:00:00+05:30", "", "2024-06-01T04:30:00Z"},     // BR-17
		{"2024-06-01T10:00:00+0530", "", "2024-06-01T04:30:00Z"},
		{"2024-06-01T10:00:00-03:30", "Asia/Kolkata", "2024-06-01T13:30:00Z"},
		{"1970-01-01T00:00:00Z", "", "1970-01-01T00:00:00Z"},
		{"2024-02-29T00:00Z", "", "2024-02-29T00:00:00Z"},

		{"1717200000s", "", "2024-06-01T00:00:00Z"}, // BR-16
		{"1717200000000", "", "2024-06-01T00:00:00Z"},
		{"1717200000000ms", "", "2024-06-01T00:00:00Z"},
		{"1717200000000000us", "", "2024-06-01T00:00:00Z"},
		{"1717200000000000001ns", "", "2024-06-01T00:00:00.001Z"},
		{"0s", "", "1970-01-01T00:00:00Z"},
		{"86400s", "", "1970-01-02T00:00:00Z"},

		{"-2h", "", "2026-11-30T00:17:00Z"},
		{"-1d12h", "", "2026-11-28T14:17:00Z"},
		{"-7d", "Europe/Berlin", "2026-11-23T02:17:00Z"},
		{"-1.5h", "", "2026-11-30T00:47:00Z"},
		{"-0s", "", "2026-11-30T02:17:00Z"},

		{"2026-11-29T14:05", "Europe/Berlin", "2026-11-29T13:05:00Z"},
		{"2026-11-29 14:05:30.5", "Europe/Berlin", "2026-11-29T13:05:30.5Z"},
		{"2026-11-29T14:05", "UTC", "2026-11-29T14:05:00Z"},
		{"2024-06-01T10:00:00", "+05:30", "2024-06-01T04:30:00Z"},
		{"2024-06-01T10:00:00", "Asia/Kolkata", "2024-06-01T04:30:00Z"},
		{"2023-10-29T01:59:59.999", "Europe/Berlin", "2023-10-28T23:59:59.999Z"},
		{"2023-10-29T03:00", "Europe/Berlin", "2023-10-29T02:00:00Z"},
		{"2023-03-26T01:59", "Europe/Berlin", "2023-03-26T00:59:00Z"},
		{"2023-03-26T03:00", "Europe/Berlin", "2023-03-26T01:00:00Z"},
		{"2023-10-29T00:30Z", "Europe/Berlin", "2023-10-29T00:30:00Z"},
		{"2011-12-31T00:00", "Pacific/Apia", "2011-12-30T10:00:00Z"}, // the day before was left out
	} {
		z := zone(t, x.zone)
		got, err := Clock{now, z}.Time(x.in)
		if err != nil || utc(got) != x.utc {
			t.Errorf("%s in %q: %v, %v; want %s", x.in, x.zone, utc(got), err, x.utc)
		}
		if err == nil && z != nil && got.Location() != z {
			t.Errorf("%s lies in %s, not %s", x.in, got.Location(), z)
		}
	}
}

func TestTimeRefused(t *testing.T) {
	for _, x := range []struct{ in, zone, want string }{
		{"", "", "not understood"},
		{"now", "", "not understood"},
		{"yesterday", "UTC", "not understood"},
		{"2026-11-29", "UTC", "not understood"},
		{"2026-11-29T14:05", "", "no time zone, and that of this machine is not guessed"},
		{"2024-06-01T10:00:00", "", "no time zone"}, // BR-17
		{"2026-11-29T14:05:00Z trailing", "", "not understood"},
		{"2026-11-29T14:05:00+01", "", "not understood"},
		{"2026-11-29T14:05:00+25:00", "", "no zone is so far"},
		{"2026-02-29T14:05:00Z", "", "no such day"},
		{"2026-11-29T24:00Z", "", "no such day or time of day"},
		{"2026-11-29T14:60Z", "", "no such day or time of day"},
		{"2026-11-29T14:05:60Z", "", "no such day or time of day"},

		{"1717200000", "", "in s it is 2024-06-01T00:00:00Z, in ms it is 1970-01-20T21:00:00Z; write 1717200000s or 1717200000ms"}, // BR-16
		{"1717200000000000", "", "in ms it is the year 56385, in us it is 2024-06-01T00:00:00Z; write 1717200000000000us"},
		{"1717200000000000000", "", "in ns it is 2024-06-01T00:00:00Z"},
		{"0", "", "the number has no unit"},
		{"17172000000", "", "the number has no unit"},
		{"99999999999999999999", "", "too large"},
		{"9223372036854775807s", "", "thousands of years ahead"},
		{"9223372036854775807", "", "the number has no unit: in ms it is the year 292278994, in ns it is 2262-04-11T23:47:16Z"},
		{"1717200000.5", "", "not understood"},
		{"1717200000S", "", "not understood"},
		{"1717200000min", "", `"min" is no unit`},

		{"-2", "", "has no unit: write 2s"},
		{"-2x", "", "no duration"},
		{"--2h", "", "no duration"},
		{"-", "", "no duration"},
		{"-100y", "", "no duration"},
		{"-3000w", "", "before 1970"},

		{"1969-12-31T23:59:59Z", "", "before 1970"},
		{"1970-01-01T00:59:59+01:00", "", "before 1970"},
		{"2026-11-30T02:17:00.001Z", "", "1 ms in the future"},
		{"2026-11-30T04:17Z", "", "2 h in the future"},
		{"1900000000s", "", "in the future"},

		{"2023-10-29T02:30", "Europe/Berlin", "2023-10-29T02:30:00 was 2 times in Europe/Berlin, where the clocks were put back: give one of 2023-10-29T00:30:00Z and 2023-10-29T01:30:00Z"}, // BR-17
		{"2023-10-29T02:00", "Europe/Berlin", "2023-10-29T00:00:00Z and 2023-10-29T01:00:00Z"},
		{"2023-03-26T02:30", "Europe/Berlin", "2023-03-26T02:30:00 never was in Europe/Berlin, where the clocks were put forward over it; 2023-03-26T00:30:00Z and 2023-03-26T01:30:00Z are next to it"},
		{"2023-03-26T02:00", "Europe/Berlin", "never was"},
		{"2011-12-30T12:00", "Pacific/Apia", "never was"},
		{"2024-04-07T01:45", "Australia/Lord_Howe", "2 times"}, // half an hour
	} {
		got, err := Clock{now, zone(t, x.zone)}.Time(x.in)
		if err == nil || !strings.Contains(err.Error(), x.want) || !strings.Contains(err.Error(), `time "`+x.in+`"`) {
			t.Errorf("%q in %q: %v, %v; want %q", x.in, x.zone, got, err, x.want)
		}
	}
}

func TestZone(t *testing.T) {
	for _, name := range []string{"", "Local", "Europe/Atlantis", "../etc/passwd", "+99:00", "+5:30", "CEST"} {
		if z, err := Zone(name); err == nil {
			t.Errorf("%q is %v", name, z)
		}
	}
}

func TestMoment(t *testing.T) {
	for _, x := range []struct{ in, zone, want string }{
		{"2026-11-29T14:05+01:00", "", "2026-11-29 13:05:00Z = Sun 14:05 +01:00, 13 h 12 min ago"},
		{"2026-11-29T14:05", "Europe/Berlin", "2026-11-29 13:05:00Z = Sun 14:05 +01:00 Europe/Berlin, 13 h 12 min ago"},
		{"2026-11-29T23:05:00Z", "Europe/Berlin", "2026-11-29 23:05:00Z = Mon 2026-11-30 00:05 +01:00 Europe/Berlin, 3 h 12 min ago"},
		{"2026-11-29T13:05:07.25Z", "", "2026-11-29 13:05:07.25Z, Sun, 13 h 11 min ago"},
		{"2026-11-29T14:05:07+01:00", "", "2026-11-29 13:05:07Z = Sun 14:05:07 +01:00, 13 h 11 min ago"},
		{"-41s", "", "2026-11-30 02:16:19Z, Mon, 41 s ago"},
		{"-0s", "", "2026-11-30 02:17:00Z, Mon, 0 s ago"},
	} {
		at, err := Clock{now, zone(t, x.zone)}.Time(x.in)
		if got := Moment(at, now); err != nil || got != x.want {
			t.Errorf("%s: %s, %v; want %s", x.in, got, err, x.want)
		}
	}
	if got := Moment(now.Add(90*time.Minute), now); got != "2026-11-30 03:47:00Z, Mon, in 1 h 30 min" {
		t.Error(got)
	}
}

func TestDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "24h": 24 * time.Hour, "7d": 168 * time.Hour, "1d12h": 36 * time.Hour, "1.5h": 90 * time.Minute, "500ms": 500 * time.Millisecond,
		"2w1d": 360 * time.Hour, "0": 0, "0s": 0, "1h30m15s": 5415 * time.Second, "90m": 90 * time.Minute,
		"PT2H": 2 * time.Hour, "P1DT12H": 36 * time.Hour, "P7D": 168 * time.Hour, "PT1M30.5S": 90500 * time.Millisecond, "P1W": 168 * time.Hour,
	} {
		if got, err := ParseDuration(in); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"": "no duration", "30": "has no unit: write 30s", "-2h": "no duration", "+2h": "no duration", "2 h": "no duration", "1h1d": "no duration", "1h1h": "no duration",
		"1y": "no duration", "P": "no duration", "PT": "no duration", "P1M": "no duration", "P1Y": "no duration", "1..5h": "no number", ".h": "no number", "h": "no duration",
		"300000d": "longer than", "99999999999999999999999h": "longer than", "1e3s": "no duration", "NaNs": "no duration",
	} {
		if got, err := ParseDuration(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", in, got, err, want)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", -time.Second: "0 s", 300 * time.Millisecond: "300 ms", 1500 * time.Millisecond: "1 s", 41 * time.Second: "41 s", 60 * time.Second: "1 min",
		13*time.Hour + 12*time.Minute + 59*time.Second: "13 h 12 min", 72 * time.Hour: "3 d", 75 * time.Hour: "3 d 3 h", 400 * 24 * time.Hour: "400 d",
		time.Hour + time.Second: "1 h",
	} {
		if got := Span(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestTimeProperties(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia", "America/Sao_Paulo", "+05:45"}
	rapid.Check(t, func(rt *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(80*365*24*time.Hour/time.Millisecond)).Draw(rt, "d")) * time.Millisecond
		if back, err := ParseDuration(FormatDuration(d)); err != nil || back != d {
			rt.Fatalf("%v is %s is %v, %v", d, FormatDuration(d), back, err)
		}
		want := time.UnixMilli(rapid.Int64Range(0, now.UnixMilli()).Draw(rt, "ms"))
		z := zone(t, rapid.SampledFrom(zones).Draw(rt, "zone"))
		for _, text := range []string{utc(want), want.In(z).Format("2006-01-02T15:04:05.000Z07:00")} {
			if got, err := (Clock{now, nil}).Time(text); err != nil || !got.Equal(want) {
				rt.Fatalf("%s is %v, %v", text, got, err)
			}
		}
		// Without its zone a time is the one it was, or an error that has it among the candidates.
		text := want.In(z).Format("2006-01-02T15:04:05.000")
		if got, err := (Clock{now, z}).Time(text); err == nil && !got.Equal(want) || err != nil && !strings.Contains(err.Error(), utc(want)) {
			rt.Fatalf("%s in %s is %v, %v", text, z, got, err)
		}
	})
}

func FuzzTime(f *testing.F) {
	for _, s := range []string{"2026-11-29T14:05:00+01:00", "2026-11-29T14:05", "1717200000s", "1717200000", "-1d12h", "-PT2H", "0001-01-01T00:00Z", "9999-12-31T23:59:59.999999999Z", "2023-10-29T02:30", "2109-01-01 04:00"} {
		f.Add(s)
	}
	berlin, err := Zone("Europe/Berlin")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, z := range []*time.Location{nil, berlin} {
			got, err := Clock{now, z}.Time(s)
			if err != nil {
				continue
			}
			again, err := Clock{now, z}.Time(utc(got))
			if got.UnixMilli() < 0 || got.After(now) || got.Nanosecond()%1e6 != 0 || err != nil || !again.Equal(got) {
				t.Errorf("%q is %v is %v, %v", s, got, again, err)
			}
		}
	})
}

func FuzzDuration(f *testing.F) {
	for _, s := range []string{"30s", "1d12h", "PT2H", "P1DT12H", "0", "1.5h", "9999999999w"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDuration(s)
		if err != nil {
			return
		}
		d = d.Truncate(time.Millisecond)
		if again, err := ParseDuration(FormatDuration(d)); d < 0 || err != nil || again != d {
			t.Errorf("%q is %v is %v, %v", s, d, again, err)
		}
	})
}
