package inspect

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// Sample is one look at positions, small enough to keep: what Compare lays beside a later one.
type Sample struct {
	Taken  time.Time
	Points []Point // sorted by group and partition
}

// Point is one partition of one group in a Sample.
type Point struct {
	Group     string
	Partition offset.Partition
	State     offset.State
	Next      int64
	Lag       int64 // -1: not known
	Start     int64 // -1: not known
	End       int64 // high watermark; -1: not known
	TopicID   string
}

func (p Point) compare(group string, at offset.Partition) int {
	return cmp.Or(strings.Compare(p.Group, group), p.Partition.Compare(at))
}

// find answers the point of a partition.
func (s *Sample) find(group string, at offset.Partition) (Point, bool) {
	if s == nil {
		return Point{}, false
	}
	i, ok := slices.BinarySearchFunc(s.Points, Point{Group: group, Partition: at}, func(p, q Point) int { return p.compare(q.Group, q.Partition) })
	if !ok {
		return Point{}, false
	}
	return s.Points[i], true
}

// group answers the points of a group.
func (s *Sample) group(name string) []Point {
	i, _ := slices.BinarySearchFunc(s.Points, name, func(p Point, n string) int { return strings.Compare(p.Group, n) })
	n := i
	for n < len(s.Points) && s.Points[n].Group == name {
		n++
	}
	return s.Points[i:n]
}

// unmoved: in the earlier look the position was the same, and records were unread.
func (s *Sample) unmoved(l *Line) bool {
	p, ok := s.find(l.Group, l.Partition)
	return ok && p.State == offset.Set && p.Lag > 0 && l.Stored.Err == nil && l.Stored.Value.State == offset.Set && p.Next == l.Stored.Value.Next
}
