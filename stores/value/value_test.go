package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
)

var (
	znode  = Dialect{Accept: Text | Java, New: Text}
	column = Dialect{Accept: Text, New: Text}
	cell   = Dialect{Accept: Text | Range | Int32 | Int64, New: Range}
	last   = Dialect{Accept: Text | Range | Int32 | Int64, New: Text, Last: true}
	every  = []Dialect{znode, column, cell, last,
		{Accept: cell.Accept, New: Int32}, {Accept: cell.Accept, New: Int64}, {Accept: Text | Range, New: Range}, {Accept: Text | Java, New: Java}}
)

func TestDecode(t *testing.T) {
	const invalid = math.MinInt64
	for _, x := range []struct {
		name string
		d    Dialect
		raw  string
		next int64
		enc  Encoding
	}{
		{"zero", znode, "0", 0, Text},
		{"more than 2^31", znode, "2623027957", 2623027957, Text},
		{"more than a float holds", znode, "9007199254740993", 9007199254740993, Text},
		{"the highest", znode, "9223372036854775807", math.MaxInt64, Text},
		{"above the highest", znode, "9223372036854775808", invalid, Text},
		{"whitespace around", znode, " \t75\r\n", 75, Text},
		{"whitespace inside", znode, "7 5", invalid, 0},
		{"leading zeros", znode, "007", 7, Text},
		{"empty", znode, "", invalid, 0},
		{"only whitespace", znode, " \n", invalid, 0},
		{"negative", znode, "-1", invalid, Text},
		{"plus", znode, "+1", invalid, Text},
		{"point", znode, "12.0", invalid, Text},
		{"exponent", znode, "1e6", invalid, Text},
		{"letters", znode, "abc", invalid, 0},
		{"Chinese digits", znode, "一二", invalid, 0},
		{"Arabic digits", znode, "٣", invalid, 0},
		{"gigantic", znode, strings.Repeat("0", 1<<20) + "7", invalid, Text},
		{"binary in a znode", znode, "\x00\x00\x00\x00\x00\x00\x00\x4b", invalid, 0},
		{"range in a znode", znode, "1|2", invalid, 0},

		{"Java string", znode, "\xac\xed\x00\x05t\x00\x0275", 75, Java},
		{"Java string, whitespace", znode, "\xac\xed\x00\x05t\x00\x0375\n", 75, Java},
		{"Java string, empty", znode, "\xac\xed\x00\x05t\x00\x00", invalid, Java},
		{"Java string, letters", znode, "\xac\xed\x00\x05t\x00\x03abc", invalid, Java},
		{"Java string, cut", znode, "\xac\xed\x00\x05t\x00\x057", invalid, 0},
		{"Java string, trailing bytes", znode, "\xac\xed\x00\x05t\x00\x01755", invalid, 0},
		{"Java string, header alone", znode, "\xac\xed\x00\x05t", invalid, 0},
		{"Java long, not a string", znode, "\xac\xed\x00\x05s", invalid, 0},
		{"Java string in a column", column, "\xac\xed\x00\x05t\x00\x0275", invalid, 0},

		{"range", cell, "137873|137900", 137900, Range},
		{"empty batch", cell, "137873|137873", 137873, Range},
		{"range, whitespace around", cell, " 1|2\n", 2, Range},
		{"range, whitespace inside", cell, "1 | 2", invalid, 0},
		{"backwards", cell, "20|10", invalid, Range},
		{"half", cell, "|10", invalid, Range},
		{"other half", cell, "10|", invalid, Range},
		{"three", cell, "1|2|3", invalid, 0},
		{"four bytes, two bars", cell, "1||2", invalid, 0},
		{"negative until", cell, "0|-1", invalid, Range},
		{"number in a cell", cell, "137900", 137900, Text},
		{"long", cell, "\x00\x00\x00\x00\x00\x02\x1a\xac", 137900, Int64},
		{"int", cell, "\x00\x02\x1a\xac", 137900, Int32},
		{"negative long", cell, "\xff\xff\xff\xff\xff\xff\xff\xff", invalid, Int64},
		{"negative int", cell, "\xff\xff\xff\xfe", invalid, Int32},
		{"four letters are no int", cell, "abcd", invalid, 0},
		{"12.0 is no int", cell, "12.0", invalid, Text},
		{"eight digits are text", cell, "12345678", 12345678, Text},
		{"eight digits, said to be a long", Dialect{Accept: cell.Accept, New: Int64}, "12345678", 0x3132333435363738, Int64},
		{"four digits, said to be an int", Dialect{Accept: cell.Accept, New: Int32}, "1234", 0x31323334, Int32},
		{"other lengths stay text", Dialect{Accept: cell.Accept, New: Int32}, "12345", 12345, Text},
		{"two bytes", cell, "\x00\x03", invalid, 0},

		{"last done", last, "3", 4, Text},
		{"nothing done", last, "-1", 0, Text},
		{"below nothing", last, "-2", invalid, Text},
		{"last of all", last, "9223372036854775807", invalid, Text},
		{"last done, range", last, "-1|-1", 0, Range},
		{"last done, int", last, "\xff\xff\xff\xff", 0, Int32},
		{"last done, long", last, "\x00\x00\x00\x00\x00\x00\x00\x03", 4, Int64},
		{"below nothing, long", last, "\xff\xff\xff\xff\xff\xff\xff\xfe", invalid, Int64},
	} {
		next, enc, err := x.d.Decode([]byte(x.raw))
		if x.next == invalid {
			if err == nil || enc != x.enc {
				t.Errorf("%s: read as %d (encoding %d, want %d), want an error", x.name, next, enc, x.enc)
			} else if len(err.Error()) > 400 {
				t.Errorf("%s: an error of %d bytes", x.name, len(err.Error()))
			}
			if s := x.d.Stored([]byte(x.raw)); s.State != offset.Invalid || s.Next != 0 || string(Raw(s)) != x.raw {
				t.Errorf("%s: stored as %+v", x.name, s)
			}
			continue
		}
		if err != nil || next != x.next || enc != x.enc {
			t.Errorf("%s: %d in %d, %v; want %d in %d", x.name, next, enc, err, x.next, x.enc)
		}
		if s := x.d.Stored([]byte(x.raw)); s.State != offset.Set || s.Next != x.next || string(Raw(s)) != x.raw {
			t.Errorf("%s: stored as %+v", x.name, s)
		}
	}
}

