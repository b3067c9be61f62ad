package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest/storetest"
)

func TestBR10(t *testing.T) {
	p := shared(t)
	p.do("HSET", p.key("g", "t"), "0", "3", "1", "-1")
	s := p.open("&value=last")
	got := storetest.Get(t, s, "g", storetest.Partitions(0, 1)...)
	if got[0].Next != 4 || got[1].State != offset.Set || got[1].Next != 0 || string(got[1].Raw) != "-1" {
		t.Fatalf("%+v", got)
	}
	storetest.Write(t, s, "g", storetest.Changes(t, s, "g", storetest.Partitions(0, 1, 2), 4, 0, 7))
	if v := fmt.Sprint(p.do("HMGET", p.key("g", "t"), "0", "1", "2")); v != "[3 -1 6]" {
		t.Errorf("written as %s", v)
	}
}

func TestBR12(t *testing.T) {
	p := shared(t)
	texts := []string{"2623027957", "9007199254740993", "9223372036854775807", "9223372036854775808", "12.0", "1e6"}
	for i, x := range texts {
		p.do("HSET", p.key("g", "t"), i, x)
	}
	s := p.open("")
	got := storetest.Get(t, s, "g", storetest.Partitions(0, 1, 2, 3, 4, 5)...)
	for i, v := range got {
		if i < 3 && fmt.Sprint(v.Next) != texts[i] || i >= 3 && (v.State != offset.Invalid || string(v.Raw) != texts[i]) {
			t.Errorf("%s reads as %+v", texts[i], v)
		}
	}
	// Two numbers that are one as a double: the comparison must tell them apart.
	ch := storetest.Changes(t, s, "g", storetest.Partitions(1), 5)
	p.do("HSET", p.key("g", "t"), 1, "9007199254740992")
	if r := s.Write(context.Background(), "g", ch)[0]; !errors.Is(r.Err, offset.ErrMoved) {
		t.Errorf("...993 became ...992 since it was read, and the write answers %v", r.Err)
	}
}

// Names that patterns and other names could be taken for, keys of another template beside them.
func TestBR24(t *testing.T) {
	p := shared(t)
	groups, topics := []string{"a", "a:b", "a/b", "a*", "a_c", "axc", "[a]"}, []string{"order_events", "orderXevents"}
	for _, g := range groups {
		for _, topic := range topics {
			p.do("HSET", p.key(g, topic), "0", "100")
		}
	}
	s := p.open("")
	at := []offset.Partition{{Topic: "order_events"}}
	for n, g := range []string{"a", "a_c", "a*", "[a]"} {
		a := s.Read(context.Background(), []offset.Query{{Group: g}})[0]
		if a.Err != nil || len(a.Others) != 2 {
			t.Errorf("group %q: %+v", g, a)
		}
		storetest.Write(t, s, g, storetest.Changes(t, s, g, at, 0))
		left := 0
		for _, g := range groups {
			for _, topic := range topics {
				if p.do("HGET", p.key(g, topic), "0") == "100" {
					left++
				}
			}
		}
		if left != 13-n {
			t.Errorf("after %q was reset %d values are as they were, not %d", g, left, 13-n)
		}
	}
}

func TestBR26(t *testing.T) {
	p := shared(t)
	p.do("HSET", p.key("g", "t"), "broker-a-0", "1", "broker-b-0", "2", "0", "3", "x", "4")
	s := p.open("")
	all := []offset.Partition{{Topic: "t"}, {Topic: "t", Broker: "broker-a"}, {Topic: "t", Broker: "broker-b"}}
	got := storetest.Get(t, s, "g", all...)
	if got[0].Next != 3 || got[1].Next != 1 || got[2].Next != 2 {
		t.Errorf("%+v", got)
	}
	storetest.Write(t, s, "g", storetest.Changes(t, s, "g", all[1:2], 9))
	if v := fmt.Sprint(p.do("HMGET", p.key("g", "t"), "broker-a-0", "broker-b-0", "0", "x")); v != "[9 2 3 4]" {
		t.Errorf("the hash has %s", v)
	}
	a := s.Read(context.Background(), []offset.Query{{Group: "g", Topics: []string{"t"}}})[0]
	if len(a.Others) != 3 || len(a.Gaps) != 1 {
		t.Errorf("%+v", a)
	}
}

