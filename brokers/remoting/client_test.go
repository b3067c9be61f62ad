package remoting_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/brokers/remoting/remotingtest"
	"github.com/offsetctl/offsetctl/offset"
)

func client(t testing.TB, o remoting.Options) *remoting.Client {
	c := remoting.New(o)
	t.Cleanup(func() { c.Close() })
	return c
}

func TestManyRequestsOnOneConnection(t *testing.T) {
	f := remotingtest.New(t, remotingtest.Options{})
	b := f.Broker("broker-a")
	b.Topic("T", 64)
	var conns sync.Map
	var slow atomic.Int32
	f.Intercept(func(c *remotingtest.Call) bool {
		conns.Store(c.Conn, true)
		time.Sleep(time.Duration(slow.Add(1)%7) * time.Millisecond) // answers come out of order
		return false
	})
	for q := range int32(64) {
		b.SetOffset("G", "T", q, int64(q)*10)
	}
	c := client(t, remoting.Options{})
	var wg sync.WaitGroup
	for q := range int32(64) {
		wg.Go(func() {
			n, found, err := c.QueryOffset(t.Context(), b.Remoting(), "G", "T", q)
			if n != int64(q)*10 || !found || err != nil {
				t.Error(q, n, found, err)
			}
		})
	}
	wg.Wait()
	n := 0
	conns.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Error("connections:", n)
	}
	if c.Version(b.Addr()) != remotingtest.V5_5_0 {
		t.Error(c.Version(b.Addr()))
	}
}

