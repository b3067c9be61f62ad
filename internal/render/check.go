package render

import (
	"fmt"
	"io"
)

// Check is one step of the check command.
type Check struct {
	Step string `json:"step"`
	OK   bool   `json:"ok"`
	Warn bool   `json:"warning,omitempty"` // it went well, and there is something to know
	Text string `json:"text"`
}

// Checks writes the steps in the order in which they were taken, as table or json.
func Checks(w io.Writer, format string, colour bool, lines []Check) error {
	if format == "json" {
		return JSON(w, struct {
			Schema string  `json:"schema"`
			Steps  []Check `json:"steps"`
		}{"offsetctl.check/v1", append([]Check{}, lines...)})
	}
	widest := 0
	for _, l := range lines {
		widest = max(widest, len(l.Step))
	}
	p := palette(colour)
	for _, l := range lines {
		word := p.paint("32", "ok  ")
		switch {
		case !l.OK:
			word = p.paint("31", "FAIL")
		case l.Warn:
			word = p.paint("33", "warn")
		}
		if _, err := fmt.Fprintf(w, "%s  %-*s  %s\n", word, widest, l.Step, l.Text); err != nil {
			return err
		}
	}
	return nil
}
