package kafka

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

// shots are the requests for these queries: for each leader one of each kind.
func (l *logAsk) shots(which []int) (out []shot) {
	for _, group := range l.byLeader(which) {
		node := l.leaders[group[0]]
		add := func(req kmsg.Request, read func(kmsg.Response, *logAsk, []int)) {
			out = append(out, shot{node: node, req: req, which: group, read: read})
		}
		fixed := func(ts int64) func(int) (int64, bool) { return func(int) (int64, bool) { return ts, true } }
		add(l.listOffsets(group, uncommitted, fixed(tsEarliest)), bound(gotStart, func(v *offset.Log, p *kmsg.ListOffsetsResponseTopicPartition) {
			v.Start = p.Offset
		}))
		add(l.listOffsets(group, committed, fixed(tsLatest)), bound(gotStable, func(v *offset.Log, p *kmsg.ListOffsetsResponseTopicPartition) {
			v.Stable = p.Offset
		}))
		add(l.listOffsets(group, uncommitted, fixed(tsLatest)), bound(gotEnd, func(v *offset.Log, p *kmsg.ListOffsetsResponseTopicPartition) {
			v.End, v.Current = p.Offset, offset.EpochOf(p.LeaderEpoch)
		}))
		for k := range l.times {
			req := l.listOffsets(group, uncommitted, func(i int) (int64, bool) {
				if k >= len(l.qs[i].Times) {
					return 0, false
				}
				return millis(l.qs[i].Times[k]), true
			})
			if req != nil {
				add(req, bound(0, func(v *offset.Log, p *kmsg.ListOffsetsResponseTopicPartition) { v.Times[k] = p.Offset }))
			}
		}
		for k := range l.epochs {
			if req := l.leaderEpochs(group, k); req != nil {
				add(req, epochEnd(k))
			}
		}
	}
	return out
}

// byLeader splits queries by their leaders, each part in order.
func (l *logAsk) byLeader(which []int) (groups [][]int) {
	var nodes []int32
	for _, i := range which {
		k := slices.Index(nodes, l.leaders[i])
		if k < 0 {
			k = len(nodes)
			nodes, groups = append(nodes, l.leaders[i]), append(groups, make([]int, 0, len(which)/(k+1)))
		}
		groups[k] = append(groups[k], i)
	}
	return groups
}

// listOffsets asks for one timestamp of each partition; nil: of none.
func (l *logAsk) listOffsets(which []int, isolation int8, ts func(i int) (int64, bool)) kmsg.Request {
	req := kmsg.NewPtrListOffsetsRequest()
	req.IsolationLevel = isolation
	all := make([]kmsg.ListOffsetsRequestTopicPartition, 0, len(which))
	for _, run := range l.runs(which) {
		from := len(all)
		for _, i := range run.which {
			if v, ok := ts(i); ok {
				all = append(all, kmsg.ListOffsetsRequestTopicPartition{Partition: l.qs[i].Partition.Index, CurrentLeaderEpoch: -1, Timestamp: v})
			}
		}
		if len(all) > from {
			req.Topics = append(req.Topics, kmsg.ListOffsetsRequestTopic{Topic: run.name, Partitions: all[from:len(all):len(all)]})
		}
	}
	if len(all) == 0 {
		return nil
	}
	return req
}

// bound reads an answer to listOffsets.
func bound(bit uint8, put func(*offset.Log, *kmsg.ListOffsetsResponseTopicPartition)) func(kmsg.Response, *logAsk, []int) {
	return func(r kmsg.Response, l *logAsk, asked []int) {
		resp, ok := r.(*kmsg.ListOffsetsResponse)
		if !ok {
			return
		}
		at := answering{l, asked, 0}
		for ti := range resp.Topics {
			t := &resp.Topics[ti]
			for pi := range t.Partitions {
				p := &t.Partitions[pi]
				i, ok := at.next(t.Topic, p.Partition)
				if !ok {
					continue
				}
				if l.refused(i, p.ErrorCode) {
					continue
				}
				put(&l.out[i].Value, p)
				l.got[i] |= bit
			}
		}
	}
}

// refused notes a partition's error.
func (l *logAsk) refused(i int, code int16) bool {
	if code == 0 {
		return false
	}
	what := "topic " + l.qs[i].Partition.Topic
	if code != codeTopicDenied {
		what = l.qs[i].Partition.String()
	}
	l.out[i].Err = refused(what, "DESCRIBE", code, nil)
	if leaderMoved(code) {
		l.got[i] |= gotMoved
	}
	return true
}

// leaderEpochs asks for the end of the k-th epoch of each partition; nil: of none.
func (l *logAsk) leaderEpochs(which []int, k int) kmsg.Request {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	for _, run := range l.runs(which) {
		t := kmsg.OffsetForLeaderEpochRequestTopic{Topic: run.name}
		for _, i := range run.which {
			if k < len(l.qs[i].Epochs) {
				t.Partitions = append(t.Partitions, kmsg.OffsetForLeaderEpochRequestTopicPartition{
					Partition: l.qs[i].Partition.Index, CurrentLeaderEpoch: -1, LeaderEpoch: l.qs[i].Epochs[k],
				})
			}
		}
		if len(t.Partitions) > 0 {
			req.Topics = append(req.Topics, t)
		}
	}
	if len(req.Topics) == 0 {
		return nil
	}
	return req
}

// epochEnd reads an answer to leaderEpochs.
func epochEnd(nth int) func(kmsg.Response, *logAsk, []int) {
	return func(r kmsg.Response, l *logAsk, asked []int) {
		resp, ok := r.(*kmsg.OffsetForLeaderEpochResponse)
		if !ok {
			return
		}
		at := answering{l, asked, 0}
		for ti := range resp.Topics {
			t := &resp.Topics[ti]
			for pi := range t.Partitions {
				p := &t.Partitions[pi]
				i, ok := at.next(t.Topic, p.Partition)
				if !ok {
					continue
				}
				if nth < len(l.out[i].Value.EpochEnds) && !l.refused(i, p.ErrorCode) {
					l.out[i].Value.EpochEnds[nth] = p.EndOffset
				}
			}
		}
	}
}

// answering walks through an answer, which mostly has the order of the question.
type answering struct {
	l     *logAsk
	asked []int
	from  int
}

// next is the query that a partition of the answer belongs to; false where nobody asked for it.
func (a *answering) next(topic string, partition int32) (query int, ok bool) {
	k := a.l.at(a.asked, topic, partition, a.from)
	if k < 0 {
		return 0, false
	}
	a.from = k + 1
	return a.asked[k], true
}
