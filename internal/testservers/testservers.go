// Package testservers gives tests the real servers: brokers and stores that a
// supervisor starts the first time one is asked for and shares between all
// test binaries.
//
//	s := testservers.Need(t, "kafka44")
//	client, err := kgo.NewClient(kgo.SeedBrokers(s.Addr["plain"]))
//
// Under go test -short Need skips the test. Without -short a server that
// cannot be had fails it. Two more skips exist, both by the caller's choice and
// printed: SERVERS=newest leaves out the old versions, and mysql8 is asked for
// with MYSQL8=1 (its download is large).
//
// # Running
//
//	go run ./internal/testservers/supervisor fetch              # download everything, once
//	go run ./internal/testservers/supervisor run -- go test ./...  # servers and tests without any other network
//	go run ./internal/testservers/supervisor serve              # keep servers for plain "go test" in other terminals
//
// # Sharing
//
// A shared server is used by other tests at the same moment: name topics,
// groups, tables and keys after the test, and never count what others may have
// made. Do not stop or pause it. While a test holds a server it stays up; one
// that nobody has held for a while is stopped and comes back empty, so data do
// not outlive the test that made them. Tests that kill nodes or change a
// server's settings take a private one by NeedOwn, or the shared one by
// Exclusive.
//
// # Servers
//
// Addr holds host:port by listener; a cluster's has all nodes, comma separated,
// and besides one entry a node, such as Addr["plain/2"]. Every server with TLS
// has Files "ca", "client-cert", "client-key", and "other-ca", which signed
// nothing.
//
//	kafka44        Apache Kafka 4.4, one node (KRaft), StandardAuthorizer.
//	               Addr: plain, tls, mtls, sasl, sasltls. plain and tls come as
//	               User:ANONYMOUS and, like admin, may do everything; the others need ACLs.
//	               sasl and sasltls take PLAIN, SCRAM-SHA-256, SCRAM-SHA-512,
//	               OAUTHBEARER (unsecured JWS) and GSSAPI (service kafka, realm
//	               TEST.LOCAL; Files krb5.conf, alice.keytab). Users admin, alice, bob,
//	               password USER-secret. mtls: User:client. Nodes kdc, broker.
//	kafka44x3      the same version, three nodes 1 to 3, Addr plain only, no authorizer.
//	kafka44expire  one node that expires committed offsets after one minute.
//	kafka39        Apache Kafka 3.9, one node (KRaft), Addr plain.
//	kafka28        Apache Kafka 2.8, Addr plain, zookeeper. Nodes zookeeper, broker.
//	mariadb        Addr plain (TLS on the same port). Vars dsn: user app, app-secret,
//	               everything on database test; root-dsn: user root, no password.
//	postgres       Addr plain (TLS on the same port). Vars dsn: user app, app-secret,
//	               scram-sha-256, owner of database test; root-dsn: user postgres, no password.
//	mysql8         MySQL 8.0, as mariadb, with certificates of its own that name no
//	               address; root by a unix socket. Needs MYSQL8=1.
//	redis          Addr plain, tls; append-only file, fsync always. The default user
//	               may do everything; alice (keys alice:* only) and reader (no writes)
//	               have Vars password.
//	rediscluster   three masters 1 to 3 without replicas, Addr plain.
//	redissentinel  Addr sentinels, and at the start master, replica. Vars master-name,
//	               password (of the data servers). Nodes master, replica, sentinel1 to 3.
//	zookeeper      ZooKeeper 3.9, Addr plain, tick 500 ms (sessions of 1 to 10 s).
//	               Vars superuser: digest credentials that may read every node.
//	zookeeper3     an ensemble, nodes 1 to 3.
//	hbase26        HBase 2.6: a master and two region servers in one JVM (node server)
//	               and its ZooKeeper (node zookeeper). Addr zookeeper, Vars znode.
//	hbase24, hbase22, hbase17  the same of 2.4, 2.2 and 1.7.
//	hbase26procs   HBase 2.6, nodes zookeeper, master, rs1, rs2, a process and an Addr
//	               each; a region server that was killed is noticed after 6 s.
//	rocketmq55     RocketMQ 5.5: name server and two masters, nodes and Addr namesrv,
//	               broker-a, broker-b. Expired files are looked for every second,
//	               the first time a minute after the start.
//	rocketmq55acl  the same with ACL. Vars access-key, secret-key: the administrator.
//	rocketmq55proxy  name server, broker-a and a proxy in cluster mode, Addr proxy
//	               (remoting), proxy-grpc.
//	rocketmq49, rocketmq49acl  the same of 4.9. The ACL one besides has readonly1,
//	               readsecret1, with topic ACT (PUB|SUB) and group GACL (SUB).
//
// RocketMQ 4.9 and the proxy listen on every interface, so they are had only
// inside the supervisor's run, or from serve -all-interfaces.
package testservers

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/internal/testservers/wire"
)

