package render

import (
	"bufio"
	"bytes"
	"encoding/json"

	"github.com/goccy/go-yaml"
)

// yamlStream is a stream of YAML. The first error stops it.
type yamlStream struct {
	w     *bufio.Writer
	depth int  // open lists
	empty bool // the open list has no element yet
	err   error
}

func (s *yamlStream) write(text string) {
	if s.err == nil {
		_, s.err = s.w.WriteString(text)
	}
}

func (s *yamlStream) open(v any, field string) {
	s.item(v)
	s.write(s.indent() + field + ":")
	s.depth, s.empty = s.depth+1, true
}

// indent is where the fields of the innermost object stand: each list that it is an element of moves it by two.
func (s *yamlStream) indent() string { return "                "[:2*s.depth] }

func (s *yamlStream) item(v any) {
	b, err := json.Marshal(v)
	if err == nil {
		b, err = yaml.JSONToYAML(b)
	}
	if err != nil && s.err == nil {
		s.err = err
	}
	if s.depth > 0 && s.empty {
		s.write("\n")
	}
	s.empty = false
	first := true
	for line := range bytes.Lines(b) {
		if s.depth > 0 && first {
			s.write(s.indent()[2:] + "- ")
		} else {
			s.write(s.indent())
		}
		first = false
		s.write(string(line))
	}
}

func (s *yamlStream) close() {
	if s.empty {
		s.write(" []\n")
	}
	s.depth, s.empty = s.depth-1, false
}

func (s *yamlStream) end() error {
	if s.err != nil {
		return s.err
	}
	return s.w.Flush()
}
