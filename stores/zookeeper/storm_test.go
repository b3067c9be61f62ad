package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest/storetest"
	"github.com/offsetctl/offsetctl/stores/value"
)

const spoutJSON = `{"topology":{"id":"x-1","name":"x"},"offset": 100,"partition":%d,"broker":{"host":"h","port":9092,"offset":7},"topic":"%s"}`

func TestStorm(t *testing.T) {
	x := newTree(t, testservers.Need(t, "zookeeper").Addr["plain"])
	x.put(x.chroot+"/spouts/g/partition_0", fmt.Appendf(nil, spoutJSON, 0, "t"))
	x.put(x.chroot+"/spouts/g/t/partition_1", fmt.Appendf(nil, spoutJSON, 1, "t"))
	x.put(x.chroot+"/spouts/g/partition_2", []byte(`{"topic":"t","partition":2}`))
	x.put(x.chroot+"/spouts/g/partition_4", []byte(`{"topology":{"name":"x"},"topic":"t","partition":4,"offset":100}`)) // a spout takes it for none
	x.put(x.chroot+"/spouts/g/partition_3", fmt.Appendf(nil, spoutJSON, 3, "other"))
	s := x.open("?layout=storm&root=/spouts")
	got := storetest.Get(t, s, "g", storetest.Partitions(0, 1, 2, 3, 4)...)
	for i, want := range []string{"set 100", "set 100", "invalid 0", "absent 0", "invalid 0"} {
		if have := fmt.Sprint(got[i].State, " ", got[i].Next); have != want {
			t.Errorf("node %d is %s, it should be %s", i, have, want)
		}
	}
	ch := storetest.Changes(t, s, "g", storetest.Partitions(0, 1), 7, 8)
	storetest.Write(t, s, "g", ch)
	if raw := x.read(x.chroot + "/spouts/g/partition_0"); raw != strings.Replace(fmt.Sprintf(spoutJSON, 0, "t"), "100", "7", 1) {
		t.Errorf("more than the offset changed: %s", raw)
	}
	now := storetest.Get(t, s, "g", storetest.Partitions(0, 1)...)
	storetest.Write(t, s, "g", []offset.Change{ch[0].Undo(now[0]), ch[1].Undo(now[1])})
	if raw := x.read(x.chroot + "/spouts/g/t/partition_1"); raw != fmt.Sprintf(spoutJSON, 1, "t") {
		t.Errorf("undo left %s", raw)
	}
	if r := s.Write(context.Background(), "g", storetest.Changes(t, s, "g", storetest.Partitions(9), 1))[0]; !errors.Is(r.Err, offset.ErrUnsupported) {
		t.Errorf("a node that the spout did not make: %v", r.Err)
	}
	if r := s.Write(context.Background(), "g", storetest.Changes(t, s, "g", storetest.Partitions(2), 1))[0]; r.Err == nil {
		t.Error("a node without an offset was written")
	}
	a := s.Read(context.Background(), []offset.Query{{Group: "g"}})[0]
	if len(a.Others) != 5 || len(a.Gaps) != 0 {
		t.Errorf("%+v", a)
	}
	groups, _, err := s.Groups(context.Background())
	if err != nil || fmt.Sprint(groups) != "[g]" {
		t.Errorf("%q, %v", groups, err)
	}
	if c := s.Caps(); c.Queues || c.Delete || !c.Atomic {
		t.Errorf("it claims %+v", c)
	}
}

// A node that is empty, or torn before it says of which topic it is, is there: asked by name or by group it is its neighbours' topic's,
// and where it has no neighbours that tell, it is not absent for any topic.
func TestBR32Storm(t *testing.T) {
	x := newTree(t, testservers.Need(t, "zookeeper").Addr["plain"])
	odd := []string{"", `{"offset":`, "75", strings.Repeat("9", 3000)}
	for i, raw := range odd {
		x.put(fmt.Sprintf("%s/spouts/alone/partition_%d", x.chroot, i), []byte(raw))
		x.put(fmt.Sprintf("%s/spouts/g/partition_%d", x.chroot, i), []byte(raw))
	}
	x.put(x.chroot+"/spouts/g/partition_9", fmt.Appendf(nil, spoutJSON, 9, "t"))
	s := x.open("?layout=storm&root=/spouts")
	invalid := func(group string, got []offset.Stored) {
		t.Helper()
		for i, v := range got {
			if v.State != offset.Invalid || v.Raw == nil || string(v.Raw) != odd[i] || v.Version == absent {
				t.Errorf("group %s: %.20q reads as %+v", group, odd[i], v)
			}
		}
	}
	invalid("g", storetest.Get(t, s, "g", storetest.Partitions(0, 1, 2, 3)...))
	for _, v := range storetest.Get(t, s, "g", offset.Partition{Topic: "other"}, offset.Partition{Topic: "other", Index: 9}) {
		if v.State != offset.Absent {
			t.Errorf("another topic's: %+v", v)
		}
	}
	for _, topics := range [][]string{nil, {"t"}} {
		a := s.Read(context.Background(), []offset.Query{{Group: "g", Topics: topics}})[0]
		if len(a.Others) != 5 || len(a.Gaps) != 0 {
			t.Fatalf("%+v", a)
		}
		var listed []offset.Stored
		for _, e := range a.Others[:4] {
			listed = append(listed, e.Value)
		}
		invalid("g, listed", listed)
	}
	all := storetest.Partitions(0, 1, 2, 3)
	invalid("alone", storetest.Get(t, s, "alone", all...))
	a := s.Read(context.Background(), []offset.Query{{Group: "alone", Topics: []string{"t"}, Expect: all}, {Group: "alone"}})
	if len(a[0].Gaps) != 0 || len(a[1].Gaps) != 4 || len(a[1].Others) != 0 {
		t.Errorf("%+v", a)
	}
}

func FuzzSpout(f *testing.F) {
	f.Add(fmt.Appendf(nil, spoutJSON, 0, "t"), int64(7))
	f.Add([]byte(`{"offset":1,"offset":2}`), int64(0))
	f.Add([]byte(`{"a":{"offset":1}}`), int64(0))
	f.Fuzz(func(t *testing.T, raw []byte, next int64) {
		c := config{storm: true, number: value.Dialect{Accept: value.Text, New: value.Text}}
		if next < 0 {
			return
		}
		out, err := c.respout(raw, next)
		if err != nil {
			return
		}
		topic, v := c.spout(out)
		if v.State != offset.Set || v.Next != next {
			t.Fatalf("%q with %d became %q, read as %+v", raw, next, out, v)
		}
		if before, _ := c.spout(raw); before != topic {
			t.Fatalf("%q became another topic's %q", raw, out)
		}
	})
}
