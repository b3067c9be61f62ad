package positions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

func parseJSON(data []byte) (File, error) {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return File{}, fmt.Errorf("a list at the top: it must be %s, or Spark's startingOffsets", Schema)
	}
	// A broken file has no schema; reading it as Spark's finds the line.
	var head struct {
		Schema json.RawMessage `json:"schema"`
	}
	if json.Unmarshal(data, &head) == nil && bytes.HasPrefix(head.Schema, []byte(`"`)) {
		return parseOwn(data)
	}
	return parseSpark(data)
}

// parseOwn reads what JSON writes.
func parseOwn(data []byte) (File, error) {
	w := newWalker(data)
	var f File
	var c collector
	var group string
	err := w.object(func(name string) (err error) {
		switch name {
		case "schema":
			var s string
			if s, err = w.text(); err == nil && s != Schema {
				err = fmt.Errorf("schema %q is not known here; this program reads %s", s, Schema)
			}
		case "cluster":
			f.Cluster, err = w.text()
		case "written":
			f.Written, err = w.time()
		case "group":
			if group, err = w.text(); err == nil {
				err = checkName("group", group)
			}
		case "positions":
			err = w.array(func() error {
				p, err := w.position()
				if err == nil {
					err = c.add("", p.Partition, p.Offset)
				}
				return err
			})
		default:
			err = fmt.Errorf("member %q is not known (schema, cluster, written, group, positions)", name)
		}
		return err
	})
	if err == nil {
		err = w.end()
	}
	if err != nil {
		return File{}, err
	}
	f.Sets = c.all()
	for i := range f.Sets {
		f.Sets[i].Group = group
	}
	return f, nil
}

func (w *walker) time() (time.Time, error) {
	s, err := w.text()
	if err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no time like 2026-11-29T13:05:00Z", s)
	}
	return t.UTC(), nil
}

// position reads one item of positions.
func (w *walker) position() (p offset.Position, err error) {
	index, number := "", ""
	err = w.object(func(name string) (err error) {
		switch name {
		case "topic":
			p.Partition.Topic, err = w.text()
		case "broker":
			p.Partition.Broker, err = w.text()
		case "partition":
			index, err = w.digits()
		case "offset":
			number, err = w.digits()
		default:
			err = fmt.Errorf("member %q is not known (topic, broker, partition, offset)", name)
		}
		return err
	})
	switch {
	case err != nil:
		return p, err
	case index == "":
		return p, errors.New("the partition is missing")
	case number == "":
		return p, errors.New("the offset is missing")
	}
	var ok bool
	if p.Partition.Index, ok = offset.ParseIndex(index); !ok {
		return p, fmt.Errorf("%s is no partition number", index)
	}
	p.Offset, err = ParseOffset(number)
	return p, err
}

// JSON writes positions in our own format, one to a line, every digit of a number kept.
func JSON(o Origin, s Set) ([]byte, error) {
	head := struct {
		Schema  string    `json:"schema"`
		Cluster string    `json:"cluster,omitempty"`
		Written time.Time `json:"written,omitzero"`
		Group   string    `json:"group,omitempty"`
	}{Schema, o.Cluster, o.Written.UTC(), s.Group}
	var b bytes.Buffer
	top, err := encode(head)
	if err != nil {
		return nil, err
	}
	b.Write(bytes.TrimSuffix(top, []byte("}")))
	b.WriteString(",\"positions\":[")
	for i, x := range s.Positions {
		if err := checkPosition("JSON", s.Group, x, x.Partition.Broker != ""); err != nil {
			return nil, err
		}
		line, err := encode(struct {
			Topic     string `json:"topic"`
			Broker    string `json:"broker,omitempty"`
			Partition int32  `json:"partition"`
			Offset    int64  `json:"offset"`
		}{x.Partition.Topic, x.Partition.Broker, x.Partition.Index, x.Offset})
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		b.Write(line)
	}
	b.WriteString("\n]}\n")
	return b.Bytes(), nil
}

// encode is json.Marshal that leaves < > & alone.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
