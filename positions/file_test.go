package positions

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"github.com/offsetctl/offsetctl/offset"
)

// set reads "billing orders:0=5 orders:1=7"; a group of "-" is none.
func set(text string) Set {
	words := strings.Fields(text)
	s := Set{Group: strings.Trim(words[0], "-")}
	start, err := ParseOffsets(words[1:]...)
	if err != nil {
		panic(err)
	}
	for _, x := range start.Each {
		s.Positions = append(s.Positions, offset.Position{Partition: x.Partition, Offset: x.Point.Offset})
	}
	return s
}

func TestReadFile(t *testing.T) {
	for _, x := range []struct {
		name, in string
		want     []Set
	}{
		{"kafka-consumer-groups, one group", "orders,0,8800125\norders,10,9007199254740993\norders,2,9223372036854775807\n", []Set{set("- orders:0=8800125 orders:2=9223372036854775807 orders:10=9007199254740993")}},
		{"kafka-consumer-groups, several groups", "billing,orders,0,5\naudit,orders,0,7\n", []Set{set("audit orders:0=7"), set("billing orders:0=5")}},
		{"quoted as by its CSV writer", "\"a-group-name-that-is-quite-long\",\"orders.v1.0\",2,77\n", []Set{set("a-group-name-that-is-quite-long orders.v1.0:2=77")}},
		{"a comma in a name", "\"a,b\",orders,0,5", []Set{{Group: "a,b", Positions: set("- orders:0=5").Positions}}},
		{"a header, blank lines, CRLF", "topic,partition,offset\r\n\r\norders,0, 5\r\n", []Set{set("- orders:0=5")}},
		{"a header with group", "group,topic,partition,offset\nbilling,orders,0,5\n", []Set{set("billing orders:0=5")}},
		{"a byte order mark", "\ufefforders,0,5\n", []Set{set("- orders:0=5")}},
		{"our own", `{"schema":"offsetctl.positions/v1","group":"billing","positions":[{"topic":"orders","partition":1,"offset":9007199254740993},{"topic":"orders","broker":"broker-a","partition":0,"offset":0}]}`,
			[]Set{set("billing orders:1=9007199254740993 orders@broker-a:0=0")}},
		{"our own, without group, the schema last", `{"positions":[{"offset":5,"partition":0,"topic":"orders"}],"schema":"offsetctl.positions/v1"}`, []Set{set("- orders:0=5")}},
		{"spark", `{"orders":{"0":23,"10":5},"payments":{"0":9007199254740993}}`, []Set{set("- orders:0=23 orders:10=5 payments:0=9007199254740993")}},
		{"spark, a topic called schema", `{"schema":{"0":23}}`, []Set{set("- schema:0=23")}},
		{"spark's RocketMQ source", `{"orders":{"broker-a":{"0":23},"broker-b":{"0":5}}}`, []Set{set("- orders@broker-a:0=23 orders@broker-b:0=5")}},
	} {
		f, err := ReadFile(strings.NewReader(x.in))
		if err != nil || !reflect.DeepEqual(f.Sets, x.want) {
			t.Errorf("%s: %+v, %v", x.name, f.Sets, err)
		}
	}
	f, err := ReadFile(strings.NewReader(`{"schema":"offsetctl.positions/v1","cluster":"5L6g","written":"2026-11-29T14:05:00+01:00","positions":[{"topic":"orders","partition":0,"offset":5}]}`))
	if err != nil || f.Cluster != "5L6g" || !f.Written.Equal(time.Date(2026, 11, 29, 13, 5, 0, 0, time.UTC)) {
		t.Error(f, err)
	}
}

