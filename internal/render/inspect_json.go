package render

import (
	"bufio"
	"bytes"
	"encoding/json"

	"github.com/offsetctl/offsetctl/inspect"
)

// stream writes objects whose last field is a list of others.
type stream interface {
	open(v any, field string) // v, and the beginning of its list
	item(v any)               // an element of the open list
	close()                   // ends the list, and the object that it belongs to
	end() error
}

// inspectStream writes the document row by row: a report may have many, and none of them has to be in memory twice. What a group
// has below it are its partitions, its topics or nothing, as InspectOptions.By says.
func inspectStream(s stream, r *inspect.Report, o InspectOptions) error {
	s.open(newDocHead(r, o), "groups")
	for i := range r.Groups {
		switch g := &r.Groups[i]; o.By {
		case "group":
			s.item(docGroupSum{newDocGroup(g), newDocCounts(g)})
		case "topic":
			s.open(newDocGroup(g), "topics")
			sums := topicSums(g)
			for k := range sums {
				if o.showsAny(&sums[k].GroupReport) {
					s.item(newDocTopic(&sums[k]))
				}
			}
			s.close()
		default:
			s.open(newDocGroup(g), "partitions")
			for k := range g.Rows {
				if o.shows(g.Rows[k].Verdict) {
					s.item(newDocRow(&g.Rows[k]))
				}
			}
			s.close()
		}
	}
	s.close()
	return s.end()
}

// jsonStream is a stream of indented JSON. The first error stops it.
type jsonStream struct {
	w      *bufio.Writer
	buf    bytes.Buffer
	enc    *json.Encoder // into buf
	indent string
	items  []int // written so far in each open list
	err    error
}

func (s *jsonStream) write(b []byte) {
	if s.err == nil {
		_, s.err = s.w.Write(b)
	}
}

func (s *jsonStream) item(v any) { s.write(s.encode(v)) }

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

func (s *jsonStream) close() {
	last := len(s.items) - 1
	n := s.items[last]
	s.items, s.indent = s.items[:last], s.indent[:len(s.indent)-4]
	if n > 0 {
		s.write([]byte("\n" + s.indent + "  "))
	}
	s.write([]byte("]\n" + s.indent + "}"))
}

func (s *jsonStream) end() error {
	s.write([]byte("\n"))
	if s.err != nil {
		return s.err
	}
	return s.w.Flush()
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
	if s.enc == nil {
		s.enc = json.NewEncoder(&s.buf)
		s.enc.SetEscapeHTML(false)
	}
	s.enc.SetIndent(s.indent, "  ")
	if err := s.enc.Encode(v); err != nil && s.err == nil {
		s.err = err
	}
	return bytes.TrimRight(s.buf.Bytes(), "\n")
}
