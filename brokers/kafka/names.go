package kafka

import (
	"fmt"
	"slices"
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
		return offset.As(offset.ErrUnsupported, fmt.Errorf("group %q: Kafka cannot hold such a name", name))
	}
	return nil
}

// badPartition is why Kafka can have no such partition, nil where it can.
func badPartition(p offset.Partition) error {
	switch {
	case p.Broker != "":
		return offset.As(offset.ErrUnsupported, fmt.Errorf("%v: a Kafka partition has no broker's name", p))
	case p.Topic == "" || p.Topic == "." || p.Topic == ".." || len(p.Topic) > longestTopic || strings.ContainsFunc(p.Topic, notInTopics):
		return offset.As(offset.ErrUnsupported, fmt.Errorf("topic %q: Kafka cannot have a topic of this name (at most %d of letters, digits, dot, underscore and minus)", p.Topic, longestTopic))
	}
	return nil
}

func notInTopics(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
}

// holdable are the queries without the partitions whose names Kafka cannot have: they would spoil the answer for the others.
func holdable(qs []offset.Query) []offset.Query {
	known := offset.Partition{} // neighbours share their topic
	bad := func(p offset.Partition) bool {
		if p.Topic == known.Topic && p.Broker == "" && p.Topic != "" {
			return false
		}
		if badPartition(p) != nil {
			return true
		}
		known = p
		return false
	}
	out := qs
	for i := range qs {
		if !slices.ContainsFunc(qs[i].Expect, bad) {
			continue
		}
		if &out[0] == &qs[0] {
			out = slices.Clone(qs)
		}
		out[i].Expect = slices.DeleteFunc(slices.Clone(qs[i].Expect), bad)
	}
	return out
}

// refuseNames gives the partitions that were left out their errors.
func (r *reading) refuseNames(i int) {
	expect, answered := r.qs[i].Expect, r.out[i].Expected
	if len(expect) == len(answered) {
		return
	}
	all := make([]offset.Result[offset.Stored], len(expect))
	for k, p := range expect {
		if all[k].Err = badPartition(p); all[k].Err == nil {
			all[k], answered = answered[0], answered[1:]
		}
	}
	r.out[i].Expected = all
}
