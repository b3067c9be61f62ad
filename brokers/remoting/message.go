package remoting

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Message is one stored message.
type Message struct {
	Topic      string
	Queue      int32
	Offset     int64
	Born       time.Time // by the producer's clock
	Stored     time.Time // by the broker's
	Reconsumed int32     // how often it was given back
	Properties []Property
	Body       []byte // unpacked; nil where Err is set
	Err        error  // the body cannot be unpacked
}

// Property is one name and value of a message.
type Property struct{ Name, Value string }

// Property answers the value of a property, "" where it is not there.
func (m *Message) Property(name string) string {
	for _, p := range m.Properties {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

const (
	magicV1 = 0xDAA320A7
	magicV2 = 0xDAA320AB // two bytes for the length of the topic

	flagPacked     = 1 << 0
	flagBornV6     = 1 << 4
	flagStoreV6    = 1 << 5
	flagCodecShift = 8

	// maxUnpacked bounds a message's body after unpacking, in bytes.
	maxUnpacked = 64 << 20
)

var errMessage = errors.New("a message is cut short")

// DecodeMessages reads the messages in the answer to a pull.
func DecodeMessages(b []byte) ([]Message, error) {
	var out []Message
	for len(b) > 0 {
		r := cursor{rest: b}
		size := int64(int32(r.uint32()))
		if r.short || size < 8 || size > int64(len(b)) {
			return out, errMessage
		}
		m, err := decodeMessage(b[4:size])
		if err != nil {
			return out, err
		}
		out = append(out, m)
		b = b[size:]
	}
	return out, nil
}

func decodeMessage(b []byte) (m Message, err error) {
	r := cursor{rest: b}
	magic := r.uint32()
	if magic != magicV1 && magic != magicV2 {
		return m, fmt.Errorf("a message starts with %#x", magic)
	}
	r.take(4) // checksum
	m.Queue = int32(r.uint32())
	r.take(4) // flag
	m.Offset = r.int64()
	r.take(8) // physical offset
	sys := r.uint32()
	m.Born = time.UnixMilli(r.int64())
	r.take(hostLen(sys & flagBornV6))
	m.Stored = time.UnixMilli(r.int64())
	r.take(hostLen(sys & flagStoreV6))
	m.Reconsumed = int32(r.uint32())
	r.take(8) // transaction
	body := r.take(int64(int32(r.uint32())))
	if magic == magicV2 {
		m.Topic = string(r.take(int64(r.uint16())))
	} else {
		m.Topic = string(r.take(int64(r.uint8())))
	}
	m.Properties = parseMessageProperties(string(r.take(int64(r.uint16()))))
	if r.short {
		return m, errMessage
	}
	if sys&flagPacked == 0 {
		m.Body = bytes.Clone(body)
	} else {
		m.Body, m.Err = unpack(body, sys>>flagCodecShift&7)
	}
	return m, nil
}

func hostLen(v6 uint32) int64 {
	if v6 != 0 {
		return 16 + 4
	}
	return 4 + 4
}

func parseMessageProperties(s string) []Property {
	var out []Property
	for kv := range strings.SplitSeq(s, "\x02") {
		if k, v, ok := strings.Cut(kv, "\x01"); ok {
			out = append(out, Property{k, v})
		}
	}
	return out
}

func unpack(b []byte, codec uint32) ([]byte, error) {
	var r io.Reader
	switch codec {
	case 0, 3:
		z, err := zlib.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, fmt.Errorf("zlib: %w", err)
		}
		r = z
	case 1:
		r = lz4.NewReader(bytes.NewReader(b))
	case 2:
		z, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		defer z.Close()
		r = z
	default:
		return nil, fmt.Errorf("compressed in a way that is not known (%d)", codec)
	}
	out, err := io.ReadAll(io.LimitReader(r, maxUnpacked+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("unpacking: %w", err)
	case len(out) > maxUnpacked:
		return nil, fmt.Errorf("unpacked it is more than %d bytes", maxUnpacked)
	}
	return out, nil
}
