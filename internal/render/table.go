package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/goccy/go-yaml"
)

// Column of a Table.
type Column struct {
	Name  string // of the table: "PART"
	Key   string // of JSON, YAML and CSV: "partition"
	Right bool
}

// Table is a plain list. Cells are strings, integers, Count, bool, []string or nil, which is a "-" for people and null for programs.
type Table struct {
	Schema  string // of JSON and YAML: offsetctl.topics/v1; the rows are under "rows"
	Columns []Column
	Rows    [][]any
	Width   int // of the terminal; 0: none
}

// Write prints t as table, wide, json, yaml or csv.
func (t Table) Write(w io.Writer, format string) error {
	switch format {
	case "table", "wide":
		return t.table(w)
	case "csv":
		return t.csv(w)
	case "json":
		b, err := t.json()
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	case "yaml":
		b, err := t.json()
		if err != nil {
			return err
		}
		return writeYAML(w, b)
	}
	return fmt.Errorf("there is no format %q", format)
}

func (t Table) table(w io.Writer) error {
	g := grid{width: t.Width}
	for i, c := range t.Columns {
		g.columns = append(g.columns, gridColumn{name: c.Name, right: c.Right, shrink: i == 0})
	}
	for _, r := range t.Rows {
		cells := make([]string, len(t.Columns))
		for i := range cells {
			if cells[i] = cellText(r[i], true); r[i] == nil {
				cells[i] = "-"
			}
		}
		g.rows = append(g.rows, cells)
	}
	return g.write(w)
}

func (t Table) csv(w io.Writer) error {
	c := csv.NewWriter(w)
	keys := make([]string, len(t.Columns))
	for i, col := range t.Columns {
		keys[i] = col.Key
	}
	_ = c.Write(keys) // Flush below has the error
	for _, r := range t.Rows {
		cells := make([]string, len(t.Columns))
		for i := range cells {
			cells[i] = cellText(r[i], false)
		}
		_ = c.Write(cells)
	}
	c.Flush()
	return c.Error()
}

// cellText writes one cell: for people counts have separators.
func cellText(v any, people bool) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case Count:
		if people {
			return Number(int64(v))
		}
		return strconv.FormatInt(int64(v), 10)
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return fmt.Sprint(v)
}

// json keeps the order of the columns.
func (t Table) json() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{%q:%q,%q:[", "schema", t.Schema, "rows")
	for i, r := range t.Rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('{')
		for k, c := range t.Columns {
			v, err := json.Marshal(r[k])
			if err != nil {
				return nil, err
			}
			if k > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%q:%s", c.Key, v)
		}
		b.WriteByte('}')
	}
	b.WriteString("]}")
	return indent(b.Bytes())
}

func indent(b []byte) ([]byte, error) {
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// JSON writes v indented, with full 64-bit integers and without HTML escapes.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// YAML writes what JSON would, as YAML.
func YAML(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeYAML(w, b)
}

func writeYAML(w io.Writer, b []byte) error {
	out, err := yaml.JSONToYAML(b)
	if err != nil {
		return err
	}
	_, err = w.Write(out)
	return err
}

// jsonLine writes v on one line.
func jsonLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
