// Package near finds what somebody meant who made a slip of the keyboard.
package near

import "iter"

// Name is the name that differs least from the one that was typed, or "" where none is close enough to be a slip.
func Name(typed string, names iter.Seq[string]) string {
	best, least := "", max(1, len(typed)/4)+1
	for n := range names {
		if d := distance(typed, n, least); d < least {
			best, least = n, d
		}
	}
	return best
}

// distance counts the insertions, deletions and replacements between a and b; limit or more is answered as limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left, diagonal := i+1, i
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j+1], left)
			}
			diagonal, row[j], left = row[j+1], left, cost
		}
		row[len(b)] = left
	}
	return min(limit, row[len(b)])
}
