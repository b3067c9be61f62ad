package hrpc

import (
	"bytes"
	"fmt"
	"slices"
)

// parseGet reads a GetResponse.
func parseGet(b []byte) (Row, error) {
	for f, err := range fields(b) {
		if err != nil {
			return Row{}, err
		}
		if f.num == 1 {
			return parseResult(f.bytes)
		}
	}
	return Row{}, nil
}

// parseResult reads the cells of a row. A result without cells is a row that is not there.
func parseResult(b []byte) (Row, error) {
	var r Row
	for f, err := range fields(b) {
		if err != nil {
			return Row{}, err
		}
		switch f.num {
		case 1:
			key, c, err := parseCell(f.bytes)
			if err != nil {
				return Row{}, err
			}
			if r.Key != nil && !bytes.Equal(r.Key, key) {
				return Row{}, fmt.Errorf("one result with cells of the rows %q and %q", r.Key, key)
			}
			r.Key, r.Cells = key, append(r.Cells, c)
		case 2:
			if f.value != 0 {
				return Row{}, fmt.Errorf("%d cells outside the message, which was not asked for", f.value)
			}
		case 5:
			if f.bool() {
				return Row{}, fmt.Errorf("a part of a row, which was not asked for")
			}
		}
	}
	slices.SortStableFunc(r.Cells, func(a, b Cell) int { return bytes.Compare(a.Qualifier, b.Qualifier) })
	return r, nil
}

func parseCell(b []byte) (row []byte, c Cell, err error) {
	c.Qualifier, c.Value, row = []byte{}, []byte{}, []byte{}
	for f, err := range fields(b) {
		if err != nil {
			return nil, Cell{}, err
		}
		switch f.num {
		case 1:
			row = f.bytes
		case 3:
			c.Qualifier = f.bytes
		case 4:
			c.Time = int64(f.value)
		case 6:
			c.Value = f.bytes
		}
	}
	return row, c, nil
}

// parseProcessed reads whether a conditional mutation was carried out: field 2 of a MutateResponse and of a MultiResponse.
func parseProcessed(b []byte) (done bool, err error) {
	for f, err := range fields(b) {
		if err != nil {
			return false, err
		}
		if f.num == 2 {
			done = f.bool()
		}
	}
	return done, nil
}

// multiResult is one region's part of a MultiResponse, in the order of the request.
type multiResult struct {
	exception *ServerError
	rows      map[uint64]Row // by index
	failed    map[uint64]*ServerError
}

func parseMulti(b []byte) ([]multiResult, error) {
	var out []multiResult
	for f, err := range fields(b) {
		if err != nil {
			return nil, err
		}
		if f.num != 1 {
			continue
		}
		r, err := parseRegionResult(f.bytes)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func parseRegionResult(b []byte) (multiResult, error) {
	r := multiResult{rows: map[uint64]Row{}, failed: map[uint64]*ServerError{}}
	for f, err := range fields(b) {
		if err != nil {
			return r, err
		}
		switch f.num {
		case 1:
			if err := r.add(f.bytes); err != nil {
				return r, err
			}
		case 2:
			if r.exception, err = parseException(f.bytes); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

func (r *multiResult) add(b []byte) error {
	var index uint64
	var row Row
	var failed *ServerError
	for f, err := range fields(b) {
		if err != nil {
			return err
		}
		switch f.num {
		case 1:
			index = f.value
		case 2:
			if row, err = parseResult(f.bytes); err != nil {
				return err
			}
		case 3:
			if failed, err = parseException(f.bytes); err != nil {
				return err
			}
		}
	}
	if failed != nil {
		r.failed[index] = failed
	} else {
		r.rows[index] = row
	}
	return nil
}

// scanPage is one answer to a scan. more: the region has rows behind the last one.
type scanPage struct {
	rows []Row
	more bool
}

func parseScan(b []byte) (scanPage, error) {
	p := scanPage{more: true}
	for f, err := range fields(b) {
		if err != nil {
			return scanPage{}, err
		}
		switch f.num {
		case 5:
			row, err := parseResult(f.bytes)
			if err != nil {
				return scanPage{}, err
			}
			p.rows = append(p.rows, row)
		case 8:
			p.more = f.bool()
		}
	}
	return p, nil
}
