package inspect

import (
	"fmt"
	"strings"
)

// Set is a set of verdicts.
type Set uint16

// AnyFinding is every verdict but ok: the default of --fail-on.
const AnyFinding = Set(1<<OK - 1)

// SetOf holds these verdicts.
func SetOf(vs ...Verdict) (s Set) {
	for _, v := range vs {
		s |= 1 << v
	}
	return s
}

// Has tells whether v is in the set.
func (s Set) Has(v Verdict) bool { return s&(1<<v) != 0 }

// ParseSet reads verdicts by name, with loss for those that mean lost, skipped or repeated records, and any for all but ok.
func ParseSet(words []string) (s Set, err error) {
	for _, w := range words {
		var v Verdict
		switch {
		case w == "loss":
			s |= SetOf(Loss...)
		case w == "any":
			s |= AnyFinding
		case v.UnmarshalText([]byte(w)) == nil:
			s |= SetOf(v)
		default:
			return 0, fmt.Errorf("%q is no verdict; there are %s, loss and any", w, strings.Join(verdictNames, ", "))
		}
	}
	return s, nil
}

// Exit codes of a report.
const (
	ExitHealthy    = 0
	ExitFindings   = 1
	ExitIncomplete = 3
)

// ExitCode is 3 where anything is unknown, whatever failOn says; 1 where any finding is in failOn, or a group has nothing stored
// at all (a name typed wrongly must not pass for healthy); else 0.
func ExitCode(r *Report, failOn Set) int {
	if r.Incomplete {
		return ExitIncomplete
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		if g.Nothing || hasAny(g.Findings, failOn) {
			return ExitFindings
		}
		for k := range g.Rows {
			if hasAny(g.Rows[k].Findings, failOn) {
				return ExitFindings
			}
		}
	}
	if len(r.Groups) == 0 && r.Survey.Ask.Groups != nil {
		return ExitFindings
	}
	return ExitHealthy
}

func hasAny(fs []Finding, s Set) bool {
	for _, f := range fs {
		if s.Has(f.Verdict) {
			return true
		}
	}
	return false
}
