package render

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// grid is a table of texts. Its width is only a wish: numbers are never cut.
type grid struct {
	columns []gridColumn
	rows    [][]string
	width   int // of the terminal; 0: as wide as it gets
	bare    bool
}

type gridColumn struct {
	name   string
	right  bool
	shrink bool // names may be shortened in the middle, where the line is too long for the terminal
}

// least is what is left of a shortened name.
const least = 16

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

// write prints header and rows with two spaces between the columns and nothing behind the last.
func (g *grid) write(w io.Writer) error {
	g.fit()
	aligns := make([]tw.Align, len(g.columns))
	names := make([]string, len(g.columns))
	for i, c := range g.columns {
		aligns[i], names[i] = tw.AlignLeft, c.name
		if c.right {
			aligns[i] = tw.AlignRight
		}
	}
	cell := tw.CellConfig{Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off}, Alignment: tw.CellAlignment{PerColumn: aligns},
		Padding: tw.CellPadding{Global: tw.Padding{Right: "  ", Overwrite: true}}}
	var b bytes.Buffer
	t := tablewriter.NewTable(&b, tablewriter.WithConfig(tablewriter.Config{Header: cell, Row: cell, Behavior: tw.Behavior{TrimSpace: tw.Off}}),
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{Borders: tw.BorderNone, Settings: tw.Settings{Separators: tw.SeparatorsNone, Lines: tw.LinesNone}})))
	if !g.bare {
		t.Header(names)
	}
	for _, r := range g.rows {
		if err := t.Append(r); err != nil {
			return err
		}
	}
	if err := t.Render(); err != nil {
		return err
	}
	for line := range bytes.Lines(b.Bytes()) {
		if _, err := w.Write(append(trimEnd(line), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// trimEnd cuts spaces at the end, and the second end of colours that the library writes behind them.
func trimEnd(line []byte) []byte {
	const reset = "\x1b[0m"
	for {
		line = bytes.TrimRight(line, " \n")
		rest, ok := bytes.CutSuffix(line, []byte(reset))
		if !ok || !bytes.HasSuffix(rest, []byte(" ")) && !bytes.HasSuffix(rest, []byte(reset)) {
			return line
		}
		line = rest
	}
}

// fit shortens names, and at last the words of the last column, until the lines fit the terminal.
func (g *grid) fit() {
	if g.width <= 0 {
		return
	}
	widths := g.widths()
	over := 2*(len(widths)-1) - g.width
	for _, n := range widths {
		over += n
	}
	for i, c := range g.columns {
		last := i == len(g.columns)-1
		if over <= 0 || !c.shrink && !last || c.right {
			continue
		}
		to := max(least, widths[i]-over)
		if to >= widths[i] {
			continue
		}
		over -= widths[i] - to
		for _, r := range g.rows {
			if last {
				r[i] = cut(r[i], to)
			} else {
				r[i] = middle(r[i], to)
			}
		}
	}
}

func (g *grid) widths() []int {
	out := make([]int, len(g.columns))
	for i, c := range g.columns {
		out[i] = len(c.name)
		for _, r := range g.rows {
			out[i] = max(out[i], visible(r[i]))
		}
	}
	return out
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// visible counts the characters of s without its colours.
func visible(s string) int {
	if strings.IndexByte(s, '\x1b') >= 0 {
		s = escapes.ReplaceAllString(s, "")
	}
	return utf8.RuneCountInString(s)
}

// cut keeps the beginning of s. Coloured words stay whole.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n && visible(s) == len(r) {
		return strings.TrimRight(string(r[:n-1]), " ") + "…"
	}
	return s
}

// middle keeps both ends of s: names often differ in their last letters.
func middle(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	head := n / 2
	return string(r[:head]) + "…" + string(r[len(r)-(n-head-1):])
}

// wrap breaks text at spaces so that no line is longer than width; the first line begins at column first.
func wrap(text string, first, width int) []string {
	if first+visible(text) <= width {
		return []string{text}
	}
	var out []string
	line, room := "", width-first
	for word := range strings.FieldsSeq(text) {
		n := visible(word)
		switch {
		case line == "":
			line = word
		case visible(line)+1+n <= room:
			line += " " + word
		default:
			out, line = append(out, line), word
		}
	}
	return append(out, line)
}
