//go:build linux

package kinds

import (
	"context"
	"encoding/xml"
	"fmt"
	"net"

	"github.com/offsetctl/offsetctl/internal/testservers/artifacts"
	"github.com/offsetctl/offsetctl/internal/testservers/machine"
)

func hbaseKinds() []Kind {
	var all []Kind
	for name, version := range map[string]string{"hbase26": "2.6.4", "hbase24": "2.4.18", "hbase22": "2.2.7", "hbase17": "1.7.2"} {
		jars := hbaseJars(version)
		all = append(all, Kind{
			Name: name, Version: version, Memory: 500, Jars: &jars,
			Needs: []artifacts.Item{java, maven, zooKeeperJars, jars},
			Start: func(ctx context.Context, i *machine.Instance) error { return startHBaseTogether(ctx, i, jars) },
		})
	}
	jars := hbaseJars("2.6.4")
	return append(all, Kind{
		Name: "hbase26procs", Version: "2.6.4", Memory: 800, Jars: &jars,
		Needs: []artifacts.Item{java, maven, zooKeeperJars, jars},
		Start: func(ctx context.Context, i *machine.Instance) error { return startHBaseApart(ctx, i, jars) },
	})
}

func hbaseJars(version string) artifacts.Jars {
	return artifacts.Jars{Name: "hbase-" + version, Artifacts: []string{"org.apache.hbase:hbase-server:" + version}}
}

// regionServers is how many each form has: regions can be moved between them.
const regionServers = 2

// masterIsUp is logged seconds after the master opens its port, and is the
// first moment at which tables can be made.
const masterIsUp = "Master has completed initialization"

// hbaseMain runs a master and region servers in one JVM, beside a ZooKeeper of
// another process: HBase's own standalone mode starts one itself and then takes
// half a minute to stop.
const hbaseMain = `public class Together {
  public static void main(String[] args) throws Exception {
    var cluster = new org.apache.hadoop.hbase.LocalHBaseCluster(
        org.apache.hadoop.hbase.HBaseConfiguration.create(), 1, Integer.parseInt(args[0]));
    cluster.startup();
    cluster.waitOnMaster(0);
  }
}
`

// startHBaseTogether starts the nodes "zookeeper" and "server".
func startHBaseTogether(ctx context.Context, i *machine.Instance, jars artifacts.Jars) error {
	main, err := i.Write("Together.java", hbaseMain)
	if err != nil {
		return err
	}
	// Clients find both by ZooKeeper. 1.7 takes ports of its own choice whatever it is told.
	if err := prepareHBase(ctx, i, longSession, setting{"hbase.master.port", "0"}, setting{"hbase.regionserver.port", "0"}); err != nil {
		return err
	}
	return i.Run(ctx, machine.Node{
		Name:      "server",
		Command:   hbaseCommand(i, jars, "512m", main, fmt.Sprint(regionServers)),
		ReadyLine: masterIsUp,
	})
}

// startHBaseApart starts the nodes "zookeeper", "master", "rs1" and "rs2", each
// a process.
func startHBaseApart(ctx context.Context, i *machine.Instance, jars artifacts.Jars) error {
	master, err := machine.Port()
	if err != nil {
		return err
	}
	i.Addr["master"] = machine.Local(master)
	if err := prepareHBase(ctx, i, shortSession, setting{"hbase.master.port", fmt.Sprint(master)}); err != nil {
		return err
	}
	nodes := []machine.Node{{
		Name:      "master",
		Command:   hbaseCommand(i, jars, "256m", "org.apache.hadoop.hbase.master.HMaster", "start"),
		ReadyLine: masterIsUp,
	}}
	for n := range regionServers {
		port, err := machine.Port()
		if err != nil {
			return err
		}
		name, addr := fmt.Sprintf("rs%d", n+1), machine.Local(port)
		i.Addr[name] = addr
		nodes = append(nodes, machine.Node{
			Name: name,
			Command: hbaseCommand(i, jars, "256m", "org.apache.hadoop.hbase.regionserver.HRegionServer",
				"-D", fmt.Sprintf("hbase.regionserver.port=%d", port), "start"),
			Ready: machine.Listening(addr),
		})
	}
	return i.RunTogether(ctx, nodes...)
}

