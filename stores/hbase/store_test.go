package hbase

import (
	"errors"
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

func TestOptions(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{})
	for _, more := range []string{"&encoding=java", "&value=first", "&registry=etcd"} {
		url := strings.Replace(c.URL(more), "registry=rpc&registry", "registry", 1)
		if _, err := Open(t.Context(), environment(), parse(t, url)); !errors.Is(err, offset.ErrConfig) {
			t.Errorf("%s: %v", more, err)
		}
	}
	for _, table := range []string{"", "/a,b", "/a*b", "/a:b:c", "/:a", "/a:", "/-a", "/ns:.a", "/a-b:c"} {
		url := "hbase://" + c.Addr() + table + "?registry=rpc"
		if _, err := Open(t.Context(), environment(), parse(t, url)); !errors.Is(err, offset.ErrConfig) {
			t.Errorf("%s: %v", url, err)
		}
	}
	text := on(t, c, "&encoding=text")
	c.Put("app|g|orders", "0", "\x00\x00\x00\x07", 0)
	if s := read(t, text, "g", offset.Partition{Topic: "orders"})[0]; s.State != offset.Invalid {
		t.Errorf("an int where only text is: %+v", s)
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

func TestInit(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{Table: "-"})
	url := "hbase://" + c.Addr() + "/positions?registry=rpc"
	s := open(t, environment(), url)
	t.Cleanup(func() { _ = s.Close() })
	p := offset.Partition{Topic: "orders"}
	r := s.Read(t.Context(), []offset.Query{{Group: "g", Expect: []offset.Partition{p}}})[0].Expected[0]
	if !errors.Is(r.Err, offset.ErrUnknownName) || !strings.Contains(r.Err.Error(), "store init") {
		t.Errorf("no table: %v", r.Err)
	}
	for _, want := range []string{"table positions, family t", "nothing was changed"} {
		if made, err := Init(t.Context(), environment(), parse(t, url)); err != nil || !strings.Contains(made, want) {
			t.Errorf("%q, %v; want %q", made, err, want)
		}
	}
	if got := read(t, s, "g", p)[0]; got.State != offset.Absent {
		t.Errorf("in the new table: %+v", got)
	}
	other := open(t, environment(), url+"&family=o")
	t.Cleanup(func() { _ = other.Close() })
	r = other.Read(t.Context(), []offset.Query{{Group: "g", Topics: []string{"orders"}, Expect: []offset.Partition{p}}})[0].Expected[0]
	if !errors.Is(r.Err, offset.ErrUnknownName) {
		t.Errorf("no family: %v", r.Err)
	}
	if made, err := Init(t.Context(), environment(), parse(t, url+"&family=o")); err != nil || !strings.Contains(made, "family o") {
		t.Errorf("%q, %v", made, err)
	}
}

func TestWarnings(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{Version: "2.2.7"})
	s := on(t, c, "")
	text := func() string { return fmt.Sprint(s.Warnings(t.Context())) }
	c.Set("TTL", "2147483647")
	if got := text(); strings.Contains(got, "TTL") || !strings.Contains(got, "one by one") {
		t.Error(got)
	}
	c.Set("TTL", "86400")
	c.Set("DURABILITY", "SKIP_WAL")
	if got := text(); !strings.Contains(got, "24h0m0s") || !strings.Contains(got, "SKIP_WAL") {
		t.Error(got)
	}
	other := on(t, c, "&family=o")
	if got := fmt.Sprint(other.Warnings(t.Context())); !strings.Contains(got, "no family o") {
		t.Error(got)
	}
	if got := on(t, hbasetest.Start(t, hbasetest.Options{}), "").Warnings(t.Context()); len(got) != 0 {
		t.Error(got)
	}
}

// A cluster in the middle of an upgrade: the version that was read is new, the server that is asked is old.
func TestServerOlderThanItSeemed(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{})
	s := on(t, c, "")
	ps := partitions("orders", 3)
	var ch []offset.Change
	for i, p := range ps {
		c.Put("app|g|orders", fmt.Sprint(i), "1|1", 0)
		ch = append(ch, change(p, read(t, s, "g", p)[0], 5))
	}
	refused := false
	c.Fail(func(call hbasetest.Call) hbasetest.Fault {
		if call.Write && !refused {
			refused = true
			return hbasetest.Fault{Class: "com.google.protobuf.UninitializedMessageException", Text: "Message missing required fields"}
		}
		return hbasetest.Fault{}
	})
	write(t, s, "g", ch...)
	for i, now := range read(t, s, "g", ps...) {
		if now.Next != 5 {
			t.Errorf("%s: %+v", ps[i], now)
		}
	}
	if got := s.Caps().Together; got != offset.EachAlone || !refused {
		t.Errorf("it claims %d from here on", got)
	}
}

// A new row is begun with one cell. When another program makes another cell of it just then, the first one is taken back: its
// topic is all or nothing.
func TestNewRowIsTakenBack(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{})
	s := on(t, c, "")
	ps := partitions("orders", 3)
	var ch []offset.Change
	for i, was := range read(t, s, "g", ps...) {
		ch = append(ch, change(ps[i], was, 5))
	}
	n := 0
	c.Fail(func(call hbasetest.Call) hbasetest.Fault {
		if call.Write {
			if n++; n == 2 {
				c.Put("app|g|orders", "2", "77|77", 0)
			}
		}
		return hbasetest.Fault{}
	})
	r := s.Write(t.Context(), "g", ch)
	for i, want := range []error{offset.ErrUntouched, offset.ErrUntouched, offset.ErrMoved} {
		if !errors.Is(r[i].Err, want) {
			t.Errorf("%s: %v, want %v", ps[i], r[i].Err, want)
		}
	}
	for i, want := range []string{"absent", "absent", "set"} {
		if now := read(t, s, "g", ps[i])[0]; now.State.String() != want || now.Version != r[i].Value.Version {
			t.Errorf("%s: %+v; the write answered %+v", ps[i], now, r[i].Value)
		}
	}
	if raw, _, _ := c.Value("app|g|orders", "2"); raw != "77|77" {
		t.Errorf("the other program's value is %q", raw)
	}
}

// A write that went through, and the job writes the next position before it was read back: it is a success, with our version, so
// that the next write from it is refused.
func TestOvertaken(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{})
	s := on(t, c, "")
	p := offset.Partition{Topic: "orders"}
	c.Put("app|g|orders", "0", "1|1", 0)
	was := read(t, s, "g", p)[0]
	wrote := false
	c.Fail(func(call hbasetest.Call) hbasetest.Fault {
		if wrote && !call.Write {
			c.Put("app|g|orders", "0", "5|9", 0)
			wrote = false
		}
		wrote = wrote || call.Write
		return hbasetest.Fault{}
	})
	r := s.Write(t.Context(), "g", []offset.Change{change(p, was, 5)})[0]
	c.Fail(nil)
	if r.Err != nil || r.Value.Next != 5 {
		t.Fatalf("%+v", r)
	}
	if r := s.Write(t.Context(), "g", []offset.Change{change(p, r.Value, 6)})[0]; !errors.Is(r.Err, offset.ErrMoved) || r.Value.Next != 9 {
		t.Errorf("from there: %+v", r)
	}
}
