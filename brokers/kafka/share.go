package kafka

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

// Share groups keep their own positions: the start of what is not yet acknowledged. Reading committed offsets of such a group
// answers like a group that does not exist.

type sharedGroup = kmsg.DescribeShareGroupOffsetsResponseGroup

// shareAsk is a question to one coordinator for the positions of share groups, or of groups that may be some.
type shareAsk struct {
	node  int32
	named bool // the partitions of Expect; otherwise all
	req   *kmsg.DescribeShareGroupOffsetsRequest
	which []int
	out   []sharedAnswer
}

type sharedAnswer struct {
	g   *sharedGroup
	err error
}

// is tells whether it is the answer of a share group that has positions.
func (s sharedAnswer) is() bool { return s.g != nil && s.g.ErrorCode == 0 && len(s.g.Topics) > 0 }

// shareAsks are the questions for groups whose kind is share or not known.
func (r *reading) shareAsks(node int32, of []int) (asks []*shareAsk) {
	if !r.c.offers.Load().has(keyShareOffsets, 0) {
		return nil
	}
	all := &shareAsk{node: node, req: kmsg.NewPtrDescribeShareGroupOffsetsRequest()}
	named := &shareAsk{node: node, req: kmsg.NewPtrDescribeShareGroupOffsetsRequest(), named: true}
	for _, i := range of {
		q := r.qs[i]
		kind := r.c.kindOf(q.Group)
		if kind != "" && kind != share || q.Group == "" {
			continue
		}
		all.add(i, q.Group, nil)
		if kind == share && len(q.Expect) > 0 {
			named.add(i, q.Group, q.Expect)
		}
	}
	for _, a := range []*shareAsk{all, named} {
		if len(a.which) > 0 {
			asks = append(asks, a)
		}
	}
	return asks
}

func (s *shareAsk) add(i int, group string, expect []offset.Partition) {
	g := kmsg.DescribeShareGroupOffsetsRequestGroup{GroupID: group}
	for _, t := range topicsOf(expect, nil) {
		g.Topics = append(g.Topics, kmsg.DescribeShareGroupOffsetsRequestGroupTopic{Topic: t.Topic, Partitions: t.Partitions})
	}
	s.req.Groups, s.which = append(s.req.Groups, g), append(s.which, i)
}

func (s *shareAsk) run(ctx context.Context, c *Cluster) {
	s.out = make([]sharedAnswer, len(s.which))
	r, err := request[*kmsg.DescribeShareGroupOffsetsResponse](ctx, c, s.node, s.req)
	for i := range s.out {
		name := s.req.Groups[i].GroupID
		if s.out[i].err = err; err != nil {
			continue
		}
		k := i
		if k >= len(r.Groups) || r.Groups[k].GroupID != name {
			k = slices.IndexFunc(r.Groups, func(g sharedGroup) bool { return g.GroupID == name })
		}
		if k < 0 {
			s.out[i].err = leftOut("group " + name)
			continue
		}
		s.out[i].g = &r.Groups[k]
	}
}

// into hands the answers to the queries.
func (s *shareAsk) into(r *reading) {
	into := r.shares
	if s.named {
		into = r.shared
	}
	for k, i := range s.which {
		into[i] = s.out[k]
	}
}

// askNewShares asks by name in the groups that have just turned out to be share groups.
func (r *reading) askNewShares(ctx context.Context, fs []*coordinator, which []int) {
	for k, i := range which {
		if !r.shares[i].is() {
			continue
		}
		r.c.learnKind(r.qs[i].Group, share)
		if len(r.qs[i].Expect) > 0 && r.shared[i].g == nil && r.shared[i].err == nil {
			s := &shareAsk{node: fs[k].node, req: kmsg.NewPtrDescribeShareGroupOffsetsRequest(), named: true}
			s.add(i, r.qs[i].Group, r.qs[i].Expect)
			s.run(ctx, r.c)
			s.into(r)
		}
	}
}

