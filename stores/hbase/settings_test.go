package hbase

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/hbase/hbasetest"
)

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
