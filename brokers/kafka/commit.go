package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

const (
	keyOffsetCommit = 8
	commitName      = 9  // the last version that commits by name
	commitByID      = 10 // by topic id: a topic that was made again meanwhile is refused
)

// commitBytes is how much of the offsets topic one request may fill: brokers write it as one batch, of at most 1 MB as they come.
const commitBytes = 400_000

// sending is one request of a write.
type sending struct {
	node  int32
	group string
	ch    []offset.Change
	which []int
	kind  sendKind

	errs      []error
	lost      bool // no answer came
	elsewhere bool // another broker keeps the group: nothing was written
	noGroup   bool // there is no group that keeps positions in this way
}

type sendKind uint8

const (
	sendCommit sendKind = iota
	sendDelete
	sendShare
)

// sends splits changes into requests.
func (w *writing) sends(node int32, which []int) (out []sending) {
	if w.g.kindOf(w.group) == share {
		return w.shareSends(node, which)
	}
	var deletes, commits []int
	size := 0
	flush := func() {
		if len(commits) > 0 {
			out = append(out, sending{node: node, group: w.group, ch: w.ch, which: commits, kind: sendCommit})
			commits, size = nil, 0
		}
	}
	for _, i := range which {
		c := &w.ch[i]
		if c.To.State == offset.Absent && c.To.Raw == nil {
			deletes = append(deletes, i)
			continue
		}
		n := 64 + len(w.group) + len(c.Partition.Topic) + len(c.To.Metadata)
		if size+n > commitBytes {
			flush()
		}
		commits, size = append(commits, i), size+n
	}
	flush()
	if len(deletes) > 0 {
		out = append(out, sending{node: node, group: w.group, ch: w.ch, which: deletes, kind: sendDelete})
	}
	return out
}

func (w *writing) shareSends(node int32, which []int) []sending {
	var moves []int
	for _, i := range which {
		if n, ok := number(w.ch[i].To); !ok || n < 0 {
			w.out[i].Err = fmt.Errorf("%v: %w", w.ch[i].Partition, errShareAbsent)
			continue
		}
		moves = append(moves, i)
	}
	if len(moves) == 0 {
		return nil
	}
	return []sending{{node: node, group: w.group, ch: w.ch, which: moves, kind: sendShare}}
}

func (s *sending) run(ctx context.Context, c *Cluster) {
	s.errs = make([]error, len(s.which))
	switch s.kind {
	case sendCommit:
		s.commit(ctx, c)
	case sendDelete:
		s.remove(ctx, c)
	case sendShare:
		s.alter(ctx, c)
	}
}

func (s *sending) noAnswer(err error) {
	s.lost = true
	for i := range s.errs {
		s.errs[i] = err
	}
}

// commit writes as a stranger to the group: generation -1 and no member.
func (s *sending) commit(ctx context.Context, c *Cluster) {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = s.group, -1
	t := c.table.Load()
	newest := int16(commitByID)
	for _, i := range s.which {
		p := s.ch[i].Partition
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != p.Topic {
			topic := kmsg.OffsetCommitRequestTopic{Topic: p.Topic}
			if x := t.topic(p.Topic); x != nil {
				topic.TopicID = x.id
			}
			if topic.TopicID == (topicID{}) {
				newest = commitName
			}
			req.Topics = append(req.Topics, topic)
		}
		into := &req.Topics[len(req.Topics)-1]
		to := &s.ch[i].To
		n, _ := number(*to)
		into.Partitions = append(into.Partitions, kmsg.OffsetCommitRequestTopicPartition{
			Partition: p.Index, Offset: n, LeaderEpoch: to.LeaderEpoch.Wire(), Metadata: &to.Metadata,
		})
	}
	r, err := once[*kmsg.OffsetCommitResponse](ctx, c, s.node, capped{req, newest})
	if err != nil {
		s.noAnswer(err)
		return
	}
	for ti := range r.Topics {
		if r.Version >= commitByID { // answered by id, too
			for k := range req.Topics {
				if req.Topics[k].TopicID == r.Topics[ti].TopicID {
					r.Topics[ti].Topic = req.Topics[k].Topic
				}
			}
		}
	}
	s.eachAnswer(func(yield func(topic string, index int32, code int16)) {
		for ti := range r.Topics {
			for pi := range r.Topics[ti].Partitions {
				yield(r.Topics[ti].Topic, r.Topics[ti].Partitions[pi].Partition, r.Topics[ti].Partitions[pi].ErrorCode)
			}
		}
	}, "READ")
}

// remove takes positions away.
func (s *sending) remove(ctx context.Context, c *Cluster) {
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = s.group
	for _, i := range s.which {
		p := s.ch[i].Partition
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != p.Topic {
			req.Topics = append(req.Topics, kmsg.OffsetDeleteRequestTopic{Topic: p.Topic})
		}
		into := &req.Topics[len(req.Topics)-1]
		into.Partitions = append(into.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: p.Index})
	}
	r, err := once[*kmsg.OffsetDeleteResponse](ctx, c, s.node, req)
	if err != nil {
		s.noAnswer(err)
		return
	}
	if moved(r.ErrorCode) {
		s.elsewhere = true
	}
	if r.ErrorCode == kerr.GroupIDNotFound.Code { // nothing is there to be taken away; reading back proves it
		return
	}
	if r.ErrorCode != 0 {
		for k := range s.errs {
			s.errs[k] = refused("group "+s.group, "DELETE", r.ErrorCode, nil)
		}
		return
	}
	s.eachAnswer(func(yield func(topic string, index int32, code int16)) {
		for ti := range r.Topics {
			for pi := range r.Topics[ti].Partitions {
				yield(r.Topics[ti].Topic, r.Topics[ti].Partitions[pi].Partition, r.Topics[ti].Partitions[pi].ErrorCode)
			}
		}
	}, "READ")
	for k, err := range s.errs {
		if errors.Is(err, offset.ErrUnknownName) {
			s.errs[k] = fmt.Errorf("%w: Kafka deletes a position only while its partition exists; it goes with the whole group, or when it expires", err)
		}
	}
}

// eachAnswer gives every change its partition's code.
func (s *sending) eachAnswer(all func(yield func(topic string, index int32, code int16)), right string) {
	for k, i := range s.which {
		s.errs[k] = leftOut(s.ch[i].Partition.String())
	}
	next := 0
	all(func(topic string, index int32, code int16) {
		k := s.at(offset.Partition{Topic: topic, Index: index}, next)
		if k < 0 {
			return
		}
		next = k + 1
		p := s.ch[s.which[k]].Partition
		what := p.String()
		switch code {
		case codeTopicDenied:
			what = "topic " + topic
		case kerr.GroupAuthorizationFailed.Code:
			what = "group " + s.group
		}
		s.errs[k] = refused(what, right, code, nil)
		s.elsewhere = s.elsewhere || moved(code)
		s.noGroup = s.noGroup || code == kerr.GroupIDNotFound.Code
	})
}

// at finds a change by its partition; the list is sorted.
func (s *sending) at(p offset.Partition, hint int) int {
	if hint < len(s.which) && s.ch[s.which[hint]].Partition == p {
		return hint
	}
	lo, hi := 0, len(s.which)
	for lo < hi {
		mid := (lo + hi) / 2
		if s.ch[s.which[mid]].Partition.Compare(p) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(s.which) && s.ch[s.which[lo]].Partition == p {
		return lo
	}
	return -1
}
