package positions

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// units of a duration, largest first. A day is 24 hours and a week 7 days, whatever the clocks do.
var units = []struct {
	name, long string
	length     time.Duration
}{
	{"w", "w", 7 * 24 * time.Hour},
	{"d", "d", 24 * time.Hour},
	{"h", "h", time.Hour},
	{"m", "min", time.Minute},
	{"s", "s", time.Second},
	{"ms", "ms", time.Millisecond},
}

// The two ways to write a duration: each group is the number of the unit in the same place.
var (
	plain = regexp.MustCompile(`^(?:([0-9.]+)w)?(?:([0-9.]+)d)?(?:([0-9.]+)h)?(?:([0-9.]+)m)?(?:([0-9.]+)s)?(?:([0-9.]+)ms)?$`)
	iso   = regexp.MustCompile(`^P(?:([0-9.]+)W)?(?:([0-9.]+)D)?(?:T(?:([0-9.]+)H)?(?:([0-9.]+)M)?(?:([0-9.]+)S)?)?$`)
)

// ParseDuration reads 30s, 24h, 7d, 1d12h or 1.5h, and PT2H or P1DT12H, which kafka-consumer-groups takes. It has no sign.
func ParseDuration(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	groups := plain.FindStringSubmatch(text)
	if groups == nil {
		groups = iso.FindStringSubmatch(text)
	}
	var total time.Duration
	found := false
	for i, number := range groups[min(1, len(groups)):] {
		if number == "" {
			continue
		}
		n, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return 0, fmt.Errorf("duration %q: %q is no number", text, number)
		}
		n = math.Round(n * float64(units[i].length))
		if n+float64(total) > math.MaxInt64*0.999 {
			return 0, fmt.Errorf("duration %q is longer than 290 years", text)
		}
		total += time.Duration(n)
		found = true
	}
	switch {
	case !found && text != "" && strings.Trim(text, "0123456789.") == "":
		return 0, fmt.Errorf("duration %q has no unit: write %ss, %sm, %sh or %sd", text, text, text, text, text)
	case !found:
		return 0, fmt.Errorf("%q is no duration: write it like 30s, 24h, 7d or 1d12h, large units first", text)
	}
	return total, nil
}

// FormatDuration writes a duration so that ParseDuration reads it: 1d12h, 30s. It keeps milliseconds.
func FormatDuration(d time.Duration) string {
	if d < time.Millisecond {
		return "0s"
	}
	var b strings.Builder
	for _, u := range units[1:] {
		if n := d / u.length; n > 0 {
			b.WriteString(strconv.FormatInt(int64(n), 10) + u.name)
			d %= u.length
		}
	}
	return b.String()
}

// Span writes a duration for people, in its two largest units: 13 h 12 min, 41 s, 3 d.
func Span(d time.Duration) string {
	for i, u := range units[1:] {
		n := d / u.length
		if n <= 0 {
			continue
		}
		s := fmt.Sprintf("%d %s", n, u.long)
		if i+3 < len(units) { // no milliseconds beside seconds
			next := units[i+2]
			if m := d % u.length / next.length; m > 0 {
				s += fmt.Sprintf(" %d %s", m, next.long)
			}
		}
		return s
	}
	return "0 s"
}
