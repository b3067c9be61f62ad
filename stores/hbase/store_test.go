package hbase

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/hbase/hbasetest"
)

// on opens a store on a cluster; app "app", so that rows are app|group|topic.
func on(t testing.TB, c *hbasetest.Cluster, more string) *Store {
	t.Helper()
	s := open(t, environment(), c.URL("&app=app"+more))
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func partitions(topic string, n int32) (ps []offset.Partition) {
	for i := range n {
		ps = append(ps, offset.Partition{Topic: topic, Index: i})
	}
	return ps
}

// read asks by name, and every answer must come.
func read(t testing.TB, s *Store, group string, ps ...offset.Partition) []offset.Stored {
	t.Helper()
	var out []offset.Stored
	for i, r := range s.Read(t.Context(), []offset.Query{{Group: group, Topics: []string{}, Expect: ps}})[0].Expected {
		if r.Err != nil {
			t.Fatalf("%s: %v", ps[i], r.Err)
		}
		out = append(out, r.Value)
	}
	return out
}

func change(p offset.Partition, from offset.Stored, next int64) offset.Change {
	return offset.Change{Partition: p, From: from, To: offset.Stored{State: offset.Set, Next: next}}
}

// write must succeed.
func write(t testing.TB, s *Store, group string, ch ...offset.Change) {
	t.Helper()
	for i, r := range s.Write(t.Context(), group, ch) {
		if r.Err != nil {
			t.Fatalf("%s: %v", ch[i].Partition, r.Err)
		}
	}
}

// A job's rows, as jobs write them, and how a reset leaves them.
func TestValuesOfJobs(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{})
	s := on(t, c, "")
	const key = "app|g|orders"
	for i, x := range []struct {
		name, raw string
		next      int64
		reset     string // to 80
	}{
		{"range", "137873|137900", 137900, "80|80"},
		{"empty batch", "137873|137873", 137873, "80|80"},
		{"text", "137900", 137900, "80"},
		{"long", "\x00\x00\x00\x00\x00\x02\x1a\xac", 137900, "\x00\x00\x00\x00\x00\x00\x00\x50"},
		{"int", "\x00\x02\x1a\xac", 137900, "\x00\x00\x00\x50"},
	} {
		t.Run(x.name, func(t *testing.T) {
			p := offset.Partition{Topic: "orders", Index: int32(i)}
			c.Put(key, fmt.Sprint(i), x.raw, 0)
			was := read(t, s, "g", p)[0]
			if was.State != offset.Set || was.Next != x.next || was.Committed.IsZero() {
				t.Fatalf("%q reads as %+v", x.raw, was)
			}
			write(t, s, "g", change(p, was, 80))
			if raw, _, _ := c.Value(key, fmt.Sprint(i)); raw != x.reset {
				t.Errorf("reset to 80 wrote %q, want %q", raw, x.reset)
			}
			undo := change(p, was, 80).Undo(read(t, s, "g", p)[0])
			write(t, s, "g", undo)
			if raw, _, _ := c.Value(key, fmt.Sprint(i)); raw != x.raw {
				t.Errorf("undo wrote %q, want %q", raw, x.raw)
			}
		})
	}
}

// New cells are written and named like the others of their row.
func TestNewCellsLikeTheirRow(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{})
	s := on(t, c, "")
	p := offset.Partition{Topic: "orders", Index: 5}
	c.Put("app|g|orders", "\x00\x00\x00\x00", "\x00\x00\x00\x00\x00\x00\x00\x07", 0)
	write(t, s, "g", change(p, read(t, s, "g", p)[0], 9))
	if raw, _, ok := c.Value("app|g|orders", "\x00\x00\x00\x05"); !ok || raw != "\x00\x00\x00\x00\x00\x00\x00\x09" {
		t.Errorf("beside a long in an int column: %q, %v", raw, ok)
	}
	write(t, s, "new", change(p, read(t, s, "new", p)[0], 9))
	if raw, _, ok := c.Value("app|new|orders", "5"); !ok || raw != "9|9" {
		t.Errorf("in a new row: %q, %v", raw, ok)
	}
	long := on(t, c, "&encoding=long")
	write(t, long, "long", change(p, read(t, long, "long", p)[0], 9))
	if raw, _, ok := c.Value("app|long|orders", "5"); !ok || raw != "\x00\x00\x00\x00\x00\x00\x00\x09" {
		t.Errorf("in a new row of longs: %q, %v", raw, ok)
	}
}

