package hrpc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxFrame is more than any answer that we ask for. Memory is taken as bytes arrive, not as a length promises them.
const maxFrame = 256 << 20

const (
	magic      = "HBas"
	simpleAuth = 0x50
	// fatalCall is the id of an answer that speaks of the whole connection: -1.
	fatalCall = 0xffffffff
)

// preamble opens a connection. The server says nothing to it.
func preamble(user, service string) []byte {
	header := join(message(1, text(1, user)), text(2, service))
	b := append([]byte(magic), 0, simpleAuth)
	b = binary.BigEndian.AppendUint32(b, uint32(len(header)))
	return append(b, header...)
}

func requestFrame(id uint32, method string, param []byte) []byte {
	header := delimited(join(number(1, uint64(id)), text(3, method), yes(4)))
	body := delimited(param)
	b := binary.BigEndian.AppendUint32(nil, uint32(len(header)+len(body)))
	return append(append(b, header...), body...)
}

func readFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return nil, fmt.Errorf("an answer of %d bytes: no HBase speaks there", n)
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, r, int64(n)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return b.Bytes(), nil
}

type response struct {
	id        uint32
	exception *ServerError
	body      []byte
}

func parseResponse(frame []byte) (response, error) {
	header, rest, err := undelimited(frame)
	if err != nil {
		return response{}, err
	}
	var r response
	for f, err := range fields(header) {
		if err != nil {
			return response{}, err
		}
		switch f.num {
		case 1:
			r.id = uint32(f.value)
		case 2:
			if r.exception, err = parseException(f.bytes); err != nil {
				return response{}, err
			}
		}
	}
	if r.exception == nil {
		r.body, _, err = undelimited(rest)
	}
	return r, err
}

// parseException reads an exception as a response has it, and as one region or row inside a MultiResponse has it: class and text are
// the same fields in both.
func parseException(b []byte) (*ServerError, error) {
	e := &ServerError{}
	var stack string
	for f, err := range fields(b) {
		if err != nil {
			return nil, err
		}
		switch f.num {
		case 1:
			e.Class = string(f.bytes)
		case 2:
			stack = string(f.bytes)
		case 5:
			e.DoNotRetry = f.bool()
		}
	}
	e.describe(stack)
	return e, nil
}

// describe cuts the package off the class and everything but the first line off the stack. An IOException that only wraps
// another class is called by the other's name.
func (e *ServerError) describe(stack string) {
	line, _, _ := strings.Cut(strings.TrimSpace(stack), "\n")
	line = strings.TrimSpace(line)
	class := e.Class
	line = strings.TrimPrefix(line, class+": ")
	if class == "java.io.IOException" {
		for _, c := range []string{"UninitializedMessageException", "InvalidProtocolBufferException"} {
			if strings.Contains(line, c) {
				class = c
			}
		}
	}
	e.Class = class[strings.LastIndexByte(class, '.')+1:]
	e.Text = strings.TrimSpace(line)
	if e.Text == class {
		e.Text = ""
	}
	const long = 500
	if len(e.Text) > long {
		e.Text = e.Text[:long] + "…"
	}
}
