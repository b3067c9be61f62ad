//go:build linux

package kinds

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"github.com/offsetctl/offsetctl/internal/testservers/artifacts"
	"github.com/offsetctl/offsetctl/internal/testservers/machine"
)

var (
	redisServer   = artifacts.Package{Name: "redis-server", Program: "redis-server"}
	redisCLI      = artifacts.Package{Name: "redis-tools", Program: "redis-cli"}
	redisSentinel = artifacts.Package{Name: "redis-sentinel", Program: "redis-sentinel"}
)

func redisKinds() []Kind {
	return []Kind{
		{Name: "redis", Version: "7.0", Memory: 30, Needs: []artifacts.Item{redisServer}, Start: startRedis},
		{Name: "rediscluster", Version: "7.0", Memory: 60, Needs: []artifacts.Item{redisServer, redisCLI}, Start: startRedisCluster},
		{Name: "redissentinel", Version: "7.0", Memory: 80, Needs: []artifacts.Item{redisServer, redisSentinel}, Start: startRedisSentinel},
	}
}

// redisPassword is that of all users that have one.
const redisPassword = "redis-secret"

// redisNode is a data server that loses nothing when it is killed.
func redisNode(i *machine.Instance, name string, port int, more ...string) (machine.Node, error) {
	dir, err := i.Mkdir("", "data-"+name)
	if err != nil {
		return machine.Node{}, err
	}
	command := []string{
		redisServer.Path(), "--bind", "127.0.0.1", "--port", fmt.Sprint(port), "--dir", dir,
		"--save", "", "--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction", "--daemonize", "no",
		"--repl-diskless-sync-delay", "0",
	}
	return machine.Node{Name: name, Command: append(command, more...), Ready: redisSays(machine.Local(port), "PING", "+PONG", "-NOAUTH")}, nil
}

// startRedis starts one server, TLS on a second port. Its default user needs no
// password; alice may touch keys below "alice:" only, reader may write nothing.
func startRedis(ctx context.Context, i *machine.Instance) error {
	if err := i.Certificates(); err != nil {
		return err
	}
	first, err := machine.Block(2)
	if err != nil {
		return err
	}
	users := strings.Join([]string{
		"user default on nopass ~* &* +@all",
		"user alice on >" + redisPassword + " ~alice:* +@all -@dangerous",
		"user reader on >" + redisPassword + " ~* +@read +@connection +eval +evalsha +script|load",
	}, "\n") + "\n"
	acl, err := i.Write("users.acl", users)
	if err != nil {
		return err
	}
	node, err := redisNode(i, "server", first, "--aclfile", acl,
		"--tls-port", fmt.Sprint(first+1), "--tls-ca-cert-file", i.Files["ca"], "--tls-auth-clients", "no",
		"--tls-cert-file", i.Files["server-cert"], "--tls-key-file", i.Files["server-key"])
	if err != nil {
		return err
	}
	i.Addr["plain"], i.Addr["tls"] = machine.Local(first), machine.Local(first+1)
	i.Vars["password"] = redisPassword
	return i.Run(ctx, node)
}

// startRedisCluster starts three masters that share the slots, no replicas.
func startRedisCluster(ctx context.Context, i *machine.Instance) error {
	const size = 3
	first, err := machine.Block(2 * size) // the second half for the cluster's own bus
	if err != nil {
		return err
	}
	var addrs []string
	var nodes []machine.Node
	for n := range size {
		name := fmt.Sprint(n + 1)
		node, err := redisNode(i, name, first+n, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
			"--cluster-node-timeout", "2000", "--cluster-port", fmt.Sprint(first+size+n))
		if err != nil {
			return err
		}
		addr := machine.Local(first + n)
		i.Addr["plain/"+name] = addr
		addrs = append(addrs, addr)
		nodes = append(nodes, node)
	}
	i.Addr["plain"] = strings.Join(addrs, ",")
	if err := i.RunTogether(ctx, nodes...); err != nil {
		return err
	}
	create := append([]string{redisCLI.Path(), "--cluster", "create"}, addrs...)
	if err := i.Exec(ctx, "", nil, append(create, "--cluster-replicas", "0", "--cluster-yes")...); err != nil {
		return err
	}
	for _, addr := range addrs {
		if err := machine.Await(ctx, redisSays(addr, "CLUSTER INFO", "cluster_state:ok")); err != nil {
			return err
		}
	}
	return nil
}

