package positions

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/offset"
)

// Selection says which partitions are meant. The zero Selection narrows nothing down: it matches every partition.
// Names are literal, never patterns. Without a broker, a topic or a number means it on every broker.
type Selection struct {
	parts []part // in normal form: sorted, each topic and broker once, nothing selected twice
}

// part is what is selected of one topic: all of it, or some numbers.
type part struct {
	topic, broker string
	numbers       ranges // nil: all
}

func (p part) compare(q part) int {
	return cmp.Or(strings.Compare(p.topic, q.topic), strings.Compare(p.broker, q.broker))
}

func (p part) match(x offset.Partition) bool {
	return p.topic == x.Topic && (p.broker == "" || p.broker == x.Broker) && (p.numbers == nil || p.numbers.contain(x.Index))
}

func (p part) String() string {
	s := p.topic
	if p.broker != "" {
		s += "@" + p.broker
	}
	if p.numbers != nil {
		s += ":" + p.numbers.String()
	}
	return s
}

// ParseSelection reads texts like orders, orders:0,2-5, orders@broker-a and orders@broker-a:0. Several texts add up.
func ParseSelection(texts ...string) (Selection, error) {
	parts := make([]part, len(texts))
	for i, text := range texts {
		var err error
		if parts[i], err = parsePart(text); err != nil {
			return Selection{}, fmt.Errorf("selection %q: %w", text, err)
		}
	}
	return Selection{normal(parts)}, nil
}

func parsePart(text string) (p part, err error) {
	name := text
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		name = text[:i]
		if p.numbers, err = parseRanges(text[i+1:]); err != nil {
			return part{}, err
		}
	}
	var at bool
	p.topic, p.broker, at = strings.Cut(name, "@")
	switch {
	case p.topic == "":
		return part{}, errors.New("the topic is missing; write orders, orders:0,2-5 or orders@broker-a:0")
	case at && p.broker == "":
		return part{}, errors.New("the broker after @ is missing")
	case strings.Contains(name, ","):
		return part{}, errors.New("a comma separates the partitions of one topic; give every topic for itself")
	}
	return p, nil
}

// SelectionOf selects exactly these partitions: all of them where there are none.
func SelectionOf(ps []offset.Partition) Selection {
	parts := make([]part, len(ps))
	for i, p := range ps {
		parts[i] = part{p.Topic, p.Broker, ranges{{p.Index, p.Index}}}
	}
	return Selection{normal(parts)}
}

// normal sorts and merges the parts, and takes out of those with a broker what is selected on every broker.
func normal(parts []part) []part {
	slices.SortStableFunc(parts, part.compare)
	var out []part
	var everywhere part // what is selected of the topic on every broker: it comes first
	for rest := parts; len(rest) > 0; {
		n := slices.IndexFunc(rest, func(q part) bool { return q.compare(rest[0]) != 0 })
		if n < 0 {
			n = len(rest)
		}
		p := merged(rest[:n])
		rest = rest[n:]
		if p.broker == "" {
			everywhere = p
		} else if p.topic == everywhere.topic {
			if everywhere.numbers == nil {
				continue
			}
			if p.numbers != nil {
				p.numbers = p.numbers.without(everywhere.numbers)
				if len(p.numbers) == 0 {
					continue
				}
			}
		}
		out = append(out, p)
	}
	return out
}

// merged makes one part out of several of the same topic and broker.
func merged(same []part) part {
	p := part{topic: same[0].topic, broker: same[0].broker}
	var all ranges
	for _, q := range same {
		if q.numbers == nil {
			return p
		}
		all = append(all, q.numbers...)
	}
	p.numbers = all.normal()
	return p
}

// Empty tells whether nothing was selected, which matches everything.
func (s Selection) Empty() bool { return len(s.parts) == 0 }

// Topics are the topics of which something is selected, sorted; nil means all.
func (s Selection) Topics() []string {
	var out []string
	for _, p := range s.parts {
		if n := len(out); n == 0 || out[n-1] != p.topic {
			out = append(out, p.topic)
		}
	}
	return out
}

// Brokers are the only brokers of which something is selected, sorted; nil means all.
func (s Selection) Brokers() (out []string) {
	for _, p := range s.parts {
		if p.broker == "" {
			return nil
		}
		out = append(out, p.broker)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Match tells whether p is selected.
func (s Selection) Match(p offset.Partition) bool {
	if s.Empty() {
		return true
	}
	for _, broker := range []string{"", p.Broker} {
		i, ok := slices.BinarySearchFunc(s.parts, part{topic: p.Topic, broker: broker}, part.compare)
		if ok && s.parts[i].match(p) {
			return true
		}
	}
	return false
}

// Without is what was selected and is none of ps, as texts: names that do not exist, if ps is all that exists.
func (s Selection) Without(ps []offset.Partition) []string {
	var out []string
	for _, p := range s.parts {
		var there ranges
		for _, x := range ps {
			if p.match(x) {
				there = append(there, span{x.Index, x.Index})
			}
		}
		missing := p
		if p.numbers != nil {
			missing.numbers = p.numbers.without(there.normal())
		}
		if p.numbers == nil && there == nil || len(missing.numbers) > 0 {
			out = append(out, missing.String())
		}
	}
	return out
}

// Texts are the selection as it is given, one text for each topic and broker: ParseSelection(s.Texts()...) is s,
// if no name has a comma and no topic that is selected as a whole has a colon. No broker allows such names.
func (s Selection) Texts() []string {
	out := make([]string, len(s.parts))
	for i, p := range s.parts {
		out[i] = p.String()
	}
	return out
}

// String is for people: "orders:0,2-5, payments", or "all topics".
func (s Selection) String() string {
	if s.Empty() {
		return "all topics"
	}
	return strings.Join(s.Texts(), ", ")
}
