// Package remotingtest is a small RocketMQ cluster inside the test's process: name servers and brokers that speak the wire
// protocol over loopback and are as honest as the real ones, that is not very. They answer 0 for what they do not know, keep
// stale minimums, swallow writes while a reset is pending, and forget dead brokers at once.
package remotingtest

import (
	"bufio"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/offsetctl/offsetctl/brokers/remoting"
)

// Versions whose behaviour is known, as servers put them into their answers.
const (
	V4_9_7 = 407
	V5_5_0 = 513
)

// Options of a Cluster. The zero value is a 5.5.0 cluster with broker-a and broker-b behind one name server.
type Options struct {
	Version     int
	Brokers     []string
	NameServers int
	Accounts    map[string]string // secret by access key; nil: everybody may do everything
	NoReset     bool              // 5.x with useServerSideResetOffset=false
}

// Cluster is a running cluster. Its methods may be called at any time.
type Cluster struct {
	t           testing.TB
	version     int
	noReset     bool
	accounts    map[string]string
	mu          sync.Mutex
	brokers     map[string]*Broker
	nameServers []*server
	counts      map[remoting.Code]int
	intercept   func(*Call) bool
	onWrite     func(Write)
}

// Call is one request as Intercept sees it.
type Call struct {
	Server  string // "ns0" or the broker's name
	Request *remoting.Command
	Conn    net.Conn
	Hangup  bool // set it to have the request done, and the connection closed instead of an answer
}

// Write is a position that a client has stored, as OnWrite sees it.
type Write struct {
	Broker *Broker
	Group  string
	Topic  string
	Queue  int32
	Next   int64
	Reset  bool // by 222
}

// New starts a cluster and stops it at the test's end.
func New(t testing.TB, o Options) *Cluster {
	t.Helper()
	if o.Version == 0 {
		o.Version = V5_5_0
	}
	if o.Brokers == nil {
		o.Brokers = []string{"broker-a", "broker-b"}
	}
	c := &Cluster{t: t, version: o.Version, accounts: o.Accounts, brokers: map[string]*Broker{}, counts: map[remoting.Code]int{}}
	c.noReset = o.NoReset || o.Version < remoting.Version5_1_0
	for i := range max(1, o.NameServers) {
		c.nameServers = append(c.nameServers, c.listen(fmt.Sprint("ns", i), c.answerNameServer))
	}
	for _, name := range o.Brokers {
		b := newBroker(c, name)
		b.server = c.listen(name, b.answer)
		c.brokers[name] = b
	}
	t.Cleanup(c.stop)
	return c
}

func (c *Cluster) stop() {
	for _, s := range c.nameServers {
		s.stop()
	}
	for _, b := range c.brokers {
		b.server.stop()
	}
}

// NameServers are the addresses of the name servers.
func (c *Cluster) NameServers() []string {
	var out []string
	for _, s := range c.nameServers {
		out = append(out, s.addr)
	}
	return out
}

// StopNameServer ends one of the name servers.
func (c *Cluster) StopNameServer(i int) { c.nameServers[i].stop() }

// Broker answers one of the brokers.
func (c *Cluster) Broker(name string) *Broker {
	b := c.brokers[name]
	if b == nil {
		c.t.Fatalf("there is no broker %s", name)
	}
	return b
}

// Intercept has f see every request before it is answered; where f answers true nothing else is answered.
func (c *Cluster) Intercept(f func(*Call) bool) { c.with(func() { c.intercept = f }) }

// OnWrite has f called, in its own goroutine, after every position that a client stored.
func (c *Cluster) OnWrite(f func(Write)) { c.with(func() { c.onWrite = f }) }

// Counts are the requests since the last call of Counts.
func (c *Cluster) Counts() map[remoting.Code]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.counts
	c.counts = map[remoting.Code]int{}
	return out
}

func (c *Cluster) with(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// names are the registered brokers; a dead one without a slave is not among them.
func (c *Cluster) names() []string {
	var out []string
	for _, n := range slices.Sorted(maps.Keys(c.brokers)) {
		if b := c.brokers[n]; !b.dead || b.slave != "" {
			out = append(out, n)
		}
	}
	return out
}

// server accepts connections and answers each request in its own goroutine, so that answers come out of order.
type server struct {
	addr  string
	l     net.Listener
	mu    sync.Mutex
	conns map[net.Conn]bool
	wg    sync.WaitGroup
}

type answerer func(*remoting.Command) *remoting.Command

func (c *Cluster) listen(name string, f answerer) *server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	s := &server{addr: l.Addr().String(), l: l, conns: map[net.Conn]bool{}}
	s.wg.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns[nc] = true
			s.mu.Unlock()
			s.wg.Go(func() { c.serve(name, nc, f, s) })
		}
	})
	return s
}

func (s *server) stop() {
	_ = s.l.Close()
	s.mu.Lock()
	for nc := range s.conns {
		_ = nc.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

func (c *Cluster) serve(name string, nc net.Conn, f answerer, s *server) {
	defer nc.Close()
	r := bufio.NewReader(nc)
	var writing sync.Mutex
	for {
		cmd, err := remoting.ReadCommand(r, 16<<20)
		if err != nil {
			return
		}
		c.mu.Lock()
		c.counts[remoting.Code(cmd.Code)]++
		intercept := c.intercept
		c.mu.Unlock()
		s.wg.Go(func() {
			call := &Call{Server: name, Request: cmd, Conn: nc}
			if intercept != nil && intercept(call) {
				return
			}
			a := c.refuse(cmd)
			if a == nil {
				a = f(cmd)
			}
			if call.Hangup {
				_ = nc.Close()
				return
			}
			a.Opaque, a.Flag = cmd.Opaque, remoting.FlagAnswer
			if a.Version == 0 {
				a.Version = c.version
			}
			frame, err := a.Append(nil)
			if err != nil {
				return
			}
			writing.Lock()
			defer writing.Unlock()
			_, _ = nc.Write(frame) // a client that is gone needs no answer
		})
	}
}

// refuse is the answer to a request that is not signed rightly; nil lets it pass. Name servers ask for nothing.
func (c *Cluster) refuse(cmd *remoting.Command) *remoting.Command {
	if c.accounts == nil || cmd.Code == int(remoting.CodeRoute) || cmd.Code == int(remoting.CodeClusterInfo) || cmd.Code == int(remoting.CodeTopicList) {
		return nil
	}
	key := cmd.Ext["AccessKey"]
	secret, known := c.accounts[key]
	deny := func(v4, v5 string) *remoting.Command {
		if c.version < remoting.Version5_0_0 {
			return fail(remoting.SystemError, "org.apache.rocketmq.acl.common.AclException: "+v4)
		}
		return fail(remoting.NoPermission, v5)
	}
	switch {
	case key == "":
		return deny("No accessKey is configured", "username cannot be null.")
	case !known:
		return deny("No acl config for "+key, "User:"+key+" is not found.")
	case cmd.Ext["Signature"] != remoting.Signature(secret, cmd.Ext, cmd.Body):
		return deny("Check signature failed for accessKey="+key, "check signature failed.")
	}
	return nil
}

func fail(code int, remark string) *remoting.Command {
	return &remoting.Command{Code: code, Remark: remark}
}

func ok(ext map[string]string, body string) *remoting.Command {
	return &remoting.Command{Ext: ext, Body: []byte(body)}
}
