package rocketmq

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/offset"
)

// found is what one broker has of one group.
type found struct {
	*reading
	b      remoting.Broker
	group  string
	exact  bool // values came from the table: what is not among them is not there
	mu     sync.Mutex
	values map[offset.Partition]offset.Stored
	failed map[offset.Partition]error
	stats  map[offset.Partition]remoting.ConsumeStats
}

// ask reads the table or the group's statistics.
func (f *found) ask(ctx context.Context, q offset.Query) error {
	f.values, f.failed, f.stats = map[offset.Partition]offset.Stored{}, map[offset.Partition]error{}, map[offset.Partition]remoting.ConsumeStats{}
	if f.whole {
		if err := f.askTable(ctx); err != nil {
			return err
		}
		if len(f.qs) > fewGroups {
			return nil
		}
	}
	stats, err := f.client.ConsumeStats(ctx, f.b, f.group, onlyTopic(q))
	if err != nil {
		return err
	}
	for mq, st := range stats {
		if f.isStatic(mq.Topic) {
			continue
		}
		p := offset.Partition{Topic: mq.Topic, Broker: f.b.Name, Index: mq.ID}
		f.stats[p] = st
		if !f.exact && st.Consumer > 0 { // 0 may be none
			f.values[p] = stored(st.Consumer)
		}
	}
	return nil
}

// onlyTopic is the one topic that a query is about, "" when it is about several or all.
func onlyTopic(q offset.Query) string {
	if q.Topics == nil {
		return ""
	}
	names := slices.Clone(q.Topics)
	for _, p := range q.Expect {
		names = append(names, p.Topic)
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 1 {
		return names[0]
	}
	return ""
}

func (f *found) askTable(ctx context.Context) error {
	t, err := f.table(ctx, f.b)
	if err != nil {
		return err
	}
	f.exact = true
	for p, n := range t.of[f.group] {
		f.values[p] = stored(n)
	}
	return nil
}

// settle finds out about the expected queues for which nothing, or a 0, was shown.
func (f *found) settle(ctx context.Context, q offset.Query) {
	doubts := map[string][]offset.Partition{}
	for _, p := range q.Expect {
		if _, known := f.values[p]; p.Broker == f.b.Name && !known && !f.exact {
			doubts[p.Topic] = append(doubts[p.Topic], p)
		}
	}
	if len(doubts) == 0 {
		return
	}
	if f.client.Version(f.b.Addr) < remoting.Version5_0_0 {
		t, err := f.table(ctx, f.b) // before 5.0 no other answer tells 0 from none
		for topic, ps := range doubts {
			for _, p := range ps {
				if n, there := t.of[f.group][p]; err != nil {
					f.failed[p] = fmt.Errorf("%s: %w", p, asked(f.b, err))
				} else if there {
					f.values[p] = stored(n)
				}
			}
			delete(doubts, topic)
		}
		return
	}
	var ask []offset.Partition
	for topic, ps := range doubts {
		if len(ps) > fewDoubts && f.hasNothing(ctx, topic) {
			continue
		}
		ask = append(ask, ps...)
	}
	each(len(ask), func(i int) { f.query(ctx, ask[i]) })
}

// hasNothing: the broker has no position of the topic at all. When that cannot be told, each queue is asked.
func (f *found) hasNothing(ctx context.Context, topic string) bool {
	topics, err := f.client.TopicsOfGroup(ctx, f.b, f.group)
	return err == nil && !slices.Contains(topics, topic)
}

func (f *found) query(ctx context.Context, p offset.Partition) {
	n, there, err := f.client.QueryOffset(ctx, f.b, f.group, p.Topic, p.Index)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err != nil:
		f.failed[p] = fmt.Errorf("%s: %w", p, asked(f.b, err))
	case there:
		f.values[p] = stored(n)
	}
}

// answer is what is known of an expected queue; where nothing is known after all was asked, nothing is there.
func (f *found) answer(p offset.Partition) offset.Result[offset.Stored] {
	if err := f.failed[p]; err != nil {
		return offset.Result[offset.Stored]{Err: err}
	}
	v, there := f.values[p]
	if !there {
		return offset.Result[offset.Stored]{Value: absent()}
	}
	if st := f.stats[p]; v.State == offset.Set && st.Consumer == v.Next && st.LastTime > 0 {
		v.LastRead = time.UnixMilli(st.LastTime)
	}
	return offset.Result[offset.Stored]{Value: v}
}
