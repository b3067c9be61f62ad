package hbase

import (
	"errors"
	"fmt"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/hbase/hbasetest"
)

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
