package hbase

import (
	"errors"
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
)

func TestRow(t *testing.T) {
	for _, x := range []struct{ app, group, topic, want string }{
		{"app", "g", "orders", "app|g|orders"},
		{"", "g", "orders", "g|orders"},
		{"app", "g|x", "orders", "app|g|x|orders"},
		{"a|b", "g", "%RETRY%g", "a|b|g|%RETRY%g"},
		{"app", "LOG", "orders", "app|LOG|orders"},
		{"", "paaslogApp-lb50", "80234706", "paaslogApp-lb50|80234706"},
		{"中", "文", "|", "中|文||"},
	} {
		got, err := layout{x.app}.row(x.group, x.topic)
		if err != nil || string(got) != x.want {
			t.Errorf("%+v: %q, %v", x, got, err)
		}
	}
	for _, x := range []struct{ app, group, topic string }{
		{"", "LOG", "orders"}, {"LOG", "g", "orders"}, {"app", "", "orders"}, {"app", "g", ""}, {"app", "g", strings.Repeat("x", 1<<15)},
	} {
		if got, err := (layout{x.app}).row(x.group, x.topic); !errors.Is(err, offset.ErrUnsupported) {
			t.Errorf("%q %q %.10q: %.20q, %v", x.app, x.group, x.topic, got, err)
		}
	}
}

func TestTopicAndGroupOfRow(t *testing.T) {
	for _, x := range []struct{ app, row, group, topic string }{
		{"app", "app|g|orders", "g", "orders"},
		{"app", "app|g|x|orders", "g", ""}, // group g|x, or topic x|orders
		{"app", "app|g|x|orders", "g|x", "orders"},
		{"app", "app|g1|orders", "g", ""},
		{"app", "app|g|", "g", ""},
		{"", "g|orders", "g", "orders"},
		{"", "app|g|orders", "app|g", "orders"},
	} {
		topic, ok := layout{x.app}.topicOf(x.group, []byte(x.row))
		if ok != (x.topic != "") || ok && topic != x.topic {
			t.Errorf("row %q as one of %q: %q, %v", x.row, x.group, topic, ok)
		}
	}
	for _, x := range []struct{ app, row, group string }{
		{"app", "app|g|orders", "g"},
		{"app", "app|g|x|orders", "g|x"},
		{"app", "app|orders", ""},
		{"app", "ap|g|orders", ""},
		{"", "g|orders", "g"},
		{"", "LOG|app|g|orders|20200610", ""},
		{"", "orders", ""},
		{"", "|orders", ""},
		{"", "g|", ""},
	} {
		if group, ok := (layout{x.app}).groupOf([]byte(x.row)); ok != (x.group != "") || group != x.group {
			t.Errorf("row %q: group %q, %v", x.row, group, ok)
		}
	}
}

func TestAfter(t *testing.T) {
	for prefix, want := range map[string]string{"app|": "app}", "a\xff": "b", "\xff\xff": "", "": "", "中|": "中}"} {
		if got := string(after([]byte(prefix))); got != want {
			t.Errorf("after %q: %q, want %q", prefix, got, want)
		}
	}
}

func TestColumns(t *testing.T) {
	for _, x := range []struct {
		name   string
		broker string
		index  int32
		form   columnForm
	}{
		{"0", "", 0, textColumn},
		{"10", "", 10, textColumn}, // 2 bytes, and no short
		{"1234", "", 1234, textColumn},
		{"2147483647", "", 2147483647, textColumn},
		{"broker-a-0", "broker-a", 0, textColumn},
		{"a-10", "a", 10, textColumn}, // 4 bytes, and no int
		{"a--1", "a-", 1, textColumn},
		{"\x00\x00\x00\x0a", "", 10, intColumn},
		{"\x00\x03", "", 3, shortColumn},
	} {
		p, form, ok := parseColumn([]byte(x.name), "orders")
		if want := (offset.Partition{Topic: "orders", Broker: x.broker, Index: x.index}); !ok || p != want || form != x.form {
			t.Errorf("column %q: %v in form %d, %v", x.name, p, form, ok)
		}
		if back, err := column(p, form); err != nil || string(back) != x.name {
			t.Errorf("column %q is written back as %q, %v", x.name, back, err)
		}
	}
	for _, name := range []string{"", "-1", "-", "a-", "01", "+1", "1.0", "2147483648", "abcd", "ab", "\xff\xff\xff\xff", "\xff\xfe", "\x00\x00\x00", "a-01"} {
		if p, _, ok := parseColumn([]byte(name), "orders"); ok {
			t.Errorf("column %q is taken for %v", name, p)
		}
	}
	if got, err := column(offset.Partition{Index: 40000}, shortColumn); err != nil || string(got) != "40000" {
		t.Errorf("what fits no short: %q, %v", got, err)
	}
	if _, err := column(offset.Partition{Index: -1}, textColumn); !errors.Is(err, offset.ErrUnsupported) {
		t.Errorf("a negative partition: %v", err)
	}
}

func FuzzParseColumn(f *testing.F) {
	for _, s := range []string{"10", "broker-a-0", "\x00\x00\x00\x0a", "\x00\x03", "a-10", "-1", "--1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, name []byte) {
		p, form, ok := parseColumn(name, "t")
		if !ok {
			return
		}
		if back, err := column(p, form); err != nil || string(back) != string(name) {
			t.Fatalf("column %q is %v in form %d, and is written as %q, %v", name, p, form, back, err)
		}
	})
}

func FuzzRow(f *testing.F) {
	f.Add("app", "g|x", "orders")
	f.Add("", "LOG", "t")
	f.Fuzz(func(t *testing.T, app, group, topic string) {
		l := layout{app}
		key, err := l.row(group, topic)
		if err != nil {
			return
		}
		if strings.Contains(topic, "|") {
			return // found by name only
		}
		if got, ok := l.topicOf(group, key); !ok || got != topic {
			t.Fatalf("%q of group %q: topic %q, %v", key, group, got, ok)
		}
		if got, ok := l.groupOf(key); !ok || got != group {
			t.Fatalf("%q: group %q, %v", key, got, ok)
		}
	})
}
