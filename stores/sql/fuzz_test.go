package sql

import (
	"encoding/json"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/value"
)

// Whatever lies in a column is read as a position or as invalid, and an undo puts exactly it back.
func FuzzCell(f *testing.F) {
	for _, b := range badText {
		f.Add(b, byte('t'), false)
	}
	f.Add([]byte("9223372036854775807"), byte('n'), true)
	f.Add([]byte(""), byte('0'), false)
	f.Fuzz(func(t *testing.T, text []byte, as byte, last bool) {
		l := layout{number: value.Dialect{Accept: value.Text, New: value.Text, Last: last}, off: column{kind: text0(as)}}
		c := cell{form: form(as), text: string(text)}
		switch c.form {
		case null:
			c.text = ""
		case number, chars, blob, floated:
		default:
			return
		}
		s := l.stored(c)
		s.Version = offset.Version(c.version())
		if s.State == offset.Set && s.Next < 0 || s.State != offset.Set && (s.State != offset.Invalid || s.Next != 0) {
			t.Fatalf("%q is %+v", c.text, s)
		}
		for _, r := range s.Version {
			if r < ' ' || r > '~' || len(s.Version) > 1024 {
				t.Fatalf("version %q", s.Version)
			}
		}
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var to offset.Stored
		if err := json.Unmarshal(b, &to); err != nil {
			t.Fatal(err)
		}
		back, err := l.cell(offset.Stored{State: offset.Set}, to)
		if err != nil {
			t.Fatalf("%q cannot be put back: %v", c.text, err)
		}
		if s.State == offset.Invalid && back != c || s.State == offset.Set && l.stored(back).Next != s.Next {
			t.Fatalf("%+v came back as %+v", c, back)
		}
	})
}

func text0(as byte) kind {
	switch form(as) {
	case chars:
		return text
	case blob:
		return binary
	}
	return integer
}
