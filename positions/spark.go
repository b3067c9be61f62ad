package positions

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/offsetctl/offsetctl/offset"
)

// parseSpark reads {"orders":{"0":23,"1":5}}, and {"orders":{"broker-a":{"0":23}}} of the RocketMQ source.
func parseSpark(data []byte) (File, error) {
	w := newWalker(data)
	var c collector
	err := w.object(func(topic string) error {
		return w.object(func(name string) error {
			if !w.startsObject() {
				return w.sparkEntry(&c, offset.Partition{Topic: topic}, name)
			}
			return w.object(func(index string) error {
				if name == "" {
					return errors.New("the broker is missing")
				}
				return w.sparkEntry(&c, offset.Partition{Topic: topic, Broker: name}, index)
			})
		})
	})
	if err == nil {
		err = w.end()
	}
	if err != nil {
		return File{}, err
	}
	return File{Sets: c.all()}, nil
}

func (w *walker) sparkEntry(c *collector, p offset.Partition, index string) error {
	text, err := w.digits()
	if err != nil {
		return err
	}
	var ok bool
	if p.Index, ok = offset.ParseIndex(index); !ok {
		return fmt.Errorf("%q is no partition number", index)
	}
	n, err := ParseOffset(text)
	if err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	return c.add("", p, n)
}

// Spark writes positions as Structured Streaming's startingOffsets takes them, in one line. Spark demands every partition of
// every topic, and looks at the option only while its checkpoint is new. RocketMQ queues, of one topic, get the level for
// brokers that their source has.
func Spark(s Set) ([]byte, error) {
	queues := len(s.Positions) > 0 && s.Positions[0].Partition.Broker != ""
	for _, x := range s.Positions {
		if err := checkPosition("spark", s.Group, x, queues); err != nil {
			return nil, err
		}
	}
	topics := runs(s.Positions, func(p offset.Partition) string { return p.Topic })
	switch {
	case len(topics) == 0:
		return nil, errors.New("spark: no positions")
	case queues && len(topics) > 1:
		return nil, errors.New("spark: the RocketMQ source reads one topic; select one")
	}
	return []byte(object(topics, func(topic []offset.Position) (string, string) {
		name := topic[0].Partition.Topic
		if !queues {
			return name, numbers(topic)
		}
		brokers := runs(topic, func(p offset.Partition) string { return p.Broker })
		return name, object(brokers, func(broker []offset.Position) (string, string) {
			return broker[0].Partition.Broker, numbers(broker)
		})
	}) + "\n"), nil
}

// numbers is {"0":23,"1":5}.
func numbers(ps []offset.Position) string {
	return object(ps, func(x offset.Position) (string, string) {
		return strconv.Itoa(int(x.Partition.Index)), strconv.FormatInt(x.Offset, 10)
	})
}

// object is a JSON object with one member for each item, in their order.
func object[T any](items []T, member func(T) (name, value string)) string {
	var b strings.Builder
	for i, x := range items {
		b.WriteByte("{,"[min(i, 1)])
		name, value := member(x)
		b.WriteString(quote(name) + ":" + value)
	}
	return b.String() + "}"
}

// quote is a JSON text, which is also one in Python and Scala.
func quote(s string) string {
	b, err := encode(s)
	if err != nil { // no text fails
		panic(err)
	}
	return string(b)
}

// runs cuts sorted positions where the key changes.
func runs(ps []offset.Position, key func(offset.Partition) string) (out [][]offset.Position) {
	for len(ps) > 0 {
		n := slices.IndexFunc(ps, func(x offset.Position) bool { return key(x.Partition) != key(ps[0].Partition) })
		if n < 0 {
			n = len(ps)
		}
		out = append(out, ps[:n])
		ps = ps[n:]
	}
	return out
}