// sentinelMaster is the name under which the sentinels know the master.
const sentinelMaster = "m1"

// startRedisSentinel starts a master, its replica and three sentinels. Data
// servers have a password, sentinels have none.
func startRedisSentinel(ctx context.Context, i *machine.Instance) error {
	first, err := machine.Block(5)
	if err != nil {
		return err
	}
	password := []string{"--requirepass", redisPassword, "--masterauth", redisPassword}
	master, err := redisNode(i, "master", first, password...)
	if err != nil {
		return err
	}
	replica, err := redisNode(i, "replica", first+1, append(password, "--replicaof", fmt.Sprintf("127.0.0.1 %d", first))...)
	if err != nil {
		return err
	}
	if err := i.RunTogether(ctx, master, replica); err != nil {
		return err
	}
	i.Addr["master"], i.Addr["replica"] = machine.Local(first), machine.Local(first+1)
	if err := machine.Await(ctx, redisSays(i.Addr["replica"], "INFO replication", "master_link_status:up")); err != nil {
		return err
	}
	var addrs []string
	var sentinels []machine.Node
	for n := range 3 {
		name, port := fmt.Sprintf("sentinel%d", n+1), first+2+n
		node, err := sentinelNode(i, name, port, first)
		if err != nil {
			return err
		}
		addrs = append(addrs, machine.Local(port))
		sentinels = append(sentinels, node)
	}
	i.Addr["sentinels"] = strings.Join(addrs, ",")
	i.Vars["master-name"], i.Vars["password"] = sentinelMaster, redisPassword
	if err := i.RunTogether(ctx, sentinels...); err != nil {
		return err
	}
	for _, addr := range addrs {
		if err := machine.Await(ctx, redisSays(addr, "SENTINEL CKQUORUM "+sentinelMaster, "+OK 3 usable")); err != nil {
			return err
		}
		if err := machine.Await(ctx, redisSays(addr, "SENTINEL REPLICAS "+sentinelMaster, "slave")); err != nil {
			return err
		}
	}
	return nil
}

// sentinelNode writes a file of its own for each sentinel: it rewrites it.
func sentinelNode(i *machine.Instance, name string, port, master int) (machine.Node, error) {
	dir, err := i.Mkdir("", "data-"+name)
	if err != nil {
		return machine.Node{}, err
	}
	file, err := i.Write(filepath.Join("data-"+name, "sentinel.conf"), fmt.Sprintf(`port %d
bind 127.0.0.1
dir %s
sentinel monitor %[3]s 127.0.0.1 %[4]d 2
sentinel auth-pass %[3]s %[5]s
sentinel down-after-milliseconds %[3]s 1000
sentinel failover-timeout %[3]s 10000
`, port, dir, sentinelMaster, master, redisPassword))
	return machine.Node{
		Name: name, Command: []string{redisSentinel.Path(), file}, Ready: redisSays(machine.Local(port), "PING", "+PONG"),
	}, err
}

// redisSays is ready when the answer to a command has one of the words. It logs
// in first; where no password is set, that the server complains does not matter.
func redisSays(addr, command string, words ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		defer c.Close()
		if deadline, ok := ctx.Deadline(); ok {
			_ = c.SetDeadline(deadline)
		}
		if _, err := fmt.Fprintf(c, "AUTH %s\r\n%s\r\nOVER\r\n", redisPassword, command); err != nil {
			return err
		}
		var answer strings.Builder
		for lines := bufio.NewScanner(c); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "-ERR unknown command") { // OVER: sentinels have no QUIT
				break
			}
			fmt.Fprintln(&answer, lines.Text())
		}
		for _, word := range words {
			if strings.Contains(answer.String(), word) {
				return nil
			}
		}
		return fmt.Errorf("%s at %s answers %q", command, addr, answer.String())
	}
}
