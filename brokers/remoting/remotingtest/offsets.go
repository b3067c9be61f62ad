package remotingtest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/brokers/remoting"
)

func (b *Broker) query(x map[string]string, id int32, q *queue) *remoting.Command {
	if n, stored := b.offsets[groupTopic{x["consumerGroup"], x["topic"]}][id]; stored && n >= 0 {
		return number("offset", n)
	}
	switch {
	case b.c.version >= remoting.Version5_0_0 && x["setZeroIfNotFound"] == "false":
		return fail(remoting.QueryNotFound, "Not found, do not set to zero, maybe this group boot first")
	case q.claimed <= 0 && (b.c.version < remoting.Version5_0_0 || len(q.messages) > 0):
		return number("offset", 0)
	}
	return fail(remoting.QueryNotFound, "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first")
}

func (b *Broker) update(x map[string]string, id int32) *remoting.Command {
	k := groupTopic{x["consumerGroup"], x["topic"]}
	next, err := strconv.ParseInt(x["commitOffset"], 10, 64)
	if err != nil {
		return fail(remoting.InvalidParameter, "Offset is null")
	}
	if b.c.version >= remoting.Version5_0_0 {
		if b.topics[k.topic] == nil {
			return fail(remoting.TopicNotExist, "Topic "+k.topic+" not exist!")
		}
		if !b.groups[k.group] {
			return fail(remoting.GroupNotExist, "Group "+k.group+" not exist!")
		}
		if _, pending := b.pending[k][id]; pending {
			return &remoting.Command{Remark: "Offset has been previously reset"}
		}
	}
	if b.offsets[k] == nil {
		// As in the real ones: whoever stores the first position of a topic at the same time as another loses it.
		b.c.mu.Unlock()
		time.Sleep(time.Millisecond)
		b.c.mu.Lock()
		b.offsets[k] = map[int32]int64{}
	}
	b.store(k, id, next)
	b.wrote(Write{Broker: b, Group: k.group, Topic: k.topic, Queue: id, Next: next})
	return ok(nil, "")
}

func (b *Broker) wrote(w Write) {
	if f := b.c.onWrite; f != nil {
		go f(w)
	}
}

func (b *Broker) reset(x map[string]string) *remoting.Command {
	k := groupTopic{x["group"], x["topic"]}
	t := b.topics[k.topic]
	if t == nil {
		return fail(remoting.TopicNotExist, "Topic "+k.topic+" does not exist")
	}
	if b.config["useServerSideResetOffset"] != "true" {
		return b.resetByClients(k, t, x)
	}
	if !b.groups[k.group] {
		return fail(remoting.GroupNotExist, "Group "+k.group+" does not exist")
	}
	ids := []int32{}
	if n, err := strconv.ParseInt(x["queueId"], 10, 32); err == nil && n >= 0 {
		ids = append(ids, int32(n))
	} else {
		for id := range int32(t.read) {
			ids = append(ids, id)
		}
	}
	var out []string
	for _, id := range ids {
		q := b.queue(k.topic, id)
		next, err := strconv.ParseInt(x["offset"], 10, 64)
		switch {
		case err != nil || next == -1:
			next = b.search(q, x["timestamp"])
			if strings.HasPrefix(x["timestamp"], "-") {
				next = q.end()
			}
		case next < q.claimed || next > q.end()+1:
			return fail(remoting.SystemError, fmt.Sprintf("Target offset %d not in consume queue range [%d-%d]", next, q.claimed, q.end()))
		}
		if b.pending[k] == nil {
			b.pending[k] = map[int32]int64{}
		}
		b.pending[k][id] = next
		b.store(k, id, next)
		b.wrote(Write{Broker: b, Group: k.group, Topic: k.topic, Queue: id, Next: next, Reset: true})
		out = append(out, fmt.Sprintf("%s:%d", b.key(k.topic, id), next))
	}
	return ok(nil, `{"offsetTable":{`+strings.Join(out, ",")+`}}`)
}

// resetByClients is how brokers did it before 5.1: queue and offset are not looked at, and the clients are told.
func (b *Broker) resetByClients(k groupTopic, t *topic, x map[string]string) *remoting.Command {
	if len(b.clients[k.group]) == 0 {
		return fail(remoting.NotOnline, "Consumer not online, so can not reset offset, Group: "+k.group)
	}
	var out []string
	for id := range int32(t.write) {
		now, stored := b.offsets[k][id]
		if !stored || now < 0 {
			return fail(remoting.SystemError, "THe consumer group <"+k.group+"> not exist")
		}
		q := t.queues[id]
		next := b.search(q, x["timestamp"])
		if x["timestamp"] == "-1" {
			next = q.end()
		}
		if x["isForce"] != "true" {
			next = min(now, next)
		}
		out = append(out, fmt.Sprintf("%s:%d", b.key(k.topic, id), next))
		b.wrote(Write{Broker: b, Group: k.group, Topic: k.topic, Queue: id, Next: next, Reset: true})
	}
	return ok(nil, `{"offsetTable":{`+strings.Join(out, ",")+`}}`)
}

// search answers by the version's own rule.
func (b *Broker) search(q *queue, text string) int64 {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || len(q.messages) == 0 {
		if q.claimed < q.first {
			return q.claimed
		}
		return q.end()
	}
	if b.c.version >= remoting.Version5_1_1 {
		for i, m := range q.messages {
			if m.Time.UnixMilli() >= ms {
				return q.first + int64(i)
			}
		}
		return q.end()
	}
	best, gap := 0, int64(-1)
	for i, m := range q.messages {
		if d := max(m.Time.UnixMilli()-ms, ms-m.Time.UnixMilli()); gap < 0 || d < gap {
			best, gap = i, d
		}
	}
	return q.first + int64(best)
}
