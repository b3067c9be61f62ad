// Package zookeeper keeps positions in znodes: in the layout of Kafka's old consumers, and in that of Storm's Kafka spout.
package zookeeper

import (
	"fmt"
	"strings"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/value"
)

// Form is a ZooKeeper address.
var Form = address.Form{
	Schemes: []string{"zk", "zookeeper"}, Example: "zk://z1:2181,z2:2181/CHROOT",
	Port: 2181, Many: true, Path: true, User: true, TLS: true,
	Options: []address.Option{
		{Name: "layout", Value: "kafka|storm", Help: "kafka (the default): ROOT/GROUP/offsets/TOPIC/PARTITION, of RocketMQ BROKER-QUEUE; storm: ROOT/GROUP/partition_N, or ROOT/GROUP/TOPIC/partition_N"},
		{Name: "root", Value: "PATH", Help: "the node above the groups: /consumers in layout kafka; in layout storm it must be given"},
		{Name: "encoding", Value: "text|java", Help: "how a position is written where no neighbour shows it: digits (the default), or a string as Java serialises it"},
		{Name: "value", Value: "next|last", Help: "whether the number is the next offset to read (the default) or the last one done"},
	},
}

// config is what an address says.
type config struct {
	chroot string // "" or /a/b
	root   string // the node above the groups, below the chroot
	storm  bool
	number value.Dialect
}

func parseConfig(a address.Address) (config, error) {
	c := config{number: value.Dialect{Accept: value.Text | value.Java, New: value.Text, Last: a.Get("value") == "last"}}
	for _, o := range []struct{ name, one, two string }{{"layout", "kafka", "storm"}, {"encoding", "text", "java"}, {"value", "next", "last"}} {
		if v := a.Get(o.name); v != "" && v != o.one && v != o.two {
			return config{}, fmt.Errorf("%s: %w: %s=%s: it is %s or %s", a, offset.ErrConfig, o.name, v, o.one, o.two)
		}
	}
	c.storm = a.Get("layout") == "storm"
	if a.Get("encoding") == "java" {
		c.number.New = value.Java
	}
	var err error
	if c.chroot, err = cleanPath(a.Path); err != nil {
		return config{}, fmt.Errorf("%s: %w: the path behind the hosts: %w", a, offset.ErrConfig, err)
	}
	if c.root, err = cleanPath(a.Get("root")); err != nil {
		return config{}, fmt.Errorf("%s: %w: root=: %w", a, offset.ErrConfig, err)
	}
	switch {
	case c.storm && c.root == "":
		return config{}, fmt.Errorf("%s: %w: layout=storm needs root=, the spout's zkRoot", a, offset.ErrConfig)
	case c.storm && c.number.New == value.Java:
		return config{}, fmt.Errorf("%s: %w: layout=storm is JSON: encoding=java does not go with it", a, offset.ErrConfig)
	case c.root == "":
		c.root = "/consumers"
	}
	return c, nil
}

// cleanPath is "" or a path that begins with a slash and does not end with one.
func cleanPath(s string) (string, error) {
	s = strings.Trim(s, "/")
	if s == "" {
		return "", nil
	}
	for part := range strings.SplitSeq(s, "/") {
		if err := nodeName(part); err != nil {
			return "", err
		}
	}
	return "/" + s, nil
}

// nodeName tells whether a name can be a znode's: ZooKeeper refuses the rest, or takes it for a path.
func nodeName(s string) error {
	switch {
	case s == "", s == ".", s == "..":
		return fmt.Errorf("%q %w: no znode has this name", s, offset.ErrUnsupported)
	case strings.Contains(s, "/"):
		return fmt.Errorf("%q %w: a slash would be a path of znodes", s, offset.ErrUnsupported)
	}
	for _, r := range s { // what is no UTF-8 comes as U+FFFD
		if r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0 {
			return fmt.Errorf("%q %w: ZooKeeper takes no control characters, emoji or bytes that are no UTF-8 in a name", s, offset.ErrUnsupported)
		}
	}
	return nil
}
