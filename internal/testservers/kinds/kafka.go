//go:build linux

package kinds

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/offsetctl/offsetctl/internal/testservers/artifacts"
	"github.com/offsetctl/offsetctl/internal/testservers/machine"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	kafka44Jars = artifacts.Jars{Name: "kafka-4.4.0", Artifacts: []string{
		"org.apache.kafka:kafka_2.13:4.4.0",
		"org.apache.kafka:kafka-tools:4.4.0",
		"org.apache.logging.log4j:log4j-slf4j-impl:2.25.5", // without a binding there is no log at all
	}}
	kafka39Jars = artifacts.Jars{Name: "kafka-3.9.1", Artifacts: []string{
		"org.apache.kafka:kafka_2.13:3.9.1", "org.slf4j:slf4j-reload4j:1.7.36",
	}}
	kafka28Jars = artifacts.Jars{Name: "kafka-2.8.2", Artifacts: []string{
		"org.apache.kafka:kafka_2.13:2.8.2", "org.slf4j:slf4j-log4j12:1.7.30",
	}}
)

func kafkaKinds() []Kind {
	return []Kind{
		{
			Name: "kafka44", Version: "4.4.0", Memory: 600, Jars: &kafka44Jars,
			Needs: append([]artifacts.Item{java, maven, kafka44Jars}, kerberosPackages...),
			Start: startSecureKafka,
		},
		{
			Name: "kafka44x3", Version: "4.4.0", Memory: 1000, Jars: &kafka44Jars,
			Needs: []artifacts.Item{java, maven, kafka44Jars}, Start: startKafkaCluster,
		},
		{
			Name: "kafka44expire", Version: "4.4.0", Memory: 350, Jars: &kafka44Jars,
			Needs: []artifacts.Item{java, maven, kafka44Jars},
			Start: func(ctx context.Context, i *machine.Instance) error {
				return startPlainKafka(ctx, i, kafka44Jars, kafka4Lines+expiryLines)
			},
		},
		{
			Name: "kafka39", Version: "3.9.1", Memory: 350, Jars: &kafka39Jars,
			Needs: []artifacts.Item{java, maven, kafka39Jars},
			Start: func(ctx context.Context, i *machine.Instance) error {
				return startPlainKafka(ctx, i, kafka39Jars, "")
			},
		},
		{
			Name: "kafka28", Version: "2.8.2", Memory: 350, Jars: &kafka28Jars,
			Needs: []artifacts.Item{java, maven, kafka28Jars}, Start: startOldKafka,
		},
	}
}

// clusterID is an instance's own: programs tell clusters apart by it.
func clusterID(i *machine.Instance) string {
	id := sha256.Sum256([]byte(i.Dir))
	return "C" + base64.RawURLEncoding.EncodeToString(id[:16])[1:] // a "-" in front would be taken for an option
}

// brokerLines make retention, compaction and group expiry quick enough to be
// watched, and files small. Every version takes them.
const brokerLines = `
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
log.retention.check.interval.ms=1000
log.cleaner.backoff.ms=500
log.segment.delete.delay.ms=500
log.cleaner.dedupe.buffer.size=4194304
log.index.size.max.bytes=65536
num.network.threads=2
num.io.threads=4
background.threads=2
`

// aloneLines are for a broker without others.
const aloneLines = `
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
`

// kraftLines are taken from 3.9 on.
const kraftLines = `
process.roles=broker,controller
controller.listener.names=CONTROLLER
group.consumer.min.session.timeout.ms=1000
group.consumer.min.heartbeat.interval.ms=500
`

// kafka4Lines are taken from 4.x on.
const kafka4Lines = `
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
log.initial.task.delay.ms=500
`

const expiryLines = `
offsets.retention.minutes=1
offsets.retention.check.interval.ms=1000
`

// log4j2 logs warnings, and that the server has started.
const log4j2 = `Configuration: {status: WARN, Appenders: {Console: {name: OUT, target: SYSTEM_OUT, PatternLayout: {pattern: "[%d] %p %m (%c)%n"}}},
  Loggers: {Root: {level: WARN, AppenderRef: [{ref: OUT}]}, Logger: [{name: kafka.server.KafkaRaftServer, level: INFO}]}}
`