// shareAnswer puts together what was said of a share group.
func (r *reading) shareAnswer(i int) {
	q, a := r.qs[i], &r.out[i]
	if len(q.Expect) > 0 {
		r.sharedExpected(i)
	}
	g := r.shares[i].g
	for ti := range g.Topics {
		t := &g.Topics[ti]
		if q.Topics != nil {
			if _, ok := slices.BinarySearch(q.Topics, t.Topic); !ok {
				continue
			}
		}
		for pi := range t.Partitions {
			p := &t.Partitions[pi]
			e := offset.Entry{Partition: offset.Partition{Topic: t.Topic, Index: p.Partition}}
			if _, asked := slices.BinarySearchFunc(q.Expect, e.Partition, offset.Partition.Compare); asked {
				continue
			}
			if e.Result = sharePosition(e.Partition, p); e.Err != nil || e.Value.State != offset.Absent {
				a.Others = append(a.Others, e)
			}
		}
	}
	slices.SortFunc(a.Others, func(x, y offset.Entry) int { return x.Partition.Compare(y.Partition) })
}

func (r *reading) sharedExpected(i int) {
	q, a := r.qs[i], &r.out[i]
	err := r.shared[i].err
	if g := r.shared[i].g; err == nil && g != nil {
		err = refused("group "+q.Group, "DESCRIBE", g.ErrorCode, g.ErrorMessage)
	}
	for k, p := range q.Expect {
		switch at := sharedPartition(r.shared[i].g, p); {
		case err != nil:
			a.Expected[k].Err = err
		case at == nil:
			a.Expected[k].Err = leftOut(p.String())
		default:
			a.Expected[k] = sharePosition(p, at)
		}
	}
}

func sharedPartition(g *sharedGroup, p offset.Partition) *kmsg.DescribeShareGroupOffsetsResponseGroupTopicPartition {
	if g == nil {
		return nil
	}
	type topic = kmsg.DescribeShareGroupOffsetsResponseGroupTopic
	type partition = kmsg.DescribeShareGroupOffsetsResponseGroupTopicPartition
	t := slices.IndexFunc(g.Topics, func(t topic) bool { return t.Topic == p.Topic })
	if t < 0 {
		return nil
	}
	ps := g.Topics[t].Partitions
	if !slices.IsSortedFunc(ps, func(a, b partition) int { return cmp.Compare(a.Partition, b.Partition) }) {
		slices.SortFunc(ps, func(a, b partition) int { return cmp.Compare(a.Partition, b.Partition) })
	}
	i, ok := slices.BinarySearchFunc(ps, p.Index, func(x partition, n int32) int { return cmp.Compare(x.Partition, n) })
	if !ok {
		return nil
	}
	return &ps[i]
}

// sharePosition: -1 is a partition that the group has not begun.
func sharePosition(p offset.Partition, at *kmsg.DescribeShareGroupOffsetsResponseGroupTopicPartition) (r offset.Result[offset.Stored]) {
	switch r.Err = refused(p.String(), "DESCRIBE", at.ErrorCode, at.ErrorMessage); {
	case r.Err != nil:
	case at.StartOffset < 0:
		r.Value = absent()
	default:
		r.Value = stored(at.StartOffset, at.LeaderEpoch, nil)
	}
	return r
}

// alter moves a share group's positions; brokers refuse it while the group has members.
func (s *sending) alter(ctx context.Context, c *Cluster) {
	req := kmsg.NewPtrAlterShareGroupOffsetsRequest()
	req.GroupID = s.group
	for _, i := range s.which {
		name := s.ch[i].Partition.Topic
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != name {
			req.Topics = append(req.Topics, kmsg.AlterShareGroupOffsetsRequestTopic{Topic: name})
		}
		n, _ := number(s.ch[i].To)
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, kmsg.AlterShareGroupOffsetsRequestTopicPartition{Partition: s.ch[i].Partition.Index, StartOffset: n})
	}
	r, err := once[*kmsg.AlterShareGroupOffsetsResponse](ctx, c, s.node, req)
	if err != nil {
		s.noAnswer(err)
		return
	}
	if r.ErrorCode != 0 {
		s.elsewhere = moved(r.ErrorCode)
		for k := range s.errs {
			s.errs[k] = refused("group "+s.group, "READ", r.ErrorCode, r.ErrorMessage)
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
}

var errShareAbsent = offset.As(offset.ErrUnsupported, errors.New("a share group's position can be moved, and not be taken away"))