// Server is a running server that the test holds until its end.
type Server struct {
	Name    string            // the name it was asked for by
	Version string            // the version that runs, such as 4.4.0
	Addr    map[string]string // host:port by listener; see the package comment
	Files   map[string]string // paths of certificates, key tabs and the like
	Vars    map[string]string // what else a client has to know
	Dir     string            // the server's folder: settings, data, logs
	Nodes   []string          // names for Kill, Start, Stop, Pause, Resume and Log

	t    testing.TB
	conn *wire.Conn
}

// patience is how long a supervisor that is being restarted is waited for.
const patience = time.Minute

// Need shares the server of that name, starting it where nobody has yet. When
// the test fails the server's last log lines are printed.
func Need(t testing.TB, name string) Server {
	t.Helper()
	return hold(t, wire.Need, name)
}

// NeedOwn starts a private instance for this test, to be killed, paused and
// changed at will. It is thrown away at the test's end.
func NeedOwn(t testing.TB, name string) Server {
	t.Helper()
	return hold(t, wire.Own, name)
}

// Exclusive waits until no other test holds the shared server and keeps them
// out until this test's end; nodes may be killed and paused. If one was, the
// server is thrown away afterwards and the next to ask gets a new one. A test
// that already holds the server by Need would wait for itself.
func Exclusive(t testing.TB, name string) Server {
	t.Helper()
	return hold(t, wire.Exclusive, name)
}

// Kill ends a node with SIGKILL and waits until it is gone. An empty node
// means all nodes, here and below. Only for servers of NeedOwn and Exclusive.
func (s Server) Kill(node string) { s.t.Helper(); s.tell(wire.Kill, node) }

// Stop ends a node with SIGTERM and waits until it is gone.
func (s Server) Stop(node string) { s.t.Helper(); s.tell(wire.Stop, node) }

// Start starts a stopped or killed node again, on its data and ports, and
// waits until it serves.
func (s Server) Start(node string) { s.t.Helper(); s.tell(wire.Start, node) }

// Pause stops a node's processes with SIGSTOP: connections stay open and
// nothing answers.
func (s Server) Pause(node string) { s.t.Helper(); s.tell(wire.Pause, node) }

// Resume lets a paused node go on.
func (s Server) Resume(node string) { s.t.Helper(); s.tell(wire.Resume, node) }

// Log returns the last lines that a node has logged.
func (s Server) Log(node string) string {
	s.t.Helper()
	return s.tell(wire.Log, node).Text
}

func (s Server) tell(op wire.Op, node string) wire.Reply {
	s.t.Helper()
	reply, err := s.conn.Ask(wire.Request{Op: op, Node: node})
	if err != nil {
		s.t.Fatalf("test servers: %s %s %s: the supervisor went away: %v", op, s.Name, node, err)
	}
	if reply.Error != "" {
		s.t.Fatalf("test servers: %s %s %s: %s\n%s", op, s.Name, node, reply.Error, reply.Log)
	}
	return reply
}

func hold(t testing.TB, op wire.Op, name string) Server {
	t.Helper()
	skipByChoice(t, name)
	conn := dial(t, name)
	t.Cleanup(func() { _ = conn.Close() })
	reply, err := conn.Ask(wire.Request{Op: op, Name: name, Test: t.Name()})
	if err != nil {
		t.Fatalf("test servers: %s: the supervisor went away while it was asked: %v", name, err)
	}
	if reply.Error != "" {
		t.Fatalf("test servers: %s cannot be had: %s\n%s", name, reply.Error, reply.Log)
	}
	w := reply.Server
	s := Server{
		Name: w.Name, Version: w.Version, Addr: w.Addr, Files: w.Files, Vars: w.Vars,
		Dir: w.Dir, Nodes: w.Nodes, t: t, conn: conn,
	}
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		if last, err := conn.Ask(wire.Request{Op: wire.Log}); err == nil {
			t.Logf("last lines of %s:\n%s", name, last.Text)
		}
	})
	return s
}

// skipByChoice holds every reason for which a test is skipped and not failed.
func skipByChoice(t testing.TB, name string) {
	t.Helper()
	switch {
	case testing.Short():
		t.Skipf("%s is a real server: left out by -short", name)
	case wire.Old(name) && os.Getenv("SERVERS") == "newest":
		t.Skipf("%s is an old version: left out by SERVERS=newest", name)
	case name == "mysql8" && os.Getenv("MYSQL8") != "1":
		t.Skip("mysql8 is left out: ask for it with MYSQL8=1")
	}
}

func dial(t testing.TB, name string) *wire.Conn {
	t.Helper()
	socket := os.Getenv(wire.EnvSocket)
	if socket == "" {
		socket = wire.DefaultSocket()
	}
	conn, err := wire.Dial(socket, patience)
	if err != nil {
		t.Fatalf("test servers: %s is needed and no supervisor answers (%s): %v. %s", name, socket, err, strings.Join([]string{
			"Run the tests by \"make test\"",
			"keep a supervisor with \"go run ./internal/testservers/supervisor serve\"",
			"or leave real servers out with -short",
		}, ", "))
	}
	return conn
}
