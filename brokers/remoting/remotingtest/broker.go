package remotingtest

import (
	"fmt"
	"time"

	"github.com/offsetctl/offsetctl/brokers/remoting"
)

// Broker is one broker.
type Broker struct {
	c         *Cluster
	server    *server
	name      string
	advertise string
	slave     string
	dead      bool
	topics    map[string]*topic
	offsets   map[groupTopic]map[int32]int64
	pending   map[groupTopic]map[int32]int64 // resets that the broker keeps
	groups    map[string]bool
	clients   map[string][]Client
	config    map[string]string
}

type groupTopic struct{ group, topic string }

type topic struct {
	read, write int
	static      bool
	queues      map[int32]*queue
}

// queue holds the messages that can still be read. claimed is the minimum that the broker tells.
type queue struct {
	first, claimed int64
	messages       []Message
}

func (q *queue) end() int64 { return q.first + int64(len(q.messages)) }

// Message is one message of a queue.
type Message struct {
	Time time.Time // of storing
	Tag  string
	Body string
}

// Client is a connected consumer.
type Client struct {
	ID        string
	Addr      string
	Version   int
	Type      string // CONSUME_PASSIVELY when ""
	Broadcast bool
	Filters   map[string]string // by topic, what it subscribes to
	Silent    bool              // it cannot tell what it does, as a Go client after a burst
	Owns      []remoting.Queue
	Began     int64 // when it began with what it owns, in ms
	Consumed  int64 // when it last consumed from it, or began
}

func newBroker(c *Cluster, name string) *Broker {
	b := &Broker{
		c: c, name: name, topics: map[string]*topic{}, offsets: map[groupTopic]map[int32]int64{}, pending: map[groupTopic]map[int32]int64{},
		groups: map[string]bool{remoting.ToolsGroup: true, "SELF_TEST_C_GROUP": true}, clients: map[string][]Client{},
	}
	b.config = map[string]string{
		"brokerName": name, "brokerId": "0", "fileReservedTime": "72", "flushConsumerOffsetInterval": "5000",
		"storePathRootDir": `/tmp/a\:b`, "autoCreateSubscriptionGroup": "true",
	}
	if c.version >= remoting.Version5_1_0 {
		b.config["useServerSideResetOffset"] = fmt.Sprint(!c.noReset)
	}
	return b
}

// Addr is where the broker listens.
func (b *Broker) Addr() string { return b.server.addr }

// Remoting is the broker as a client names it.
func (b *Broker) Remoting() remoting.Broker { return remoting.Broker{Name: b.name, Addr: b.Addr()} }

// Topic makes a topic, or changes its number of queues.
func (b *Broker) Topic(name string, queues int) {
	b.c.with(func() { b.makeTopic(name, queues, queues) })
}

// TopicOf makes a topic whose numbers of queues for reading and writing differ.
func (b *Broker) TopicOf(name string, read, write int) {
	b.c.with(func() { b.makeTopic(name, read, write) })
}

// Static makes a topic one of logical queues.
func (b *Broker) Static(name string) { b.c.with(func() { b.topics[name].static = true }) }

func (b *Broker) makeTopic(name string, read, write int) {
	t := b.topics[name]
	if t == nil {
		t = &topic{queues: map[int32]*queue{}}
		b.topics[name] = t
	}
	t.read, t.write = read, write
	for i := range int32(max(read, write)) {
		if t.queues[i] == nil {
			t.queues[i] = &queue{}
		}
	}
}

// DeleteTopic deletes a topic; from 5.0 on its positions go with it.
func (b *Broker) DeleteTopic(name string) { b.c.with(func() { b.deleteTopic(name) }) }

func (b *Broker) deleteTopic(name string) {
	delete(b.topics, name)
	if b.c.version < remoting.Version5_0_0 {
		return
	}
	for k := range b.offsets {
		if k.topic == name {
			delete(b.offsets, k)
		}
	}
}

// Append stores messages.
func (b *Broker) Append(name string, id int32, ms ...Message) {
	b.c.with(func() {
		q := b.topics[name].queues[id]
		q.messages = append(q.messages, ms...)
	})
}

// Fill makes a queue hold the offsets from first to end, one message a second, the last one at the given time.
func (b *Broker) Fill(name string, id int32, first, end int64, last time.Time) {
	b.c.with(func() {
		q := &queue{first: first, claimed: first}
		for o := first; o < end; o++ {
			q.messages = append(q.messages, Message{Time: last.Add(-time.Duration(end-1-o) * time.Second), Body: fmt.Sprint(o)})
		}
		b.topics[name].queues[id] = q
	})
}

// Expire removes the messages before an offset. With stale the broker goes on telling the old minimum.
func (b *Broker) Expire(name string, id int32, before int64, stale bool) {
	b.c.with(func() {
		q := b.topics[name].queues[id]
		q.messages = q.messages[before-q.first:]
		q.first = before
		if !stale {
			q.claimed = before
		}
	})
}

// SetOffset stores a position as a consumer does.
func (b *Broker) SetOffset(group, topic string, id int32, next int64) {
	b.c.with(func() {
		b.groups[group] = true
		b.store(groupTopic{group, topic}, id, next)
	})
}

// Offset is the stored position.
func (b *Broker) Offset(group, topic string, id int32) (next int64, stored bool) {
	b.c.with(func() { next, stored = b.offsets[groupTopic{group, topic}][id] })
	return next, stored
}

func (b *Broker) store(k groupTopic, id int32, next int64) {
	if b.offsets[k] == nil {
		b.offsets[k] = map[int32]int64{}
	}
	b.offsets[k][id] = next
}

// Group makes a group's settings.
func (b *Broker) Group(name string) { b.c.with(func() { b.groups[name] = true }) }

// HasGroup tells whether the broker has settings of the group.
func (b *Broker) HasGroup(name string) (has bool) {
	b.c.with(func() { has = b.groups[name] })
	return has
}

// Connect makes clients the only members of a group; none ends them.
func (b *Broker) Connect(group string, clients ...Client) {
	b.c.with(func() {
		b.groups[group] = true
		b.clients[group] = clients
	})
}

// Config changes a setting.
func (b *Broker) Config(key, value string) { b.c.with(func() { b.config[key] = value }) }

// Advertise has the name servers tell another address.
func (b *Broker) Advertise(addr string) { b.c.with(func() { b.advertise = addr }) }

// Kill ends the broker: the name servers forget it at once.
func (b *Broker) Kill() {
	b.c.with(func() { b.dead = true })
	b.server.stop()
}

// LeaveSlave kills the broker and leaves a slave that listens on addr.
func (b *Broker) LeaveSlave(addr string) {
	b.c.with(func() { b.slave = addr })
	b.Kill()
}

// Pending is the target of a reset that no client has taken yet.
func (b *Broker) Pending(group, topic string, id int32) (next int64, pending bool) {
	b.c.with(func() { next, pending = b.pending[groupTopic{group, topic}][id] })
	return next, pending
}
