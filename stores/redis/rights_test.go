package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest/storetest"
)

// What the server says of its users is what happens, and asking writes nothing.
func TestPermissions(t *testing.T) {
	ctx := context.Background()
	p := shared(t)
	user := func(name string, rules ...any) string {
		name += "-" + strings.Trim(p.prefix, "-")
		p.do(append([]any{"ACL", "SETUSER", name, "on", ">secret"}, rules...)...)
		t.Cleanup(func() { p.do("ACL", "DELUSER", name) })
		return "&user=" + name + "&password=secret"
	}
	conn := []any{"+ping", "+hello", "+select"}
	full := user("full", append(conn, "~*", "+hgetall", "+hget", "+hset", "+eval", "+scan", "+pttl")...)
	reader := user("reader", append(conn, "~*", "+hgetall")...)
	elsewhere := user("elsewhere", append(conn, "~other:*", "+@all")...)
	unset := user("unset", append(conn, "~*", "+@read", "+eval")...)
	const key = `key "{g}:t": `
	for _, c := range []struct {
		options string
		write   bool
		want    []string
		err     error // of a reset
	}{
		{options: full, write: true, want: []string{"SCAN only groups and topics that are not named", key + "HGETALL", key + "PTTL only noticing that positions expire",
			key + "EVAL, HGET, HSET, HGETALL", key + "HDEL no only " + absence, key + "PERSIST no only taking an expiry off"}},
		{options: reader, want: []string{"SCAN no only groups and topics that are not named", key + "HGETALL", key + "PTTL no only noticing that positions expire"}, err: offset.ErrDenied},
		{options: elsewhere, want: []string{"SCAN only groups and topics that are not named", key + "HGETALL no", key + "PTTL no only noticing that positions expire"}, err: offset.ErrDenied},
		{options: reader, write: true, want: []string{"SCAN no only groups and topics that are not named", key + "HGETALL", key + "PTTL no only noticing that positions expire", key + "EVAL no"}, err: offset.ErrDenied},
		{options: unset, write: true, want: []string{"SCAN only groups and topics that are not named", key + "HGETALL", key + "PTTL only noticing that positions expire",
			key + "EVAL, HGET, HGETALL", key + "HSET no", key + "HDEL no only " + absence, key + "PERSIST no only taking an expiry off"}, err: offset.ErrDenied},
	} {
		s := p.open(c.options)
		if got := storetest.Told(s.Permissions(ctx, "g", []string{"t"}, c.write), p.prefix); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.options, got)
		}
		if n := p.do("EXISTS", p.key("g", "t")); n != int64(0) {
			t.Fatal("asking wrote")
		}
		ch := []offset.Change{{Partition: storetest.Partitions(0)[0], From: offset.Stored{State: offset.Absent, Version: absent}, To: storetest.Set(5)}}
		if r := s.Write(ctx, "g", ch)[0]; !errors.Is(r.Err, c.err) {
			t.Errorf("%s: %v", c.options, r.Err)
		}
		p.do("DEL", p.key("g", "t"))
	}
	p.do("SET", p.key("g", "t")+":0", "5")
	s := p.open(user("text", append(conn, "~*", "+get", "+set", "+eval", "+scan", "+pttl", "+del")...) + "&type=string")
	const text = `key "{g}:t:0": `
	if got, want := storetest.Told(s.Permissions(ctx, "g", nil, true), p.prefix), []string{"SCAN", text + "GET", text + "PTTL only noticing that positions expire",
		text + "EVAL, GET, SET", text + "DEL only " + absence}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestPermissionsInACluster(t *testing.T) {
	addrs := strings.Split(testservers.Need(t, "rediscluster").Addr["plain"], ",")
	p := connect(t, &redis.UniversalOptions{Addrs: addrs, IsClusterMode: true})
	s := open(t, quiet(), "redis://"+p.addr)
	defer func() { _ = s.Close() }()
	for _, x := range s.Permissions(context.Background(), p.prefix, []string{"a", "b", "c"}, true) {
		if x.Err != nil || !x.Granted {
			t.Errorf("%+v", x)
		}
	}
}

// A server that cannot be asked is not taken for one that says yes or no.
func TestPermissionsOfAnOldServer(t *testing.T) {
	got := answers("k", stringCommands, []int64{-1, -1, -1})
	if len(got) != 1 || got[0].Granted || !strings.Contains(fmt.Sprint(got[0].Err), "before 7.0 cannot be asked") {
		t.Errorf("%+v", got)
	}
}
