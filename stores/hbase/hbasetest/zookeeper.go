package hbasetest

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	gopath "path"
	"sync"
)

// ZooKeeper is as much of one as an HBase client asks: sessions, and HBase's nodes to read.
type ZooKeeper struct {
	Addr string // host:port

	listener net.Listener
	mu       sync.Mutex
	conns    map[net.Conn]bool
	nodes    map[string][]byte
	refuse   int // connections that end before they have a session
}

// ZooKeeper starts one beside the cluster, which has registered there. It ends with the test.
func (c *Cluster) ZooKeeper() *ZooKeeper {
	c.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	z := &ZooKeeper{Addr: l.Addr().String(), listener: l, conns: map[net.Conn]bool{}, nodes: map[string][]byte{"/hbase": {}, "/hbase/rs": {}}}
	const open = 3
	z.Set("/hbase/meta-region-server", join(c.masterName(1), number(3, open)))
	z.Set("/hbase/master", c.masterName(1))
	z.Set("/hbase/rs/localhost,1,1", message(2, text(1, c.opts.Version)))
	go z.accept()
	c.t.Cleanup(func() {
		_ = l.Close()
		z.Cut(0)
	})
	return z
}

// Set makes a node with a message in it, wrapped as HBase does.
func (z *ZooKeeper) Set(path string, message []byte) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.nodes[path] = join([]byte("\xff\x00\x00\x00\x01mPBUF"), message)
}

// Remove takes a node away, and answers what puts it back.
func (z *ZooKeeper) Remove(path string) (restore func()) {
	z.mu.Lock()
	defer z.mu.Unlock()
	was := z.nodes[path]
	delete(z.nodes, path)
	return func() {
		z.mu.Lock()
		defer z.mu.Unlock()
		z.nodes[path] = was
	}
}

// Cut ends all connections, and then the next refuse ones before they have a session.
func (z *ZooKeeper) Cut(refuse int) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.refuse = refuse
	for nc := range z.conns {
		_ = nc.Close()
	}
}

func (z *ZooKeeper) accept() {
	for {
		nc, err := z.listener.Accept()
		if err != nil {
			return
		}
		z.mu.Lock()
		refused := z.refuse > 0
		if refused {
			z.refuse--
		} else {
			z.conns[nc] = true
		}
		z.mu.Unlock()
		if refused {
			_ = nc.Close()
			continue
		}
		go func() {
			z.serve(nc)
			_ = nc.Close()
			z.mu.Lock()
			defer z.mu.Unlock()
			delete(z.conns, nc)
		}()
	}
}

// serve begins a session and answers requests until the connection ends.
func (z *ZooKeeper) serve(nc net.Conn) {
	const sessionTime, session = 10_000, 1
	if _, err := readPacket(nc); err != nil {
		return
	}
	begin := be32(nil, 0, sessionTime)
	begin = binary.BigEndian.AppendUint64(begin, session)
	begin = append(be32(begin, 16), make([]byte, 16)...) // a password
	for answer := begin; ; {
		if _, err := nc.Write(append(be32(nil, len(answer)), answer...)); err != nil {
			return
		}
		request, err := readPacket(nc)
		if err != nil || len(request) < 8 {
			return
		}
		answer = z.answer(request)
	}
}

func readPacket(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(r, b)
	return b, err
}

func be32(b []byte, numbers ...int) []byte {
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint32(b, uint32(int32(n)))
	}
	return b
}

// answer is the answer to one request: its number, a transaction's, an error, and what was asked for.
func (z *ZooKeeper) answer(request []byte) []byte {
	const (
		exists, getData, children = 3, 4, 12
		noNode                    = -101
	)
	code := binary.BigEndian.Uint32(request[4:])
	head := be32(bytes.Clone(request[:4]), 0, 1)
	if code != exists && code != getData && code != children {
		return be32(head, 0) // a ping, or the end of the session
	}
	path := string(request[12 : 12+binary.BigEndian.Uint32(request[8:])])
	z.mu.Lock()
	defer z.mu.Unlock()
	data, ok := z.nodes[path]
	if !ok {
		return be32(head, noNode)
	}
	b := be32(head, 0)
	switch code {
	case getData:
		b = append(be32(b, len(data)), data...)
	case children:
		names := z.children(path)
		b = be32(b, len(names))
		for _, n := range names {
			b = append(be32(b, len(n)), n...)
		}
	}
	const statSize = 68
	return append(b, make([]byte, statSize)...)
}

func (z *ZooKeeper) children(path string) (names []string) {
	for node := range z.nodes {
		if dir, name := gopath.Split(node); dir == path+"/" {
			names = append(names, name)
		}
	}
	return names
}
