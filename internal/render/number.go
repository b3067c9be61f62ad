package render

import (
	"strconv"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/positions"
)

// Count is a number of records in a cell: with separators for people, a plain number for programs. A position is an int64.
type Count int64

// Number writes a number of records with separators.
func Number(n int64) string { return inspect.Count(n) }

// Name writes a name so that it cannot break a line: quoted where it is empty or has anything but printable characters.
func Name(s string) string {
	if q := strconv.Quote(s); s == "" || q != `"`+s+`"` || strings.ContainsAny(s, " ") {
		return q
	}
	return s
}

// topicName is a topic with its broker, where it has one.
func topicName(p offset.Partition) string {
	if p.Broker == "" {
		return p.Topic
	}
	return p.Topic + "@" + p.Broker
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// span is a duration in a cell.
func span(d time.Duration) string {
	if d <= 0 {
		return "now"
	}
	return positions.Span(d)
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return Number(int64(n)) + " " + word + "s"
}

// Command writes arguments as they are typed into a shell.
func Command(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = shellWord(a)
	}
	return strings.Join(out, " ")
}

func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,=@%+", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
