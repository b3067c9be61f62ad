// Package wire is what the test side and the supervisor of the test servers
// say to each other: one JSON object a line over a unix socket. A connection
// is a hold: the server that was asked for stays up until the connection
// closes, so a test binary that dies gives back what it held.
package wire

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// EnvSocket names the environment variable with the supervisor's socket.
// Where it is not set, DefaultSocket is looked at.
const EnvSocket = "OFFSETCTL_TESTSERVERS"

// Op is what a request asks for.
type Op string

// The first request of a connection is one of Need, Own, Exclusive and Jars;
// the others speak of the server that this connection holds.
const (
	Need      Op = "need"      // share the server of this name
	Own       Op = "own"       // a private instance for this connection
	Exclusive Op = "exclusive" // the shared server, with no other holder
	Jars      Op = "jars"      // the class path of an artifact set
	Kill      Op = "kill"      // SIGKILL a node and wait for its end
	Stop      Op = "stop"      // SIGTERM a node and wait for its end
	Start     Op = "start"     // start a node again on its data and ports
	Pause     Op = "pause"     // SIGSTOP a node
	Resume    Op = "resume"    // SIGCONT a node
	Log       Op = "log"       // the last lines of a node, or of all nodes
)

// Request is one line from the test side. Node is empty for all nodes.
type Request struct {
	Op   Op     `json:"op"`
	Name string `json:"name,omitempty"`
	Node string `json:"node,omitempty"`
	Test string `json:"test,omitempty"` // who asks, for the supervisor's log
}

// Reply is one line back. A non-empty Error is the reason why the request was
// not done, with Log the last lines of the server.
type Reply struct {
	Error  string  `json:"error,omitempty"`
	Log    string  `json:"log,omitempty"`
	Text   string  `json:"text,omitempty"`
	Server *Server `json:"server,omitempty"`
}

// Server tells how to reach a server. See testservers.Server.
type Server struct {
	Name    string            `json:"name"`
	Version string            `json:"version"`
	Addr    map[string]string `json:"addr"`
	Files   map[string]string `json:"files,omitempty"`
	Vars    map[string]string `json:"vars,omitempty"`
	Dir     string            `json:"dir"`
	Nodes   []string          `json:"nodes"`
}

// DefaultSocket is where a supervisor that serves a developer listens.
func DefaultSocket() string {
	return filepath.Join(os.TempDir(), "offsetctl-testservers-"+strconv.Itoa(os.Getuid()), "socket")
}

// Conn is one end of a connection.
type Conn struct {
	net net.Conn
	enc *json.Encoder
	dec *json.Decoder
}

// NewConn speaks over an open connection.
func NewConn(c net.Conn) *Conn {
	return &Conn{net: c, enc: json.NewEncoder(c), dec: json.NewDecoder(c)}
}

// Dial connects to a supervisor. Where the socket's folder is there but nobody
// listens (a supervisor that is being restarted), it tries again until the
// patience is over.
func Dial(socket string, patience time.Duration) (*Conn, error) {
	until := time.Now().Add(patience)
	for {
		c, err := net.Dial("unix", socket)
		if err == nil {
			return NewConn(c), nil
		}
		if _, statErr := os.Stat(filepath.Dir(socket)); errors.Is(statErr, os.ErrNotExist) || time.Now().After(until) {
			return nil, err
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// Ask sends a request and waits for its reply. A Reply with an Error is not
// an error of Ask.
func (c *Conn) Ask(r Request) (Reply, error) {
	var reply Reply
	if err := c.enc.Encode(r); err != nil {
		return reply, err
	}
	err := c.dec.Decode(&reply)
	return reply, err
}

// Receive reads the next request.
func (c *Conn) Receive() (Request, error) {
	var r Request
	err := c.dec.Decode(&r)
	return r, err
}

// Send answers a request.
func (c *Conn) Send(r Reply) error { return c.enc.Encode(r) }

// Close ends the connection and with it the hold.
func (c *Conn) Close() error { return c.net.Close() }
