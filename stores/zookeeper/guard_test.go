package zookeeper

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest/storetest"
)

// A consumer of Kafka's old kind has an id for as long as it lives; one that was left behind is nobody's.
func TestGuard(t *testing.T) {
	x := job(t)
	x.put(x.at("g", "t", "0"), []byte("10"))
	s := x.open("")
	ch := storetest.Changes(t, s, "g", storetest.Partitions(0), 5)
	x.put(x.chroot+"/consumers/g/ids/left-over", nil)
	if o := s.Guard(context.Background(), "g", ch); len(o) > 0 {
		t.Errorf("%+v", o)
	}
	x.live("g", "host-1")
	o := s.Guard(context.Background(), "g", ch)
	if len(o) != 1 || o[0].Allow != "" || !strings.Contains(o[0].Text, "host-1") || strings.Contains(o[0].Text, "left-over") {
		t.Errorf("%+v", o)
	}
	if _, err := x.SetACL(x.chroot+"/consumers/g/ids", zk.WorldACL(zk.PermAll&^zk.PermRead), -1); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := x.SetACL(x.chroot+"/consumers/g/ids", zk.WorldACL(zk.PermAll), -1); err != nil {
			t.Error(err)
		}
	})
	if o := s.Guard(context.Background(), "g", ch); len(o) > 0 {
		t.Errorf("who may not see ids: %+v", o)
	}
	if o := s.Guard(context.Background(), "a/b", ch); len(o) != 1 || !strings.Contains(o[0].Text, "slash") {
		t.Errorf("%+v", o)
	}
}

// What only the spout can do, and what it takes for something else, is said before a write.
func TestGuardStorm(t *testing.T) {
	x := newTree(t, testservers.Need(t, "zookeeper").Addr["plain"])
	x.put(x.chroot+"/spouts/g/partition_0", fmt.Appendf(nil, spoutJSON, 0, "t"))
	x.put(x.chroot+"/spouts/g/partition_1", []byte(`{"topic":"t"}`))
	s := x.open("?layout=storm&root=/spouts")
	ch := storetest.Changes(t, s, "g", storetest.Partitions(0, 1, 2, 0), 5, 5, 5, 0)
	o := s.Guard(context.Background(), "g", ch)
	for i, want := range []offset.Objection{{Text: "t:1: what is there cannot be changed: it has no offset"}, {Text: "t:2 is not possible there: the spout"}, {Text: "t:0: a spout takes 0", Allow: "allow-stateful"}} {
		if len(o) != 3 || !strings.HasPrefix(o[i].Text, want.Text) || o[i].Allow != want.Allow {
			t.Errorf("%+v; number %d should be %+v", o, i, want)
		}
	}
	for i := range ch {
		ch[i] = ch[i].Undo(ch[i].From)
	}
	if o := s.Guard(context.Background(), "g", append(storetest.Had(t, s, "g"), ch...)); len(o) > 0 {
		t.Errorf("an undo, or the deletion of all: %+v", o)
	}
}

// Of each host it is said why it gives no session, also of one that takes connections.
func TestHostsWithoutASession(t *testing.T) {
	mute := storetest.NewProxy(t, "127.0.0.1:1") // it takes a connection, and drops it
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err := Open(ctx, quietly(), parse(t, "zk://127.0.0.1:1,"+mute.Addr))
	for _, want := range []string{"127.0.0.1:1: dial tcp", mute.Addr + ": it took the connection, and gives no session"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
