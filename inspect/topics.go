package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/internal/near"
	"github.com/offsetctl/offsetctl/offset"
)

// span is a topic and where its partitions lie in taking.logs.
type span struct {
	offset.Topic
	every   bool     // asked of each group, not only of those that have something stored for it
	at      []int32  // of each of Topic.Logs its index in taking.logs; -1: not selected
	brokers []string // of a RocketMQ topic, sorted
}

// askedTopics makes the spans of the topics that were named, or of all of them.
func (t *taking) askedTopics() {
	if t.ask.Topics == nil && !t.ask.AllTopics {
		return
	}
	var topics []offset.Topic
	for _, tp := range t.sv.Topology.Topics {
		if t.ask.Topics != nil || !tp.Internal {
			topics = append(topics, tp)
		}
	}
	t.addSpans(topics, true)
}

func (t *taking) addSpans(topics []offset.Topic, every bool) {
	n := 0
	for _, tp := range topics {
		n += len(tp.Logs)
	}
	t.logs = slices.Grow(t.logs, n)
	for _, tp := range topics {
		t.addSpan(tp, every)
	}
	t.sortSpans()
}

func (t *taking) addSpan(tp offset.Topic, every bool) {
	sp := span{Topic: tp, every: every, at: make([]int32, len(tp.Logs))}
	for i := range tp.Logs {
		l := &tp.Logs[i]
		sp.at[i] = -1
		if t.ask.Select == nil || t.ask.Select(l.Partition) {
			sp.at[i] = int32(len(t.logs))
			t.logs = append(t.logs, newLog(l))
		}
		if n := len(sp.brokers); l.Partition.Broker != "" && (n == 0 || sp.brokers[n-1] != l.Partition.Broker) {
			sp.brokers = append(sp.brokers, l.Partition.Broker)
		}
	}
	t.spans = append(t.spans, sp)
}

func (t *taking) sortSpans() {
	slices.SortFunc(t.spans, func(x, y span) int { return strings.Compare(x.Name, y.Name) })
	t.named = t.named[:0]
	for i := range t.spans {
		if t.spans[i].every {
			t.named = append(t.named, i)
		}
	}
}

func (t *taking) span(name string) *span {
	if i, ok := slices.BinarySearchFunc(t.spans, name, func(s span, n string) int { return strings.Compare(s.Name, n) }); ok {
		return &t.spans[i]
	}
	return nil
}

// mentionedTopics adds the spans of topics that a group has something stored for.
func (t *taking) mentionedTopics(ctx context.Context, answers []offset.Answer) {
	var found []offset.Topic
	var missing []string
	for _, n := range mentioned(answers) {
		if t.span(n) != nil {
			continue
		}
		i, ok := slices.BinarySearchFunc(t.sv.Topology.Topics, n, func(tp offset.Topic, n string) int { return cmp.Compare(tp.Name, n) })
		if ok {
			found = append(found, t.sv.Topology.Topics[i])
		} else {
			missing = append(missing, n)
		}
	}
	t.addSpans(append(found, t.settle(ctx, missing)...), false)
}

// settle looks up topics that something is stored for and that the list of topics does not have. A whole list is proof that they
// are gone; a partial one proves nothing, so they are asked for by name.
func (t *taking) settle(ctx context.Context, names []string) []offset.Topic {
	if len(names) > 0 && !t.sv.Topology.Whole {
		top, err := t.broker.Topology(ctx, names)
		if err == nil {
			return top.Topics
		}
		return topicsWith(names, fmt.Errorf("the topic is not listed, and asking for it by name failed: %w", err))
	}
	return topicsWith(names, offset.ErrUnknownName)
}

func topicsWith(names []string, err error) []offset.Topic {
	out := make([]offset.Topic, len(names))
	for i, n := range names {
		out[i] = offset.Topic{Name: n, Err: err}
	}
	return out
}

// mentioned lists the topics of all answers, sorted.
func mentioned(answers []offset.Answer) []string {
	var names []string
	for _, a := range answers {
		for _, e := range a.Others {
			if n := len(names); n == 0 || names[n-1] != e.Partition.Topic {
				names = append(names, e.Partition.Topic)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// missingTopics is the error of topics that were named, do not exist, and have nothing stored.
func (t *taking) missingTopics(ctx context.Context) error {
	if t.ask.Topics == nil || t.ask.Vanished {
		return nil
	}
	var missing []string
	for _, sp := range t.spans {
		if errors.Is(sp.Err, offset.ErrUnknownName) && !t.hasLines(sp.Name) {
			missing = append(missing, sp.Name)
		}
	}
	if missing == nil {
		return nil
	}
	meant := ""
	if top, err := t.broker.Topology(ctx, nil); err == nil {
		meant = near.Name(missing[0], func(yield func(string) bool) {
			for _, tp := range top.Topics {
				if !yield(tp.Name) {
					return
				}
			}
		})
	}
	return unknownName("topic", missing, meant)
}

func (t *taking) hasLines(topic string) bool {
	return slices.ContainsFunc(t.sv.Lines, func(l Line) bool { return l.Partition.Topic == topic })
}

// unknownName says that something does not exist, and what it may have been meant to be.
func unknownName(what string, names []string, meant string) error {
	verb := offset.ErrUnknownName
	text := what + " " + names[0]
	if len(names) > 1 {
		text = fmt.Sprintf("%ss %s: each of them", what, strings.Join(names, ", "))
	}
	if meant != "" {
		return fmt.Errorf("%s %w; did you mean %s?", text, verb, meant)
	}
	return fmt.Errorf("%s %w, and nothing is stored for it (offsetctl topics lists what there is)", text, verb)
}
