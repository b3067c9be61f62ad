package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"

	"github.com/offsetctl/offsetctl/inspect"
)

// inspectJSON writes the document row by row: a report may have many, and none of them has to be in memory twice.
func inspectJSON(w io.Writer, r *inspect.Report, o InspectOptions) error {
	s := &jsonStream{w: bufio.NewWriter(w)}
	s.open(newDocHead(r, o), "groups")
	for i := range r.Groups {
		g := &r.Groups[i]
		s.open(newDocGroup(g), "partitions")
		for k := range g.Rows {
			if o.shows(g.Rows[k].Verdict) {
				s.item(newDocRow(&g.Rows[k]))
			}
		}
		s.close()
	}
	s.close()
	s.write([]byte("\n"))
	if s.err != nil {
		return s.err
	}
	return s.w.Flush()
}

// jsonStream writes indented objects whose last field is a list of others. The first error stops it.
type jsonStream struct {
	w      *bufio.Writer
	buf    bytes.Buffer
	indent string
	items  []int // written so far in each open list
	err    error
}

func (s *jsonStream) write(b []byte) {
	if s.err == nil {
		_, s.err = s.w.Write(b)
	}
}

// item writes v as the next element of the open list.
func (s *jsonStream) item(v any) { s.write(s.encode(v)) }

// open writes v without its end and begins a list as its last field.
func (s *jsonStream) open(v any, field string) {
	b := s.encode(v)
	if s.err != nil {
		return
	}
	s.write(bytes.TrimRight(b[:len(b)-1], " \n")) // without the closing brace
	s.write([]byte(",\n" + s.indent + `  "` + field + `": [`))
	s.items = append(s.items, 0)
	s.indent += "    "
}

// close ends the list and the object that it belongs to.
func (s *jsonStream) close() {
	last := len(s.items) - 1
	n := s.items[last]
	s.items, s.indent = s.items[:last], s.indent[:len(s.indent)-4]
	if n > 0 {
		s.write([]byte("\n" + s.indent + "  "))
	}
	s.write([]byte("]\n" + s.indent + "}"))
}

// encode is v at its place, with the comma and the line break before it.
func (s *jsonStream) encode(v any) []byte {
	s.buf.Reset()
	if last := len(s.items) - 1; last >= 0 {
		if s.items[last] > 0 {
			s.buf.WriteByte(',')
		}
		s.items[last]++
		s.buf.WriteString("\n" + s.indent)
	}
	e := json.NewEncoder(&s.buf)
	e.SetEscapeHTML(false)
	e.SetIndent(s.indent, "  ")
	if err := e.Encode(v); err != nil && s.err == nil {
		s.err = err
	}
	return bytes.TrimRight(s.buf.Bytes(), "\n")
}
