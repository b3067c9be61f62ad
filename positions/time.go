package positions

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Clock is what a time is read with. Zone is the one that was asked for, nil when none was: the machine's zone is never used.
type Clock struct {
	Now  time.Time
	Zone *time.Location
}

const timeForms = "write 2026-11-29T14:05:00+01:00, 2026-11-29T13:05Z, 1717200000s, 1717200000000ms, -2h, or with a time zone 2026-11-29T14:05"

var (
	stamp = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d(?:\.\d{1,9})?)?([Zz]|[+-]\d\d:?\d\d)?$`)
	epoch = regexp.MustCompile(`^(\d+)([a-z]*)$`)
)

// Time reads a moment that is past: RFC 3339 (the seconds may be missing), a number since 1970 with its unit (13 bare digits
// are milliseconds), a duration ago (-2h), or with a Zone a time without one. The answer is in whole milliseconds, rounded up, so that
// no record before the moment is at or after it. It lies in Zone, or where none was given in the zone that was written, or in UTC.
func (c Clock) Time(text string) (time.Time, error) {
	t, err := c.read(text)
	if err != nil {
		return time.Time{}, fmt.Errorf("time %q: %w", text, err)
	}
	switch {
	case t.Before(time.UnixMilli(0)):
		return time.Time{}, fmt.Errorf("time %q is before 1970, where no record is: to read from the log start ask for earliest", text)
	case t.After(c.Now):
		return time.Time{}, fmt.Errorf("time %q is %s, which is %s in the future: to stand at the end ask for latest", text, utc(t), Span(t.Sub(c.Now)))
	}
	if rest := t.Nanosecond() % int(time.Millisecond); rest > 0 {
		t = t.Add(time.Millisecond - time.Duration(rest))
	}
	if c.Zone != nil {
		t = t.In(c.Zone)
	}
	return t, nil
}

func (c Clock) read(text string) (time.Time, error) {
	if ago, ok := strings.CutPrefix(text, "-"); ok {
		d, err := ParseDuration(ago)
		if err != nil {
			return time.Time{}, err
		}
		return c.Now.Add(-d).UTC(), nil
	}
	if m := epoch.FindStringSubmatch(text); m != nil {
		return readEpoch(m[1], m[2])
	}
	if m := stamp.FindStringSubmatch(text); m != nil {
		return c.readStamp(m[1]+"T"+m[2], m[3], m[4])
	}
	return time.Time{}, errors.New("it is not understood; " + timeForms)
}

func (c Clock) readStamp(minute, second, zone string) (time.Time, error) {
	if second == "" {
		second = ":00"
	}
	wall, err := time.Parse("2006-01-02T15:04:05", minute+second)
	if err != nil {
		return time.Time{}, errors.New("there is no such day or time of day")
	}
	if zone == "" {
		if c.Zone == nil {
			return time.Time{}, errors.New("it has no time zone, and that of this machine is not guessed: end it with Z or +01:00, or name a zone with --tz")
		}
		return inZone(wall, c.Zone)
	}
	if strings.EqualFold(zone, "Z") {
		return wall, nil
	}
	east, err := Zone(zone[:3] + ":" + zone[len(zone)-2:])
	if err != nil {
		return time.Time{}, err
	}
	return inZone(wall, east)
}

// epochUnits are the units of a number since 1970, and how many digits such a number has from 2001 to 2286.
var epochUnits = []struct {
	name   string
	length time.Duration
	digits int
}{{"s", time.Second, 10}, {"ms", time.Millisecond, 13}, {"us", time.Microsecond, 16}, {"ns", time.Nanosecond, 19}}

func readEpoch(digits, unit string) (time.Time, error) {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return time.Time{}, errors.New("the number is too large for a time")
	}
	if unit == "" && len(digits) == 13 {
		unit = "ms"
	}
	if unit == "" {
		return time.Time{}, errors.New(readings(n, digits))
	}
	for _, u := range epochUnits {
		if u.name == unit {
			return since1970(n, u.length)
		}
	}
	return time.Time{}, fmt.Errorf("%q is no unit of a time since 1970 (s, ms, us, ns); %s", unit, timeForms)
}

func since1970(n int64, unit time.Duration) (time.Time, error) {
	perSecond := int64(time.Second / unit)
	if n/perSecond > math.MaxInt32*100 { // the year 8774: still in four digits
		return time.Time{}, errors.New("it is thousands of years ahead: is the unit right?")
	}
	return time.Unix(n/perSecond, n%perSecond*int64(unit)).UTC(), nil
}

// readings says what a number without a unit could mean: as milliseconds, and in the unit that its length speaks for.
func readings(n int64, digits string) string {
	likely := epochUnits[0]
	for _, u := range epochUnits {
		if len(digits) >= u.digits {
			likely = u
		}
	}
	var texts, forms []string
	for _, u := range epochUnits {
		if u.name != "ms" && u.name != likely.name {
			continue
		}
		perSecond := int64(time.Second / u.length)
		if t := time.Unix(n/perSecond, 0).UTC(); t.Year() > 9999 {
			texts = append(texts, fmt.Sprintf("in %s it is the year %d", u.name, t.Year()))
		} else {
			texts = append(texts, "in "+u.name+" it is "+utc(t))
			forms = append(forms, digits+u.name)
		}
	}
	if forms == nil {
		return "the number is too large for a time"
	}
	return fmt.Sprintf("the number has no unit: %s; write %s", strings.Join(texts, ", "), strings.Join(forms, " or "))
}

// Moment writes a time for a plan: in UTC, in its own zone with the day of the week, and how long ago it was.
func Moment(t, now time.Time) string {
	clock := "15:04"
	if t.Second() != 0 || t.Nanosecond() != 0 {
		clock = "15:04:05.999"
	}
	s := t.UTC().Format("2006-01-02 15:04:05.999Z07:00")
	switch zone := t.Location(); {
	case zone == time.UTC:
		s += t.Format(", Mon")
	case t.Format(time.DateOnly) == t.UTC().Format(time.DateOnly):
		s += t.Format(" = Mon " + clock + " -07:00")
	default:
		s += t.Format(" = Mon 2006-01-02 " + clock + " -07:00")
	}
	if name := t.Location().String(); strings.Contains(name, "/") {
		s += " " + name
	}
	if t.After(now) {
		return s + ", in " + Span(t.Sub(now))
	}
	return s + ", " + Span(now.Sub(t)) + " ago"
}