func TestReadFileRefused(t *testing.T) {
	own := func(positions string) string {
		return "{\"schema\":\"offsetctl.positions/v1\",\n\"positions\":[\n" + positions + "\n]}"
	}
	for in, want := range map[string]string{
		"":                                   "it has no positions",
		"\n\n":                               "it has no positions",
		"topic,partition,offset\n":           "it has no positions",
		"orders,0\n":                         "line 1: 2 columns",
		"hello\n":                            "line 1: 1 columns",
		"orders,0,5\nb,orders,0,5":           "line 2: not as many columns",
		"orders,0,5\norders,x,5":             `line 2: "x" is no partition number`,
		"orders,0,5\n\norders,1,-1":          "line 3: -1 is no offset", // BR-08
		"orders,0,12.0":                      `line 1: "12.0" is no offset`,
		"orders,0,1e6":                       `line 1: "1e6" is no offset`,
		"orders,0,":                          `line 1: "" is no offset`,
		"orders,0,9223372036854775808":       "line 1: 9223372036854775808 is larger",
		"orders,0,5\norders,1,6\norders,0,5": "line 3: orders:0 stands twice",
		"b,orders,0,5\nb,orders,0,6":         "line 2: orders:0 stands twice",
		",0,5":                               "line 1: the topic is missing",
		",orders,0,5":                        "line 1: the group is missing",
		"a@b,0,5":                            "no topic has an @",
		"orders,0,5\n\"a\nb\",0,5":           `line 2: topic "a\nb" has a character`,
		"orders,0,5\n\"a,0,5":                "line 2:",
		"orders,0,5\nord\xffers,0,5":         "line 2: not UTF-8",
		"orders,2147483648,5":                "is no partition number",

		"[]":                      "a list at the top",
		"{":                       "line 1: it ends in the middle",
		"{}":                      "it has no positions", // BR-40
		"{\"orders\":{}}":         "it has no positions",
		"{\"orders\":\n{\"0\":}}": "line 2:",
		"{\"orders\":{\"0\":1},\n\"payments\":{\"0\":-1}}": "line 2: payments:0: -1 is no offset",
		"{\"orders\":{\"0\":1,\n\"0\":1}}":                 `line 2: "0" stands twice`,
		"{\"orders\":{\"0\":1},\n\n\"orders\":{\"1\":1}}":  `line 3: "orders" stands twice`,
		"{\"orders\":{\"0\":1.0}}":                         `"1.0" is no offset`,
		"{\"orders\":{\"0\":1e3}}":                         `"1e3" is no offset`,
		"{\"orders\":{\"0\":\"1\"}}":                       "a number without quotes is missing",
		"{\"orders\":{\"00\":1}}":                          `"00" is no partition number`,
		"{\"orders\":{\"0\":null}}":                        "a number without quotes is missing",
		"{\"orders\":5}":                                   "a { with members is missing here",
		"{\"orders\":{\"0\":1}} {}":                        "something follows the end",
		"{\"orders\":{\"\":{\"0\":1}}}":                    "the broker is missing",
		"{\"orders\":{\"b\":{\"0\":{}}}}":                  "a number without quotes is missing",
		"{\"\\ud800\":{\"0\":1}}":                          "has a character",

		`{"schema":"offsetctl.positions/v2","positions":[]}`:                                                             "v2\" is not known here; this program reads offsetctl.positions/v1",
		`{"schema":"offsetctl.plan/v1"}`:                                                                                 "this program reads offsetctl.positions/v1",
		`{"schema":"offsetctl.positions/v1"}`:                                                                            "it has no positions",
		`{"schema":"offsetctl.positions/v1","positions":null}`:                                                           "a [ with items is missing",
		`{"schema":"offsetctl.positions/v1","Positions":[]}`:                                                             `member "Positions" is not known`,
		`{"schema":"offsetctl.positions/v1","group":""}`:                                                                 "the group is missing",
		`{"schema":"offsetctl.positions/v1","group":7}`:                                                                  "a text in quotes is missing",
		`{"schema":"offsetctl.positions/v1","written":"now"}`:                                                            `"now" is no time`,
		own(`{"topic":"orders","partition":0}`):                                                                          "line 3: the offset is missing",
		own(`{"topic":"orders","offset":0}`):                                                                             "line 3: the partition is missing",
		own(`{"partition":0,"offset":0}`):                                                                                "line 3: the topic is missing",
		own(`{"topic":"orders","partition":-1,"offset":0}`):                                                              "line 3: -1 is no partition number",
		own(`{"topic":"orders","partition":0,"offset":-2}`):                                                              "line 3: -2 is no offset",
		own(`{"topic":"orders","partition":0,"offset":"5"}`):                                                             "line 3: a number without quotes",
		own(`{"topic":"orders","partition":0,"offset":5,"x":1}`):                                                         `line 3: member "x" is not known`,
		own(`{"topic":"orders","partition":0,"offset":5,"offset":6}`):                                                    `line 3: "offset" stands twice`,
		own("{\"topic\":\"orders\",\"partition\":0,\"offset\":5},\n{\"topic\":\"orders\",\"partition\":0,\"offset\":5}"): "line 4: orders:0 stands twice",
	} {
		f, err := ReadFile(strings.NewReader(in))
		if err == nil || !strings.Contains(err.Error(), want) || f.Sets != nil {
			t.Errorf("%q: %+v, %v; want %q", in, f, err, want)
		}
	}
	broken := errors.New("disk gone")
	if _, err := ReadFile(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Error(err)
	}
	if _, err := ReadFile(bytes.NewReader(bytes.Repeat([]byte("orders,0,5\n"), MaxFile/11+2))); err == nil || !strings.Contains(err.Error(), "larger than 16 MiB") {
		t.Error(err)
	}
}