// What was there decides how the next value is written.
func TestBytes(t *testing.T) {
	set := func(n int64) offset.Stored { return offset.Stored{State: offset.Set, Next: n} }
	absent := offset.Stored{State: offset.Absent}
	for _, x := range []struct {
		name       string
		d          Dialect
		from       offset.Stored
		neighbours Encoding
		to         offset.Stored
		want       string
	}{
		{"text", znode, znode.Stored([]byte("120")), 0, set(80), "80"},
		{"text with a newline", znode, znode.Stored([]byte("75\n")), 0, set(80), "80"},
		{"Java string", znode, znode.Stored([]byte("\xac\xed\x00\x05t\x00\x0275")), 0, set(80), "\xac\xed\x00\x05t\x00\x0280"},
		{"Java string of letters", znode, znode.Stored([]byte("\xac\xed\x00\x05t\x00\x03abc")), Text, set(0), "\xac\xed\x00\x05t\x00\x010"},
		{"empty", znode, znode.Stored([]byte("")), 0, set(0), "0"},
		{"empty beside Java strings", znode, znode.Stored([]byte("")), Java, set(0), "\xac\xed\x00\x05t\x00\x010"},
		{"new", cell, absent, 0, set(7), "7|7"},
		{"new beside longs", cell, absent, Int64, set(7), "\x00\x00\x00\x00\x00\x00\x00\x07"},
		{"range", cell, cell.Stored([]byte("1|5")), Text, set(3), "3|3"},
		{"number", cell, cell.Stored([]byte("5")), Range, set(3), "3"},
		{"int", cell, cell.Stored([]byte{0, 0, 0, 5}), Range, set(3), "\x00\x00\x00\x03"},
		{"last done", last, last.Stored([]byte("3")), 0, set(4), "3"},
		{"last done, the start", last, last.Stored([]byte("3")), 0, set(0), "-1"},
		{"last done, range", last, last.Stored([]byte("1|3")), 0, set(0), "-1|-1"},
		{"last done, int", last, last.Stored([]byte{0, 0, 0, 5}), 0, set(0), "\xff\xff\xff\xff"},
		{"undo", cell, set(3), 0, cell.Stored([]byte("1|5")), "1|5"},
		{"undo to letters", cell, set(3), 0, cell.Stored([]byte("abc")), "abc"},
		{"undo to nothing but a value", cell, set(3), 0, offset.Stored{State: offset.Invalid}, ""},
	} {
		got, err := x.d.Bytes(x.from, x.to, x.neighbours)
		if err != nil || got == nil || string(got) != x.want {
			t.Errorf("%s: %q, %v; want %q", x.name, got, err, x.want)
		}
	}
}