// Sessions in milliseconds. A server whose session ends gives itself up for
// dead: where servers are killed that is noticed soon, and where they are not it
// must not happen only because the machine is busy.
const (
	shortSession = 6_000
	longSession  = 90_000
)

// prepareHBase starts the ZooKeeper and writes the settings.
func prepareHBase(ctx context.Context, i *machine.Instance, session int, more ...setting) error {
	keeper, err := runZooKeeper(ctx, i, fmt.Sprintf("maxSessionTimeout=%d\n", longSession))
	if err != nil {
		return err
	}
	i.Addr["zookeeper"] = keeper
	i.Vars["znode"] = "/hbase"
	site, err := hbaseSite(i, keeper, append(more, setting{"zookeeper.session.timeout", fmt.Sprint(session)}))
	if err != nil {
		return err
	}
	if _, err := i.Write("conf/hbase-site.xml", site); err != nil {
		return err
	}
	_, err = i.Write("conf/log4j.properties", hbaseLogging)
	return err
}

const hbaseLogging = `log4j.rootLogger=WARN,out
log4j.logger.org.apache.hadoop.hbase.master.HMaster=INFO
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{ISO8601} %p [%t] %c{2}: %m%n
`

// hbaseCommand adds the flags that 2.0 to 2.2 need on Java 17: without them
// those masters wait for region servers for ever.
func hbaseCommand(i *machine.Instance, jars artifacts.Jars, heap string, main ...string) []string {
	command := []string{
		"java", "-Xmx" + heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
		"-cp", i.Path("conf") + ":" + jars.ClassPath(),
	}
	return append(command, main...)
}

type setting struct {
	Name  string `xml:"name"`
	Value string `xml:"value"`
}

func hbaseSite(i *machine.Instance, keeper string, more []setting) (string, error) {
	_, keeperPort, err := net.SplitHostPort(keeper)
	if err != nil {
		return "", err
	}
	settings := append([]setting{
		{"hbase.cluster.distributed", "true"},
		{"hbase.rootdir", "file://" + i.Path("root")},
		{"hbase.tmp.dir", i.Path("tmp")},
		{"hbase.unsafe.stream.capability.enforce", "false"},
		{"hbase.wal.provider", "filesystem"},
		{"hbase.zookeeper.quorum", "127.0.0.1"},
		{"hbase.zookeeper.property.clientPort", keeperPort},
		{"hbase.master.info.port", "-1"},
		{"hbase.regionserver.info.port", "-1"},
		{"hbase.master.hostname", "localhost"},
		{"hbase.regionserver.hostname", "localhost"}, // the name of the next in 1.x
		{"hbase.unsafe.regionserver.hostname", "localhost"},
		{"hbase.master.ipc.address", "127.0.0.1"},
		{"hbase.regionserver.ipc.address", "127.0.0.1"},
		{"hbase.regionserver.msginterval", "300"},
		{"hbase.master.wait.on.regionservers.mintostart", "1"},
		{"hbase.master.wait.on.regionservers.maxtostart", fmt.Sprint(regionServers)},
		{"hbase.master.wait.on.regionservers.interval", "100"},
		{"hbase.master.wait.on.regionservers.timeout", "500"},
		{"hbase.master.procedure.threads", "4"},
		{"hbase.regionserver.handler.count", "10"},
		{"hbase.regionserver.metahandler.count", "5"},
	}, more...)
	text, err := xml.MarshalIndent(struct {
		XMLName  xml.Name  `xml:"configuration"`
		Settings []setting `xml:"property"`
	}{Settings: settings}, "", "  ")
	return string(text), err
}
