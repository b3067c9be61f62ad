//go:build linux

package kinds

import (
	"context"
	"fmt"
	"strings"

	"github.com/offsetctl/offsetctl/internal/testservers/machine"
	"golang.org/x/sync/errgroup"
)

// clusterLines replicate everything and notice a dead node within seconds, yet
// still elect leaders where the machine is loaded far over its cores.
const clusterLines = `
offsets.topic.num.partitions=3
offsets.topic.replication.factor=3
transaction.state.log.num.partitions=3
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
share.coordinator.state.topic.num.partitions=3
share.coordinator.state.topic.replication.factor=3
share.coordinator.state.topic.min.isr=2
log.initial.task.delay.ms=500
broker.heartbeat.interval.ms=1000
broker.session.timeout.ms=9000
replica.lag.time.max.ms=3000
controller.quorum.election.timeout.ms=2000
controller.quorum.fetch.timeout.ms=6000
`

// startKafkaCluster starts three nodes, each broker and controller.
func startKafkaCluster(ctx context.Context, i *machine.Instance) error {
	const size = 3
	first, err := machine.Block(2 * size)
	if err != nil {
		return err
	}
	var voters, plains []string
	for n := range size {
		plain := machine.Local(first + 2*n)
		voters = append(voters, fmt.Sprintf("%d@%s", n+1, machine.Local(first+2*n+1)))
		plains = append(plains, plain)
		i.Addr[fmt.Sprintf("plain/%d", n+1)] = plain
	}
	i.Addr["plain"] = strings.Join(plains, ",")
	nodes := make([]machine.Node, size)
	var group errgroup.Group
	for n := range size {
		node := clusterNode(n+1, plains[n], machine.Local(first+2*n+1), strings.Join(voters, ","))
		group.Go(func() (err error) {
			nodes[n], err = node.prepare(ctx, i)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return i.RunTogether(ctx, nodes...)
}

func clusterNode(id int, plain, controller, voters string) *kraftNode {
	node := &kraftNode{name: fmt.Sprint(id), jars: kafka44Jars, heap: "256m", plain: plain}
	l := &node.lines
	l.set("node.id", id)
	l.set("controller.quorum.voters", voters)
	l.set("listeners", "PLAINTEXT://"+plain+",CONTROLLER://"+controller)
	l.set("advertised.listeners", "PLAINTEXT://"+plain)
	l.set("inter.broker.listener.name", "PLAINTEXT")
	l.set("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT")
	l.add(brokerLines + kraftLines + clusterLines)
	return node
}
