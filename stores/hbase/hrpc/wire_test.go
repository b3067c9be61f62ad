package hrpc

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
)

// hexOf reads bytes as they were captured on the wire: hex digits, and text in quotes.
func hexOf(t testing.TB, s string) []byte {
	t.Helper()
	var out []byte
	for i, part := range strings.Split(s, `"`) {
		if i%2 == 1 {
			out = append(out, part...)
			continue
		}
		b, err := hex.DecodeString(strings.Join(strings.Fields(part), ""))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b...)
	}
	return out
}

const regionHex = `0a3c 0801 1238 "offsets,,1796039870276.a98455d0bffeb33cf485c20a0fd2e7cb."`

var orders = region{name: "offsets,,1796039870276.a98455d0bffeb33cf485c20a0fd2e7cb.", server: "localhost:16020"}

// Requests as a real HBase took them.
func TestRequestBytes(t *testing.T) {
	row := []byte("app|g1|orders")
	cells := func(kv ...string) (out []Cell) {
		for i := 0; i < len(kv); i += 2 {
			out = append(out, Cell{Qualifier: []byte(kv[i]), Value: []byte(kv[i+1])})
		}
		return out
	}
	put := Mutation{Row: row, Put: cells("0", "20|30"), When: []Expect{{Qualifier: []byte("0"), Value: []byte("10|20")}}}
	_, putParam := mutateRequest(orders, "t", put)
	for _, x := range []struct {
		name string
		got  []byte
		want string
	}{
		{"preamble", preamble("root", "ClientService"), `48426173 00 50 00000017 0a06 0a04 "root" 120d "ClientService"`},
		{"get", requestFrame(1, "Get", join(specifier(orders.name), getMessage(2, row, "t"))),
			`0000005f 09 0801 1a03"Get" 2001 54 ` + regionHex + ` 1214 0a0d "app|g1|orders" 1203 0a01 "t"`},
		{"check and put", requestFrame(2, "Mutate", putParam), `000000c8 0c 0802 1a06"Mutate" 2001 b901 ` + regionHex + `
			1222 0a0d"app|g1|orders" 1002 1a0f 0a01"t" 120a 0a01"0" 1205"20|30"
			1a55 0a0d"app|g1|orders" 1201"t" 1a01"0" 2002
			2a3c 0a2f"org.apache.hadoop.hbase.filter.BinaryComparator" 1209 0a07 0a05"10|20"`},
		{"filter", message(3, conditionOf("t", Mutation{Row: row, Filter: true, When: []Expect{
			{Qualifier: []byte("0"), Value: []byte("a")}, {Qualifier: []byte("2"), Absent: true}}})), `
			1ac602 0a0d"app|g1|orders"
			3ab402 0a29"org.apache.hadoop.hbase.filter.FilterList" 128602 0801
			128001 0a36"org.apache.hadoop.hbase.filter.SingleColumnValueFilter" 1246 0a01"t" 1201"0" 1802
			2238 0a2f"org.apache.hadoop.hbase.filter.BinaryComparator" 1205 0a03 0a01"a" 2801 3001
			127f 0a36"org.apache.hadoop.hbase.filter.SingleColumnValueFilter" 1245 0a01"t" 1201"2" 1800
			2237 0a2f"org.apache.hadoop.hbase.filter.BinaryComparator" 1204 0a02 0a00 2800 3001`},
	} {
		if want := hexOf(t, x.want); !bytes.Equal(x.got, want) {
			t.Errorf("%s:\n% x\nwant\n% x", x.name, x.got, want)
		}
	}
}

// No request that a server could carry out without looking at its condition.
func TestMutationsAreConditional(t *testing.T) {
	e := []Expect{{Qualifier: []byte("0"), Absent: true}}
	c := []Cell{{Qualifier: []byte("0"), Time: 7}}
	for _, m := range []Mutation{
		{Row: []byte("a"), Put: c, When: e}, {Row: []byte("a"), Delete: c, When: e}, {Row: []byte("a"), Put: c, Delete: c, When: e},
		{Row: []byte("a"), Put: c, When: e, Filter: true}, {Row: []byte("a"), Put: c, Delete: c, When: e, Filter: true},
	} {
		method, param := mutateRequest(orders, "t", m)
		condition := false
		for f, err := range fields(param) {
			if err != nil {
				t.Fatal(err)
			}
			if f.num == 3 {
				condition = true
			}
			if method == "Multi" && f.num == 1 {
				for g := range fields(f.bytes) {
					if g.num == 4 {
						t.Errorf("%+v: a condition that servers before 2.4 skip", m)
					}
				}
			}
		}
		if !condition {
			t.Errorf("%+v: %s without a condition", m, method)
		}
	}
}

