package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-zookeeper/zk"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest"
	"github.com/offsetctl/offsetctl/offset/offsettest/storetest"
)

func quietly() offset.Env { return offset.Env{Log: slog.New(slog.DiscardHandler), Now: time.Now} }

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
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	s, err := Open(ctx, env, parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return s.(*Store)
}

// tree is a chroot that no other test uses, and a session of another program's.
type tree struct {
	t      testing.TB
	addr   string
	chroot string
	*zk.Conn
}

func newTree(t testing.TB, addr string) tree {
	t.Helper()
	c, events, err := zk.Connect(strings.Split(addr, ","), 10*time.Second, zk.WithLogger(quiet{slog.New(slog.DiscardHandler)}))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for range events {
			continue
		}
	}()
	x := tree{t, addr, fmt.Sprintf("/test-%x", rand.Uint64()), c}
	t.Cleanup(func() {
		x.remove(x.chroot)
		c.Close()
	})
	x.make(x.chroot, nil)
	return x
}

func (x tree) make(path string, data []byte) {
	x.t.Helper()
	if _, err := x.Create(path, data, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		x.t.Errorf("%s: %v", path, err)
	}
}

// put writes a node as a job does, whatever was there.
func (x tree) put(path string, data []byte) {
	x.t.Helper()
	for _, p := range ancestors(path)[1:] {
		if there, _, err := x.Exists(p); err == nil && !there {
			x.make(p, nil)
		}
	}
	_, err := x.Set(path, data, -1)
	if errors.Is(err, zk.ErrNoNode) {
		_, err = x.Create(path, data, 0, zk.WorldACL(zk.PermAll))
	}
	if err != nil {
		x.t.Errorf("%s: %v", path, err)
	}
}

func (x tree) remove(path string) {
	names, _, err := x.Children(path)
	for _, n := range names {
		x.remove(path + "/" + n)
	}
	if err == nil {
		err = x.Delete(path, -1)
	}
	if err != nil && !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrNoAuth) {
		x.t.Errorf("%s: %v", path, err)
	}
}

func (x tree) read(path string) string {
	x.t.Helper()
	raw, _, err := x.Get(path)
	if err != nil {
		x.t.Fatalf("%s: %v", path, err)
	}
	return string(raw)
}

// address of the tree through servers, with options.
func (x tree) address(servers, options string) string {
	return "zk://" + servers + x.chroot + options
}

func java(s string) []byte {
	return append([]byte{0xac, 0xed, 0, 5, 't', 0, byte(len(s))}, s...)
}

var bad = map[string][]byte{
	"empty": {}, "letters": []byte("abc"), "negative": []byte("-1"), "binary": {0, 0, 0, 0, 0, 0, 0, 0x4b}, "point": []byte("12.0"), "exponent": []byte("1e6"),
	"too large": []byte("9223372036854775808"), "Java, letters": java("abc"), "Java, cut": java("75")[:7], "range": []byte("1|2"), "JSON": []byte(`{"a":1}`),
}

func refuses(name string, _ bool) bool {
	return strings.ContainsAny(name, "/\t\n\x00") || !utf8.ValidString(name) || name == "." || name == ".." || name == "🙂"
}

func TestStore(t *testing.T) {
	for _, x := range []struct{ name, server, options string }{{"text", "zookeeper", ""}, {"java", "zookeeper", "?encoding=java"}, {"ensemble", "zookeeper3", ""}} {
		t.Run(x.name, func(t *testing.T) {
			job := newTree(t, testservers.Need(t, x.server).Addr["plain"])
			job.make(job.chroot+"/consumers", nil)
			raw := func(n int64) []byte { return fmt.Append(nil, n) }
			if x.name == "java" {
				raw = func(n int64) []byte { return java(fmt.Sprint(n)) }
			}
			rounds := 1000
			if x.name != "text" {
				rounds = 100
			}
			offsettest.RunStore(t, offsettest.Store{
				Open: func(t testing.TB, env offset.Env) offset.Store {
					return open(t, env, job.address(job.addr, x.options))
				},
				Caps: offset.Caps{Atomic: true, Together: offset.PerGroup, Fence: true, Delete: true, CommitTime: true, Queues: true},
				Poke: func(_ testing.TB, group string, p offset.Partition, raw []byte) {
					path := job.chroot + "/consumers/" + group + "/offsets/" + p.Topic + "/"
					if p.Broker != "" {
						path += p.Broker + "-"
					}
					path += fmt.Sprint(p.Index)
					if raw == nil {
						job.remove(path)
						return
					}
					job.put(path, raw)
				},
				Raw:      raw,
				Bad:      bad,
				Refuses:  refuses,
				OneByOne: true,
				Cut: func(t testing.TB, env offset.Env) (offset.Store, func(bool)) {
					p := storetest.NewProxy(t, strings.Split(job.addr, ",")[0])
					return open(t, env, job.address(p.Addr, x.options)), cutMulti(p)
				},
				Down: func(t testing.TB, env offset.Env) (offset.Store, error) {
					ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
					defer cancel()
					return Open(ctx, env, parse(t, "zk://127.0.0.1:1,127.0.0.1:2"))
				},
				Rounds: rounds,
			})
		})
	}
}

// cutMulti cuts the connection of the next transaction (type 14); sent: the server gets it.
func cutMulti(p *storetest.Proxy) func(sent bool) {
	return func(sent bool) { p.CutNext(isMulti, sent) }
}

// isMulti tells whether a packet begins a transaction.
func isMulti(b []byte) bool {
	return len(b) >= 12 && b[8] == 0 && b[9] == 0 && b[10] == 0 && b[11] == 14
}
