package render

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func topics() Table {
	return Table{Schema: "offsetctl.topics/v1", Columns: []Column{{Name: "TOPIC", Key: "topic"}, {Name: "PARTITIONS", Key: "partitions", Right: true}, {Name: "RECORDS", Key: "records", Right: true},
		{Name: "END", Key: "end", Right: true}, {Name: "DETAIL", Key: "detail"}},
		Rows: [][]any{{"orders", 12, Count(1204211), int64(9223372036854775807), ""}, {"größe, \"x\"", int32(1), nil, nil, "no leader"}}}
}

func TestTable(t *testing.T) {
	for _, format := range []string{"table", "json", "yaml", "csv"} {
		var b bytes.Buffer
		if err := topics().Write(&b, format); err != nil {
			t.Fatal(err)
		}
		golden(t, "topics."+format, b.Bytes())
	}
	var d struct {
		Rows []map[string]json.Number `json:"rows"`
	}
	var b bytes.Buffer
	if err := (Table{Schema: "x", Columns: []Column{{Key: "n"}}, Rows: [][]any{{Count(1 << 60)}}}).Write(&b, "json"); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b.Bytes(), &d); err != nil || d.Rows[0]["n"] != "1152921504606846976" {
		t.Errorf("%v %v", d, err)
	}
	b.Reset()
	if err := (Table{Schema: "x", Columns: []Column{{Name: "N", Key: "n"}}}).Write(&b, "json"); err != nil || !strings.Contains(b.String(), `"rows": []`) {
		t.Errorf("%v: %s", err, b.String())
	}
	if err := topics().Write(&b, "xml"); err == nil {
		t.Error("an unknown format was written")
	}
}

func TestChecks(t *testing.T) {
	lines := []Check{{Step: "context", OK: true, Text: "prod-eu; journal writable"}, {Step: "dns tcp tls", OK: true, Warn: true, Text: "certificate good for 3 d"},
		{Step: "advertised", Text: "broker 2 calls itself k2.internal:9093: no such host"}}
	for _, format := range []string{"table", "json"} {
		var b bytes.Buffer
		if err := Checks(&b, format, false, lines); err != nil {
			t.Fatal(err)
		}
		golden(t, "checks."+format, b.Bytes())
	}
}

func TestShortening(t *testing.T) {
	for _, c := range []struct {
		n           int
		cut, middle string
	}{{20, "orders.eu.v1.0001", "orders.eu.v1.0001"}, {11, "orders.eu.…", "order….0001"}, {7, "orders…", "ord…001"}} {
		if got := cut("orders.eu.v1.0001", c.n); got != c.cut {
			t.Errorf("cut to %d: %q", c.n, got)
		}
		if got := middle("orders.eu.v1.0001", c.n); got != c.middle {
			t.Errorf("shortened to %d: %q", c.n, got)
		}
	}
}

func TestShellWords(t *testing.T) {
	for in, want := range map[string]string{"orders:0-3": "orders:0-3", "": "''", "it's": `'it'\''s'`, "a b": "'a b'", "$HOME": "'$HOME'", "--to-offset": "--to-offset", "größe": "'größe'"} {
		if got := Command([]string{in}); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}
