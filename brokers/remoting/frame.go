package remoting

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Command is one request or answer.
type Command struct {
	Code    int               `json:"code"`
	Version int               `json:"version"`
	Opaque  int32             `json:"opaque"` // the number by which an answer finds its request
	Flag    int               `json:"flag"`
	Remark  string            `json:"remark,omitempty"`
	Ext     map[string]string `json:"extFields"`
	Body    []byte            `json:"-"`
}

// Flags of a Command.
const (
	FlagAnswer = 1
	FlagOneWay = 2
)

// DefaultFrameLimit bounds what is accepted as one answer, in bytes. Brokers send whole offset tables in one.
const DefaultFrameLimit = 128 << 20

const (
	headerJSON   = 0
	headerBinary = 1
	// chunk is what is allocated on the word of a length field alone.
	chunk = 64 << 10
)

// ErrFrame says that what came is no frame of this protocol.
var ErrFrame = errors.New("not a RocketMQ frame")

// Append appends the command as one frame with a JSON header.
func (c *Command) Append(dst []byte) ([]byte, error) {
	h := struct {
		*Command
		Language string `json:"language"`
		Type     string `json:"serializeTypeCurrentRPC"`
	}{c, "GO", "JSON"}
	if c.Ext == nil {
		cc := *c
		cc.Ext = map[string]string{} // a signature needs the field, also when nothing is in it
		h.Command = &cc
	}
	head, err := json.Marshal(h)
	if err != nil {
		return dst, err
	}
	if len(head) >= 1<<24 {
		return dst, fmt.Errorf("a header of %d bytes is too long", len(head))
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(4+len(head)+len(c.Body)))
	dst = binary.BigEndian.AppendUint32(dst, headerJSON<<24|uint32(len(head)))
	dst = append(dst, head...)
	return append(dst, c.Body...), nil
}

// ReadCommand reads one frame of at most limit bytes. An error other than io.EOF before the first byte means that the stream
// cannot be read on.
func ReadCommand(r io.Reader, limit int) (*Command, error) {
	var word [8]byte
	if _, err := io.ReadFull(r, word[:4]); err != nil {
		return nil, err
	}
	total := int64(binary.BigEndian.Uint32(word[:]))
	if total < 4 {
		return nil, fmt.Errorf("%w: its length is %d", ErrFrame, total)
	}
	if total > int64(limit) {
		return nil, fmt.Errorf("%w or too large: it announces %d bytes, the limit is %d", ErrFrame, total, limit)
	}
	if _, err := io.ReadFull(r, word[4:]); err != nil {
		return nil, cut(err)
	}
	kind, headLen := word[4], int64(binary.BigEndian.Uint32(word[4:])&0xffffff)
	if headLen > total-4 {
		return nil, fmt.Errorf("%w: a header of %d bytes in %d", ErrFrame, headLen, total)
	}
	head, err := readN(r, int(headLen))
	if err != nil {
		return nil, err
	}
	var c *Command
	switch kind {
	case headerJSON:
		c, err = parseJSONHeader(head)
	case headerBinary:
		c, err = parseBinaryHeader(head)
	default:
		err = fmt.Errorf("%w: header type %d", ErrFrame, kind)
	}
	if err != nil {
		return nil, err
	}
	c.Body, err = readN(r, int(total-4-headLen))
	return c, err
}

// readN reads n bytes and allocates as they come, not as they are announced.
func readN(r io.Reader, n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	buf := make([]byte, 0, min(n, chunk))
	for len(buf) < n {
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(n, 2*cap(buf)))
			copy(grown, buf)
			buf = grown
		}
		have := len(buf)
		buf = buf[:cap(buf)]
		if _, err := io.ReadFull(r, buf[have:]); err != nil {
			return nil, cut(err)
		}
	}
	return buf, nil
}

// cut is the error of a stream that ends inside a frame.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
