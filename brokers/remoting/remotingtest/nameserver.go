package remotingtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/brokers/remoting"
)

const clusterName = "DefaultCluster"

func (c *Cluster) answerNameServer(cmd *remoting.Command) *remoting.Command {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch remoting.Code(cmd.Code) {
	case remoting.CodeRoute:
		return c.route(cmd.Ext["topic"])
	case remoting.CodeClusterInfo:
		var table, names []string
		for _, n := range c.names() {
			b := c.brokers[n]
			table = append(table, fmt.Sprintf(`%q:{"brokerAddrs":{%s},"brokerName":%q,"cluster":%q}`, n, b.addrs(false), n, clusterName))
			names = append(names, fmt.Sprintf("%q", n))
		}
		return ok(nil, fmt.Sprintf(`{"brokerAddrTable":{%s},"clusterAddrTable":{%q:[%s]}}`, strings.Join(table, ","), clusterName, strings.Join(names, ",")))
	case remoting.CodeTopicList:
		names := map[string]bool{clusterName: true, "TBW102": true}
		for _, n := range c.names() {
			names[n] = true
			for t := range c.brokers[n].topics {
				names[t] = true
			}
		}
		var quoted []string
		for _, n := range slices.Sorted(maps.Keys(names)) {
			quoted = append(quoted, fmt.Sprintf("%q", n))
		}
		return ok(nil, `{"topicList":[`+strings.Join(quoted, ",")+`]}`)
	case remoting.CodeForgetTopic:
		return ok(nil, "")
	}
	return fail(remoting.NotSupported, fmt.Sprintf(" request type %d not supported", cmd.Code))
}

func (c *Cluster) route(topic string) *remoting.Command {
	var brokers, queues []string
	static := ""
	for _, n := range c.names() {
		b := c.brokers[n]
		t := b.topics[topic]
		if t == nil {
			continue
		}
		brokers = append(brokers, fmt.Sprintf(`{"brokerAddrs":{%s},"brokerName":%q,"cluster":%q}`, b.addrs(true), n, clusterName))
		queues = append(queues, fmt.Sprintf(`{"brokerName":%q,"perm":6,"readQueueNums":%d,"topicSysFlag":0,"writeQueueNums":%d}`, n, t.read, t.write))
		if t.static {
			static = `,"topicQueueMappingByBroker":{"` + n + `":{"bname":"` + n + `","currIdMap":{"0":0,"1":1}}}`
		}
	}
	if brokers == nil {
		return fail(remoting.TopicNotExist, "No topic route info in name server for the topic: "+topic+"\nSee https://rocketmq.apache.org/docs for further details.")
	}
	return ok(nil, fmt.Sprintf(`{"brokerDatas":[%s],"filterServerTable":{},"queueDatas":[%s]%s}`, strings.Join(brokers, ","), strings.Join(queues, ","), static))
}

// addrs are the broker's addresses by id; quoted keys are what a modern client asks a route for.
func (b *Broker) addrs(quoted bool) string {
	q := ""
	if quoted {
		q = `"`
	}
	var out []string
	if !b.dead {
		out = append(out, fmt.Sprintf(`%s0%s:%q`, q, q, b.advertised()))
	}
	if b.slave != "" {
		out = append(out, fmt.Sprintf(`%s1%s:%q`, q, q, b.slave))
	}
	return strings.Join(out, ",")
}

func (b *Broker) advertised() string {
	if b.advertise != "" {
		return b.advertise
	}
	return b.server.addr
}
