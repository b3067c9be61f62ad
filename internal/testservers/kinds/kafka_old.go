//go:build linux

package kinds

import (
	"context"

	"github.com/offsetctl/offsetctl/internal/testservers/machine"
)

// startOldKafka starts a broker of the time before KRaft, and its ZooKeeper out
// of the same jars.
func startOldKafka(ctx context.Context, i *machine.Instance) error {
	first, err := machine.Block(2)
	if err != nil {
		return err
	}
	keeper, plain := machine.Local(first), machine.Local(first+1)
	logging, err := kafkaLogging(i)
	if err != nil {
		return err
	}
	i.Addr["zookeeper"], i.Addr["plain"] = keeper, plain
	settings, err := i.Write("zookeeper.cfg", zooKeeperSettings(i.Path("zookeeper"), first, 500))
	if err != nil {
		return err
	}
	err = i.Run(ctx, machine.Node{
		Name:    "zookeeper",
		Command: jvm("128m", kafka28Jars, append(logging, "org.apache.zookeeper.server.ZooKeeperServerMain", settings)...),
		Ready:   zooKeeperServes(keeper),
	})
	if err != nil {
		return err
	}
	var l properties
	l.set("broker.id", 1)
	l.set("zookeeper.connect", keeper+"/k28")
	l.set("zookeeper.session.timeout.ms", 8000)
	l.set("listeners", "PLAINTEXT://"+plain)
	l.set("advertised.listeners", "PLAINTEXT://"+plain)
	l.set("log.dirs", i.Path("data"))
	l.add(brokerLines + aloneLines)
	broker, err := i.Write("broker.properties", l.String())
	if err != nil {
		return err
	}
	return i.Run(ctx, machine.Node{
		Name:    "broker",
		Command: jvm("512m", kafka28Jars, append(logging, "kafka.Kafka", broker)...),
		Ready:   kafkaAnswers(plain),
		// A killed broker's node in ZooKeeper stays until its session expires, and keeps the next one out.
		Restarts: 10,
	})
}
