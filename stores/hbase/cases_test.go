package hbase

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/hbase/hbasetest"
)

// The cases of the catalogue of faults that HBase can show.

// BR-10: the number is the last record that was done.
func TestBR10LastDone(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{})
	s := on(t, c, "&value=last")
	ps := partitions("orders", 2)
	c.Put("app|g|orders", "0", "3", 0)
	c.Put("app|g|orders", "1", "-1", 0)
	was := read(t, s, "g", ps...)
	if was[0].Next != 4 || string(was[0].Raw) != "3" || was[1].Next != 0 || was[1].State != offset.Set {
		t.Fatalf("%+v", was)
	}
	write(t, s, "g", change(ps[0], was[0], 0), change(ps[1], was[1], 4))
	for q, want := range map[string]string{"0": "-1", "1": "3"} {
		if raw, _, _ := c.Value("app|g|orders", q); raw != want {
			t.Errorf("column %s: %q, want %q", q, raw, want)
		}
	}
	if n := read(t, on(t, c, ""), "g", ps...); n[0].State != offset.Invalid || n[1].Next != 3 {
		t.Errorf("read as next to read: %+v", n)
	}
}

// BR-12: offsets that are large, and numbers that are none.
func TestBR12LargeOffsets(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{})
	s := on(t, c, "")
	for i, x := range []struct {
		raw  string
		next int64 // -1: invalid
	}{
		{"2623027957", 2623027957}, {"9007199254740993", 9007199254740993}, {"9223372036854775807", 9223372036854775807},
		{"9223372036854775808", -1}, {"12.0", -1}, {"1e6", -1},
	} {
		p := offset.Partition{Topic: "orders", Index: int32(i)}
		c.Put("app|g|orders", fmt.Sprint(i), x.raw, 0)
		now := read(t, s, "g", p)[0]
		if x.next < 0 {
			if now.State != offset.Invalid || string(now.Raw) != x.raw {
				t.Errorf("%s: %+v", x.raw, now)
			}
			continue
		}
		if now.Next != x.next {
			t.Errorf("%s: %+v", x.raw, now)
		}
		write(t, s, "g", change(p, now, x.next-1))
		if raw, _, _ := c.Value("app|g|orders", fmt.Sprint(i)); raw != fmt.Sprint(x.next-1) {
			t.Errorf("%d was written as %q", x.next-1, raw)
		}
	}
}

// BR-24: names that look like others'. Each group changes its own rows only.
func TestBR24NamesOfOthers(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{})
	s := on(t, c, "")
	groups := []string{"a", "a:b", "a/b", "a*", "a_c", "axc", "a|b", "a%", "{a}", "a b", "中文"}
	topics := []string{"orderXevents", "order_events"}
	value := func(group, topic string) string {
		raw, _, _ := c.Value("app|"+group+"|"+topic, "0")
		return raw
	}
	for i, g := range groups {
		for _, topic := range topics {
			c.Put("app|"+g+"|"+topic, "0", fmt.Sprint(100+i), 0)
		}
	}
	p := offset.Partition{Topic: "order_events"}
	for i, g := range groups {
		write(t, s, g, change(p, read(t, s, g, p)[0], 7))
		for k, other := range groups {
			want := fmt.Sprint(100 + k)
			if value(other, "orderXevents") != want {
				t.Errorf("after %q: %q has %s", g, other, value(other, "orderXevents"))
			}
			if k <= i {
				want = "7"
			}
			if value(other, "order_events") != want {
				t.Errorf("after %q: %q has %s, want %s", g, other, value(other, "order_events"), want)
			}
		}
	}
}

// BR-26: the same queue number on two brokers, and a column that names none.
func TestBR26QueuesOfBrokers(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{})
	s := on(t, c, "")
	c.Put("app|g|orders", "broker-a-0", "10|10", 0)
	c.Put("app|g|orders", "broker-b-0", "500|500", 0)
	c.Put("app|g|orders", "0", "77|77", 0)
	a := offset.Partition{Topic: "orders", Broker: "broker-a"}
	b := offset.Partition{Topic: "orders", Broker: "broker-b"}
	was := read(t, s, "g", a, b)
	if was[0].Next != 10 || was[1].Next != 500 {
		t.Fatalf("%+v", was)
	}
	write(t, s, "g", change(a, was[0], 0), change(b, was[1], 400))
	answer := s.Read(t.Context(), []offset.Query{{Group: "g", Expect: []offset.Partition{a, b}}})[0]
	if answer.Expected[0].Value.Next != 0 || answer.Expected[1].Value.Next != 400 {
		t.Errorf("%+v", answer.Expected)
	}
	if len(answer.Others) != 1 || answer.Others[0].Partition != (offset.Partition{Topic: "orders"}) || answer.Others[0].Value.Next != 77 {
		t.Errorf("the column without a broker: %+v", answer.Others)
	}
}

