package hbasetest

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// msg is a message as a list of its fields.
type msg []field

type field struct {
	num   protowire.Number
	value uint64
	bytes []byte
}

// decode reads a message; what cannot be read ends it.
func decode(b []byte) (m msg) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return m
		}
		b = b[n:]
		f := field{num: num}
		switch typ {
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			f.value, n = protowire.ConsumeVarint(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return m
		}
		b = b[n:]
		m = append(m, f)
	}
	return m
}

func (m msg) get(n protowire.Number) (f field, ok bool) {
	for _, f := range m {
		if f.num == n {
			return f, true
		}
	}
	return field{}, false
}

func (m msg) has(n protowire.Number) bool      { _, ok := m.get(n); return ok }
func (m msg) number(n protowire.Number) uint64 { f, _ := m.get(n); return f.value }
func (m msg) text(n protowire.Number) string   { f, _ := m.get(n); return string(f.bytes) }
func (m msg) message(n protowire.Number) msg   { f, _ := m.get(n); return decode(f.bytes) }
func (m msg) messages(n protowire.Number) []msg {
	var out []msg
	for _, f := range m {
		if f.num == n {
			out = append(out, decode(f.bytes))
		}
	}
	return out
}

func message(n protowire.Number, parts ...[]byte) []byte {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
	}
	return data(n, b)
}

func data(n protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), b)
}
func text(n protowire.Number, s string) []byte { return data(n, []byte(s)) }
func number(n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), v)
}

func frame(parts ...[]byte) []byte {
	b := make([]byte, 4)
	for _, p := range parts {
		b = protowire.AppendBytes(b, p)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}
