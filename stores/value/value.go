// Package value is the one decoder of stored positions: the numbers that jobs write into znodes, cells, Redis keys and text
// columns, in every form they are found in, and the way back into the form that was read.
package value

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/offsetctl/offsetctl/offset"
)

// Dialect says how one layout writes numbers. Its zero value accepts nothing.
type Dialect struct {
	// Accept is the set of encodings that the layout may hold; anything else is invalid.
	Accept Encoding
	// New is how a value is written where nothing was there. Where the bytes can be read in two ways (eight ASCII digits
	// are a text and a 64-bit integer), New is tried first, then text.
	New Encoding
	// Last says that the number is the last record that was done, not the next one to read. -1 is then position 0.
	Last bool
}

// maxText is more than any number needs and keeps a gigantic value from being looked at digit by digit.
const maxText = 64

// Decode reads a value. next is the next offset to read, whatever the layout keeps. The encoding is answered also beside an
// error, where the form is plain and only the number is wrong (a serialised "abc", a negative integer); it is 0 where it is not.
func (d Dialect) Decode(raw []byte) (next int64, enc Encoding, err error) {
	enc = d.recognise(raw)
	var n int64
	switch enc {
	case Text:
		n, err = d.number(trim(raw))
	case Java:
		n, err = d.number(trim(raw[javaHeader:]))
	case Range:
		n, err = d.span(trim(raw))
	case Int32:
		n = int64(int32(binary.BigEndian.Uint32(raw)))
	case Int64:
		n = int64(binary.BigEndian.Uint64(raw))
	default:
		return 0, 0, notANumber(raw)
	}
	if err != nil {
		return 0, enc, err
	}
	next, err = d.next(n)
	return next, enc, err
}

// Encode writes the position next in an encoding; 0 means d.New. A number that does not fit, or whose bytes would read as
// another number (1234 as text is also an integer of 4 bytes), is an offset.ErrUnsupported.
func (d Dialect) Encode(next int64, enc Encoding) ([]byte, error) {
	if next < 0 {
		return nil, fmt.Errorf("%d is no position: never written", next)
	}
	n := next
	if d.Last {
		n--
	}
	if enc == 0 {
		enc = d.New
	}
	raw, err := encode(n, enc)
	if err != nil {
		return nil, err
	}
	if back, as, err := d.Decode(raw); err != nil || back != next || as != enc {
		return nil, offset.As(offset.ErrUnsupported, fmt.Errorf("%d, written as %s, would be read as something else", n, enc))
	}
	return raw, nil
}

func encode(n int64, enc Encoding) ([]byte, error) {
	switch enc {
	case Text:
		return strconv.AppendInt(nil, n, 10), nil
	case Java:
		text := strconv.AppendInt(nil, n, 10)
		return append(binary.BigEndian.AppendUint16([]byte(javaMagic), uint16(len(text))), text...), nil
	case Range:
		return fmt.Appendf(nil, "%d|%d", n, n), nil
	case Int32:
		if n > math.MaxInt32 {
			return nil, offset.As(offset.ErrUnsupported, fmt.Errorf("%d does not fit into the 4 bytes that are kept there", n))
		}
		return binary.BigEndian.AppendUint32(nil, uint32(int32(n))), nil
	case Int64:
		return binary.BigEndian.AppendUint64(nil, uint64(n)), nil
	}
	return nil, offset.As(offset.ErrUnsupported, fmt.Errorf("%d cannot be written as %s", n, enc))
}

// Stored is a value as the domain sees it: Set or Invalid, with Raw where the bytes are more than Next in decimal. The caller
// adds the Version; a value that is not there is the caller's Absent.
func (d Dialect) Stored(raw []byte) offset.Stored {
	next, _, err := d.Decode(raw)
	if err != nil {
		return offset.Stored{State: offset.Invalid, Raw: raw}
	}
	s := offset.Stored{State: offset.Set, Next: next}
	if !bytes.Equal(raw, strconv.AppendInt(nil, next, 10)) {
		s.Raw = raw
	}
	return s
}

// Raw is the inverse of Stored: the bytes that are there. It is nil only for what is not there.
func Raw(s offset.Stored) []byte {
	switch {
	case s.State == offset.Set && s.Raw == nil:
		return strconv.AppendInt(nil, s.Next, 10)
	case s.State == offset.Invalid && s.Raw == nil: // an empty value that has been through JSON
		return []byte{}
	}
	return s.Raw
}

// Bytes is what a change to "to" writes: its own bytes where it has some (an undo), else its number in the encoding of from,
// else in that of its neighbours, else in d.New. A change to Absent is a deletion, which is not asked here.
func (d Dialect) Bytes(from, to offset.Stored, neighbours Encoding) ([]byte, error) {
	switch {
	case to.State == offset.Invalid:
		return Raw(to), nil
	case to.State != offset.Set:
		return nil, errors.New("neither a position nor bytes to write")
	case to.Raw != nil:
		if next, _, err := d.Decode(to.Raw); err != nil || next != to.Next {
			return nil, fmt.Errorf("the bytes %q do not read as %d here: left alone", to.Raw, to.Next)
		}
		return to.Raw, nil
	}
	return d.Encode(to.Next, d.like(from, neighbours))
}

func (d Dialect) like(from offset.Stored, neighbours Encoding) Encoding {
	if from.State == offset.Set || from.State == offset.Invalid {
		if enc := d.recognise(Raw(from)); enc != 0 {
			return enc
		}
	}
	return neighbours
}

func (d Dialect) next(n int64) (int64, error) {
	if d.Last {
		if n == math.MaxInt64 {
			return 0, fmt.Errorf("no position comes after %d", n)
		}
		n++
	}
	if n < 0 {
		return 0, errors.New("a negative number is no position")
	}
	return n, nil
}

// number reads digits alone: no sign (but -1 where it means something), exponent, point, or second number.
func (d Dialect) number(text []byte) (int64, error) {
	if d.Last && string(text) == "-1" {
		return -1, nil
	}
	if len(text) > maxText || !digits(text) {
		return 0, notANumber(text)
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is above the highest offset there can be, %d", text, int64(math.MaxInt64))
	}
	return n, nil
}

// span reads from|until. A range that runs backwards was not written by the job whose layout this is.
func (d Dialect) span(text []byte) (int64, error) {
	a, b, _ := bytes.Cut(text, []byte("|"))
	from, err := d.number(a)
	if err != nil {
		return 0, err
	}
	until, err := d.number(b)
	if err != nil {
		return 0, err
	}
	if from > until {
		return 0, fmt.Errorf("the range %s runs backwards", text)
	}
	return until, nil
}

func notANumber(raw []byte) error {
	if len(raw) == 0 {
		return errors.New("an empty value is no position")
	}
	if len(raw) > maxText {
		return fmt.Errorf("%q… (%d bytes) is no position", raw[:maxText], len(raw))
	}
	return fmt.Errorf("%q is no position", raw)
}

func trim(text []byte) []byte { return bytes.Trim(text, " \t\r\n") }

func digits(text []byte) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(text) > 0
}
