package hbase

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/hbase/hbasetest"
)

// whole is all that a group has, each to become absent.
func whole(t testing.TB, s *Store, group string) (had []offset.Change) {
	t.Helper()
	a := s.Read(t.Context(), []offset.Query{{Group: group}})[0]
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	for _, e := range a.Others {
		had = append(had, offset.Change{Partition: e.Partition, From: e.Value, To: offset.Stored{State: offset.Absent}})
	}
	return had
}

// A group goes with its rows of all topics. Rows of groups whose names are like it, the job's log, and rows that may be
// another's stay.
func TestDeleteGroup(t *testing.T) {
	for _, version := range []string{"2.6.3", "2.2.7"} {
		c := hbasetest.Start(t, hbasetest.Options{Version: version, Servers: 2, Splits: []string{"g|payments"}})
		s := open(t, environment(), c.URL(""))
		t.Cleanup(func() { _ = s.Close() })
		stay := []string{"g|x|orders", "g1|orders", "G|orders", "|orders", "g", "LOG|g|orders|20200610", "LOG|orders", "中|orders"}
		for _, row := range append([]string{"g|orders", "g|payments"}, stay...) {
			for q, v := range map[string]string{"0": "1|5", "1": "abc", "broker-a-0": "3"} {
				c.Put(row, q, v, 0)
			}
		}
		had := whole(t, s, "g")
		c.Calls()
		r, err := s.DeleteGroup(t.Context(), "g", had)
		if err != nil || len(r) != 6 || errors.Join(r[0].Err, r[1].Err, r[2].Err, r[3].Err, r[4].Err, r[5].Err) != nil {
			t.Errorf("HBase %s: %+v, %v", version, r, err)
		}
		count := map[string]int{}
		for _, call := range c.Calls() {
			count[call.Method]++
		}
		// Two regions: a scan of both, a read of both, a call for each row or cell, and the same reads again.
		writes := map[string]int{"2.6.3": 2, "2.2.7": 6}[version]
		if want := fmt.Sprint(map[string]int{"Scan": 4, "Multi": 4, "Mutate": writes}); fmt.Sprint(count) != want {
			t.Errorf("HBase %s: %v, want %s", version, count, want)
		}
		if left := whole(t, s, "g"); len(left) != 0 {
			t.Errorf("HBase %s: %v are left", version, left)
		}
		for _, row := range stay {
			for q, want := range map[string]string{"0": "1|5", "1": "abc", "broker-a-0": "3"} {
				if raw, _, _ := c.Value(row, q); raw != want {
					t.Errorf("HBase %s: row %q, column %s: %q", version, row, q, raw)
				}
			}
		}
		if _, err := s.DeleteGroup(t.Context(), "g", nil); !errors.Is(err, offset.ErrUnknownName) {
			t.Errorf("once more: %v", err)
		}
	}
}

// What was not read, or is no position, keeps all of the group.
func TestDeleteGroupRefuses(t *testing.T) {
	for _, x := range []struct {
		name, row, column string
		kind              error
		says              string
	}{
		{"a new partition", "app|g|orders", "7", offset.ErrMoved, "orders:7"},
		{"a new topic", "app|g|payments", "0", offset.ErrMoved, "payments:0"},
		{"a column that is no partition", "app|g|orders", "owner", offset.ErrUnsupported, `"owner"`},
		{"two columns of one partition", "app|g|orders", "\x00\x00\x00\x00", offset.ErrUnsupported, "two columns"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := hbasetest.Start(t, hbasetest.Options{})
			s := on(t, c, "")
			c.Put("app|g|orders", "0", "1|5", 0)
			had := whole(t, s, "g")
			c.Put(x.row, x.column, "9|9", 0)
			r, err := s.DeleteGroup(t.Context(), "g", had)
			if !errors.Is(err, x.kind) || !strings.Contains(err.Error(), x.says) || r != nil {
				t.Errorf("%v, %v", r, err)
			}
			if raw, _, _ := c.Value("app|g|orders", "0"); raw != "1|5" {
				t.Errorf("%q is there", raw)
			}
		})
	}
	c := hbasetest.Start(t, hbasetest.Options{})
	s := open(t, environment(), c.URL(""))
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.DeleteGroup(t.Context(), "LOG", nil); !errors.Is(err, offset.ErrUnsupported) {
		t.Errorf("the job's log: %v", err)
	}
}

// A position that the job makes while the group is deleted stays, and is said.
func TestDeleteGroupWhileTheJobWrites(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{})
	s := on(t, c, "")
	c.Put("app|g|orders", "0", "1|5", 0)
	had := whole(t, s, "g")
	c.Fail(func(call hbasetest.Call) hbasetest.Fault {
		if call.Write {
			c.Put("app|g|orders", "1", "9|9", 0)
		}
		return hbasetest.Fault{}
	})
	_, err := s.DeleteGroup(t.Context(), "g", had)
	if !errors.Is(err, offset.ErrOutcome) || !strings.Contains(err.Error(), "orders:1") {
		t.Error(err)
	}
	if raw, _, _ := c.Value("app|g|orders", "1"); raw != "9|9" {
		t.Errorf("the job's position is %q", raw)
	}
	if _, _, there := c.Value("app|g|orders", "0"); there {
		t.Error("what was read is still there")
	}
}