func TestBR32(t *testing.T) {
	p := shared(t)
	p.do("HSET", p.key("g", "t"), "0", "120", "1", "", "2", "75\n", "4", "\x00\x00\x00\x00\x00\x00\x00\x4b", "5", "abc")
	s := p.open("")
	got := storetest.Get(t, s, "g", storetest.Partitions(0, 1, 2, 3, 4, 5)...)
	for i, want := range []string{"set 120", "invalid 0", "set 75", "absent 0", "invalid 0", "invalid 0"} {
		if have := fmt.Sprint(got[i].State, " ", got[i].Next); have != want {
			t.Errorf("field %d is %s, it should be %s", i, have, want)
		}
	}
	storetest.Write(t, s, "g", storetest.Changes(t, s, "g", storetest.Partitions(1), 0))
	if v := fmt.Sprintf("%q", p.do("HMGET", p.key("g", "t"), "0", "1", "2", "5")); v != `["120" "0" "75\n" "abc"]` {
		t.Errorf("the hash has %s", v)
	}
}

// Keys in several slots have no common transaction: each topic is whole, and those that were written are told.
func TestBR33(t *testing.T) {
	addrs := strings.Split(testservers.Need(t, "rediscluster").Addr["plain"], ",")
	p := connect(t, &redis.UniversalOptions{Addrs: addrs, IsClusterMode: true})
	s := open(t, quiet(), "redis://"+p.addr+"?key="+p.prefix+"{group}/{topic}")
	defer func() { _ = s.Close() }()
	var at []offset.Partition
	for _, topic := range []string{"a", "b", "c", "d"} {
		at = append(at, offset.Partition{Topic: topic}, offset.Partition{Topic: topic, Index: 1})
	}
	storetest.Write(t, s, "g", storetest.Changes(t, s, "g", at, 1, 1, 1, 1, 1, 1, 1, 1))
	ch := storetest.Changes(t, s, "g", at, 2, 2, 2, 2, 2, 2, 2, 2)
	p.do("HSET", p.prefix+"g/c", "1", "9")
	r := s.Write(context.Background(), "g", ch)
	for i, v := range storetest.Get(t, s, "g", at...) {
		want := int64(2)
		if at[i].Topic == "c" {
			want = []int64{1, 9}[at[i].Index]
		}
		if v.Next != want || (r[i].Err == nil) != (at[i].Topic != "c") {
			t.Errorf("%s is %d, %v", at[i], v.Next, r[i].Err)
		}
	}
}

func TestBR34(t *testing.T) {
	p := shared(t)
	p.do("HSET", p.key("g", "t"), "0", "10", "1", "20")
	s := p.open("")
	ch := storetest.Changes(t, s, "g", storetest.Partitions(1), 5)
	p.do("HSET", p.key("g", "t"), "0", "15")
	storetest.Write(t, s, "g", ch)
	ch = storetest.Changes(t, s, "g", storetest.Partitions(0, 1), 3, 3)
	p.do("HSET", p.key("g", "t"), "0", "16")
	r := s.Write(context.Background(), "g", ch)
	if !errors.Is(r[0].Err, offset.ErrMoved) || r[0].Value.Next != 16 || !errors.Is(r[1].Err, offset.ErrUntouched) {
		t.Errorf("%+v", r)
	}
	if v := fmt.Sprint(p.do("HMGET", p.key("g", "t"), "0", "1")); v != "[16 5]" {
		t.Errorf("the hash has %s", v)
	}
}

