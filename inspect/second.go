package inspect

import (
	"context"
	"errors"

	"github.com/offsetctl/offsetctl/offset"
)

// startSecondRead asks by name for what the first answers leave open, in the trip of the bounds: absence, which only an answer by
// name proves, and in a broker's own store the position under the topic's id, where only a log made again tells itself apart.
func (t *taking) startSecondRead(ctx context.Context) func() {
	var qs []offset.Query
	var at [][]int32 // of each query the lines of its Expect
	line := 0
	for i, n := range t.counts {
		q := offset.Query{Group: t.groups[i], Topics: []string{}} // nothing but Expect
		var lines []int32
		for k := line; k < line+n; k++ {
			if p, ok := t.askedTwice(k); ok {
				q.Expect, lines = append(q.Expect, p), append(lines, int32(k))
			}
		}
		line += n
		if lines != nil {
			qs, at = append(qs, q), append(at, lines)
		}
	}
	if qs == nil {
		return func() {}
	}
	read := start(func() ([]offset.Answer, error) { return t.store.Read(ctx, qs), nil })
	return func() {
		answers, _ := read()
		for i, an := range answers {
			for k, r := range an.Expected {
				second(&t.sv.Lines[at[i][k]].Stored, r)
			}
		}
	}
}

func (t *taking) askedTwice(line int) (offset.Partition, bool) {
	l := &t.sv.Lines[line]
	open, underID := errors.Is(l.Stored.Err, errOpen), t.sv.Own && l.TopicID != "" && l.Stored.Err == nil
	if !l.Exists || l.Ambiguous != "" || !open && !underID {
		return offset.Partition{}, false
	}
	return t.asStored(t.span(l.Partition.Topic), l.Partition)
}

// second lays the answer by name beside the first. The first keeps its number, because it was read before the bounds, so that a
// busy group does not seem to be ahead of its log.
func second(first *offset.Result[offset.Stored], named offset.Result[offset.Stored]) {
	switch {
	case first.Err != nil:
		*first = named
	case named.Err != nil:
	case named.Value.State == offset.Absent && named.Value.Evidence == nil:
		*first = named // gone in between
	default:
		if named.Value.Evidence != nil {
			first.Value.Evidence = named.Value.Evidence
		}
		if first.Value.Pending == nil {
			first.Value.Pending = named.Value.Pending
		}
	}
}
