package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/offsetctl/offsetctl/internal/testservers/wire"
)

// servers is what a supervisor of test servers gives: a Kafka of our own and Kafka's tools. Without one the fakes are measured alone.
type servers struct {
	kafka     string // host:port; "" without
	classPath string // of Kafka's tools; "" without
	kcat      bool
	held      io.Closer
}

func findServers(log io.Writer, wanted bool) (s servers, err error) {
	_, err = exec.LookPath(kcat)
	s.kcat = err == nil
	if !s.kcat {
		fmt.Fprintln(log, "kcat is not installed: left out")
	}
	socket := os.Getenv(wire.EnvSocket)
	if socket == "" {
		socket = wire.DefaultSocket()
	}
	jars, err := ask(socket, wire.Request{Op: wire.Jars, Name: "kafka44", Test: "bench"}, nil)
	if err != nil {
		fmt.Fprintf(log, "no supervisor of test servers (%v): the real Kafka and kafka-consumer-groups are left out; \"make bench\" has one\n", err)
		return s, nil
	}
	s.classPath = jars.Text
	if !wanted {
		return s, nil
	}
	own, err := ask(socket, wire.Request{Op: wire.Own, Name: "kafka44", Test: "bench"}, &s.held)
	if err != nil {
		return s, err
	}
	s.kafka = own.Server.Addr["plain"]
	return s, nil
}

// ask sends one request. What it gives is held until the connection is closed, which is the caller's with held.
func ask(socket string, r wire.Request, held *io.Closer) (wire.Reply, error) {
	conn, err := wire.Dial(socket, time.Second)
	if err != nil {
		return wire.Reply{}, err
	}
	if held == nil {
		defer conn.Close()
	} else {
		*held = conn
	}
	reply, err := conn.Ask(r)
	if err == nil && reply.Error != "" {
		err = fmt.Errorf("%s: %s", r.Name, reply.Error)
	}
	return reply, err
}

func (s servers) release() {
	if s.held != nil {
		_ = s.held.Close()
	}
}