func TestReconnects(t *testing.T) {
	f := remotingtest.New(t, remotingtest.Options{})
	b := f.Broker("broker-a")
	b.Topic("T", 1)
	c := client(t, remoting.Options{})
	get := func() error {
		_, err := c.TopicStats(t.Context(), b.Remoting(), "T")
		return err
	}
	if err := get(); err != nil {
		t.Fatal(err)
	}
	// The server closes the connection instead of answering: asked once more on a new one.
	var closed atomic.Int32
	f.Intercept(func(x *remotingtest.Call) bool {
		if closed.Add(1) == 1 {
			x.Conn.Close()
			return true
		}
		return false
	})
	if err := get(); err != nil || closed.Load() != 2 {
		t.Error(err, closed.Load())
	}
	// A change is not sent twice: nobody knows whether it was done.
	closed.Store(0)
	_, err := c.UpdateOffset(t.Context(), b.Remoting(), "G", "T", 0, 1)
	if !remoting.MayHaveArrived(err) || !errors.Is(err, offset.ErrUnreachable) || closed.Load() != 1 {
		t.Error(err, closed.Load())
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	for name, x := range map[string]struct {
		answer func(nc net.Conn)
		want   string
	}{
		"truncated": {func(nc net.Conn) { nc.Write([]byte{0, 0, 0, 100, 0, 0, 0, 50, '{'}); nc.Close() }, "unexpected EOF"},
		"oversized": {func(nc net.Conn) { nc.Write(binary.BigEndian.AppendUint32(nil, 1<<31-1)) }, "too large"},
		"closed":    {func(nc net.Conn) { nc.Close() }, "it may want TLS"},
		"silent":    {func(net.Conn) {}, "no answer within 300ms"},
	} {
		t.Run(name, func(t *testing.T) {
			f := remotingtest.New(t, remotingtest.Options{})
			f.Intercept(func(c *remotingtest.Call) bool { x.answer(c.Conn); return true })
			patience := 10 * time.Second // a busy machine is slow, and only silence shall end by it
			if name == "silent" {
				patience = 300 * time.Millisecond
			}
			c := client(t, remoting.Options{Timeout: patience})
			_, err := c.TopicStats(t.Context(), f.Broker("broker-a").Remoting(), "T")
			if !errors.Is(err, offset.ErrUnreachable) || !strings.Contains(err.Error(), x.want) || !strings.Contains(err.Error(), f.Broker("broker-a").Addr()) {
				t.Error(err)
			}
		})
	}
}

func TestContextEndsARequestAlone(t *testing.T) {
	f := remotingtest.New(t, remotingtest.Options{})
	b := f.Broker("broker-a")
	b.Topic("T", 1)
	f.Intercept(func(c *remotingtest.Call) bool { return c.Request.Code == int(remoting.CodeAllOffsets) })
	c := client(t, remoting.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { _, err := c.AllOffsets(ctx, b.Remoting()); done <- err }()
	if _, err := c.TopicStats(t.Context(), b.Remoting(), "T"); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := c.TopicStats(t.Context(), b.Remoting(), "T"); err != nil {
		t.Error("the others on the connection:", err)
	}
}

func TestBusyIsAskedAgain(t *testing.T) {
	f := remotingtest.New(t, remotingtest.Options{})
	b := f.Broker("broker-a")
	b.Topic("T", 1)
	for _, code := range []int{remoting.SystemBusy, remoting.FlowControl, remoting.GoAway} {
		var n atomic.Int32
		f.Intercept(func(x *remotingtest.Call) bool {
			if n.Add(1) > 2 {
				return false
			}
			reply(t, x, &remoting.Command{Code: code})
			return true
		})
		c := client(t, remoting.Options{})
		if _, err := c.TopicStats(t.Context(), b.Remoting(), "T"); err != nil || n.Load() != 3 {
			t.Error(code, err, n.Load())
		}
	}
}

func reply(t testing.TB, x *remotingtest.Call, a *remoting.Command) {
	a.Opaque, a.Flag = x.Request.Opaque, remoting.FlagAnswer
	frame, err := a.Append(nil)
	if err != nil {
		t.Error(err)
	}
	x.Conn.Write(frame)
}

// What a server sends without having been asked is no answer, whatever its number is.
func TestServerRequestsAndUnknownNumbersAreDropped(t *testing.T) {
	f := remotingtest.New(t, remotingtest.Options{})
	b := f.Broker("broker-a")
	b.Topic("T", 1)
	f.Intercept(func(x *remotingtest.Call) bool {
		for _, c := range []*remoting.Command{{Code: 40, Opaque: x.Request.Opaque}, {Code: 1, Flag: remoting.FlagAnswer, Opaque: 9999}} {
			frame, _ := c.Append(nil)
			x.Conn.Write(frame)
		}
		return false
	})
	c := client(t, remoting.Options{})
	if _, err := c.TopicStats(t.Context(), b.Remoting(), "T"); err != nil {
		t.Error(err)
	}
}

func TestAccessControl(t *testing.T) {
	for _, version := range []int{remotingtest.V4_9_7, remotingtest.V5_5_0} {
		f := remotingtest.New(t, remotingtest.Options{Version: version, Accounts: map[string]string{"reader001": "readsecret1"}})
		b := f.Broker("broker-a")
		b.Topic("T", 1)
		for name, k := range map[string]*remoting.Credentials{
			"unsigned": nil, "unknown": {AccessKey: "nobody", SecretKey: "readsecret1"}, "wrong": {AccessKey: "reader001", SecretKey: "wrongsecret"},
		} {
			c := client(t, remoting.Options{Credentials: k})
			_, err := c.TopicStats(t.Context(), b.Remoting(), "T")
			if !errors.Is(err, offset.ErrDenied) || strings.Contains(fmt.Sprint(err), "secret1") {
				t.Error(version, name, err)
			}
		}
		c := client(t, remoting.Options{Credentials: &remoting.Credentials{AccessKey: "reader001", SecretKey: "readsecret1", Token: "tok"}})
		if _, err := c.TopicStats(t.Context(), b.Remoting(), "T"); err != nil {
			t.Error(version, err)
		}
		if _, err := c.AllOffsets(t.Context(), b.Remoting()); err != nil { // no parameters
			t.Error(version, err)
		}
		if err := c.CreateGroup(t.Context(), b.Remoting(), "G"); err != nil { // a body
			t.Error(version, err)
		}
	}
}

func TestConnectErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	c := client(t, remoting.Options{})
	_, err = c.Route(t.Context(), addr, "T")
	var te *remoting.TransportError
	if !errors.As(err, &te) || te.Stage != remoting.StageConnect || remoting.MayHaveArrived(err) || err.Error() != addr+`, "105 route": connect: connection refused` {
		t.Error(err)
	}
	if _, err = c.Route(t.Context(), "no.such.host.invalid:9876", "T"); err == nil || strings.Contains(err.Error(), "dial tcp") || strings.Count(err.Error(), "no.such.host.invalid") != 2 {
		t.Error(err)
	}
	c.Close()
	if _, err = c.Route(t.Context(), addr, "T"); !errors.Is(err, offset.ErrUnreachable) {
		t.Error("after Close:", err)
	}
}

func TestTLS(t *testing.T) {
	cert, pool := certificate(t)
	f := remotingtest.New(t, remotingtest.Options{})
	f.Broker("broker-a").Topic("T", 1)
	front, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { front.Close() })
	go func() { // TLS in front of the fake
		for {
			in, err := front.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", f.NameServers()[0])
			if err != nil {
				in.Close()
				return
			}
			go func() { io.Copy(out, in); out.Close() }()
			go func() { io.Copy(in, out); in.Close() }()
		}
	}()
	tlsAddr, plainAddr := front.Addr().String(), f.NameServers()[0]
	for name, x := range map[string]struct {
		addr string
		tls  *tls.Config
		want string
	}{
		"good":                 {tlsAddr, &tls.Config{RootCAs: pool}, ""},
		"insecure":             {tlsAddr, &tls.Config{InsecureSkipVerify: true}, ""},
		"not trusted":          {tlsAddr, &tls.Config{}, "TLS: tls: failed to verify certificate"},
		"other name":           {tlsAddr, &tls.Config{RootCAs: pool, ServerName: "other"}, "other"},
		"TLS to a plain port":  {plainAddr, &tls.Config{RootCAs: pool}, "TLS"},
		"plain to a TLS port":  {tlsAddr, nil, tlsAddr},
		"plain to a plain one": {plainAddr, nil, ""},
	} {
		c := client(t, remoting.Options{TLS: x.tls, Timeout: 10 * time.Second})
		_, err := c.Route(t.Context(), x.addr, "T")
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func certificate(t testing.TB) (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, tpl, tpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, _ := x509.ParseCertificate(der)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestProxyIsNoNameServer(t *testing.T) {
	f := remotingtest.New(t, remotingtest.Options{})
	f.Intercept(func(x *remotingtest.Call) bool {
		reply(t, x, &remoting.Command{Code: remoting.NotSupported, Ext: map[string]string{"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}})
		return true
	})
	c := client(t, remoting.Options{})
	_, err := c.Brokers(t.Context(), f.NameServers()[0])
	if !errors.Is(err, remoting.ErrNoNameServer) || !errors.Is(err, offset.ErrConfig) || !strings.HasSuffix(err.Error(), "this is a RocketMQ 5 proxy and no name server; give the address of a name server, usually with port 9876") {
		t.Error(err)
	}
	f.Intercept(nil)
	if _, err = c.Brokers(t.Context(), f.Broker("broker-a").Addr()); !errors.Is(err, remoting.ErrNoNameServer) {
		t.Error("a broker's address:", err)
	}
}

func TestRemarksAreOneLine(t *testing.T) {
	e := &remoting.Error{Addr: "h:1", Call: remoting.CodeRoute, Code: 17, Remark: "No topic route info in name server for the topic: X\nSee https://…"}
	if s := e.Error(); strings.Contains(s, "\n") || !strings.Contains(s, `"105 route"`) || !errors.Is(e, offset.ErrUnknownName) {
		t.Error(s)
	}
}
