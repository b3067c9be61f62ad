package zookeeper

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/offset/offsettest/storetest"
)

func TestBadTrees(t *testing.T) {
	addr := testservers.Need(t, "zookeeper").Addr["plain"]
	x := newTree(t, addr)
	for text, want := range map[string]error{
		x.address(addr, ""):                           offset.ErrUnknownName, // no /consumers
		"zk://" + addr + x.chroot + "/none":           offset.ErrUnknownName,
		x.address(addr, "?layout=storm"):              offset.ErrConfig,
		x.address(addr, "?layout=flat"):               offset.ErrConfig,
		x.address(addr, "?value=first"):               offset.ErrConfig,
		"zk://" + addr + "/../x":                      offset.ErrConfig,
		"zk://no-such-host.invalid:2181":              offset.ErrUnreachable,
		"zk://127.0.0.1:1,no-such-host.invalid:2181/": offset.ErrUnreachable,
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		s, err := Open(ctx, quietly(), parse(t, text))
		cancel()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, %v; it should be: %v", text, s, err, want)
		}
		if errors.Is(want, offset.ErrUnreachable) && !strings.Contains(err.Error(), "no-such-host.invalid:2181: ") {
			t.Errorf("%v does not say why", err)
		}
	}
	// One dead host and one whose name is not known stand before a live one.
	s := open(t, quietly(), "zk://127.0.0.1:1,no-such-host.invalid:2181,"+addr+"/?root="+x.chroot)
	_ = s.Close()
	for i, want := range []string{"was created", "there already"} {
		said, err := Init(context.Background(), quietly(), parse(t, x.address(addr, "")))
		if err != nil || !strings.Contains(said, want) {
			t.Errorf("init %d says %q, %v", i+1, said, err)
		}
	}
	said, err := Init(context.Background(), quietly(), parse(t, "zk://"+addr+x.chroot+"/deep/er"))
	if err != nil || !strings.Contains(said, "/deep/er/consumers") {
		t.Errorf("%q, %v", said, err)
	}
}

// A server that accepts and never answers: the caller's deadline holds.
func TestSilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err = Open(ctx, quietly(), parse(t, "zk://"+l.Addr().String()))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("%v", err)
	}
}

// What does not fit into one transaction is refused as a whole.
func TestTooLarge(t *testing.T) {
	x := job(t)
	s := x.open("")
	var many []offset.Change
	for i := range int32(3000) {
		p := offset.Partition{Topic: strings.Repeat("t", 200), Index: i}
		many = append(many, offset.Change{Partition: p, From: offset.Stored{State: offset.Absent, Version: absent}, To: storetest.Set(1)})
	}
	r := s.Write(context.Background(), "g", many)
	if !errors.Is(r[0].Err, offset.ErrTooLarge) || !errors.Is(r[2999].Err, offset.ErrTooLarge) {
		t.Errorf("%v", r[0].Err)
	}
	if there, _, err := x.Exists(x.chroot + "/consumers/g"); there || err != nil {
		t.Errorf("something was written: %v", err)
	}
	storetest.Write(t, s, "g", many[:500])
}

// The only host drops a connection before it gives a session: another one does.
func TestConnectionLostBeforeASession(t *testing.T) {
	x := job(t)
	x.put(x.at("g", "t", "0"), []byte("10"))
	p := storetest.NewProxy(t, x.addr)
	p.CutNext(func([]byte) bool { return true }, false)
	s := open(t, quietly(), x.address(p.Addr, ""))
	defer func() { _ = s.Close() }()
	if got := storetest.Get(t, s, "g", storetest.Partitions(0)...)[0]; got.Next != 10 {
		t.Errorf("%+v", got)
	}
}

