package remoting

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// looseStrings is extFields as other implementations write it: values are strings, but numbers and nulls are met.
type looseStrings map[string]string

func (m *looseStrings) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var raw map[string]any
	if err := d.Decode(&raw); err != nil {
		return err
	}
	*m = make(looseStrings, len(raw))
	for k, v := range raw {
		switch v := v.(type) {
		case nil:
		case string:
			(*m)[k] = v
		case json.Number, bool:
			(*m)[k] = fmt.Sprint(v)
		default:
			return fmt.Errorf("field %q is neither text nor number", k)
		}
	}
	return nil
}

func parseJSONHeader(b []byte) (*Command, error) {
	var h struct {
		Code, Version, Flag int
		Opaque              int32
		Remark              string
		ExtFields           looseStrings
	}
	if err := json.Unmarshal(b, &h); err != nil {
		return nil, fmt.Errorf("%w: header: %w", ErrFrame, err)
	}
	return &Command{Code: h.Code, Version: h.Version, Opaque: h.Opaque, Flag: h.Flag, Remark: h.Remark, Ext: h.ExtFields}, nil
}

// parseBinaryHeader reads RocketMQ's own serialisation, in which some brokers answer a request of the same kind.
func parseBinaryHeader(b []byte) (*Command, error) {
	r := cursor{rest: b}
	c := &Command{Code: int(int16(r.uint16()))}
	r.take(1) // language
	c.Version = int(int16(r.uint16()))
	c.Opaque = int32(r.uint32())
	c.Flag = int(int32(r.uint32()))
	c.Remark = string(r.take(int64(r.uint32())))
	ext := cursor{rest: r.take(int64(r.uint32()))}
	if !r.short && len(ext.rest) > 0 {
		c.Ext = map[string]string{}
	}
	for len(ext.rest) > 0 && !ext.short {
		k := string(ext.take(int64(ext.uint16())))
		c.Ext[k] = string(ext.take(int64(ext.uint32())))
	}
	if r.short || ext.short {
		return nil, fmt.Errorf("%w: the binary header ends too early", ErrFrame)
	}
	return c, nil
}

// cursor reads big-endian numbers; after a read past the end it answers zeros and short is set.
type cursor struct {
	rest  []byte
	short bool
}

func (c *cursor) take(n int64) []byte {
	if c.short || n < 0 || n > int64(len(c.rest)) {
		c.short = true
		return nil
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

func (c *cursor) uint8() uint8 {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) uint16() uint16 {
	if b := c.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (c *cursor) uint32() uint32 {
	if b := c.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) int64() int64 {
	if b := c.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}