// Answers as a real HBase gave them.
func TestAnswerBytes(t *testing.T) {
	frame := hexOf(t, `02 0801 52 0a50
		0a25 0a0d"app|g1|orders" 1201"t" 1a01"0" 20c28bd3e2a234 2804 3205"10|20"
		0a23 0a0d"app|g1|orders" 1201"t" 1a01"1" 20c28bd3e2a234 2804 3203"5|7" 2000 2800`)
	r, err := parseResponse(frame)
	if err != nil || r.id != 1 || r.exception != nil {
		t.Fatal(r, err)
	}
	row, err := parseGet(r.body)
	if err != nil || string(row.Key) != "app|g1|orders" || len(row.Cells) != 2 {
		t.Fatalf("%+v %v", row, err)
	}
	if c := row.Cells[1]; string(c.Qualifier) != "1" || string(c.Value) != "5|7" || c.Time != 1796040082882 {
		t.Errorf("%+v", c)
	}
	for want, answer := range map[bool]string{true: `02 0802 02 1001`, false: `02 0802 02 1000`} {
		r, err := parseResponse(hexOf(t, answer))
		if done, perr := parseProcessed(r.body); err != nil || perr != nil || done != want {
			t.Error(done, err, perr)
		}
	}
	server, state, err := parseMetaServer(hexOf(t, `0a16 0a09 "localhost" 10a4cb01 18d1c7bbe2a234 1000 1803`))
	if err != nil || server != "localhost:26020" || state != 3 {
		t.Error(server, state, err)
	}
	node := hexOf(t, `ff 00000014 "master:26000" 0d34769abc24b576 "PBUF" 0a16 0a09 "localhost" 10a4cb01 18d1c7bbe2a234 1000 1803`)
	if msg, err := unwrapNode(node); err != nil || len(msg) != 28 {
		t.Error(msg, err)
	}
}

func TestServerErrors(t *testing.T) {
	for _, x := range []struct {
		class, stack, text string
		kind               error
	}{
		{"org.apache.hadoop.hbase.security.AccessDeniedException",
			"org.apache.hadoop.hbase.security.AccessDeniedException: Insufficient permissions (user=bob, action=WRITE)\n\tat a.b",
			"AccessDeniedException: Insufficient permissions (user=bob, action=WRITE)", offset.ErrDenied},
		{"org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException", "x", "NoSuchColumnFamilyException: x", offset.ErrUnknownName},
		{"java.io.IOException", "java.io.IOException: com.google.protobuf.UninitializedMessageException: m", "UninitializedMessageException: com.google.protobuf.UninitializedMessageException: m", nil},
		{"java.io.IOException", "", "IOException", nil},
	} {
		e := &ServerError{Class: x.class}
		e.describe(x.stack)
		if e.Error() != x.text || x.kind != nil && !errors.Is(e, x.kind) {
			t.Errorf("%q", e.Error())
		}
	}
	long := &ServerError{Class: "x"}
	long.describe(strings.Repeat("y", 1<<20))
	if len(long.Error()) > 1000 {
		t.Errorf("%d bytes of text", len(long.Error()))
	}
}

