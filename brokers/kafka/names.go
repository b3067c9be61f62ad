package kafka

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/offsetctl/offsetctl/offset"
)

const (
	longestTopic = 249
	longestGroup = 1<<15 - 1
)

// badGroup is why Kafka can have no group of this name, nil where it can.
func badGroup(name string) error {
	if len(name) > longestGroup || !utf8.ValidString(name) {
		return fmt.Errorf("group %q: Kafka cannot hold such a name: %w", name, offset.ErrUnsupported)
	}
	return nil
}

// badPartition is why Kafka can have no such partition, nil where it can.
func badPartition(p offset.Partition) error {
	switch {
	case p.Broker != "":
		return fmt.Errorf("%v: a Kafka partition has no broker's name: %w", p, offset.ErrUnsupported)
	case p.Topic == "" || p.Topic == "." || p.Topic == ".." || len(p.Topic) > longestTopic || strings.ContainsFunc(p.Topic, notInTopics):
		return fmt.Errorf("topic %q: Kafka cannot have a topic of this name (at most %d of letters, digits, dot, underscore and minus): %w", p.Topic, longestTopic, offset.ErrUnsupported)
	}
	return nil
}

func notInTopics(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
}
