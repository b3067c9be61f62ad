package positions

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/offsetctl/offsetctl/offset"
)

// MaxFile is the size in bytes that no file of positions may exceed: some 200,000 positions.
const MaxFile = 16 << 20

// Schema is the first member of our own files.
const Schema = "offsetctl.positions/v1"

// Set is the positions of one group.
type Set struct {
	Group     string            // "" where it is not said
	Positions []offset.Position // sorted by partition, none twice, at least one
}

// Origin tells where positions come from.
type Origin struct {
	Cluster string    // the broker's cluster id; "" where it is not said
	Written time.Time // zero where it is not said
}

// File is what a file of positions says.
type File struct {
	Origin
	Sets []Set // sorted by group, none twice, at least one; a Set without a group is alone
}

// Of answers the positions for a group: its own, or those of a file that names no group. Without a group the file must have one Set.
func (f File) Of(group string) ([]offset.Position, error) {
	var names []string
	for _, s := range f.Sets {
		if s.Group == group || s.Group == "" || group == "" && len(f.Sets) == 1 {
			return s.Positions, nil
		}
		names = append(names, s.Group)
	}
	if group == "" {
		return nil, fmt.Errorf("the file has positions of several groups (%s): name one", strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("the file has no positions of group %s, only of %s", group, strings.Join(names, ", "))
}

// ReadFile reads one of three formats, told apart by what is in the file: our own JSON, the CSV that kafka-consumer-groups exports
// (topic,partition,offset, or with a group in front), and Spark's startingOffsets JSON, that of the RocketMQ source too.
// Errors name the line. An offset is a number: -1 and -2, which Spark takes for the end and the beginning, are refused.
func ReadFile(r io.Reader) (File, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return File{}, err
	}
	return parseFile(data)
}

func parseFile(data []byte) (File, error) {
	if len(data) > MaxFile {
		return File{}, fmt.Errorf("it is larger than %d MiB: this is no file of positions", MaxFile>>20)
	}
	data = bytes.TrimPrefix(data, byteOrderMark)
	if at := invalidUTF8(data); at >= 0 {
		return File{}, fmt.Errorf("line %d: not UTF-8", lineAt(data, at))
	}
	parse := parseCSV
	if isJSON(data) {
		parse = parseJSON
	}
	f, err := parse(data)
	if err == nil && len(f.Sets) == 0 {
		err = errors.New("it has no positions")
	}
	if err != nil {
		return File{}, err
	}
	return f, nil
}

// byteOrderMark is what some editors put before UTF-8.
var byteOrderMark = []byte("\ufeff")

func isJSON(data []byte) bool {
	start := bytes.TrimSpace(data)
	return len(start) > 0 && (start[0] == '{' || start[0] == '[')
}

func invalidUTF8(data []byte) int {
	for at := 0; at < len(data); {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return -1
}

func lineAt(data []byte, at int) int { return 1 + bytes.Count(data[:at], []byte("\n")) }

// collector puts positions in order, and refuses what no list of positions may have.
type collector struct {
	sets map[string]map[offset.Partition]int64
}

func (c *collector) add(group string, p offset.Partition, n int64) error {
	if group != "" {
		if err := checkName("group", group); err != nil {
			return err
		}
	}
	if err := checkPartition(p); err != nil {
		return err
	}
	if c.sets == nil {
		c.sets = map[string]map[offset.Partition]int64{}
	}
	set := c.sets[group]
	if set == nil {
		set = map[offset.Partition]int64{}
		c.sets[group] = set
	}
	if _, twice := set[p]; twice {
		return fmt.Errorf("%s stands twice", p)
	}
	set[p] = n
	return nil
}

func (c *collector) all() []Set {
	var out []Set
	for group, set := range c.sets {
		s := Set{Group: group, Positions: make([]offset.Position, 0, len(set))}
		for p, n := range set {
			s.Positions = append(s.Positions, offset.Position{Partition: p, Offset: n})
		}
		slices.SortFunc(s.Positions, func(a, b offset.Position) int { return a.Partition.Compare(b.Partition) })
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Set) int { return strings.Compare(a.Group, b.Group) })
	return out
}

func checkPartition(p offset.Partition) error {
	if err := checkName("topic", p.Topic); err != nil {
		return err
	}
	if strings.Contains(p.Topic, "@") {
		return fmt.Errorf("topic %q: no topic has an @", p.Topic)
	}
	if p.Broker != "" {
		return checkName("broker", p.Broker)
	}
	return nil
}

// checkName refuses names that a text file cannot carry without doubt.
func checkName(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("the %s is missing", what)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }):
		return fmt.Errorf("%s %q has a character that a file of positions cannot carry", what, name)
	}
	return nil
}
