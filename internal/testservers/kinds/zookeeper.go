//go:build linux

package kinds

import (
	"context"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/internal/testservers/artifacts"
	"github.com/offsetctl/offsetctl/internal/testservers/machine"
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

// The server's own dependencies are not enough: it wants metrics-core and
// snappy-java as well, and without a log binding it would not say why it stops.
var zooKeeperJars = artifacts.Jars{Name: "zookeeper-3.9.5", Artifacts: []string{
	"org.apache.zookeeper:zookeeper:3.9.5",
	"io.dropwizard.metrics:metrics-core:4.1.12.1",
	"org.xerial.snappy:snappy-java:1.1.10.5",
	"org.slf4j:slf4j-simple:2.0.13",
}}

func zooKeeperKinds() []Kind {
	needs := []artifacts.Item{java, maven, zooKeeperJars}
	return []Kind{
		{Name: "zookeeper", Version: "3.9.5", Memory: 100, Needs: needs, Jars: &zooKeeperJars, Start: func(ctx context.Context, i *machine.Instance) error {
			addr, err := runZooKeeper(ctx, i, "")
			i.Addr["plain"] = addr
			return err
		}},
		{Name: "zookeeper3", Version: "3.9.5", Memory: 300, Needs: needs, Jars: &zooKeeperJars, Start: startZooKeeperEnsemble},
	}
}

// runZooKeeper starts a single server as the node "zookeeper", with more lines
// in its file. Vars tell the superuser, who may read every node: digest, user
// super.
func runZooKeeper(ctx context.Context, i *machine.Instance, more string) (string, error) {
	port, err := machine.Port()
	if err != nil {
		return "", err
	}
	settings, err := i.Write("zookeeper.cfg", zooKeeperSettings(i.Path("data-zookeeper"), port, 500)+more)
	if err != nil {
		return "", err
	}
	addr := machine.Local(port)
	i.Vars["superuser"] = "super:" + superPassword
	return addr, i.Run(ctx, machine.Node{
		Name:    "zookeeper",
		Command: zooKeeperCommand("128m", "org.apache.zookeeper.server.ZooKeeperServerMain", settings),
		Ready:   zooKeeperServes(addr),
	})
}

const superPassword = "super-secret"

func zooKeeperCommand(heap, class, settings string) []string {
	digest := sha1.Sum([]byte("super:" + superPassword)) // what the server's digest scheme compares
	return jvm(heap, zooKeeperJars,
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-Dzookeeper.DigestAuthenticationProvider.superDigest=super:"+base64.StdEncoding.EncodeToString(digest[:]),
		class, settings)
}

// startZooKeeperEnsemble starts three servers that elect a leader.
func startZooKeeperEnsemble(ctx context.Context, i *machine.Instance) error {
	const size = 3
	first, err := machine.Block(3 * size) // clients, followers, elections
	if err != nil {
		return err
	}
	var peers strings.Builder
	for n := range size {
		fmt.Fprintf(&peers, "server.%d=127.0.0.1:%d:%d\n", n+1, first+size+n, first+2*size+n)
	}
	var addrs []string
	var nodes []machine.Node
	for n := range size {
		name, addr := fmt.Sprint(n+1), machine.Local(first+n)
		if _, err := i.Write("data-"+name+"/myid", name+"\n"); err != nil {
			return err
		}
		settings, err := i.Write(name+".cfg", zooKeeperSettings(i.Path("data-"+name), first+n, 500)+
			"initLimit=20\nsyncLimit=8\n"+peers.String())
		if err != nil {
			return err
		}
		i.Addr["plain/"+name] = addr
		addrs = append(addrs, addr)
		nodes = append(nodes, machine.Node{
			Name:    name,
			Command: zooKeeperCommand("96m", "org.apache.zookeeper.server.quorum.QuorumPeerMain", settings),
			Ready:   zooKeeperServes(addr),
		})
	}
	i.Addr["plain"] = strings.Join(addrs, ",")
	i.Vars["superuser"] = "super:" + superPassword
	return i.RunTogether(ctx, nodes...)
}
