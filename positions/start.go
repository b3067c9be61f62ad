package positions

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// Point is one place in any log: its Kind is offset.ToEarliest, ToLatest, ToOffset or ToTime.
type Point struct {
	Kind   offset.Kind
	Offset int64
	Time   time.Time
}

func (p Point) String() string {
	switch p.Kind {
	case offset.ToEarliest:
		return "earliest"
	case offset.ToLatest:
		return "latest"
	case offset.ToTime:
		return utc(p.Time)
	}
	return strconv.FormatInt(p.Offset, 10)
}

func (p Point) target() offset.Target {
	return offset.Target{Kind: p.Kind, Offset: p.Offset, Time: p.Time}
}

// Start is where to begin: one point for all partitions, or points for some, or a file that has them.
type Start struct {
	All  *Point
	Each []Placed // sorted by partition, none twice
	File string   // to be read with ReadFile, then StartAt
}

// Placed is a point for one partition.
type Placed struct {
	Partition offset.Partition
	Point     Point
}

// StartAt is a Start at these positions.
func StartAt(ps []offset.Position) Start {
	each := make([]Placed, len(ps))
	for i, p := range ps {
		each[i] = Placed{p.Partition, Point{Kind: offset.ToOffset, Offset: p.Offset}}
	}
	return Start{Each: each}
}

// Target is what the start rule is given for p. Where Each leaves p out it is a set that leaves p out: a job starts such a
// partition at the log start and says so, a reset refuses it.
func (s Start) Target(p offset.Partition) offset.Target {
	if s.All != nil {
		return s.All.target()
	}
	i, ok := slices.BinarySearchFunc(s.Each, p, func(x Placed, p offset.Partition) int { return x.Partition.Compare(p) })
	if !ok {
		return offset.Target{Kind: offset.ToOffsets}
	}
	return s.Each[i].Point.target()
}

// Partitions are those that are named, sorted.
func (s Start) Partitions() []offset.Partition {
	out := make([]offset.Partition, len(s.Each))
	for i, x := range s.Each {
		out[i] = x.Partition
	}
	return out
}

// String is a text that Clock.Start reads.
func (s Start) String() string {
	switch {
	case s.File != "":
		return "offsets=@" + s.File
	case s.All != nil && s.All.Kind == offset.ToTime:
		return "time=" + s.All.String()
	case s.All != nil && s.All.Kind == offset.ToOffset:
		return "offsets=" + s.All.String()
	case s.All != nil:
		return s.All.String()
	}
	kind := "offsets="
	var list []string
	for _, x := range s.Each {
		if x.Point.Kind == offset.ToTime {
			kind = "time="
		}
		list = append(list, x.Partition.String()+"="+x.Point.String())
	}
	return kind + strings.Join(list, ",")
}

// Start reads a job's start policy: earliest, latest, time=T, offsets=N, time= or offsets= with a list like
// orders:0=500,orders:1=latest,orders@broker-a:2=earliest, or offsets=@FILE; offsets= may be left out. A T is read by Time, and
// earliest and latest stand in both lists.
func (c Clock) Start(text string) (Start, error) {
	kind, rest, named := strings.Cut(text, "=")
	if !named || kind != "time" && kind != "offsets" {
		kind, rest = "offsets", text
	}
	var s Start
	var err error
	switch {
	case kind == "time":
		s, err = parseStart([]string{rest}, c.point)
	case strings.HasPrefix(rest, "@"):
		if s.File = rest[1:]; s.File == "" {
			err = errors.New("the file after @ is missing")
		}
	default:
		s, err = parseStart([]string{rest}, number)
	}
	if err != nil {
		return Start{}, fmt.Errorf("start %q: %w; it is earliest, latest, time=T, N, TOPIC:PARTITION=N,… or @FILE", text, err)
	}
	return s, nil
}

// ParseOffsets reads where a reset shall go: one number for all partitions, or texts like orders:3=88122, which add up.
// A partition may also go to earliest or latest.
func ParseOffsets(texts ...string) (Start, error) {
	s, err := parseStart(texts, number)
	if err != nil {
		return Start{}, fmt.Errorf("offset %q: %w", strings.Join(texts, " "), err)
	}
	if s.All != nil && s.All.Kind != offset.ToOffset {
		return Start{}, fmt.Errorf("%q is no offset: use --to-%s for all partitions", s.All, s.All)
	}
	return s, nil
}

func parseStart(texts []string, read func(string) (Point, error)) (s Start, err error) {
	items := 0
	for _, text := range texts {
		for item := range strings.SplitSeq(text, ",") {
			items++
			i := strings.LastIndexByte(item, '=')
			point, err := read(item[i+1:])
			if err != nil {
				return Start{}, err
			}
			if i < 0 {
				s.All = &point
				continue
			}
			p, err := offset.ParsePartition(item[:i])
			if err != nil {
				return Start{}, err
			}
			s.Each = append(s.Each, Placed{p, point})
		}
	}
	if items != 1 && s.All != nil {
		return Start{}, fmt.Errorf("%s for all partitions stands alone; write TOPIC:PARTITION=%s for single ones", s.All, s.All)
	}
	sortPlaced(s.Each)
	for i := 1; i < len(s.Each); i++ {
		if p := s.Each[i].Partition; p == s.Each[i-1].Partition {
			return Start{}, fmt.Errorf("%s is given twice", p)
		}
	}
	return s, nil
}

func sortPlaced(xs []Placed) {
	slices.SortFunc(xs, func(a, b Placed) int { return a.Partition.Compare(b.Partition) })
}

func symbol(text string) (Point, error) {
	switch text {
	case "earliest":
		return Point{Kind: offset.ToEarliest}, nil
	case "latest":
		return Point{Kind: offset.ToLatest}, nil
	}
	return Point{}, fmt.Errorf("%q is neither earliest nor latest", text)
}

func number(text string) (Point, error) {
	if p, err := symbol(text); err == nil {
		return p, nil
	}
	n, err := ParseOffset(text)
	return Point{Kind: offset.ToOffset, Offset: n}, err
}

func (c Clock) point(text string) (Point, error) {
	if p, err := symbol(text); err == nil {
		return p, nil
	}
	t, err := c.Time(text)
	return Point{Kind: offset.ToTime, Time: t}, err
}

// ParseOffset reads one offset: digits only, at most 2^63-1.
func ParseOffset(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err == nil && n < 0 || strings.HasPrefix(text, "-") && errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s is no offset: negative numbers are symbols to some tools (-1 latest, -2 earliest), write the word", text)
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s is larger than every offset (9223372036854775807)", text)
	case err != nil || text[0] == '+' || text[0] == '-':
		return 0, fmt.Errorf("%q is no offset: write digits only", text)
	}
	return n, nil
}
