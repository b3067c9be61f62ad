package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/offset"
)

// errOpen stands where an answer is still to come.
var errOpen = errors.New("has not been answered")

// look is what Take knows of a line besides the line.
type look struct {
	log  int32 // index into taking.logs; -1: none
	done need  // what was asked already
}

// expectations lists the partitions that are asked by name of each group, as the store names them.
func (t *taking) expectations() []offset.Partition {
	var out []offset.Partition
	for _, sp := range t.spans {
		if !sp.every {
			continue
		}
		for _, l := range sp.Logs {
			if p, ok := t.asStored(&sp, l.Partition); ok {
				out = append(out, p)
			}
		}
	}
	return out
}

// asStored is the partition as the store names it. A store that keeps no broker cannot name the queues of a topic on several.
func (t *taking) asStored(sp *span, p offset.Partition) (offset.Partition, bool) {
	if t.sv.Caps.Queues || p.Broker == "" {
		return p, true
	}
	p.Broker = ""
	return p, len(sp.brokers) == 1
}

// makeLines merges what is there with what is stored, both sorted, group by group.
func (t *taking) makeLines(ctx context.Context, answers []offset.Answer) error {
	n := 0
	for _, an := range answers {
		n += len(an.Others) + len(an.Expected)
	}
	t.sv.Lines, t.looks = make([]Line, 0, n), make([]look, 0, n)
	t.counts = make([]int, len(t.groups))
	for i, an := range answers {
		before := len(t.sv.Lines)
		t.groupLines(t.groups[i], an)
		t.counts[i] = len(t.sv.Lines) - before
	}
	return t.missingTopics(ctx)
}

// groupLines walks the topics that were asked of every group beside those that this one has something stored for.
func (t *taking) groupLines(group string, an offset.Answer) {
	named, others, expected := t.named, an.Others, an.Expected
	for len(named) > 0 || len(others) > 0 {
		var sp *span
		if len(named) > 0 && (len(others) == 0 || t.spans[named[0]].Name <= others[0].Partition.Topic) {
			sp, named = &t.spans[named[0]], named[1:]
		} else {
			sp = t.span(others[0].Partition.Topic)
		}
		n := 0
		for n < len(others) && others[n].Partition.Topic == sp.Name {
			n++
		}
		m := topicLines{t, group, sp, an.Err}
		if t.byName() && sp.every {
			k := min(len(sp.Logs), len(expected))
			m.merge(others[:n], expected[:k])
			expected = expected[k:]
		} else {
			m.merge(others[:n], nil)
		}
		others = others[n:]
	}
}

// topicLines makes the lines of one topic of one group.
type topicLines struct {
	*taking
	group string
	*span
	err error // nothing is known of the group
}

// merge: expected are the answers by name for all the topic's logs, where there are any yet.
func (m topicLines) merge(stored []offset.Entry, expected []offset.Result[offset.Stored]) {
	stored = m.withBrokers(stored)
	for i, info := range m.Logs {
		for len(stored) > 0 && stored[0].Partition.Compare(info.Partition) < 0 {
			m.alone(stored[0])
			stored = stored[1:]
		}
		l := Line{Group: m.group, Partition: info.Partition, Exists: true, Stored: offset.Result[offset.Stored]{Err: errOpen}}
		switch {
		case m.err != nil:
			l.Stored.Err = m.err
		case i < len(expected):
			l.Stored = expected[i]
		default:
			if _, ok := m.asStored(m.span, info.Partition); !ok {
				l.Stored.Err = fmt.Errorf("the store keeps no broker names, and the topic is on %s: %w", strings.Join(m.brokers, ", "), offset.ErrUnsupported)
			}
		}
		if len(stored) > 0 && stored[0].Partition == info.Partition {
			if l.Stored.Err != nil {
				l.Stored = stored[0].Result
			}
			stored = stored[1:]
		}
		m.add(l, m.at[i])
	}
	for _, e := range stored {
		m.alone(e)
	}
}

func (m topicLines) add(l Line, log int32) {
	l.TopicID, l.StaleAt, l.AtTime, l.EpochEnd, l.WroteAt = m.ID, offset.NoRecord, offset.NoRecord, -1, offset.NoRecord
	if log < 0 && l.Log.Err == nil {
		l.Log.Err = ErrNotAsked
	}
	l.Selected = m.ask.Select == nil || m.ask.Select(l.Partition)
	m.sv.Lines, m.looks = append(m.sv.Lines, l), append(m.looks, look{log: log})
}

// alone is a stored position for which the topic shows no log: an orphan only where that is proof.
func (m topicLines) alone(e offset.Entry) {
	l := Line{Group: m.group, Partition: e.Partition, Stored: e.Result, Exists: true}
	switch {
	case l.Partition.Broker == "" && len(m.brokers) > 1:
		l.Ambiguous = strings.Join(m.brokers, ", ")
		l.Log.Err = fmt.Errorf("it is on %s and the stored position names none of them: %w", l.Ambiguous, offset.ErrUnknownName)
	case m.Err != nil && !errors.Is(m.Err, offset.ErrUnknownName):
		l.Log.Err = m.Err
	case e.Partition.Broker != "" && !m.hasBroker(e.Partition.Broker):
		l.Log.Err = fmt.Errorf("broker %s is not there: %w", e.Partition.Broker, offset.ErrNoLeader)
	default:
		l.Exists = false
		l.Log.Err = offset.ErrUnknownName
	}
	m.add(l, -1)
}

func (m topicLines) hasBroker(name string) bool {
	return slices.ContainsFunc(m.sv.Topology.Brokers, func(s offset.Server) bool { return s.Name == name && s.Err == nil })
}

// withBrokers gives positions that were stored without a broker the only one that the topic has.
func (m topicLines) withBrokers(stored []offset.Entry) []offset.Entry {
	bare := func(e offset.Entry) bool { return e.Partition.Broker == "" }
	if len(m.brokers) != 1 || !slices.ContainsFunc(stored, bare) {
		return stored
	}
	stored = slices.Clone(stored)
	for i := range stored {
		if bare(stored[i]) {
			stored[i].Partition.Broker = m.brokers[0]
		}
	}
	slices.SortStableFunc(stored, func(x, y offset.Entry) int { return x.Partition.Compare(y.Partition) })
	return stored
}
