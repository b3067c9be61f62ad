package hbase

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/hbase/hrpc"
	"github.com/offsetctl/offsetctl/stores/value"
)

// rowView is a row read as partitions, sorted. Two columns that name one partition both stand in it.
type rowView struct {
	columns   []columnView
	odd       [][]byte // names that are no partition
	firstTime int64    // the timestamp of the row's first cell, in HBase's order
}

type columnView struct {
	partition offset.Partition
	form      columnForm
	cell      hrpc.Cell
}

func view(row hrpc.Row, topic string) rowView {
	var v rowView
	if len(row.Cells) > 0 {
		v.firstTime = row.Cells[0].Time
	}
	for _, c := range row.Cells {
		p, form, ok := parseColumn(c.Qualifier, topic)
		if !ok {
			v.odd = append(v.odd, c.Qualifier)
			continue
		}
		v.columns = append(v.columns, columnView{p, form, c})
	}
	slices.SortStableFunc(v.columns, func(a, b columnView) int { return a.partition.Compare(b.partition) })
	return v
}

// find answers a partition's column; nil where there is none.
func (v rowView) find(p offset.Partition) (*columnView, error) {
	i, found := slices.BinarySearchFunc(v.columns, p, func(c columnView, p offset.Partition) int { return c.partition.Compare(p) })
	switch {
	case !found:
		return nil, nil
	case i+1 < len(v.columns) && v.columns[i+1].partition == p:
		return nil, fmt.Errorf("%s stands in two columns, %q and %q: delete the one that no job writes", p, v.columns[i].cell.Qualifier, v.columns[i+1].cell.Qualifier)
	}
	return &v.columns[i], nil
}

// form is how a new column is named: like the others.
func (v rowView) form() columnForm {
	if len(v.columns) == 0 {
		return textColumn
	}
	return v.columns[0].form
}

// encoding is that of the first value that tells one; 0: none does.
func (v rowView) encoding(d value.Dialect) value.Encoding {
	for _, c := range v.columns {
		if _, enc, err := d.Decode(c.cell.Value); err == nil {
			return enc
		}
	}
	return 0
}

// stored is a cell as the domain sees it; nil is a cell that is not there.
func (s *Store) stored(c *hrpc.Cell) offset.Stored {
	if c == nil {
		return offset.Stored{State: offset.Absent, Version: absentVersion}
	}
	out := s.dialect.Stored(c.Value)
	out.Version, out.Committed = versionOf(c.Value), time.UnixMilli(c.Time).UTC()
	return out
}

const absentVersion offset.Version = "absent"

// longest value in bytes that a version spells out.
const longest = 200

// versionOf is the value itself: that is what HBase compares. Timestamps are no part of it, for HBase cannot compare them.
func versionOf(raw []byte) offset.Version {
	switch {
	case len(raw) > longest:
		sum := sha256.Sum256(raw)
		return offset.Version("sha256:" + hex.EncodeToString(sum[:]) + ":" + strconv.Itoa(len(raw)))
	case printable(raw):
		return offset.Version("=" + string(raw))
	}
	return offset.Version("hex:" + hex.EncodeToString(raw))
}
