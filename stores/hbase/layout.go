package hbase

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/offsetctl/offsetctl/offset"
)

// layout is how names become row keys and columns.
type layout struct{ app string }

// logPrefix begins the rows of a log that some jobs keep in the same table: they are no group.
const logPrefix = "LOG|"

// maxRow is HBase's limit for a row key.
const maxRow = math.MaxInt16

func (l layout) prefix() string {
	if l.app == "" {
		return ""
	}
	return l.app + "|"
}

// row is the key of a group and topic. Keys are exact: a | in a name is taken as it is.
func (l layout) row(group, topic string) ([]byte, error) {
	key := l.prefix() + group + "|" + topic
	switch {
	case group == "" || topic == "":
		return nil, fmt.Errorf("HBase row for group %q, topic %q: an empty name %w", group, topic, offset.ErrUnsupported)
	case len(key) > maxRow:
		return nil, fmt.Errorf("HBase row for group %.40q…: a key of %d bytes %w", group, len(key), offset.ErrUnsupported)
	case strings.HasPrefix(key, logPrefix):
		return nil, fmt.Errorf("group %q: its rows would begin with %s, as those of a job's log do, which %w", group, logPrefix, offset.ErrUnsupported)
	}
	return []byte(key), nil
}

// topicOf reads the topic out of a row of the group. A rest with a | in it may be a topic with one, or a topic of another group.
func (l layout) topicOf(group string, row []byte) (topic string, ok bool) {
	rest, ok := strings.CutPrefix(string(row), l.prefix()+group+"|")
	return rest, ok && rest != "" && !strings.Contains(rest, "|")
}

// groupOf reads the group out of a row: what stands between the app and the last |, for few topics have one.
func (l layout) groupOf(row []byte) (group string, ok bool) {
	if bytes.HasPrefix(row, []byte(logPrefix)) {
		return "", false
	}
	rest, ok := strings.CutPrefix(string(row), l.prefix())
	i := strings.LastIndexByte(rest, '|')
	if !ok || i < 1 || i == len(rest)-1 {
		return "", false
	}
	return rest[:i], true
}

// after is the first key behind all that begin with the prefix; empty: there is none.
func after(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			return append(bytes.Clone(prefix[:i]), prefix[i]+1)
		}
	}
	return nil
}

// columnForm is how a column's name holds the partition.
type columnForm uint8

const (
	textColumn  columnForm = iota // 10, or broker-a-10
	intColumn                     // 4 bytes
	shortColumn                   // 2 bytes
)

// parseColumn reads a column's name. Text comes first: broker "a", queue 10 is a-10, which are 4 bytes too.
func parseColumn(qualifier []byte, topic string) (p offset.Partition, form columnForm, ok bool) {
	p.Topic = topic
	name := string(qualifier)
	digits := name
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		p.Broker, digits = name[:i], name[i+1:]
	}
	if n, err := strconv.ParseInt(digits, 10, 32); err == nil && strconv.FormatInt(n, 10) == digits && n >= 0 {
		p.Index = int32(n)
		return p, textColumn, true
	}
	p.Broker = ""
	switch len(qualifier) {
	case 4:
		p.Index, form = int32(binary.BigEndian.Uint32(qualifier)), intColumn
	case 2:
		p.Index, form = int32(int16(binary.BigEndian.Uint16(qualifier))), shortColumn
	default:
		return p, 0, false
	}
	return p, form, p.Index >= 0 && !printable(qualifier)
}

func printable(b []byte) bool {
	return !bytes.ContainsFunc(b, func(r rune) bool { return r < ' ' || r > '~' })
}

// column writes a partition as a column's name. A queue keeps its broker, so it is always text.
func column(p offset.Partition, form columnForm) ([]byte, error) {
	switch {
	case p.Index < 0:
		return nil, fmt.Errorf("%s: a negative partition %w", p, offset.ErrUnsupported)
	case p.Broker != "":
		return []byte(p.Broker + "-" + strconv.Itoa(int(p.Index))), nil
	case form == intColumn:
		return binary.BigEndian.AppendUint32(nil, uint32(p.Index)), nil
	case form == shortColumn && p.Index <= math.MaxInt16:
		return binary.BigEndian.AppendUint16(nil, uint16(p.Index)), nil
	}
	return strconv.AppendInt(nil, int64(p.Index), 10), nil
}