// A length that promises more than there is takes no more memory than there is.
func TestLyingLength(t *testing.T) {
	frame := append(binary.BigEndian.AppendUint32(nil, maxFrame), 1, 2, 3)
	if n := testing.AllocsPerRun(1, func() {
		if _, err := readFrame(bytes.NewReader(frame)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	}); n > 20 {
		t.Errorf("%v allocations", n)
	}
	if _, err := readFrame(bytes.NewReader(binary.BigEndian.AppendUint32(nil, maxFrame+1))); err == nil {
		t.Error("no error")
	}
}

func TestLocated(t *testing.T) {
	var l located
	for _, r := range []region{{name: "c", start: []byte("m")}, {name: "a", end: []byte("f")}, {name: "b", start: []byte("f"), end: []byte("m")}} {
		l = l.add(r)
	}
	find := func(row string) string {
		r, ok := l.find([]byte(row))
		if !ok {
			return ""
		}
		return r.name
	}
	for row, want := range map[string]string{"": "a", "e": "a", "f": "b", "lzzz": "b", "m": "c", "z": "c"} {
		if got := find(row); got != want {
			t.Errorf("row %q: %q, want %q", row, got, want)
		}
	}
	l = l.add(region{name: "b1", start: []byte("f"), end: []byte("h")})
	if got := fmt.Sprint(find("g"), find("k"), find("e")); got != fmt.Sprint("b1", "", "a") {
		t.Errorf("after a split: %s", got)
	}
	if l = l.remove("a"); find("e") != "" || find("z") != "c" {
		t.Error("after one was removed:", l)
	}
	l = l.add(region{name: "all"})
	if len(l) != 1 || find("g") != "all" {
		t.Error("after a merge:", l)
	}
}

func metaRow(start, end, server, state string, more ...[]byte) Row {
	info := append([]byte("PBUF"), join(append([][]byte{number(1, 1), tableName(2, "offsets"), text(3, start), text(4, end)}, more...)...)...)
	return Row{Key: []byte("offsets," + start + ",1."), Cells: []Cell{
		{Qualifier: []byte("regioninfo"), Value: info}, {Qualifier: []byte("server"), Value: []byte(server)}, {Qualifier: []byte("state"), Value: []byte(state)}}}
}

func TestMetaRow(t *testing.T) {
	r, err := parseMetaRow(metaRow("a", "b", "host:1", "OPEN"), "offsets")
	if err != nil || r.server != "host:1" || string(r.start) != "a" || string(r.end) != "b" {
		t.Error(r, err)
	}
	if _, err := parseMetaRow(metaRow("a", "b", "host:1", ""), "offsets"); err != nil {
		t.Error("HBase 1 keeps no state:", err)
	}
	for name, row := range map[string]Row{
		"closed": metaRow("", "", "host:1", "CLOSED"), "no server": metaRow("", "", "", "OPEN"),
		"offline": metaRow("", "", "host:1", "OPEN", yes(5)), "split": metaRow("", "", "host:1", "OPEN", yes(6)),
	} {
		if _, err := parseMetaRow(row, "offsets"); cureOf(err) != relocate {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := parseMetaRow(metaRow("", "", "host:1", "OPEN"), "offset"); err == nil || cureOf(err) != final {
		t.Error("another table's region:", err)
	}
	if _, err := parseMetaRow(Row{}, "offsets"); err == nil {
		t.Error("no description: no error")
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(requestFrame(1, "Get", []byte("x")))
	f.Add([]byte("\x00\x00\x00\x06\x02\x08\x02\x02\x10\x01"))
	f.Add(append([]byte{0, 0, 0, 40}, delimited(join(number(1, 1), message(2, text(1, "a.b.C"), text(2, "a.b.C: d\n\te"), yes(5))))...))
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, err := readFrame(bytes.NewReader(b))
		if err != nil {
			return
		}
		r, err := parseResponse(frame)
		if err != nil {
			return
		}
		if r.exception != nil {
			if len(r.exception.Error()) > 2*len(b)+600 {
				t.Fatal("an error longer than its cause")
			}
			_ = cureOf(r.exception)
			return
		}
		_, _ = parseScan(r.body)
		_, _ = parseMulti(r.body)
		_, _ = parseSchema(r.body)
		_, _ = parseProcedure(r.body)
	})
}

func FuzzCells(f *testing.F) {
	cell := message(1, text(1, "row"), text(2, "t"), text(3, "0"), number(4, 7), number(5, 4), text(6, "1|2"))
	f.Add(cell)
	f.Add(join(cell, cell, number(2, 0)))
	f.Add(join(cell, yes(5)))
	f.Add(message(1, number(3, 7), number(6, 7)))
	f.Add(join(cell, message(1, text(1, "other"))))
	f.Fuzz(func(t *testing.T, b []byte) {
		row, err := parseResult(b)
		if err != nil {
			return
		}
		size := 0
		for i, c := range row.Cells {
			if c.Qualifier == nil || c.Value == nil {
				t.Fatal("an empty name or value is not nothing")
			}
			if i > 0 && bytes.Compare(row.Cells[i-1].Qualifier, c.Qualifier) > 0 {
				t.Fatal("not sorted")
			}
			size += len(c.Qualifier) + len(c.Value)
		}
		if size > len(b) {
			t.Fatal("more bytes than there were")
		}
	})
}

func FuzzMetaRow(f *testing.F) {
	good := metaRow("a", "b", "host:1", "OPEN")
	f.Add(good.Cells[0].Value, "host:1", "OPEN")
	f.Add(metaRow("", "", "", "", yes(6)).Cells[0].Value, "", "SPLIT")
	f.Add([]byte("PBUF"), "x", "")
	f.Fuzz(func(t *testing.T, info []byte, server, state string) {
		row := Row{Key: []byte("k"), Cells: []Cell{{Qualifier: []byte("regioninfo"), Value: info}, {Qualifier: []byte("server"), Value: []byte(server)}, {Qualifier: []byte("state"), Value: []byte(state)}}}
		r, err := parseMetaRow(row, "offsets")
		if err == nil && (r.server == "" || state != "" && state != "OPEN") {
			t.Fatalf("%+v", r)
		}
		_ = r.holds([]byte("x"))
	})
}

func FuzzZnode(f *testing.F) {
	f.Add([]byte("\xff\x00\x00\x00\x01xPBUF\x0a\x00"))
	f.Add([]byte("\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		msg, err := unwrapNode(b)
		if err != nil {
			return
		}
		_, _, _ = parseMetaServer(msg)
		_, _ = parseVersion(msg)
		_, _ = parseTableState(msg)
	})
}