// A group is listed with all that is its own; rows that may be another's are left out and said.
func TestListing(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{Servers: 2, Splits: []string{"app|g|orders", "app|h"}})
	for key, columns := range map[string]map[string]string{
		"app|g|orders":       {"0": "1|5", "10": "7", "2": "abc", "broker-a-0": "3|3", "junk": "1"},
		"app|g|payments":     {"0": "1|5"},
		"app|g|x|orders":     {"0": "99|99"},
		"app|g1|orders":      {"0": "98|98"},
		"app|G|orders":       {"0": "97|97"},
		"app|orders":         {"0": "96|96"},
		"other|g|orders":     {"0": "95|95"},
		"LOG|app|g|orders|1": {"0": "94|94"},
	} {
		for q, v := range columns {
			c.Put(key, q, v, 0)
		}
	}
	s := on(t, c, "")
	a := s.Read(t.Context(), []offset.Query{{Group: "g", Expect: []offset.Partition{{Topic: "none", Index: 4}, {Topic: "orders"}}}})[0]
	if a.Err != nil || a.Expected[0].Value.State != offset.Absent || a.Expected[1].Value.Next != 5 {
		t.Fatalf("%+v", a)
	}
	var got []string
	for _, e := range a.Others {
		got = append(got, fmt.Sprintf("%s %s %d", e.Partition, e.Value.State, e.Value.Next))
	}
	if want := []string{"orders:2 invalid 0", "orders:10 set 7", "orders@broker-a:0 set 3", "payments:0 set 5"}; !slices.Equal(got, want) {
		t.Errorf("others are %q, want %q", got, want)
	}
	if len(a.Gaps) != 2 || !strings.Contains(a.Gaps[0].Error(), `"junk"`) || !strings.Contains(a.Gaps[1].Error(), "app|g|x|orders") {
		t.Errorf("gaps: %v", a.Gaps)
	}
	// By name the row of the other group, or of a topic with | in its name, is read.
	if n := read(t, s, "g|x", offset.Partition{Topic: "orders"})[0].Next; n != 99 {
		t.Errorf("group g|x: %d", n)
	}
	a = s.Read(t.Context(), []offset.Query{{Group: "g", Expect: []offset.Partition{{Topic: "x|orders"}}}})[0]
	if a.Expected[0].Value.Next != 99 || len(a.Gaps) != 1 {
		t.Errorf("topic x|orders: %+v", a)
	}
	groups, gaps, err := s.Groups(t.Context())
	if want := []string{"G", "g", "g1", "g|x"}; err != nil || !slices.Equal(groups, want) || len(gaps) != 1 {
		t.Errorf("groups %q, %v, %v", groups, gaps, err)
	}
	bare := open(t, environment(), c.URL(""))
	t.Cleanup(func() { _ = bare.Close() })
	groups, _, err = bare.Groups(t.Context())
	if want := []string{"app", "app|G", "app|g", "app|g1", "app|g|x", "other|g"}; err != nil || !slices.Equal(groups, want) {
		t.Errorf("without an app: %q, %v", groups, err)
	}
}

func TestTwoColumnsOfOnePartition(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{})
	c.Put("app|g|orders", "3", "1|1", 0)
	c.Put("app|g|orders", "\x00\x00\x00\x03", "2|2", 0)
	s := on(t, c, "")
	p := offset.Partition{Topic: "orders", Index: 3}
	if r := s.Read(t.Context(), []offset.Query{{Group: "g", Expect: []offset.Partition{p}}})[0].Expected[0]; r.Err == nil {
		t.Errorf("one of two was chosen: %+v", r.Value)
	}
	if r := s.Write(t.Context(), "g", []offset.Change{change(p, offset.Stored{State: offset.Absent, Version: absentVersion}, 5)})[0]; r.Err == nil {
		t.Errorf("one of two was written: %+v", r.Value)
	}
	if a := s.Read(t.Context(), []offset.Query{{Group: "g"}})[0]; len(a.Others) != 1 || a.Others[0].Err == nil {
		t.Errorf("listed as %+v", a.Others)
	}
}

// A table whose servers are two: one request to each for a read, one a row for a write between two reads.
func TestRequests(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{Servers: 2, Splits: []string{"app|g|t5"}})
	s := on(t, c, "")
	var ps []offset.Partition
	var topics []string
	for i := range 10 {
		topics = append(topics, fmt.Sprint("t", i))
		ps = append(ps, partitions(topics[i], 100)...)
	}
	from := read(t, s, "g", ps...)
	var ch []offset.Change
	for i, p := range ps {
		ch = append(ch, change(p, from[i], int64(i)))
	}
	write(t, s, "g", ch...)
	count := func() string {
		n := map[string]int{}
		for _, call := range c.Calls() {
			what := call.Method
			if call.Write {
				what = "write"
			}
			n[fmt.Sprintf("%s at %d", what, call.Server)]++
		}
		return fmt.Sprint(n)
	}
	count()
	from = read(t, s, "g", ps...)
	if got, want := count(), fmt.Sprint(map[string]int{"Multi at 0": 1, "Multi at 1": 1}); got != want {
		t.Errorf("reading: %s, want %s", got, want)
	}
	for i := range ch {
		ch[i] = change(ps[i], from[i], int64(i)+7)
	}
	write(t, s, "g", ch...)
	if got, want := count(), fmt.Sprint(map[string]int{"Multi at 0": 2, "Multi at 1": 2, "write at 0": 5, "write at 1": 5}); got != want {
		t.Errorf("writing: %s, want %s", got, want)
	}
	if a := s.Read(t.Context(), []offset.Query{{Group: "g"}})[0]; len(a.Others) != len(ps) {
		t.Errorf("%d of %d are listed: %v", len(a.Others), len(ps), a.Err)
	}
	if got, want := count(), fmt.Sprint(map[string]int{"Scan at 0": 1, "Scan at 1": 1}); got != want {
		t.Errorf("listing: %s, want %s", got, want)
	}
	three := []offset.Query{{Group: "g", Topics: topics[:1]}, {Group: "h", Topics: topics[:9]}, {Group: "i", Expect: ps[:3], Topics: []string{}}}
	for _, a := range s.Read(t.Context(), three) {
		if a.Err != nil {
			t.Error(a.Err)
		}
	}
	if got, want := count(), fmt.Sprint(map[string]int{"Multi at 0": 1, "Multi at 1": 1}); got != want {
		t.Errorf("three groups: %s, want %s", got, want)
	}
}
