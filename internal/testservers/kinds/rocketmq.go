//go:build linux

package kinds

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/offsetctl/offsetctl/internal/testservers/artifacts"
	"github.com/offsetctl/offsetctl/internal/testservers/machine"
)

var (
	rocket49Jars = artifacts.Jars{Name: "rocketmq-4.9.7", Artifacts: []string{
		"org.apache.rocketmq:rocketmq-namesrv:4.9.7",
		"org.apache.rocketmq:rocketmq-broker:4.9.7",
		"org.apache.rocketmq:rocketmq-tools:4.9.7",
	}}
	rocket55Jars = artifacts.Jars{Name: "rocketmq-5.5.0", Artifacts: []string{
		"org.apache.rocketmq:rocketmq-namesrv:5.5.0",
		"org.apache.rocketmq:rocketmq-broker:5.5.0",
		"org.apache.rocketmq:rocketmq-tools:5.5.0",
		"org.apache.rocketmq:rocketmq-proxy:5.5.0",
	}}
)

// rocket is one cluster being set up.
type rocket struct {
	version string
	jars    artifacts.Jars
	brokers []string
	lines   string // broker settings beyond the common ones
	acl     bool

	inst   *machine.Instance
	namesv string
}

func rocketKinds() []Kind {
	two := []string{"broker-a", "broker-b"}
	kind := func(name string, memory int, r rocket, proxy bool) Kind {
		return Kind{
			Name: name, Version: r.version, Memory: memory, Jars: &r.jars, Needs: []artifacts.Item{java, maven, r.jars},
			AllInterfaces: r.old() || proxy,
			Start: func(ctx context.Context, i *machine.Instance) error {
				cluster := r
				cluster.inst = i
				if err := cluster.start(ctx); err != nil || !proxy {
					return err
				}
				return cluster.startProxy(ctx)
			},
		}
	}
	return []Kind{
		kind("rocketmq49", 600, rocket{version: "4.9.7", jars: rocket49Jars, brokers: two}, false),
		kind("rocketmq49acl", 600, rocket{version: "4.9.7", jars: rocket49Jars, brokers: two, acl: true, lines: "aclEnable=true\n"}, false),
		kind("rocketmq55", 700, rocket{version: "5.5.0", jars: rocket55Jars, brokers: two, lines: rocket55Lines}, false),
		kind("rocketmq55acl", 700, rocket{version: "5.5.0", jars: rocket55Jars, brokers: two, acl: true, lines: rocket55Lines + rocket55ACL}, false),
		kind("rocketmq55proxy", 750, rocket{version: "5.5.0", jars: rocket55Jars, brokers: two[:1], lines: rocket55POP}, true),
	}
}

func (r *rocket) old() bool { return r.version < "5" }

// The brokers' administrator, under ACL.
const (
	rocketAccessKey = "adminkey1"
	rocketSecretKey = "adminsecret1"
)

// rocketLines keep files small and make the removal of expired ones quick. A
// key that a version does not know is ignored without a word.
const rocketLines = `
brokerClusterName=DefaultCluster
brokerId=0
brokerRole=ASYNC_MASTER
brokerIP1=127.0.0.1
brokerIP2=127.0.0.1
autoCreateTopicEnable=true
autoCreateSubscriptionGroup=true
mappedFileSizeCommitLog=1048576
mappedFileSizeConsumeQueue=2000
maxMessageSize=65536
maxHashSlotNum=10000
maxIndexNum=20000
cleanResourceInterval=1000
deleteWhen=04
fileReservedTime=72
diskMaxUsedSpaceRatio=98
flushDiskType=ASYNC_FLUSH
waitTimeMillsInSendQueue=10000
`

// rocket55Lines bind all ports but the one for replicas to loopback.
const rocket55Lines = `
bindAddress=127.0.0.1
timerWheelEnable=false
`

// rocket55POP lets messages be popped, which needs the timer wheel.
const rocket55POP = `
bindAddress=127.0.0.1
timerWheelEnable=true
mappedFileSizeTimerLog=1048576
`

const rocket55ACL = `
authenticationEnabled=true
authenticationProvider=org.apache.rocketmq.auth.authentication.provider.DefaultAuthenticationProvider
authenticationMetadataProvider=org.apache.rocketmq.auth.authentication.provider.LocalAuthenticationMetadataProvider
initAuthenticationUser={"username":"` + rocketAccessKey + `","password":"` + rocketSecretKey + `"}
innerClientAuthenticationCredentials={"accessKey":"` + rocketAccessKey + `","secretKey":"` + rocketSecretKey + `"}
authorizationEnabled=true
authorizationProvider=org.apache.rocketmq.auth.authorization.provider.DefaultAuthorizationProvider
authorizationMetadataProvider=org.apache.rocketmq.auth.authorization.provider.LocalAuthorizationMetadataProvider
`

// rocket49ACL is the file with the accounts of 4.9.
const rocket49ACL = `globalWhiteRemoteAddresses: []
accounts:
- accessKey: ` + rocketAccessKey + `
  secretKey: ` + rocketSecretKey + `
  admin: true
- accessKey: readonly1
  secretKey: readsecret1
  whiteRemoteAddress:
  admin: false
  defaultTopicPerm: DENY
  defaultGroupPerm: DENY
  topicPerms:
  - ACT=PUB|SUB
  groupPerms:
  - GACL=SUB
`