// log4j1 does the same for the versions before 4.0.
const log4j1 = `log4j.rootLogger=WARN,out
log4j.logger.kafka.server.KafkaServer=INFO
log4j.logger.kafka.server.KafkaRaftServer=INFO
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
`

// kafkaLogging writes both files and returns the flags that name them: each
// version looks at its own.
func kafkaLogging(i *machine.Instance) ([]string, error) {
	current, err := i.Write("log4j2.yaml", log4j2)
	if err != nil {
		return nil, err
	}
	old, err := i.Write("log4j.properties", log4j1)
	return []string{"-Dlog4j2.configurationFile=" + current, "-Dlog4j.configuration=file:" + old}, err
}

// kraftNode is a broker and controller of one cluster.
type kraftNode struct {
	name   string
	jars   artifacts.Jars
	heap   string
	lines  properties
	plain  string // address to ask whether it serves
	format []string
	jvm    []string // further JVM flags
}

// prepare writes the settings and formats the data folder.
func (k *kraftNode) prepare(ctx context.Context, i *machine.Instance) (machine.Node, error) {
	k.lines.set("log.dirs", i.Path("data-"+k.name))
	settings, err := i.Write(k.name+".properties", k.lines.String())
	if err != nil {
		return machine.Node{}, err
	}
	flags, err := kafkaLogging(i)
	if err != nil {
		return machine.Node{}, err
	}
	flags = append(flags, k.jvm...)
	format := append([]string{"kafka.tools.StorageTool", "format", "-t", clusterID(i), "-c", settings}, k.format...)
	if err := i.Exec(ctx, "", nil, jvm("128m", k.jars, append(flags, format...)...)...); err != nil {
		return machine.Node{}, err
	}
	return machine.Node{
		Name:    k.name,
		Command: jvm(k.heap, k.jars, append(flags, "kafka.Kafka", settings)...),
		Ready:   kafkaAnswers(k.plain),
		// Started at the same moment as the Kerberos server that it logs in to, a broker may be the first.
		Restarts: 2,
	}, nil
}

// kafkaAnswers is ready when a broker names itself in its metadata, which it
// does once it is registered and not fenced.
func kafkaAnswers(addr string) func(context.Context) error {
	return func(ctx context.Context) error {
		client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RetryTimeout(0), kgo.RequestRetries(0))
		if err != nil {
			return err
		}
		defer client.Close()
		request := kmsg.NewPtrMetadataRequest()
		request.Topics = []kmsg.MetadataRequestTopic{}
		answer, err := request.RequestWith(ctx, client.SeedBrokers()[0])
		if err != nil {
			return err
		}
		_, port, _ := strings.Cut(addr, ":")
		for _, b := range answer.Brokers {
			if fmt.Sprint(b.Port) == port {
				return nil
			}
		}
		return fmt.Errorf("the broker at %s is not in its own metadata", addr)
	}
}

// startPlainKafka starts one KRaft node with a PLAINTEXT listener.
func startPlainKafka(ctx context.Context, i *machine.Instance, jars artifacts.Jars, lines string) error {
	node, err := plainNode(i, jars)
	if err != nil {
		return err
	}
	node.lines.add(lines)
	run, err := node.prepare(ctx, i)
	if err != nil {
		return err
	}
	return i.Run(ctx, run)
}

func plainNode(i *machine.Instance, jars artifacts.Jars) (*kraftNode, error) {
	first, err := machine.Block(2)
	if err != nil {
		return nil, err
	}
	plain, controller := machine.Local(first), machine.Local(first+1)
	node := &kraftNode{name: "broker", jars: jars, heap: "512m", plain: plain}
	l := &node.lines
	l.set("node.id", 1)
	l.set("controller.quorum.voters", "1@"+controller)
	l.set("listeners", "PLAINTEXT://"+plain+",CONTROLLER://"+controller)
	l.set("advertised.listeners", "PLAINTEXT://"+plain)
	l.set("inter.broker.listener.name", "PLAINTEXT")
	l.set("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT")
	l.add(brokerLines + aloneLines + kraftLines)
	i.Addr["plain"] = plain
	return node, nil
}
