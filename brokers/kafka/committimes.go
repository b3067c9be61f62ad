package kafka

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf16"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

var _ offset.CommitTimer = groupStore{}

const (
	offsetsTopic = "__consumer_offsets"
	scanBytes    = 8 << 20 // of one answer
)

// CommitTimes reads through the partition of __consumer_offsets that has the group: no request tells when a position was
// committed. It needs the right READ on that topic, and takes as long as the partition is big.
func (g groupStore) CommitTimes(ctx context.Context, group string, at []offset.Partition) []offset.Result[time.Time] {
	out := make([]offset.Result[time.Time], len(at))
	s := &scan{c: g.Cluster, group: group, at: at, out: out}
	if err := s.run(ctx); err != nil {
		for i := range out {
			out[i].Err = fmt.Errorf("when %v of group %s was committed could not be told: %w", at[i], group, err)
		}
	}
	return out
}

// scan is a walk over one partition of the offsets topic.
type scan struct {
	c     *Cluster
	group string
	at    []offset.Partition
	out   []offset.Result[time.Time]
}

func (s *scan) run(ctx context.Context) error {
	if len(s.at) == 0 {
		return nil
	}
	t, err := s.c.refresh(ctx, []string{offsetsTopic})
	if err != nil {
		return err
	}
	x := t.topic(offsetsTopic)
	switch {
	case x == nil:
		return leftOut("topic " + offsetsTopic)
	case x.err != nil:
		return x.err
	case len(x.parts) == 0:
		return fmt.Errorf("topic %s %w", offsetsTopic, offset.ErrUnknownName)
	}
	home := offset.Partition{Topic: offsetsTopic, Index: homeOf(s.group, len(x.parts))}
	log := s.c.Logs(ctx, []offset.LogQuery{{Partition: home}})[0]
	if log.Err != nil {
		return log.Err
	}
	for next := log.Value.Start; next < log.Value.Stable; {
		after, err := s.fetch(ctx, home, x, next)
		if err != nil {
			return err
		}
		if after <= next {
			return fmt.Errorf("%v: the broker gives nothing at %d, before the end %d", home, next, log.Value.Stable)
		}
		next = after
	}
	return nil
}

// fetch reads one answer's worth of records and answers the position behind them.
func (s *scan) fetch(ctx context.Context, home offset.Partition, x *topic, next int64) (int64, error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.IsolationLevel, req.SessionEpoch = scanBytes, committed, -1
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic, rt.TopicID = home.Topic, x.id
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes = home.Index, next, scanBytes
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	newest := req.MaxVersion()
	if x.id == (topicID{}) {
		newest = fetchRecordsByName
	}
	r, err := request[*kmsg.FetchResponse](ctx, s.c, x.part(home.Index).leader, capped{req, newest})
	if err != nil {
		return 0, err
	}
	if err := refused(home.String(), "READ", r.ErrorCode, nil); err != nil {
		return 0, err
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return 0, leftOut(home.String())
	}
	p := &r.Topics[0].Partitions[0]
	if err := refused("topic "+home.Topic, "READ", p.ErrorCode, nil); err != nil {
		return 0, err
	}
	opts := kgo.ProcessFetchPartitionOpts{Offset: next, Topic: home.Topic, Partition: home.Index, IsolationLevel: kgo.ReadCommitted()}
	fp, after := kgo.ProcessFetchPartition(opts, p, kgo.DefaultDecompressor(), nil)
	for _, rec := range fp.Records {
		s.take(rec)
	}
	return after, fp.Err
}

// take notes a commit of one of the asked partitions; a later one stands for the earlier, an empty one is a deletion.
func (s *scan) take(r *kgo.Record) {
	if len(r.Key) < 2 || r.Key[0] != 0 || r.Key[1] > 1 { // what is no commit has another version
		return
	}
	var k kmsg.OffsetCommitKey
	if k.ReadFrom(r.Key) != nil || k.Group != s.group {
		return
	}
	i, ok := slices.BinarySearchFunc(s.at, offset.Partition{Topic: k.Topic, Index: k.Partition}, offset.Partition.Compare)
	if !ok {
		return
	}
	s.out[i].Value = time.Time{}
	var v kmsg.OffsetCommitValue
	if r.Value != nil && v.ReadFrom(r.Value) == nil {
		s.out[i].Value = time.UnixMilli(v.CommitTimestamp).UTC()
	}
}

// homeOf is the partition of the offsets topic that has the group: Java's hash of its name.
func homeOf(group string, partitions int) int32 {
	var h int32
	for _, u := range utf16.Encode([]rune(group)) {
		h = 31*h + int32(u)
	}
	if h < 0 {
		h = -h
	}
	if h < 0 { // the smallest number has no positive one
		h = 0
	}
	return h % int32(partitions)
}