// The session expires while nobody looks: the next call works.
func TestSessionExpiry(t *testing.T) {
	x := job(t)
	x.put(x.at("g", "t", "0"), []byte("10"))
	p := storetest.NewProxy(t, x.addr)
	s := open(t, quietly(), x.address(p.Addr, ""))
	defer func() { _ = s.Close() }()
	if got := storetest.Get(t, s, "g", storetest.Partitions(0)...)[0]; got.Next != 10 {
		t.Fatalf("%+v", got)
	}
	id := s.SessionID()
	p.Freeze(true)
	deadline := time.Now().Add(40 * time.Second)
	for s.State() == zk.StateHasSession && time.Now().Before(deadline) {
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(5 * time.Second) // the server gives up a session after at most 10 s, two thirds of which have passed
	p.Freeze(false)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var got offset.Answer
	for ctx.Err() == nil {
		if got = s.Read(ctx, []offset.Query{{Group: "g", Expect: storetest.Partitions(0)}})[0]; got.Err == nil && got.Expected[0].Err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if got.Err != nil || got.Expected[0].Err != nil || got.Expected[0].Value.Next != 10 || s.SessionID() == id {
		t.Errorf("after session %x: session %x, %+v", id, s.SessionID(), got)
	}
	storetest.Write(t, s, "g", storetest.Changes(t, s, "g", storetest.Partitions(0), 5))
}

// Two of three servers are gone: nothing is called absent; when they are back, everything works.
func TestHalfAQuorum(t *testing.T) {
	srv := testservers.NeedOwn(t, "zookeeper3")
	x := newTree(t, srv.Addr["plain"])
	x.make(x.chroot+"/consumers", nil)
	x.put(x.at("g", "t", "0"), []byte("10"))
	s := x.open("")
	ch := storetest.Changes(t, s, "g", storetest.Partitions(0), 5)
	srv.Kill(srv.Nodes[0])
	srv.Kill(srv.Nodes[1])
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	a := s.Read(ctx, []offset.Query{{Group: "g", Expect: storetest.Partitions(0)}})[0]
	if a.Err == nil && a.Expected[0].Err == nil && a.Expected[0].Value.Next != 10 { // the last one may not have noticed yet
		t.Errorf("without a quorum it reads %+v", a)
	}
	if r := s.Write(ctx, "g", ch)[0]; r.Err == nil {
		t.Error("without a quorum it writes")
	}
	srv.Start(srv.Nodes[0])
	srv.Start(srv.Nodes[1])
	back := time.Now().Add(time.Minute)
	for time.Now().Before(back) {
		if a = s.Read(context.Background(), []offset.Query{{Group: "g", Expect: storetest.Partitions(0)}})[0]; a.Err == nil && a.Expected[0].Err == nil {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	storetest.Write(t, s, "g", storetest.Changes(t, s, "g", storetest.Partitions(0), 5))
}

// TLS in front of a server: the certificate is looked at.
func TestTLS(t *testing.T) {
	x := job(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				server, err := net.Dial("tcp", x.addr)
				if err != nil {
					return
				}
				go func() { _, _ = io.Copy(c, server) }()
				_, _ = io.Copy(server, c)
				_ = server.Close()
			}()
		}
	}()
	s := open(t, quietly(), x.address(l.Addr().String(), "?ca="+ca))
	storetest.Write(t, s, "g", storetest.Changes(t, s, "g", storetest.Partitions(0), 5))
	_ = s.Close()
	_, err = Open(context.Background(), quietly(), parse(t, x.address(l.Addr().String(), "?tls=on")))
	if !errors.Is(err, offset.ErrUnreachable) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%v", err)
	}
}

// The requests of a read and a write of 1000 partitions are all under way together, and the write is one transaction.
func TestRequests(t *testing.T) {
	x := job(t)
	var calls []byte
	env := quietly()
	mu := make(chan struct{}, 1)
	env.Trace = func(_, call string) {
		mu <- struct{}{}
		calls = append(calls, call+" "...)
		<-mu
	}
	s := open(t, env, x.address(x.addr, ""))
	defer func() { _ = s.Close() }()
	var at []offset.Partition
	for topic := range 10 {
		for i := range int32(100) {
			at = append(at, offset.Partition{Topic: fmt.Sprint(topic), Index: i})
		}
	}
	ch := storetest.Changes(t, s, "g", at, make([]int64, len(at))...)
	calls = nil
	storetest.Write(t, s, "g", ch)
	if n := bytes.Count(calls, []byte("Multi")); n != 1 {
		t.Errorf("%d transactions", n)
	}
	calls = nil
	storetest.Get(t, s, "g", at...)
	if n, m := bytes.Count(calls, []byte("Get")), bytes.Count(calls, []byte(" ")); n != 1000 || m > 1020 {
		t.Errorf("%d Gets of %d requests", n, m)
	}
}
