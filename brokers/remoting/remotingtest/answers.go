package remotingtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/offsetctl/offsetctl/brokers/remoting"
)

func (b *Broker) answer(cmd *remoting.Command) *remoting.Command {
	b.c.mu.Lock()
	defer b.c.mu.Unlock()
	x := cmd.Ext
	id, idErr := strconv.ParseInt(x["queueId"], 10, 32)
	q := b.queue(x["topic"], int32(id))
	switch remoting.Code(cmd.Code) {
	case remoting.CodePull:
		return b.pull(cmd)
	case remoting.CodeQueryOffset:
		return b.query(x, int32(id), q)
	case remoting.CodeUpdateOffset:
		if idErr != nil {
			return fail(remoting.InvalidParameter, "QueueId is null")
		}
		return b.update(x, int32(id))
	case remoting.CodeResetOffset:
		return b.reset(x)
	case remoting.CodeSearchOffset:
		return number("offset", b.search(q, x["timestamp"]))
	case remoting.CodeMaxOffset:
		return number("offset", q.end())
	case remoting.CodeMinOffset:
		return number("offset", q.claimed)
	case remoting.CodeEarliestTime:
		if q.claimed < q.first || len(q.messages) == 0 {
			return number("timestamp", -1)
		}
		return number("timestamp", q.messages[0].Time.UnixMilli())
	case remoting.CodeTopicStats:
		return b.topicStats(x["topic"])
	case remoting.CodeConsumeStats:
		return b.consumeStats(x["consumerGroup"], x["topic"])
	case remoting.CodeAllOffsets:
		return b.allOffsets()
	case remoting.CodeTopicsOfGroup:
		if b.c.version < remoting.Version5_0_0 {
			break
		}
		return ok(nil, `{"brokerAddr":"`+b.Addr()+`","topicList":`+texts(b.topicsOf(x["group"]))+`}`)
	case remoting.CodeGroups:
		var out []string
		for g := range b.groups {
			out = append(out, fmt.Sprintf(`%q:{"brokerId":0,"groupName":%q,"retryQueueNums":1}`, g, g))
		}
		return ok(nil, `{"dataVersion":{"counter":1},"subscriptionGroupTable":{`+strings.Join(out, ",")+`}}`)
	case remoting.CodeConsumerList:
		if len(b.clients[x["consumerGroup"]]) == 0 {
			return fail(remoting.SystemError, "no consumer for this group, "+x["consumerGroup"])
		}
		return ok(nil, `{"consumerIdList":["x"]}`)
	case remoting.CodeConnections:
		return b.connections(x["consumerGroup"])
	case remoting.CodeRunningInfo:
		return b.runningInfo(x["consumerGroup"], x["clientId"])
	case remoting.CodeConfig:
		var out strings.Builder
		for _, k := range slices.Sorted(maps.Keys(b.config)) {
			fmt.Fprintf(&out, "%s=%s\n", k, b.config[k])
		}
		return ok(nil, out.String())
	case remoting.CodeRuntimeInfo:
		return ok(nil, `{"table":{"brokerVersionDesc":"V`+strings.ReplaceAll(remoting.VersionName(b.c.version), ".", "_")+`"}}`)
	case remoting.CodeUpdateTopic:
		r, _ := strconv.Atoi(x["readQueueNums"])
		w, _ := strconv.Atoi(x["writeQueueNums"])
		b.makeTopic(x["topic"], r, w)
		return ok(nil, "")
	case remoting.CodeDeleteTopic:
		b.deleteTopic(x["topic"])
		return ok(nil, "")
	case remoting.CodeUpdateGroup:
		var g struct{ GroupName string }
		if json.Unmarshal(cmd.Body, &g) != nil || g.GroupName == "" {
			return fail(remoting.SystemError, "java.lang.NullPointerException")
		}
		b.groups[g.GroupName] = true
		return ok(nil, "")
	case remoting.CodeDeleteGroup:
		delete(b.groups, x["groupName"])
		maps.DeleteFunc(b.offsets, func(k groupTopic, _ map[int32]int64) bool { return k.group == x["groupName"] })
		return ok(nil, "")
	}
	return fail(remoting.NotSupported, fmt.Sprintf(" request type %d not supported", cmd.Code))
}

// queue answers an empty one for what does not exist, as brokers do.
func (b *Broker) queue(name string, id int32) *queue {
	if t := b.topics[name]; t != nil && t.queues[id] != nil {
		return t.queues[id]
	}
	return &queue{}
}

func number(field string, n int64) *remoting.Command {
	return ok(map[string]string{field: strconv.FormatInt(n, 10)}, "")
}

func texts(list []string) string {
	b, _ := json.Marshal(append([]string{}, list...))
	return string(b)
}

func (b *Broker) key(topic string, id int32) string {
	return fmt.Sprintf(`{"brokerName":%q,"queueId":%d,"topic":%q}`, b.name, id, topic)
}

