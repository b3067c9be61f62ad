package remotingtest

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/offsetctl/offsetctl/brokers/remoting"
)

func (b *Broker) pull(cmd *remoting.Command) *remoting.Command {
	x := cmd.Ext
	id64, _ := strconv.ParseInt(x["queueId"], 10, 32)
	id, k := int32(id64), groupTopic{x["consumerGroup"], x["topic"]}
	at, _ := strconv.ParseInt(x["queueOffset"], 10, 64)
	limit, _ := strconv.Atoi(x["maxMsgNums"])
	t := b.topics[k.topic]
	if t == nil {
		return fail(remoting.TopicNotExist, "topic["+k.topic+"] not exist")
	}
	if id < 0 || int(id) >= t.read {
		code := remoting.InvalidParameter
		if b.c.version < remoting.Version5_0_0 {
			code = remoting.SystemError
		}
		return fail(code, fmt.Sprintf("queueId[%d] is illegal, topic:[%s]", id, k.topic))
	}
	q := t.queues[id]
	end := func(code int, remark string, next int64, body []byte) *remoting.Command {
		return &remoting.Command{Code: code, Remark: remark, Body: body, Ext: map[string]string{
			"nextBeginOffset": fmt.Sprint(next), "minOffset": fmt.Sprint(q.claimed), "maxOffset": fmt.Sprint(q.end()), "suggestWhichBrokerId": "0",
		}}
	}
	if target, pending := b.pending[k][id]; pending {
		delete(b.pending[k], id)
		return end(remoting.PullOffsetMoved, "OFFSET_RESET", target, nil)
	}
	switch {
	case q.end() == 0 && at == 0:
		return end(remoting.PullNotFound, "NO_MESSAGE_IN_QUEUE", 0, nil)
	case at < q.claimed:
		return end(remoting.PullOffsetMoved, "OFFSET_TOO_SMALL", q.claimed, nil)
	case at > q.end():
		return end(remoting.PullOffsetMoved, "OFFSET_OVERFLOW_BADLY", q.end(), nil)
	case at == q.end():
		return end(remoting.PullNotFound, "OFFSET_OVERFLOW_ONE", at, nil)
	case at < q.first && len(q.messages) == 0:
		return end(remoting.PullRetryImmediately, "MESSAGE_WAS_REMOVING", q.end(), nil)
	}
	at = max(at, q.first)
	tags := strings.Split(strings.ReplaceAll(x["subscription"], " ", ""), "||")
	var body []byte
	next := at
	for n := 0; next < q.end() && n < min(max(limit, 1), 32); next++ {
		m := q.messages[next-q.first]
		if tags[0] == "*" || slices.Contains(tags, m.Tag) {
			body = append(body, encode(k.topic, id, next, m)...)
			n++
		}
	}
	if body == nil {
		return end(remoting.PullRetryImmediately, "NO_MATCHED_MESSAGE", next, nil)
	}
	return end(remoting.Success, "FOUND", next, body)
}

func encode(topic string, id int32, at int64, m Message) []byte {
	be := binary.BigEndian
	props := ""
	if m.Tag != "" {
		props = "TAGS\x01" + m.Tag + "\x02"
	}
	var b []byte
	b = be.AppendUint32(b, 0xDAA320A7)
	b = be.AppendUint32(b, 0) // checksum
	b = be.AppendUint32(b, uint32(id))
	b = be.AppendUint32(b, 0) // flag
	b = be.AppendUint64(b, uint64(at))
	b = be.AppendUint64(b, uint64(at)*100)
	b = be.AppendUint32(b, 0) // nothing compressed, IPv4
	b = be.AppendUint64(b, uint64(m.Time.UnixMilli()))
	b = append(b, 127, 0, 0, 1, 0, 0, 0, 1)
	b = be.AppendUint64(b, uint64(m.Time.UnixMilli()))
	b = append(b, 127, 0, 0, 1, 0, 0, 0, 1)
	b = be.AppendUint32(b, 0) // given back
	b = be.AppendUint64(b, 0) // transaction
	b = be.AppendUint32(b, uint32(len(m.Body)))
	b = append(b, m.Body...)
	b = append(b, byte(len(topic)))
	b = append(b, topic...)
	b = be.AppendUint16(b, uint16(len(props)))
	b = append(b, props...)
	return append(be.AppendUint32(nil, uint32(len(b)+4)), b...)
}
