package hrpc

import (
	"fmt"
	"iter"

	"google.golang.org/protobuf/encoding/protowire"
)

// Messages are written and read by field number, as parts put together: number(1, 7), text(2, "a"), message(3, …).

func message(n protowire.Number, parts ...[]byte) []byte { return data(n, join(parts...)) }

func data(n protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), b)
}

func text(n protowire.Number, s string) []byte { return data(n, []byte(s)) }

func number(n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), v)
}

func yes(n protowire.Number) []byte { return number(n, 1) }

func join(parts ...[]byte) []byte {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

// delimited puts a message's length before it.
func delimited(b []byte) []byte { return protowire.AppendBytes(nil, b) }

// field is one field of a message: bytes are those of a length-delimited one, never nil; value is of all others.
type field struct {
	num   protowire.Number
	value uint64
	bytes []byte
}

func (f field) bool() bool { return f.value != 0 }

// fields walks over a message. The bytes are the message's own, not copies; an error ends the walk.
func fields(b []byte) iter.Seq2[field, error] {
	return func(yield func(field, error) bool) {
		for len(b) > 0 {
			num, typ, n := protowire.ConsumeTag(b)
			if n < 0 {
				yield(field{}, malformed(n))
				return
			}
			b = b[n:]
			f := field{num: num, bytes: []byte{}}
			switch typ {
			case protowire.BytesType:
				f.bytes, n = protowire.ConsumeBytes(b)
			case protowire.VarintType:
				f.value, n = protowire.ConsumeVarint(b)
			case protowire.Fixed64Type:
				f.value, n = protowire.ConsumeFixed64(b)
			default:
				n = protowire.ConsumeFieldValue(num, typ, b)
			}
			if n < 0 {
				yield(field{}, malformed(n))
				return
			}
			b = b[n:]
			if !yield(f, nil) {
				return
			}
		}
	}
}

func malformed(n int) error { return fmt.Errorf("malformed message: %w", protowire.ParseError(n)) }

// undelimited cuts a length-delimited message off the front.
func undelimited(b []byte) (msg, rest []byte, err error) {
	msg, n := protowire.ConsumeBytes(b)
	if n < 0 {
		return nil, nil, malformed(n)
	}
	return msg, b[n:], nil
}
