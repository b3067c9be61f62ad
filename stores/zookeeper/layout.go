package zookeeper

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/offsetctl/offsetctl/offset"
)

// absent is the version of a node that is not there.
const absent offset.Version = "absent"

// stormNode begins the name of a spout's node.
const stormNode = "partition_"

// group is the node of a group.
func (c config) group(g string) string { return c.chroot + c.root + "/" + g }

// topics is the node above a group's topics.
func (c config) topics(g string) string {
	if c.storm {
		return c.group(g)
	}
	return c.group(g) + "/offsets"
}

// topic is the node above a topic's partitions.
func (c config) topic(g, t string) string { return c.topics(g) + "/" + t }

// node is where a position lies.
func (c config) node(g string, p offset.Partition) string {
	name := strconv.Itoa(int(p.Index))
	switch {
	case c.storm:
		name = stormNode + name
	case p.Broker != "":
		name = p.Broker + "-" + name
	}
	return c.topic(g, p.Topic) + "/" + name
}

// partition reads a node's name.
func (c config) partition(topic, name string) (offset.Partition, bool) {
	p := offset.Partition{Topic: topic}
	var ok bool
	if c.storm {
		name, ok = strings.CutPrefix(name, stormNode)
		if !ok {
			return p, false
		}
	} else if i := strings.LastIndexByte(name, '-'); i > 0 {
		p.Broker, name = name[:i], name[i+1:]
	}
	p.Index, ok = offset.ParseIndex(name)
	return p, ok
}

// holds tells whether the layout can hold a partition.
func (c config) holds(p offset.Partition) error {
	if err := nodeName(p.Topic); err != nil {
		return err
	}
	if p.Broker == "" {
		return nil
	}
	if c.storm {
		return fmt.Errorf("%s %w: a spout's nodes have no brokers", p, offset.ErrUnsupported)
	}
	return nodeName(p.Broker)
}

// version is of a node: which one it is (two that were made one after the other under one name differ), and how often it was
// written.
func version(s *zk.Stat) offset.Version {
	return offset.Version(strconv.FormatInt(s.Czxid, 16) + "." + strconv.Itoa(int(s.Version)))
}

// nodeID is the part of a version that stays the same as long as the node is there.
func nodeID(v offset.Version) string {
	id, _, _ := strings.Cut(string(v), ".")
	return id
}

// written is the counter in a version: what ZooKeeper compares.
func written(v offset.Version) (int32, bool) {
	_, text, _ := strings.Cut(string(v), ".")
	n, err := strconv.ParseInt(text, 10, 32)
	return int32(n), err == nil
}