func TestBytesRefuses(t *testing.T) {
	int32s := cell.Stored([]byte{0, 0, 0, 5})
	if _, err := cell.Bytes(int32s, offset.Stored{State: offset.Set, Next: 1 << 31}, 0); !errors.Is(err, offset.ErrUnsupported) {
		t.Error("2^31 in 4 bytes:", err)
	}
	if got, err := cell.Bytes(int32s, offset.Stored{State: offset.Set, Next: 0x31323334}, 0); !errors.Is(err, offset.ErrUnsupported) {
		t.Errorf("an int that would read as the text 1234: %q %v", got, err)
	}
	if got, err := last.Bytes(int32s, offset.Stored{State: offset.Set, Next: 1 << 31}, 0); err != nil || !bytes.Equal(got, []byte{0x7f, 0xff, 0xff, 0xff}) {
		t.Errorf("2^31-1 is the last done, and fits: %x %v", got, err)
	}
	for name, to := range map[string]offset.Stored{
		"negative":        {State: offset.Set, Next: -1},
		"nothing":         {State: offset.Absent},
		"not measured":    {},
		"bytes of others": {State: offset.Set, Next: 5, Raw: []byte("6|7")},
		"no number":       {State: offset.Set, Next: 5, Raw: []byte("abc")},
	} {
		if got, err := cell.Bytes(int32s, to, 0); err == nil {
			t.Errorf("%s: wrote %q", name, got)
		}
	}
}

// BR-10: the same store, declared as last done and not; and a copy into a next-to-read store.
func TestBR10LastDone(t *testing.T) {
	p0, p1 := last.Stored([]byte("3")), last.Stored([]byte("-1"))
	if p0.Next != 4 || string(p0.Raw) != "3" || p1.Next != 0 || string(p1.Raw) != "-1" {
		t.Errorf("%+v %+v", p0, p1)
	}
	for next, want := range map[int64]string{p0.Next: "4", p1.Next: "0"} {
		if got, err := znode.Encode(next, 0); err != nil || string(got) != want {
			t.Errorf("copied as %q, %v", got, err)
		}
	}
	if s := znode.Stored([]byte("3")); s.Next != 3 || s.Raw != nil {
		t.Errorf("not declared: %+v", s)
	}
	if s := znode.Stored([]byte("-1")); s.State != offset.Invalid {
		t.Errorf("-1 means something only where it is declared: %+v", s)
	}
}

// Undo goes through a file of JSON, where empty and missing bytes are one.
func TestRawThroughJSON(t *testing.T) {
	for _, raw := range []string{"", "5", "5\n", "1|5", "abc", "\x00\x00\x00\x05", "\xff\xfe"} {
		text, err := json.Marshal(cell.Stored([]byte(raw)))
		if err != nil {
			t.Fatal(err)
		}
		var back offset.Stored
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if got, err := cell.Bytes(offset.Stored{State: offset.Set, Next: 1}, back, 0); err != nil || string(got) != raw {
			t.Errorf("%q came back as %q, %v", raw, got, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "0", "-1", "1e6", "1|2", "2|1", " 7\n", "9223372036854775808", "\xac\xed\x00\x05t\x00\x0275", "\x00\x02\x1a\xac", "\x00\x00\x00\x00\x00\x02\x1a\xac"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, d := range every {
			next, enc, err := d.Decode(raw)
			s := d.Stored(raw)
			if err != nil {
				if next != 0 || s.State != offset.Invalid {
					t.Fatalf("%+v: %q gave %d beside %v, %+v", d, raw, next, err, s)
				}
				continue
			}
			if next < 0 || s.State != offset.Set || s.Next != next || !bytes.Equal(Raw(s), raw) {
				t.Fatalf("%+v: %q gave %d, %+v", d, raw, next, s)
			}
			again, err := d.Encode(next, enc)
			if errors.Is(err, offset.ErrUnsupported) && d.New&(Int32|Int64) != 0 && enc&(Text|Range) != 0 {
				continue // as many digits as the integer has bytes
			}
			if err != nil {
				t.Fatalf("%+v: %q, read as %d, cannot be written: %v", d, raw, next, err)
			}
			if back, enc2, err := d.Decode(again); err != nil || back != next || enc2 != enc {
				t.Fatalf("%+v: %q, read as %d in %d, written as %q, read as %d in %d, %v", d, raw, next, enc, again, back, enc2, err)
			}
		}
	})
}
