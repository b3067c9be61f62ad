package positions

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

var fixedZone = regexp.MustCompile(`^[+-]\d\d:\d\d$`)

// Zone finds a time zone: UTC, a name like Europe/Berlin, or an offset like +05:30. It is never the machine's own.
func Zone(name string) (*time.Location, error) {
	if fixedZone.MatchString(name) {
		t, err := time.Parse("-07:00", name)
		if err != nil {
			return nil, fmt.Errorf("time zone %q: no zone is so far from UTC", name)
		}
		_, seconds := t.Zone()
		return time.FixedZone("", seconds), nil
	}
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("time zone %q is not the same everywhere; write UTC, a name like Europe/Berlin, or an offset like +05:30", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("time zone %q is not known; write UTC, a name like Europe/Berlin, or an offset like +05:30", name)
	}
	return zone, nil
}

// inZone finds the one instant at which the clocks of the zone show what wall shows in UTC.
func inZone(wall time.Time, zone *time.Location) (time.Time, error) {
	offsets := offsetsAround(wall, zone)
	var found, near []string
	var t time.Time
	for _, o := range offsets {
		u := wall.Add(-o)
		near = append(near, utc(u))
		if _, seconds := u.In(zone).Zone(); time.Duration(seconds)*time.Second == o {
			found = append(found, utc(u))
			t = u.In(zone)
		}
	}
	switch len(found) {
	case 1:
		return t, nil
	case 0:
		return time.Time{}, fmt.Errorf("%s never was in %s, where the clocks were put forward over it; %s are next to it",
			wall.Format(wallLayout), zone, strings.Join(near, " and "))
	}
	return time.Time{}, fmt.Errorf("%s was %d times in %s, where the clocks were put back: give one of %s",
		wall.Format(wallLayout), len(found), zone, strings.Join(found, " and "))
}

const wallLayout = "2006-01-02T15:04:05.999"

func utc(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999Z07:00") }

// offsetsAround are the zone's distances from UTC that can hold at the wall time, the earliest instant first.
func offsetsAround(wall time.Time, zone *time.Location) []time.Duration {
	const reach = 26 * time.Hour // no zone was ever farther from UTC
	var out []time.Duration
	for t := wall.Add(-reach).In(zone); ; {
		_, seconds := t.Zone()
		out = append(out, time.Duration(seconds)*time.Second)
		_, end := t.ZoneBounds()
		if end.IsZero() || end.After(wall.Add(reach)) {
			break
		}
		if !end.After(t) { // at the turn of a year that no table has any more, ZoneBounds stands still
			end = t.Add(time.Hour)
		}
		t = end
	}
	slices.SortFunc(out, func(a, b time.Duration) int { return int(b - a) })
	return slices.Compact(out)
}
