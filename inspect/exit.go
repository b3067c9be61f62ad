package inspect

import "slices"

// Exit codes of a report.
const (
	ExitHealthy    = 0
	ExitFindings   = 1
	ExitIncomplete = 3
)

// ExitCode is 3 where anything is unknown, whatever failOn says; 1 where any finding is in failOn or was asked for by a limit of
// its own, or a group has nothing stored at all (a name typed wrongly must not pass for healthy); else 0.
func ExitCode(r *Report, failOn []Verdict) int {
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

func hasAny(fs []Finding, vs []Verdict) bool {
	return slices.ContainsFunc(fs, func(f Finding) bool { return f.Asked || slices.Contains(vs, f.Verdict) })
}

// AnyFinding is every verdict but ok: what --fail-on is by itself.
func AnyFinding() []Verdict { return Verdicts()[:OK] }
