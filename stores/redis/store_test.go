package redis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest"
	"github.com/offsetctl/offsetctl/offset/offsettest/storetest"
)

func quiet() offset.Env { return offset.Env{Log: slog.New(slog.DiscardHandler), Now: time.Now} }

func parse(t testing.TB, text string) address.Address {
	t.Helper()
	a, err := address.Parse(text, []address.Form{Form})
	if err != nil {
		t.Fatal(err)
	}
	if a, err = a.Reveal(address.Secrets{}); err != nil {
		t.Fatal(err)
	}
	return a
}

func open(t testing.TB, env offset.Env, text string) *Store {
	t.Helper()
	s, err := Open(context.Background(), env, parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return s.(*Store)
}

// place is a server, and a prefix of keys that no other test uses.
type place struct {
	t      testing.TB
	addr   string
	prefix string
	c      redis.UniversalClient
}

func connect(t testing.TB, o *redis.UniversalOptions) place {
	t.Helper()
	silence()
	p := place{t, strings.Join(o.Addrs, ","), fmt.Sprintf("test-%x-", rand.Uint64()), redis.NewUniversalClient(o)}
	t.Cleanup(func() { _ = p.c.Close() })
	return p
}

// shared is the single server that all tests share.
func shared(t testing.TB) place {
	return connect(t, &redis.UniversalOptions{Addrs: []string{testservers.Need(t, "redis").Addr["plain"]}})
}

// address of the place through a server, with options; keys have the prefix, and the usual tag.
func (p place) address(addr, options string) string {
	key := "key=" + p.prefix + "{{{group}}}:{topic}"
	if strings.Contains(options, "type=string") {
		key += ":{partition}"
	}
	return "redis://" + addr + "?" + key + options
}

func (p place) open(options string) *Store {
	p.t.Helper()
	s := open(p.t, quiet(), p.address(p.addr, options))
	p.t.Cleanup(func() { _ = s.Close() })
	return s
}

// key as the job writes it.
func (p place) key(group, topic string) string { return p.prefix + "{" + group + "}:" + topic }

func (p place) do(args ...any) any {
	p.t.Helper()
	v, err := p.c.Do(context.Background(), args...).Result()
	if err != nil && err != redis.Nil { //nolint:errorlint // it is never wrapped here
		p.t.Errorf("%v: %v", args, err)
	}
	return v
}

func node(q offset.Partition) string {
	if q.Broker != "" {
		return q.Broker + "-" + fmt.Sprint(q.Index)
	}
	return fmt.Sprint(q.Index)
}

// poke writes as a job does.
func (p place) poke(strings bool) func(testing.TB, string, offset.Partition, []byte) {
	return func(_ testing.TB, group string, q offset.Partition, raw []byte) {
		key := p.key(group, q.Topic)
		switch {
		case strings && raw == nil:
			p.do("DEL", key+":"+node(q))
		case strings:
			p.do("SET", key+":"+node(q), raw)
		case raw == nil:
			p.do("HDEL", key, node(q))
		default:
			p.do("HSET", key, node(q), raw)
		}
	}
}

var bad = map[string][]byte{
	"empty": {}, "letters": []byte("abc"), "negative": []byte("-1"), "binary": {0, 0, 0, 0, 0, 0, 0, 0x4b}, "point": []byte("12.0"), "exponent": []byte("1e6"),
	"too large": []byte("9223372036854775808"), "rounded": []byte("9.007199254741e+15"), "JSON": []byte(`{"a":1}`), "long": bytes.Repeat([]byte("x"), 2000), "emoji": []byte("🙂"),
}

func caps(e offset.Extent) offset.Caps {
	return offset.Caps{Atomic: true, Together: e, Delete: true, Queues: true}
}

func conformance(t *testing.T, p place, options string, c offset.Caps, rounds int, more offsettest.Store) {
	more.Open = func(t testing.TB, env offset.Env) offset.Store { return open(t, env, p.address(p.addr, options)) }
	more.Caps, more.Bad, more.Rounds = c, bad, rounds
	more.Poke = p.poke(strings.Contains(options, "type=string"))
	offsettest.RunStore(t, more)
}

func TestStore(t *testing.T) {
	for name, options := range map[string]string{"hash": "", "string": "&type=string"} {
		t.Run(name, func(t *testing.T) {
			p := shared(t)
			conformance(t, p, options, caps(offset.PerGroup), 1000, offsettest.Store{
				Cut: func(t testing.TB, env offset.Env) (offset.Store, func(bool)) {
					x := storetest.NewProxy(t, p.addr)
					return open(t, env, p.address(x.Addr, options)), cutEval(x)
				},
				Down: func(t testing.TB, env offset.Env) (offset.Store, error) {
					return Open(context.Background(), env, parse(t, "redis://127.0.0.1:1"))
				},
			})
		})
	}
}

func TestCluster(t *testing.T) {
	addrs := strings.Split(testservers.Need(t, "rediscluster").Addr["plain"], ",")
	p := connect(t, &redis.UniversalOptions{Addrs: addrs, IsClusterMode: true})
	noTag := func(name string, topic bool) bool { return !topic && strings.HasPrefix(name, "}") }
	t.Run("hash", func(t *testing.T) {
		conformance(t, p, "", caps(offset.PerGroup), 200, offsettest.Store{Refuses: noTag})
	})
	t.Run("string", func(t *testing.T) {
		p.prefix += "s-"
		conformance(t, p, "&type=string", caps(offset.PerGroup), 200, offsettest.Store{Refuses: noTag})
	})
	// Keys without a tag lie in slots of their own: a topic goes together, or each partition alone.
	for name, x := range map[string]struct {
		key, kind string
		extent    offset.Extent
	}{"topics apart": {"{group}/{topic}", "hash", offset.PerTopic}, "all apart": {"{group}/{topic}/{partition}", "string", offset.EachAlone}} {
		t.Run(name, func(t *testing.T) {
			prefix := fmt.Sprintf("test-%x/", rand.Uint64())
			text := "redis://" + p.addr + "?key=" + prefix + x.key + "&type=" + x.kind
			offsettest.RunStore(t, offsettest.Store{
				Open: func(t testing.TB, env offset.Env) offset.Store { return open(t, env, text) },
				Caps: caps(x.extent), Bad: bad, Rounds: 100,
				Refuses: func(name string, topic bool) bool { return !topic && strings.Contains(name, "/") },
				Poke: func(_ testing.TB, group string, q offset.Partition, raw []byte) {
					key := prefix + group + "/" + q.Topic
					switch {
					case x.kind == "string" && raw == nil:
						p.do("DEL", key+"/"+node(q))
					case x.kind == "string":
						p.do("SET", key+"/"+node(q), raw)
					case raw == nil:
						p.do("HDEL", key, node(q))
					default:
						p.do("HSET", key, node(q), raw)
					}
				},
			})
		})
	}
}

func TestSentinel(t *testing.T) {
	srv := testservers.Need(t, "redissentinel")
	p := connect(t, &redis.UniversalOptions{Addrs: strings.Split(srv.Addr["sentinels"], ","), MasterName: srv.Vars["master-name"], Password: srv.Vars["password"]})
	options := "&master=" + srv.Vars["master-name"] + "&password=" + srv.Vars["password"]
	conformance(t, p, options, caps(offset.PerGroup), 200, offsettest.Store{})
	t.Run("unknown master", func(t *testing.T) {
		_, err := Open(context.Background(), quiet(), parse(t, "redis://"+p.addr+"?master=nobody"))
		if !errors.Is(err, offset.ErrConfig) || !strings.Contains(err.Error(), `no sentinel that answers knows a master "nobody"`) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v", err)
		}
	})
	t.Run("wait-replicas", func(t *testing.T) {
		s := p.open(options + "&wait-replicas=1")
		storetest.Write(t, s, "w", storetest.Changes(t, s, "w", storetest.Partitions(0), 5))
		s = p.open(options + "&wait-replicas=2")
		r := s.Write(context.Background(), "w", storetest.Changes(t, s, "w", storetest.Partitions(0), 6))[0]
		if !strings.Contains(fmt.Sprint(r.Err), "only 1 of 2 replicas") {
			t.Errorf("it answers %v", r.Err)
		}
	})
}

// cutEval cuts the connection of the next script; sent: the server gets it.
func cutEval(p *storetest.Proxy) func(sent bool) {
	return func(sent bool) {
		p.CutNext(func(b []byte) bool { return bytes.Contains(b, []byte("\r\neval\r\n")) }, sent)
	}
}
