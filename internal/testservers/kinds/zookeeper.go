package kinds

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// zooKeeperSettings is a server's file. Session timeouts are held between 2 and
// 20 ticks, so a short tick lets tests see sessions expire.
func zooKeeperSettings(data string, port, tick int) string {
	var p properties
	p.set("tickTime", tick)
	p.set("dataDir", data)
	p.set("clientPort", port)
	p.set("clientPortAddress", "127.0.0.1")
	p.set("admin.enableServer", false)
	p.set("maxClientCnxns", 0)
	p.set("4lw.commands.whitelist", "ruok,srvr,mntr,isro,conf,cons,dump,wchs")
	return p.String()
}

// zooKeeperServes is ready when the server tells its mode. That it answers
// "ruok" comes earlier, and without a quorum it says no more.
func zooKeeperServes(addr string) func(context.Context) error {
	return func(ctx context.Context) error {
		answer, err := fourLetters(ctx, addr, "srvr")
		if err != nil {
			return err
		}
		if !strings.Contains(answer, "Mode:") {
			return fmt.Errorf("zookeeper at %s: %s", addr, strings.TrimSpace(answer))
		}
		return nil
	}
}

func fourLetters(ctx context.Context, addr, word string) (string, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(deadline)
	} else {
		_ = c.SetDeadline(time.Now().Add(time.Second))
	}
	if _, err := io.WriteString(c, word); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(c)
	return string(answer), err
}
