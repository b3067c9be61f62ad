package repair

import (
	"strconv"
	"strings"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

// count writes a number of records with separators. Positions are bare digits, see at.
func count(n int64) string { return inspect.Count(n) }

// at writes what is stored: digits, the bytes that are no position, or the state where there is nothing to show.
func at(s offset.Stored) string {
	switch {
	case s.State == offset.Set:
		return strconv.FormatInt(s.Next, 10)
	case s.State == offset.Absent:
		return "nothing"
	case s.State == offset.Invalid && s.Raw != nil:
		return strconv.QuoteToASCII(string(s.Raw[:min(len(s.Raw), shownBytes)]))
	}
	return s.State.String()
}

// shownBytes is how much of what is no position a sentence shows.
const shownBytes = 40

// plural is "1 row" or "3 rows".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return count(int64(n)) + " " + word + "s"
}

// notes joins the parts that are not empty.
func notes(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "; ")
}