// BR-32: empty and odd values stand beside good ones, and a reset of one touches no other.
func TestBR32OddValues(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{})
	s := on(t, c, "")
	ps := partitions("orders", 6)
	raws := []string{"120|120", "", "75\n", "-", "\x00\x00\x00\x00\x00\x00\x00\x4b", "abc"} // the fourth is not there
	for i, raw := range raws {
		if raw != "-" {
			c.Put("app|g|orders", fmt.Sprint(i), raw, 0)
		}
	}
	was := read(t, s, "g", ps...)
	for i, want := range []string{"set 120", "invalid 0", "set 75", "absent 0", "set 75", "invalid 0"} {
		if got := fmt.Sprint(was[i].State, " ", was[i].Next); got != want {
			t.Errorf("%s: %s, want %s", ps[i], got, want)
		}
	}
	write(t, s, "g", change(ps[1], was[1], 0))
	for i, raw := range raws {
		got, _, there := c.Value("app|g|orders", fmt.Sprint(i))
		switch {
		case i == 1 && got != "0|0":
			t.Errorf("the reset wrote %q", got)
		case i == 3 && there:
			t.Errorf("%s was made", ps[i])
		case i != 1 && i != 3 && got != raw:
			t.Errorf("%s was %q and is %q", ps[i], raw, got)
		}
	}
	if a := s.Read(t.Context(), []offset.Query{{Group: "nobody", Expect: ps}})[0]; a.Err != nil || a.Expected[0].Value.State != offset.Absent || len(a.Others) != 0 {
		t.Errorf("a group that is not there: %+v", a)
	}
}

// BR-33: at whatever request a write is cut off, every cell is the old or the new one, and no row is half of each.
func TestBR33CutOff(t *testing.T) {
	for _, sent := range []bool{true, false} {
		for at := 1; at <= 6; at++ {
			c := hbasetest.Start(t, hbasetest.Options{})
			s := on(t, c, "")
			s.look = 100 * time.Millisecond
			ps := append(partitions("orders", 3), partitions("payments", 3)...)
			var ch []offset.Change
			for i, was := range read(t, s, "g", ps...) {
				ch = append(ch, change(ps[i], was, 10))
			}
			write(t, s, "g", ch...)
			for i, was := range read(t, s, "g", ps...) {
				ch[i] = change(ps[i], was, 5)
			}
			n := 0
			c.Fail(func(hbasetest.Call) hbasetest.Fault {
				n++
				return hbasetest.Fault{Cut: n >= at && !sent, CutAfter: n >= at && sent}
			})
			ctx, cancel := timeLimit(t)
			result := s.Write(ctx, "g", ch)
			cancel()
			c.Fail(nil)
			for i, now := range read(t, s, "g", ps...) {
				first := read(t, s, "g", ps[i/3*3])[0]
				if now.Next != 10 && now.Next != 5 || now.Next != first.Next {
					t.Errorf("cut at request %d: %s is %d beside %d", at, ps[i], now.Next, first.Next)
				}
				if err := result[i].Err; err == nil && now.Next != 5 || err != nil && !errors.Is(err, offset.ErrOutcome) && now.Next != 10 {
					t.Errorf("cut at request %d: %s answers %v and is %d", at, ps[i], err, now.Next)
				}
			}
		}
	}
}

// BR-34: the job moves on between the reading and the writing.
func TestBR34JobMovesOn(t *testing.T) {
	for version, other := range map[string]error{"2.6.3": offset.ErrUntouched, "2.2.7": nil} {
		c := hbasetest.Start(t, hbasetest.Options{Version: version})
		s := on(t, c, "")
		ps := partitions("orders", 2)
		c.Put("app|g|orders", "0", "0|10", 0)
		c.Put("app|g|orders", "1", "0|20", 0)
		was := read(t, s, "g", ps...)
		c.Put("app|g|orders", "0", "10|11", 0)
		r := s.Write(t.Context(), "g", []offset.Change{change(ps[0], was[0], 3), change(ps[1], was[1], 5)})
		if !errors.Is(r[0].Err, offset.ErrMoved) || r[0].Value.Next != 11 || !errors.Is(r[1].Err, other) {
			t.Errorf("HBase %s: %+v", version, r)
		}
		if raw, _, _ := c.Value("app|g|orders", "0"); raw != "10|11" {
			t.Errorf("HBase %s: the job's value became %q", version, raw)
		}
		want := "0|20"
		if other == nil {
			want = "5|5"
		}
		if raw, _, _ := c.Value("app|g|orders", "1"); raw != want {
			t.Errorf("HBase %s: the other is %q, want %q", version, raw, want)
		}
	}
}

// BR-40: an empty value is invalid, never position 0, and never absent.
func TestBR40EmptyValue(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{})
	s := on(t, c, "")
	p := offset.Partition{Topic: "orders"}
	c.Put("app|g|orders", "0", "", 0)
	was := read(t, s, "g", p)[0]
	if was.State != offset.Invalid || was.Next != 0 || was.Version == absentVersion {
		t.Errorf("%+v", was)
	}
	if r := s.Write(t.Context(), "g", []offset.Change{{Partition: p, From: was, To: offset.Stored{}}})[0]; r.Err == nil {
		t.Errorf("nothing was written as a position: %+v", r.Value)
	}
	if raw, _, _ := c.Value("app|g|orders", "0"); raw != "" {
		t.Errorf("%q", raw)
	}
}