func (b *Broker) topicStats(name string) *remoting.Command {
	t := b.topics[name]
	if t == nil {
		return fail(remoting.TopicNotExist, "topic["+name+"] not exist")
	}
	var out []string
	for id := range int32(max(t.read, t.write)) {
		q, last := t.queues[id], int64(0)
		switch {
		case len(q.messages) > 0:
			last = q.messages[len(q.messages)-1].Time.UnixMilli()
		case q.end() > 0:
			last = -1
		}
		out = append(out, fmt.Sprintf(`%s:{"lastUpdateTimestamp":%d,"maxOffset":%d,"minOffset":%d}`, b.key(name, id), last, q.end(), q.claimed))
	}
	return ok(nil, `{"offsetTable":{`+strings.Join(out, ",")+`}}`)
}

func (b *Broker) topicsOf(group string) []string {
	var out []string
	for k := range b.offsets {
		if k.group == group {
			out = append(out, k.topic)
		}
	}
	slices.Sort(out)
	return out
}

func (b *Broker) subscribed(group, topic string) bool {
	for _, c := range b.clients[group] {
		if c.Filters[topic] != "" {
			return true
		}
	}
	return false
}

func (b *Broker) consumeStats(group, topic string) *remoting.Command {
	topics := []string{topic}
	if topic == "" {
		topics = b.topicsOf(group)
	}
	var out []string
	for _, name := range topics {
		t := b.topics[name]
		if t == nil || len(b.clients[group]) > 0 && !b.subscribed(group, name) {
			continue
		}
		for id := range int32(t.read) {
			q := t.queues[id]
			stored, last := max(0, b.offsets[groupTopic{group, name}][id]), int64(0)
			if i := stored - 1 - q.first; i >= 0 && i < int64(len(q.messages)) {
				last = q.messages[i].Time.UnixMilli()
			}
			out = append(out, fmt.Sprintf(`%s:{"brokerOffset":%d,"consumerOffset":%d,"lastTimestamp":%d}`, b.key(name, id), q.end(), stored, last))
		}
	}
	return ok(nil, `{"consumeTps":0.0,"offsetTable":{`+strings.Join(out, ",")+`}}`)
}

func (b *Broker) allOffsets() *remoting.Command {
	var out []string
	for k, queues := range b.offsets {
		var qs []string
		for id, n := range queues {
			qs = append(qs, fmt.Sprintf("%d:%d", id, n))
		}
		out = append(out, fmt.Sprintf("%q:{%s}", k.topic+"@"+k.group, strings.Join(qs, ",")))
	}
	body := `{"offsetTable":{` + strings.Join(out, ",") + `}}`
	if b.c.version >= remoting.Version5_0_0 {
		body = `{"dataVersion":{"counter":0},"pullOffsetTable":{"T@TOOLS_CONSUMER":{0:7}},` + body[1:]
	}
	return ok(nil, body)
}

func (b *Broker) connections(group string) *remoting.Command {
	clients := b.clients[group]
	if len(clients) == 0 {
		return fail(remoting.NotOnline, "the consumer group["+group+"] not online")
	}
	var conns, subs []string
	model, kind := "CLUSTERING", "CONSUME_PASSIVELY"
	for _, c := range clients {
		conns = append(conns, fmt.Sprintf(`{"clientAddr":%q,"clientId":%q,"language":"GO","version":%d}`, c.Addr, c.ID, c.Version))
		if c.Broadcast {
			model = "BROADCASTING"
		}
		if c.Type != "" {
			kind = c.Type
		}
	}
	for t, f := range clients[len(clients)-1].Filters { // the newest wins
		subs = append(subs, fmt.Sprintf(`%q:{"codeSet":[65],"expressionType":"TAG","subString":%q,"subVersion":1,"topic":%q}`, t, f, t))
	}
	return ok(nil, fmt.Sprintf(`{"connectionSet":[%s],"consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET","consumeType":%q,"messageModel":%q,"subscriptionTable":{%s}}`,
		strings.Join(conns, ","), kind, model, strings.Join(subs, ",")))
}

func (b *Broker) runningInfo(group, client string) *remoting.Command {
	i := slices.IndexFunc(b.clients[group], func(c Client) bool { return c.ID == client })
	if i < 0 {
		return fail(remoting.SystemError, "The Consumer <"+group+"> <"+client+"> not online")
	}
	c := b.clients[group][i]
	if c.Silent {
		return &remoting.Command{Version: goClient, Remark: "json marshal error: json: unsupported value: NaN"}
	}
	var subs, queues []string
	for _, t := range slices.Sorted(maps.Keys(c.Filters)) {
		subs = append(subs, fmt.Sprintf(`{"codeSet":["65"],"expressionType":"TAG","subString":%q,"subVersion":1,"topic":%q}`, c.Filters[t], t))
	}
	for _, q := range c.Owns {
		queues = append(queues, fmt.Sprintf(`{"brokerName":%q,"queueId":%d,"topic":%q}:{"commitOffset":1,"dropped":false,"lastConsumeTimestamp":%d,"lastLockTimestamp":%d}`,
			q.Broker, q.ID, q.Topic, c.Consumed, c.Began))
	}
	a := ok(nil, `{"mqTable":{`+strings.Join(queues, ",")+`},"properties":{"PROP_CONSUMEORDERLY":"false"},"subscriptionSet":[`+strings.Join(subs, ",")+`]}`)
	a.Version = goClient
	return a
}

// goClient is the version that Go clients give; a broker hands their answers on with it.
const goClient = 317
