package offset

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Partition names one log: a Kafka partition, or a RocketMQ queue, which also has the name of its broker.
// Its text is orders:3 or orders@broker-a:3: the first @ ends the topic (no topic has one), the last colon starts the number.
type Partition struct {
	Topic  string
	Broker string // RocketMQ's broker name; "" on Kafka, and in a store that cannot keep it (Caps.Queues)
	Index  int32
}

// Compare orders by topic, broker, number: the order of every list and every output.
func (p Partition) Compare(q Partition) int {
	return cmp.Or(strings.Compare(p.Topic, q.Topic), strings.Compare(p.Broker, q.Broker), cmp.Compare(p.Index, q.Index))
}

func (p Partition) String() string {
	if p.Broker == "" {
		return p.Topic + ":" + strconv.Itoa(int(p.Index))
	}
	return p.Topic + "@" + p.Broker + ":" + strconv.Itoa(int(p.Index))
}

// ParsePartition is the inverse of String.
func ParsePartition(s string) (Partition, error) {
	bad := fmt.Errorf("%q is not TOPIC:PARTITION", s)
	i := strings.LastIndexByte(s, ':')
	if i < 1 {
		return Partition{}, bad
	}
	n, ok := ParseIndex(s[i+1:])
	if !ok {
		return Partition{}, bad
	}
	p := Partition{Topic: s[:i], Index: n}
	var at bool
	if p.Topic, p.Broker, at = strings.Cut(p.Topic, "@"); p.Topic == "" || at && p.Broker == "" {
		return Partition{}, bad
	}
	return p, nil
}

// ParseIndex reads a partition or queue number as it is written everywhere: digits only, no sign, no leading zero, below 2^31.
func ParseIndex(s string) (int32, bool) {
	if s == "" || len(s) > 1 && s[0] == '0' || s[0] == '+' {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 31)
	return int32(n), err == nil
}

// MarshalText is String.
func (p Partition) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is ParsePartition.
func (p *Partition) UnmarshalText(b []byte) (err error) {
	*p, err = ParsePartition(string(b))
	return err
}
