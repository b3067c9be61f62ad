package remoting

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Brokers and name servers write maps whose keys are bare numbers or whole objects: {0:"a"} and {{"queueId":1}:2}.
// StandardJSON quotes such keys, an object as the text of its JSON; what is standard already comes back as it is.
func StandardJSON(b []byte) ([]byte, error) {
	if json.Valid(b) && !refersElsewhere(b) {
		return b, nil
	}
	s := loose{in: b, out: make([]byte, 0, len(b)+len(b)/4)}
	s.space()
	if err := s.value(0); err != nil {
		return nil, fmt.Errorf("body at byte %d: %w", s.pos, err)
	}
	if s.space(); s.pos < len(s.in) {
		return nil, fmt.Errorf("body at byte %d: something follows its end", s.pos)
	}
	return s.out, nil
}

// decode reads a body into v.
func decode(b []byte, v any) error {
	std, err := StandardJSON(b)
	if err != nil {
		return err
	}
	return json.Unmarshal(std, v)
}

const maxDepth = 64

var (
	errEnds  = errors.New("it ends too early")
	errDepth = errors.New("it is nested too deeply")
	errRef   = errors.New("it refers to another place in itself ($ref), which is not understood")
)

type loose struct {
	in, out []byte
	pos     int
}

func (s *loose) space() {
	for s.pos < len(s.in) {
		switch s.in[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

func (s *loose) peek() byte {
	if s.pos < len(s.in) {
		return s.in[s.pos]
	}
	return 0
}

func (s *loose) copy(n int) {
	s.out = append(s.out, s.in[s.pos:s.pos+n]...)
	s.pos += n
}

func (s *loose) value(depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	switch c := s.peek(); {
	case s.pos >= len(s.in):
		return errEnds
	case c == '{':
		return s.list('}', func() error { return s.pair(depth + 1) })
	case c == '[':
		return s.list(']', func() error { return s.value(depth + 1) })
	case c == '"':
		return s.text()
	default:
		return s.word()
	}
}

// list copies an object or array whose elements are read by element.
func (s *loose) list(end byte, element func() error) error {
	s.copy(1)
	s.space()
	if s.peek() == end {
		s.copy(1)
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		s.space()
		switch c := s.peek(); {
		case s.pos >= len(s.in):
			return errEnds
		case c == end:
			s.copy(1)
			return nil
		case c == ',':
			s.copy(1)
			s.space()
		default:
			return fmt.Errorf("%q stands where , or %c belongs", c, end)
		}
	}
}

func (s *loose) pair(depth int) error {
	if err := s.key(depth); err != nil {
		return err
	}
	s.space()
	if s.peek() != ':' {
		return fmt.Errorf("a colon is missing")
	}
	s.copy(1)
	s.space()
	return s.value(depth)
}

func (s *loose) key(depth int) error {
	switch s.peek() {
	case '"':
		at := s.pos
		if err := s.text(); err != nil {
			return err
		}
		if string(s.in[at:s.pos]) == `"$ref"` {
			return errRef
		}
		return nil
	case '{':
		at := len(s.out)
		if err := s.value(depth); err != nil {
			return err
		}
		return s.quote(at)
	default:
		at := len(s.out)
		if err := s.word(); err != nil {
			return err
		}
		return s.quote(at)
	}
}

// quote makes what was written since at a JSON text.
func (s *loose) quote(at int) error {
	q, err := json.Marshal(string(s.out[at:]))
	s.out = append(s.out[:at], q...)
	return err
}

func (s *loose) text() error {
	for i := s.pos + 1; i < len(s.in); i++ {
		switch s.in[i] {
		case '\\':
			i++
		case '"':
			s.copy(i + 1 - s.pos)
			return nil
		}
	}
	return errEnds
}

// word copies a number, true, false or null.
func (s *loose) word() error {
	i := s.pos
	for i < len(s.in) {
		c := s.in[i]
		if c != '-' && c != '+' && c != '.' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			break
		}
		i++
	}
	if i == s.pos {
		return fmt.Errorf("%q is not expected", s.peek())
	}
	if !json.Valid(s.in[s.pos:i]) {
		return fmt.Errorf("%.40q is no value", s.in[s.pos:i])
	}
	s.copy(i - s.pos)
	return nil
}

// refersElsewhere tells whether standard JSON may hold a $ref, so that the slow path looks.
func refersElsewhere(b []byte) bool {
	for i := 0; i+6 <= len(b); i++ {
		if b[i] == '"' && string(b[i:i+6]) == `"$ref"` {
			return true
		}
	}
	return false
}