// A key that is gone is absent, another group's is left alone; what is written keeps its type and does not expire; a server that
// cannot answer yet, or takes no writes, is no absence.
func TestBR38(t *testing.T) {
	for _, kind := range []string{"hash", "string"} {
		t.Run(kind, func(t *testing.T) {
			p := shared(t)
			at := storetest.Partitions(0, 1)
			put := p.poke(kind == "string")
			put(t, "g1", at[0], []byte("40"))
			put(t, "g2", at[0], []byte("7"))
			key := p.key("g1", "t")
			if kind == "string" {
				key += ":0"
			}
			p.do("EXPIRE", key, 1000)
			s := p.open("&type=" + kind)
			got := storetest.Get(t, s, "g1", at...)
			if got[0].Next != 40 || got[1].State != offset.Absent {
				t.Errorf("%+v", got)
			}
			if w := fmt.Sprint(s.Warnings(context.Background())); !strings.Contains(w, "expires in") {
				t.Errorf("nothing is said of the expiry: %s", w)
			}
			storetest.Write(t, s, "g1", storetest.Changes(t, s, "g1", at, 30, 30))
			if ttl := p.do("TTL", key); ttl != int64(-1) {
				t.Errorf("the key still expires in %v s", ttl)
			}
			if k := p.do("TYPE", key); k != kind {
				t.Errorf("the key is a %v by now", k)
			}
			if v := storetest.Get(t, s, "g2", at[0])[0]; v.Next != 7 {
				t.Errorf("another group's is %+v", v)
			}
			storetest.Get(t, s, "g1", at...)
			if w := fmt.Sprint(s.Warnings(context.Background())); strings.Contains(w, "expires in") {
				t.Errorf("an expiry that is over is still told: %s", w)
			}
		})
	}
	t.Run("read-only, out of memory", func(t *testing.T) {
		own := testservers.NeedOwn(t, "redis")
		p := connect(t, &redis.UniversalOptions{Addrs: []string{own.Addr["plain"]}})
		s := p.open("")
		storetest.Write(t, s, "g", storetest.Changes(t, s, "g", storetest.Partitions(0), 10))
		ch := storetest.Changes(t, s, "g", storetest.Partitions(0), 20)
		p.do("CONFIG", "SET", "maxmemory", "1")
		r := s.Write(context.Background(), "g", ch)[0]
		if r.Err == nil || !strings.Contains(r.Err.Error(), "memory is full") || storetest.Get(t, s, "g", storetest.Partitions(0)...)[0].Next != 10 {
			t.Errorf("out of memory: %+v", r)
		}
		p.do("CONFIG", "SET", "maxmemory", "0")
		p.do("CONFIG", "SET", "min-replicas-to-write", "1")
		r = s.Write(context.Background(), "g", ch)[0]
		if !errors.Is(r.Err, offset.ErrUnreachable) {
			t.Errorf("not enough replicas: %+v", r)
		}
		p.do("CONFIG", "SET", "min-replicas-to-write", "0")
		p.do("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
		p.do("CONFIG", "SET", "appendonly", "no")
		if w := fmt.Sprint(s.Warnings(context.Background())); !strings.Contains(w, "allkeys-lru") || !strings.Contains(w, "append-only file is off") {
			t.Errorf("warnings: %s", w)
		}
		p.do("REPLICAOF", "127.0.0.1", "1")
		r = s.Write(context.Background(), "g", ch)[0]
		if !errors.Is(r.Err, offset.ErrDenied) || !strings.Contains(r.Err.Error(), "replica") {
			t.Errorf("read-only: %+v", r)
		}
		if w := fmt.Sprint(s.Warnings(context.Background())); !strings.Contains(w, "this is a replica") {
			t.Errorf("warnings: %s", w)
		}
		own.Kill("")
		a := s.Read(context.Background(), []offset.Query{{Group: "g", Topics: []string{}, Expect: storetest.Partitions(0)}})[0]
		if !errors.Is(a.Err, offset.ErrUnreachable) {
			t.Errorf("a server that was killed: %+v", a)
		}
	})
}

// An empty text is no position, and not the absence of one.
func TestBR40(t *testing.T) {
	p := shared(t)
	p.do("SET", p.key("g", "t")+":0", "")
	if v := storetest.Get(t, p.open("&type=string"), "g", storetest.Partitions(0)...)[0]; v.State != offset.Invalid {
		t.Errorf("%+v", v)
	}
}

func TestWrongType(t *testing.T) {
	p := shared(t)
	p.do("SET", p.key("g", "t"), "5")
	s := p.open("")
	a := s.Read(context.Background(), []offset.Query{{Group: "g", Topics: []string{}, Expect: storetest.Partitions(0)}})[0]
	r := s.Write(context.Background(), "g", []offset.Change{{Partition: storetest.Partitions(0)[0], From: offset.Stored{Version: absent}, To: storetest.Set(1)}})[0]
	for _, err := range []error{a.Expected[0].Err, r.Err} {
		if !strings.Contains(fmt.Sprint(err), "type") {
			t.Errorf("a string where a hash should be: %v", err)
		}
	}
	if p.do("GET", p.key("g", "t")) != "5" {
		t.Error("it was written over")
	}
}

// Users: wrong password, keys that are not theirs, no right to write, and a right that is missing in the middle of the script.
func TestRights(t *testing.T) {
	srv := testservers.Need(t, "redis")
	p := shared(t)
	pass := srv.Vars["password"]
	_, err := Open(context.Background(), quiet(), parse(t, "redis://alice:wrong-secret@"+p.addr))
	if !errors.Is(err, offset.ErrDenied) || strings.Contains(err.Error(), "wrong-secret") {
		t.Errorf("%v", err)
	}
	p.prefix = "alice:" + p.prefix
	alice := p.open("&user=alice&password=" + pass)
	storetest.Write(t, alice, "g", storetest.Changes(t, alice, "g", storetest.Partitions(0, 1), 10, 10))
	p.prefix = "bob" + p.prefix
	p.do("HSET", p.key("g", "t"), "0", "10", "1", "10")
	other := p.open("&user=alice&password=" + pass)
	a := other.Read(context.Background(), []offset.Query{{Group: "g", Topics: []string{}, Expect: storetest.Partitions(0)}})[0]
	if !errors.Is(errors.Join(a.Err, a.Expected[0].Err), offset.ErrDenied) {
		t.Errorf("another's key: %+v", a)
	}
	reader := p.open("&user=reader&password=" + pass)
	r := reader.Write(context.Background(), "g", storetest.Changes(t, reader, "g", storetest.Partitions(0), 5))[0]
	if !errors.Is(r.Err, offset.ErrDenied) {
		t.Errorf("no right to write: %+v", r)
	}
	user := "half-" + strings.Trim(p.prefix, "-:")
	p.do("ACL", "SETUSER", user, "on", ">half-secret", "~*", "+@all", "-hdel")
	t.Cleanup(func() { p.do("ACL", "DELUSER", user) })
	half := p.open("&user=" + user + "&password=half-secret")
	ch := storetest.Changes(t, half, "g", storetest.Partitions(0, 1), 5, 0)
	ch[1].To = offset.Stored{State: offset.Absent}
	rs := half.Write(context.Background(), "g", ch)
	now := storetest.Get(t, half, "g", storetest.Partitions(0, 1)...)
	if rs[0].Err != nil || now[0].Next != 5 || !errors.Is(rs[1].Err, offset.ErrDenied) || now[1].Next != 10 {
		t.Errorf("half a script: %+v; there is %+v", rs, now)
	}
}

func TestTLS(t *testing.T) {
	srv := testservers.Need(t, "redis")
	secure := srv.Addr["tls"]
	s := open(t, quiet(), "redis://"+secure+"?ca="+srv.Files["ca"])
	_ = s.Close()
	for text, want := range map[string]string{
		"redis://" + secure + "?tls=on":                         "certificate",
		"redis://" + secure + "?ca=" + srv.Files["other-ca"]:    "certificate",
		"redis://" + secure:                                     "",
		"redis://" + srv.Addr["plain"] + "?tls=insecure":        "",
		"redis://" + srv.Addr["plain"] + "?cluster=on":          "cluster",
		"redis://no-such-host.invalid":                          "no-such-host.invalid",
		"redis://" + srv.Addr["plain"] + "/99":                  "out of range",
		"redis://" + srv.Addr["plain"] + "?master=nobody":       "these are none",
		"redis://127.0.0.1:1,127.0.0.1:2?master=m":              "sentinels",
		"redis://127.0.0.1:1,127.0.0.1:2":                       "refused",
		"redis://" + srv.Addr["plain"] + "?user=u&password=bad": "",
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		_, err := Open(ctx, quiet(), parse(t, text))
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTemplates(t *testing.T) {
	for options, want := range map[string]string{
		"key={topic":                               "neither",
		"key={colour}:{topic}":                     "neither",
		"key=a}{topic}":                            "ends nothing",
		"key={group}":                              "{topic} must stand",
		"key={topic}:{topic}":                      "once",
		"key={group}{topic}":                       "nothing stands between",
		"key={group}:{group}:{topic}":              "twice",
		"key={topic}:{partition}":                  "type=string",
		"key={topic}&type=string":                  "type=string",
		"type=list":                                "hash or string",
		"value=first":                              "next or last",
		"cluster=on&master=m":                      "sentinels watch no cluster",
		"cluster=on&wait-replicas=1":               "not for clusters",
		"wait-replicas=none":                       "no number",
		"key=%7B%7Bx%7D%7D{topic}&wait-replicas=0": "no number",
	} {
		_, err := Open(context.Background(), quiet(), parse(t, "redis://127.0.0.1:1?"+options))
		if !errors.Is(err, offset.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", options, err)
		}
	}
	for _, x := range []struct {
		options, group string
		p              offset.Partition
		key, field     string
	}{
		{"", "g1", offset.Partition{Topic: "orders", Index: 3}, "{g1}:orders", "3"},
		{"type=string", "g1", offset.Partition{Topic: "orders", Broker: "broker-a", Index: 3}, "{g1}:orders:broker-a-3", ""},
		{"key=off:{topic}", "any", offset.Partition{Topic: "a:b"}, "off:a:b", "0"},
		{"key={{{topic}}}{group}", "g", offset.Partition{Topic: "t"}, "{t}g", "0"},
	} {
		l, err := parseLayout(parse(t, "redis://h?"+x.options))
		if err != nil {
			t.Fatal(err)
		}
		if key, field := l.keyOf(x.group, x.p); key != x.key || field != x.field || l.holds(x.group, x.p) != nil {
			t.Errorf("%s: key %q, field %q, %v", x.options, key, field, l.holds(x.group, x.p))
		}
	}
	for _, x := range []struct {
		options, group, topic string
	}{
		{"", "g}:x", "t"}, {"key={group}:{topic}", "a:b", "t"}, {"key={group}:{topic}", "a", ""}, {"cluster=on", "}a", "t"},
	} {
		l, err := parseLayout(parse(t, "redis://h?"+x.options))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.holds(x.group, offset.Partition{Topic: x.topic}); !errors.Is(err, offset.ErrUnsupported) {
			t.Errorf("%s: group %q, topic %q: %v", x.options, x.group, x.topic, err)
		}
	}
}

// A place that is one group is called by the texts of its keys, as they are.
func TestOneGroup(t *testing.T) {
	p := shared(t)
	name := strings.TrimSuffix(p.prefix, "-") + "-[x]"
	p.do("HSET", name+":t", "0", "5")
	s := open(t, quiet(), "redis://"+p.addr+"?key="+name+":{topic}")
	defer func() { _ = s.Close() }()
	groups, gaps, err := s.Groups(context.Background())
	if err != nil || len(gaps) > 0 || len(groups) != 1 || groups[0] != name {
		t.Errorf("%q, %v, %v", groups, gaps, err)
	}
	if v := storetest.Get(t, s, name, storetest.Partitions(0)...)[0]; v.Next != 5 {
		t.Errorf("%+v", v)
	}
}

// No two positions that can be held have one key.
func FuzzKeys(f *testing.F) {
	f.Add("{{{group}}}:{topic}:{partition}", "g}:x", "t", "g", "x}:t", int32(0))
	f.Add("{group}/{topic}", "a/b", "c", "a", "b/c", int32(1))
	f.Fuzz(func(t *testing.T, template, g1, t1, g2, t2 string, n int32) {
		l := layout{strings: strings.Contains(template, "{partition}")}
		if l.template(template) != nil {
			return
		}
		p, q := offset.Partition{Topic: t1, Index: n}, offset.Partition{Topic: t2, Index: n}
		if l.holds(g1, p) != nil || l.holds(g2, q) != nil {
			return
		}
		a, _ := l.keyOf(g1, p)
		b, _ := l.keyOf(g2, q)
		if same := p == q && (g1 == g2 || !l.grouped()); (a == b) != same {
			t.Fatalf("%s of %q and %s of %q have keys %q and %q", p, g1, q, g2, a, b)
		}
	})
}