func TestOf(t *testing.T) {
	one, named, several := File{Sets: []Set{set("- orders:0=5")}}, File{Sets: []Set{set("billing orders:0=6")}}, File{Sets: []Set{set("audit orders:0=7"), set("billing orders:0=8")}}
	for _, x := range []struct {
		f      File
		group  string
		offset int64
		err    string
	}{
		{one, "", 5, ""}, {one, "billing", 5, ""}, {named, "", 6, ""}, {named, "billing", 6, ""}, {named, "audit", 0, "no positions of group audit, only of billing"},
		{several, "billing", 8, ""}, {several, "", 0, "several groups (audit, billing): name one"}, {several, "x", 0, "only of audit, billing"},
	} {
		ps, err := x.f.Of(x.group)
		if x.err != "" {
			if err == nil || !strings.Contains(err.Error(), x.err) {
				t.Errorf("%q: %v, want %q", x.group, err, x.err)
			}
		} else if err != nil || len(ps) != 1 || ps[0].Offset != x.offset {
			t.Errorf("%q: %v, %v", x.group, ps, err)
		}
	}
}

func anySet(t *rapid.T, queues bool) Set {
	name := rapid.StringMatching(`[a-zA-Z0-9._%|:,"' äß<>&-]{1,10}`)
	seen := map[offset.Partition]int64{}
	for range rapid.IntRange(1, 8).Draw(t, "n") {
		p := offset.Partition{Topic: rapid.OneOf(rapid.SampledFrom([]string{"orders", "payments"}), name).Draw(t, "topic"), Index: rapid.Int32Range(0, 20).Draw(t, "index")}
		if queues {
			p.Broker = name.Draw(t, "broker")
		}
		seen[p] = rapid.Int64Min(0).Draw(t, "offset")
	}
	var s Set
	for p, n := range seen {
		s.Positions = append(s.Positions, offset.Position{Partition: p, Offset: n})
	}
	slices.SortFunc(s.Positions, func(a, b offset.Position) int { return a.Partition.Compare(b.Partition) })
	return s
}

// What is printed reads back the same: every digit, every name.
func TestFileRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		queues := rapid.Bool().Draw(t, "queues")
		s := anySet(t, queues)
		same := func(format string, b []byte, err error, want File) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", format, err)
			}
			if f, err := parseFile(b); err != nil || !reflect.DeepEqual(f, want) {
				t.Fatalf("%s: %s is %+v, %v; want %+v", format, b, f, err, want)
			}
		}
		bare := File{Sets: []Set{s}}
		if topics := runs(s.Positions, func(p offset.Partition) string { return p.Topic }); !queues || len(topics) == 1 {
			b, err := Spark(s)
			same("spark", b, err, bare)
		}
		if !queues && s.Positions[0].Partition.Topic[0] != '{' {
			b, err := CSV(s)
			same("csv", b, err, bare)
		}
		s.Group = rapid.StringMatching(`[a-z/ ,"%_*-]{0,6}`).Draw(t, "group")
		o := Origin{Cluster: rapid.StringMatching(`[a-zA-Z0-9_-]{0,5}`).Draw(t, "cluster")}
		if rapid.Bool().Draw(t, "dated") {
			o.Written = time.UnixMilli(rapid.Int64Range(0, now.UnixMilli()).Draw(t, "written")).UTC()
		}
		b, err := JSON(o, s)
		same("json", b, err, File{o, []Set{s}})
	})
}

func FuzzFile(f *testing.F) {
	for _, s := range []string{
		"orders,0,5\npayments,1,7\n", "group,topic,partition,offset\nb,orders,0,5\n", "\"a\"\"b\",0,5", `{"orders":{"0":23,"1":5}}`, `{"orders":{"a":{"0":23}}}`,
		`{"schema":"offsetctl.positions/v1","cluster":"c","written":"2026-11-29T13:05:00Z","group":"g","positions":[{"topic":"o","broker":"b","partition":0,"offset":9223372036854775807}]}`,
		`{"orders":{"0":1,"0":2}}`, "\ufeff{}", "[1]",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := parseFile(in)
		if err != nil {
			return
		}
		for _, s := range got.Sets {
			for _, x := range s.Positions {
				if x.Offset < 0 || x.Partition.Index < 0 || x.Partition.Topic == "" {
					t.Fatalf("%q has %+v", in, x)
				}
			}
			b, err := JSON(got.Origin, s)
			if err != nil {
				t.Fatalf("%q is %+v, which cannot be printed: %v", in, s, err)
			}
			if again, err := parseFile(b); err != nil || !reflect.DeepEqual(again, File{got.Origin, []Set{s}}) {
				t.Fatalf("%q is %s is %+v, %v", in, b, again, err)
			}
		}
		if b, err := CSV(got.Sets...); err == nil {
			if again, err := parseFile(b); err != nil || !reflect.DeepEqual(again.Sets, got.Sets) {
				t.Fatalf("%q is %q is %+v, %v", in, b, again, err)
			}
		}
	})
}
