package inspect

import (
	"math"
	"strconv"
	"strings"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/positions"
)

// Count writes a number of records with separators: 1,204,211. Positions are bare digits, so that they can be copied.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural is "1 record" or "3 records".
func plural(n int64, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return Count(n) + " " + word + "s"
}

// one picks the word for one thing or for several.
func one(n int, single, several string) string {
	if n == 1 {
		return single
	}
	return several
}

func digits(n int64) string { return strconv.FormatInt(n, 10) }

// add never overflows: a sum that is too large stays at the largest number.
func add(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

// where names partitions: orders:0-63.
func where(ps []offset.Partition) []string { return positions.SelectionOf(ps).Texts() }

func join(texts []string) string { return strings.Join(texts, ", ") }
