package positions

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/offsetctl/offsetctl/offset"
)

// span is the partition numbers from lo to hi, both included.
type span struct{ lo, hi int32 }

// ranges is a set of partition numbers. In normal form it is sorted and no two spans touch; it costs nothing to say 0-2147483647.
type ranges []span

// parseRanges reads a list like 0,2-5 into normal form.
func parseRanges(s string) (ranges, error) {
	if s == "" {
		return nil, errors.New("no partitions after the colon")
	}
	var out ranges
	for item := range strings.SplitSeq(s, ",") {
		first, last, ranged := strings.Cut(item, "-")
		if !ranged {
			last = first
		}
		lo, okLo := offset.ParseIndex(first)
		hi, okHi := offset.ParseIndex(last)
		switch {
		case !okLo || !okHi:
			return nil, fmt.Errorf("%q is no partition number or range; write digits up to %d, like 0,2-5", item, math.MaxInt32)
		case lo > hi:
			return nil, fmt.Errorf("the range %s runs backwards", item)
		}
		out = append(out, span{lo, hi})
	}
	return out.normal(), nil
}

func (r ranges) normal() ranges {
	r = slices.Clone(r)
	slices.SortFunc(r, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	out := r[:0]
	for _, s := range r {
		if n := len(out); n > 0 && int64(s.lo) <= int64(out[n-1].hi)+1 {
			out[n-1].hi = max(out[n-1].hi, s.hi)
		} else {
			out = append(out, s)
		}
	}
	return out
}

func (r ranges) contain(n int32) bool {
	_, ok := slices.BinarySearchFunc(r, n, func(s span, n int32) int {
		switch {
		case s.hi < n:
			return -1
		case s.lo > n:
			return 1
		}
		return 0
	})
	return ok
}

// without is r less what is in x; both are in normal form.
func (r ranges) without(x ranges) ranges {
	var out ranges
	for _, s := range r {
		for len(x) > 0 && x[0].hi < s.lo {
			x = x[1:]
		}
		for _, cut := range x {
			if cut.lo > s.hi || s.lo > s.hi {
				break
			}
			if cut.lo > s.lo {
				out = append(out, span{s.lo, cut.lo - 1})
			}
			if cut.hi >= s.hi {
				s.lo, s.hi = 1, 0 // nothing is left
				break
			}
			s.lo = cut.hi + 1
		}
		if s.lo <= s.hi {
			out = append(out, s)
		}
	}
	return out
}

func (r ranges) String() string {
	var b strings.Builder
	for i, s := range r {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(s.lo)))
		if s.hi > s.lo {
			b.WriteString("-" + strconv.Itoa(int(s.hi)))
		}
	}
	return b.String()
}
