package positions

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/offsetctl/offsetctl/offset"
)

// columns of kafka-consumer-groups' CSV; the group is there where several groups were exported. The tool writes no header; one may be there.
var columns = []string{"group", "topic", "partition", "offset"}

func parseCSV(data []byte) (File, error) {
	r := csv.NewReader(bytes.NewReader(data))
	r.ReuseRecord = true
	var c collector
	for first := true; ; first = false {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return File{Sets: c.all()}, nil
		}
		if err != nil {
			return File{}, csvError(err)
		}
		line, _ := r.FieldPos(0)
		if n := len(row); n != 3 && n != 4 {
			return File{}, fmt.Errorf("line %d: %d columns; it must be topic,partition,offset or group,topic,partition,offset, or JSON", line, n)
		}
		if first && slices.Equal(row, columns[len(columns)-len(row):]) {
			continue
		}
		if err := c.addRow(row); err != nil {
			return File{}, fmt.Errorf("line %d: %w", line, err)
		}
	}
}

func csvError(err error) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	if errors.Is(err, csv.ErrFieldCount) {
		return fmt.Errorf("line %d: not as many columns as in the lines before", parse.Line)
	}
	return fmt.Errorf("line %d: %w", parse.Line, parse.Err)
}

func (c *collector) addRow(row []string) error {
	var group string
	if len(row) == len(columns) {
		if group, row = row[0], row[1:]; group == "" {
			return errors.New("the group is missing")
		}
	}
	index, ok := offset.ParseIndex(strings.TrimSpace(row[1]))
	if !ok {
		return fmt.Errorf("%q is no partition number", row[1])
	}
	n, err := ParseOffset(strings.TrimSpace(row[2]))
	if err != nil {
		return err
	}
	return c.add(group, offset.Partition{Topic: row[0], Index: index}, n)
}

// CSV writes positions as kafka-consumer-groups reads them: with a group in front if the sets have groups.
// It has no place for the broker of a RocketMQ queue.
func CSV(sets ...Set) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	for _, s := range sets {
		if s.Group == "" && len(sets) > 1 {
			return nil, errors.New("CSV: positions without a group cannot stand beside those of other groups")
		}
		for _, x := range s.Positions {
			if err := checkPosition("CSV", s.Group, x, false); err != nil {
				return nil, err
			}
			row := []string{s.Group, x.Partition.Topic, strconv.Itoa(int(x.Partition.Index)), strconv.FormatInt(x.Offset, 10)}
			if s.Group == "" {
				row = row[1:]
			}
			if err := w.Write(row); err != nil {
				return nil, err
			}
		}
	}
	w.Flush()
	if isJSON(b.Bytes()) || bytes.HasPrefix(b.Bytes(), byteOrderMark) {
		return nil, fmt.Errorf("CSV: a file that begins with %q would not be read as CSV", b.String()[:1])
	}
	return b.Bytes(), w.Error()
}

// checkPosition tells whether a format can carry x; queues says whether it is one for RocketMQ queues, which have a broker.
func checkPosition(format, group string, x offset.Position, queues bool) error {
	err := checkPartition(x.Partition)
	switch {
	case err != nil:
	case x.Offset < 0:
		err = fmt.Errorf("%s: %d is no offset", x.Partition, x.Offset)
	case group != "" && checkName("group", group) != nil:
		err = checkName("group", group)
	case x.Partition.Broker != "" && !queues:
		err = fmt.Errorf("%s is a RocketMQ queue, for which there is no place", x.Partition)
	case x.Partition.Broker == "" && queues:
		err = fmt.Errorf("%s has no broker, so it is no RocketMQ queue", x.Partition)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", format, err)
	}
	return nil
}
