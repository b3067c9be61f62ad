package value

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// Encoding is one form of a stored number, or a set of them (Text|Java).
type Encoding uint8

const (
	Text  Encoding = 1 << iota // decimal digits, whitespace around them allowed
	Java                       // the same, as a Java-serialised string
	Range                      // from|until in decimal digits; until is the position
	Int32                      // 4 bytes, big-endian
	Int64                      // 8 bytes, big-endian
)

var names = []struct {
	e    Encoding
	name string
}{{Text, "text"}, {Java, "a Java string"}, {Range, "from|until"}, {Int32, "an int"}, {Int64, "a long"}}

func (e Encoding) String() string {
	for _, n := range names {
		if n.e == e {
			return n.name
		}
	}
	return "nothing known"
}

// A serialised java.lang.String: stream magic, version 5, TC_STRING, then a length of 2 bytes and that many of UTF-8.
const (
	javaMagic  = "\xac\xed\x00\x05t"
	javaHeader = len(javaMagic) + 2
)

// recognise tells the encoding by the form alone; whether the number in it is a position is another matter.
func (d Dialect) recognise(raw []byte) Encoding {
	if d.New != 0 && d.form(raw, d.New) {
		return d.New
	}
	for _, e := range []Encoding{Java, Range, Text, Int64, Int32} {
		if d.form(raw, e) {
			return e
		}
	}
	return 0
}

func (d Dialect) form(raw []byte, e Encoding) bool {
	if d.Accept&e == 0 {
		return false
	}
	switch e {
	case Java:
		return bytes.HasPrefix(raw, []byte(javaMagic)) && len(raw) >= javaHeader &&
			int(binary.BigEndian.Uint16(raw[len(javaMagic):])) == len(raw)-javaHeader
	case Range:
		return numeric(raw) && bytes.Count(raw, []byte("|")) == 1
	case Text:
		return numeric(raw) && !bytes.Contains(raw, []byte("|"))
	case Int64:
		return len(raw) == 8 && (d.New == e || !printable(raw))
	case Int32:
		return len(raw) == 4 && (d.New == e || !printable(raw))
	}
	return false
}

// numeric holds for text that was meant as a number: some digit, and nothing but what people write around digits.
func numeric(raw []byte) bool {
	text := trim(raw)
	return bytes.ContainsAny(text, "0123456789") &&
		!bytes.ContainsFunc(text, func(c rune) bool { return !strings.ContainsRune("0123456789|-+.eE", c) })
}

// printable keeps "abcd" and "12.0" from being taken for integers of 4 bytes. The price: the few integers whose bytes all
// happen to be printable are invalid, or read as text where they are digits, until New says what they are.
func printable(raw []byte) bool {
	return !bytes.ContainsFunc(trim(raw), func(c rune) bool { return c < ' ' || c > '~' })
}