// start starts the name server and the brokers.
func (r *rocket) start(ctx context.Context) error {
	port, err := machine.Port()
	if err != nil {
		return err
	}
	r.namesv = machine.Local(port)
	r.inst.Addr["namesrv"] = r.namesv
	if r.acl {
		r.inst.Vars["access-key"], r.inst.Vars["secret-key"] = rocketAccessKey, rocketSecretKey
	}
	settings, err := r.inst.Write("namesrv.conf", fmt.Sprintf("listenPort=%d\nbindAddress=127.0.0.1\n", port))
	if err != nil {
		return err
	}
	node, err := r.node("namesrv", "org.apache.rocketmq.namesrv.NamesrvStartup", "-c", settings)
	if err != nil {
		return err
	}
	node.Ready = rocketAnswers(r.namesv, clusterInfo)
	if err := r.inst.Run(ctx, node); err != nil {
		return err
	}
	var brokers []machine.Node
	for _, name := range r.brokers {
		broker, err := r.broker(name)
		if err != nil {
			return err
		}
		brokers = append(brokers, broker)
	}
	return r.inst.RunTogether(ctx, brokers...)
}

func (r *rocket) broker(name string) (machine.Node, error) {
	// A broker also takes the port two below its own and, whatever 4.9 is told, the one above for replicas.
	first, err := machine.Block(4)
	if err != nil {
		return machine.Node{}, err
	}
	addr := machine.Local(first + 2)
	r.inst.Addr[name] = addr
	store := r.inst.Path(name, "store")
	var l properties
	l.set("brokerName", name)
	l.set("listenPort", first+2)
	l.set("haListenPort", first+3)
	l.set("namesrvAddr", r.namesv)
	l.set("storePathRootDir", store)
	l.set("storePathCommitLog", store+"/commitlog")
	l.add(rocketLines + r.lines)
	settings, err := r.inst.Write(name+".conf", l.String())
	if err != nil {
		return machine.Node{}, err
	}
	node, err := r.node(name, "org.apache.rocketmq.broker.BrokerStartup", "-c", settings)
	node.Ready = func(ctx context.Context) error {
		if err := rocketAnswers(addr, brokerRuntimeInfo)(ctx); err != nil {
			return err
		}
		return rocketRoutes(ctx, r.namesv, addr)
	}
	return node, err
}

// node is a process with a home of its own: its logs, its accounts.
func (r *rocket) node(name, class string, args ...string) (machine.Node, error) {
	home, err := r.inst.Mkdir("", name)
	if err != nil {
		return machine.Node{}, err
	}
	log := r.inst.Path(name, "logs", "rocketmqlogs", name+".log")
	if r.old() {
		log = r.inst.Path(name, "server.log")
		if err := r.writeOldHome(name); err != nil {
			return machine.Node{}, err
		}
	}
	flags := []string{
		"-Xms192m", "-XX:MaxDirectMemorySize=128m", "-Duser.home=" + home, "-Dlog.dir=" + home,
		// 4.9 cannot unmap files on Java 17 without these, and then neither restarts nor deletes.
		"--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
		class,
	}
	return machine.Node{
		Name:    name,
		Command: jvm("192m", r.jars, append(flags, args...)...),
		Env:     []string{"ROCKETMQ_HOME=" + home, "HOME=" + home},
		OwnLog:  log,
	}, nil
}

// writeOldHome makes what 4.9 reads below its home folder.
func (r *rocket) writeOldHome(name string) error {
	const logback = `<configuration><appender name="F" class="ch.qos.logback.core.FileAppender"><file>${log.dir}/server.log</file>
<encoder><pattern>%d %p %t %c{0} - %m%n</pattern></encoder></appender><root level="INFO"><appender-ref ref="F"/></root></configuration>
`
	for _, file := range []string{"logback_namesrv.xml", "logback_broker.xml", "logback_tools.xml"} {
		if _, err := r.inst.Write(name+"/conf/"+file, logback); err != nil {
			return err
		}
	}
	_, err := r.inst.Write(name+"/conf/plain_acl.yml", rocket49ACL)
	return err
}

// startProxy starts the node "proxy" in front of the cluster.
func (r *rocket) startProxy(ctx context.Context) error {
	first, err := machine.Block(2)
	if err != nil {
		return err
	}
	settings, err := json.Marshal(map[string]any{
		"rocketMQClusterName": "DefaultCluster", "namesrvAddr": r.namesv, "proxyMode": "CLUSTER",
		"grpcServerPort": first, "remotingListenPort": first + 1, "localServeAddr": "127.0.0.1",
	})
	if err != nil {
		return err
	}
	file, err := r.inst.Write("rmq-proxy.json", string(settings))
	if err != nil {
		return err
	}
	node, err := r.node("proxy", "org.apache.rocketmq.proxy.ProxyStartup", "-pc", file)
	if err != nil {
		return err
	}
	r.inst.Addr["proxy-grpc"], r.inst.Addr["proxy"] = machine.Local(first), machine.Local(first+1)
	node.ReadyLine = "startup successfully"
	node.Restarts = 5 // it gives up where the name server does not answer within seconds
	node.Ready = machine.Listening(r.inst.Addr["proxy"])
	return r.inst.Run(ctx, node)
}
