package positions

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/offsetctl/offsetctl/offset"
)

func at(s string) offset.Partition {
	p, err := offset.ParsePartition(s)
	if err != nil {
		panic(err)
	}
	return p
}

func list(ss ...string) []offset.Partition {
	var out []offset.Partition
	for _, s := range ss {
		out = append(out, at(s))
	}
	return out
}

func TestSelection(t *testing.T) {
	for _, x := range []struct{ in, normal, topics string }{
		{"", "", ""},
		{"orders", "orders", "orders"},
		{"orders:0", "orders:0", "orders"},
		{"orders:0,2-5", "orders:0,2-5", "orders"},
		{"orders@broker-a", "orders@broker-a", "orders"},
		{"orders@broker-a:0", "orders@broker-a:0", "orders"},
		{"orders.v1.0:2", "orders.v1.0:2", "orders.v1.0"},
		{"a-b_c.%RETRY%x", "a-b_c.%RETRY%x", "a-b_c.%RETRY%x"},
		{"%RETRY%grp@b:1", "%RETRY%grp@b:1", "%RETRY%grp"},
		{"orders.*", "orders.*", "orders.*"},
		{"orders:5,3,4,3-4,0", "orders:0,3-5", "orders"},
		{"orders:0-1,1-3,4", "orders:0-4", "orders"},
		{"orders:0-2147483647", "orders:0-2147483647", "orders"},
		{"payments orders:1 orders:0", "orders:0-1 payments", "orders payments"},
		{"orders:1 orders", "orders", "orders"},
		{"orders@b:2 orders@b:4 orders@a", "orders@a orders@b:2,4", "orders"},
		{"orders@b:2 orders", "orders", "orders"},
		{"orders@b:0-5 orders:0,3", "orders:0,3 orders@b:1-2,4-5", "orders"},
		{"orders@b:0-5 orders:0-9", "orders:0-9", "orders"},
		{"orders@b orders:3", "orders:3 orders@b", "orders"},
	} {
		s, err := ParseSelection(strings.Fields(x.in)...)
		if got := strings.Join(s.Texts(), " "); err != nil || got != x.normal || strings.Join(s.Topics(), " ") != x.topics || s.Empty() != (x.in == "") {
			t.Errorf("%q: %q, %v, %v", x.in, got, s.Topics(), err)
		}
	}
}

func TestSelectionRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "the topic is missing",
		":0":                                "the topic is missing",
		"@b:0":                              "the topic is missing",
		"orders@":                           "broker after @ is missing",
		"orders@:0":                         "broker after @ is missing",
		"orders:":                           "no partitions after the colon",
		"orders:x":                          `"x" is no partition number`,
		"orders:-1":                         `"-1" is no partition number`,
		"orders:1-":                         `"1-" is no partition number`,
		"orders:1-2-3":                      `"1-2-3" is no partition number`,
		"orders:0,":                         `"" is no partition number`,
		"orders:0, 1":                       `" 1" is no partition number`,
		"orders:+1":                         `"+1" is no partition number`,
		"orders:01":                         `"01" is no partition number`,
		"orders:5-2":                        "5-2 runs backwards",
		"orders:0-4000000000":               "digits up to 2147483647",
		"orders:99999999999999999999":       "digits up to 2147483647",
		"orders,payments":                   "give every topic for itself",
		"orders:0,payments:1":               "give every topic for itself",
		"orders:0-1;2":                      "is no partition number",
		"orders:" + strings.Repeat("9", 30): "is no partition number",
	} {
		s, err := ParseSelection("payments", text)
		if err == nil || !strings.Contains(err.Error(), want) || !s.Empty() {
			t.Errorf("%q: %v, %v", text, s, err)
		}
		if err != nil && len(text) > 1 && !strings.Contains(err.Error(), text) {
			t.Errorf("%v does not say what was given", err)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, x := range []struct{ selection, in, out string }{
		{"", "orders:0 %RETRY%g@b:7", ""},
		{"orders.v1", "orders.v1:0 orders.v1@a:7", "ordersXv1:0 orders.v1.0:0 orders:0"},
		{"orders:0,2-5", "orders:0 orders:2 orders:5 orders@a:3", "orders:1 orders:6 order:0"},
		{"orders@a", "orders@a:0 orders@a:9", "orders:0 orders@b:0"},
		{"orders@a:0 orders:7", "orders@a:0 orders@b:7 orders:7", "orders@b:0 orders@a:1"},
		{"orders:2147483647", "orders:2147483647", "orders:0"},
	} {
		s, err := ParseSelection(strings.Fields(x.selection)...)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list(strings.Fields(x.in)...) {
			if !s.Match(p) {
				t.Errorf("%q does not match %s", x.selection, p)
			}
		}
		for _, p := range list(strings.Fields(x.out)...) {
			if s.Match(p) {
				t.Errorf("%q matches %s", x.selection, p)
			}
		}
	}
}

func TestWithout(t *testing.T) {
	there := list("orders:0", "orders:1", "orders:2", "payments@a:0", "payments@b:0", "payments@b:1")
	for in, want := range map[string]string{
		"":                        "",
		"orders":                  "",
		"orders:0-2":              "",
		"orders:0-2147483647":     "orders:3-2147483647",
		"orders:1,4-5":            "orders:4-5",
		"refunds orders":          "refunds",
		"payments:0-1":            "",
		"payments@a:0-1":          "payments@a:1",
		"payments@c payments@b:7": "payments@b:7 payments@c",
		"orders@a":                "orders@a",
		"payments:1-2 payments@a": "payments:2",
	} {
		s, err := ParseSelection(strings.Fields(in)...)
		if got := strings.Join(s.Without(there), " "); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestSelectionOf(t *testing.T) {
	s := SelectionOf(list("payments:0", "orders:5", "orders:2", "orders:3", "refunds@b:1", "refunds@a:0"))
	if got := s.String(); got != "orders:2-3,5, payments:0, refunds@a:0, refunds@b:1" {
		t.Error(got)
	}
	if got := (Selection{}).String(); got != "all topics" {
		t.Error(got)
	}
}

func anySelection(t *rapid.T) []string {
	numbers := rapid.StringMatching(`[0-9](-9)?(,[0-9]{1,2}){0,4}`)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		s := rapid.SampledFrom([]string{"orders", "orders.v1", "%RETRY%g"}).Draw(t, "topic") + rapid.SampledFrom([]string{"", "@a", "@b"}).Draw(t, "broker")
		if rapid.Bool().Draw(t, "some") {
			s += ":" + numbers.Draw(t, "numbers")
		}
		return s
	}), 1, 6).Draw(t, "texts")
}

// Printing and reading again changes nothing, and the whole matches what one of its texts matches.
func TestSelectionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := anySelection(t)
		s, err := ParseSelection(texts...)
		if err != nil {
			return
		}
		again, err := ParseSelection(s.Texts()...)
		if err != nil || !slices.Equal(again.Texts(), s.Texts()) {
			t.Fatalf("%v is %v, %v", s.Texts(), again.Texts(), err)
		}
		p := offset.Partition{
			Topic:  rapid.SampledFrom([]string{"orders", "orders.v1", "%RETRY%g"}).Draw(t, "topic"),
			Broker: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "broker"),
			Index:  rapid.Int32Range(0, 100).Draw(t, "index"),
		}
		want := slices.ContainsFunc(texts, func(text string) bool {
			one, err := ParseSelection(text)
			return err == nil && one.Match(p)
		})
		if s.Match(p) != want || again.Match(p) != want {
			t.Fatalf("%v: %s is not %v", texts, p, want)
		}
		if missing := s.Without([]offset.Partition{p}); !want && len(missing) != len(s.Texts()) {
			t.Fatalf("%v without %s is %v", s.Texts(), p, missing)
		}
	})
}

func FuzzSelection(f *testing.F) {
	for _, s := range []string{"orders", "orders:0,2-5", "orders@a:0", "%RETRY%g", "orders:0-4000000000", "a:b:1", "@:"} {
		f.Add(s, "orders@b:1-3")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		s, err := ParseSelection(a, b)
		if err != nil {
			return
		}
		again, err := ParseSelection(s.Texts()...)
		if err != nil || !slices.Equal(again.Texts(), s.Texts()) {
			t.Errorf("%q %q: %q is %q, %v", a, b, s.Texts(), again.Texts(), err)
		}
	})
}
