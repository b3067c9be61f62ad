package render

import "github.com/offsetctl/offsetctl/inspect"

// palette paints only when the caller said so.
type palette bool

func (p palette) paint(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p palette) bold(s string) string { return p.paint("1", s) }

// verdict paints s as bad as v is.
func (p palette) verdict(v inspect.Verdict, s string) string {
	switch {
	case v == inspect.OK:
		return p.paint("32", s)
	case v == inspect.Unknown:
		return p.paint("35", s)
	case v <= inspect.MixedSubscriptions:
		return p.paint("31", s)
	}
	return p.paint("33", s)
}
