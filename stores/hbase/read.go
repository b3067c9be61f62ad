package hbase

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/hbase/hrpc"
)

// maxScans bounds how many groups are listed at the same time.
const maxScans = 16

// Read gets the rows of all named topics in one request to each region server, and lists the groups that were asked for whole
// by a scan each.
func (s *Store) Read(ctx context.Context, qs []offset.Query) []offset.Answer {
	out := make([]offset.Answer, len(qs))
	var named namedRows
	slots := make(chan struct{}, maxScans)
	var wg sync.WaitGroup
	for i, q := range qs {
		if q.Topics != nil {
			named.add(s.layout, i, q)
			continue
		}
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			out[i] = s.list(ctx, q)
		})
	}
	got := s.get(ctx, named.keys)
	for i, q := range qs {
		if q.Topics != nil {
			out[i] = s.answer(q, named.of(i, got))
		}
	}
	wg.Wait()
	return out
}

func (s *Store) get(ctx context.Context, keys [][]byte) []hrpc.RowResult {
	if len(keys) == 0 {
		return nil
	}
	return s.client.Get(ctx, keys)
}

// namedRows collects the rows that are asked for by name, those of all queries together.
type namedRows struct {
	keys [][]byte
	rows []namedRow
}

type namedRow struct {
	query int
	topic string
	at    int // in keys
	err   error
}

func (n *namedRows) add(l layout, query int, q offset.Query) {
	for _, topic := range topicsOf(q) {
		row := namedRow{query: query, topic: topic}
		key, err := l.row(q.Group, topic)
		if err != nil {
			row.err = err
		} else {
			row.at = len(n.keys)
			n.keys = append(n.keys, key)
		}
		n.rows = append(n.rows, row)
	}
}

// topicsOf are the topics that a query names, and those of the partitions that it expects.
func topicsOf(q offset.Query) []string {
	topics := slices.Clone(q.Topics)
	for _, p := range q.Expect {
		topics = append(topics, p.Topic)
	}
	slices.Sort(topics)
	return slices.Compact(topics)
}

// topicRow is what is known of one topic of a group.
type topicRow struct {
	topic string
	view  rowView
	err   error
}

func (n *namedRows) of(query int, got []hrpc.RowResult) (rows []topicRow) {
	for _, r := range n.rows {
		if r.query != query {
			continue
		}
		t := topicRow{topic: r.topic, err: r.err}
		if t.err == nil {
			t.err, t.view = got[r.at].Err, view(got[r.at].Row, r.topic)
		}
		rows = append(rows, t)
	}
	return rows
}

// answer puts an answer together from the rows, which are sorted by topic and hold every expected one.
func (s *Store) answer(q offset.Query, rows []topicRow) offset.Answer {
	a := offset.Answer{Expected: make([]offset.Result[offset.Stored], len(q.Expect))}
	for i, p := range q.Expect {
		k, found := slices.BinarySearchFunc(rows, p.Topic, func(r topicRow, t string) int { return strings.Compare(r.topic, t) })
		if !found { // a scan of the whole group did not meet its row
			_, a.Expected[i].Err = s.layout.row(q.Group, p.Topic)
			a.Expected[i].Value = s.stored(nil)
			continue
		}
		a.Expected[i] = s.result(rows[k], p)
	}
	for _, r := range rows {
		if q.Topics == nil || slices.Contains(q.Topics, r.topic) {
			s.others(&a, q, r)
		}
	}
	return a
}

func (s *Store) result(r topicRow, p offset.Partition) (out offset.Result[offset.Stored]) {
	if r.err != nil {
		return offset.Result[offset.Stored]{Err: fmt.Errorf("%s: %w", p, r.err)}
	}
	c, err := r.view.find(p)
	switch {
	case err != nil:
		out.Err = err
	case c == nil:
		out.Value = s.stored(nil)
	default:
		out.Value = s.stored(&c.cell)
	}
	return out
}

// others adds what the row holds beside the expected partitions.
func (s *Store) others(a *offset.Answer, q offset.Query, r topicRow) {
	if r.err != nil {
		a.Gaps = append(a.Gaps, fmt.Errorf("topic %s: %w", r.topic, r.err))
		return
	}
	for i, c := range r.view.columns {
		if i > 0 && r.view.columns[i-1].partition == c.partition {
			continue // find says it
		}
		if _, expected := slices.BinarySearchFunc(q.Expect, c.partition, offset.Partition.Compare); !expected {
			a.Others = append(a.Others, offset.Entry{Partition: c.partition, Result: s.result(r, c.partition)})
		}
	}
	for _, name := range r.view.odd {
		a.Gaps = append(a.Gaps, fmt.Errorf("topic %s: column %q is no partition", r.topic, name))
	}
}

// list reads a whole group. A scan that came to its end proves absence as well as a question by name.
func (s *Store) list(ctx context.Context, q offset.Query) offset.Answer {
	rows, unclear, err := s.rows(ctx, q)
	if err != nil {
		return failed(q, err)
	}
	a := s.answer(q, rows)
	if len(unclear) > 0 {
		a.Gaps = append(a.Gaps, fmt.Errorf("%d rows, such as %q, may be of this group or of one with | in its name: name the topic to read them", len(unclear), unclear[0]))
	}
	return a
}

// rows scans a group's rows, sorted by topic. Those that may be of another group as well are unclear, unless the query expects
// their topic.
func (s *Store) rows(ctx context.Context, q offset.Query) (rows []topicRow, unclear []string, err error) {
	prefix, err := s.layout.row(q.Group, "x")
	if err != nil {
		return nil, nil, err
	}
	prefix = prefix[:len(prefix)-1]
	err = s.client.Scan(ctx, prefix, after(prefix), false, func(r hrpc.Row) error {
		topic, ok := s.layout.topicOf(q.Group, r.Key)
		if !ok {
			topic, ok = s.expectedTopic(q, r.Key)
		}
		if !ok {
			unclear = append(unclear, string(r.Key))
			return nil
		}
		rows = append(rows, topicRow{topic: topic, view: view(r, topic)})
		return nil
	})
	slices.SortFunc(rows, func(a, b topicRow) int { return strings.Compare(a.topic, b.topic) })
	return rows, unclear, err
}

// expectedTopic finds a topic with | in its name that is asked for by name.
func (s *Store) expectedTopic(q offset.Query, row []byte) (string, bool) {
	for _, topic := range topicsOf(q) {
		if key, err := s.layout.row(q.Group, topic); err == nil && string(key) == string(row) {
			return topic, true
		}
	}
	return "", false
}

func failed(q offset.Query, err error) offset.Answer {
	a := offset.Answer{Expected: make([]offset.Result[offset.Stored], len(q.Expect)), Err: err}
	for i, p := range q.Expect {
		a.Expected[i].Err = fmt.Errorf("%s: %w", p, err)
	}
	return a
}

// Groups reads the first cell of every row of the app.
func (s *Store) Groups(ctx context.Context) (groups []string, gaps []error, err error) {
	prefix := []byte(s.layout.prefix())
	var odd []string
	err = s.client.Scan(ctx, prefix, after(prefix), true, func(r hrpc.Row) error {
		group, ok := s.layout.groupOf(r.Key)
		switch {
		case ok && (len(groups) == 0 || groups[len(groups)-1] != group):
			groups = append(groups, group)
		case !ok && !strings.HasPrefix(string(r.Key), logPrefix):
			odd = append(odd, string(r.Key))
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(groups)
	if len(odd) > 0 {
		gaps = append(gaps, fmt.Errorf("%d rows, such as %q, are not named %sgroup|topic and were left out", len(odd), odd[0], s.layout.prefix()))
	}
	return slices.Compact(groups), gaps, nil
}
