package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

var errTooOld = errors.New("the broker does not know this version of the request")

// Read asks every coordinator, in one round trip, for all that the groups have committed and once more for Expect: by name, where
// an open transaction shows, and by topic id where the brokers know that. The list of all is asked by name too: by topic id it
// leaves out topics that are no more. What is there by name and not by id belongs to an earlier topic of that name.
func (g groupStore) Read(ctx context.Context, qs []offset.Query) []offset.Answer {
	r, which := newReading(g.Cluster, holdable(qs))
	whole := !slices.ContainsFunc(qs, func(q offset.Query) bool { return q.Topics == nil })
	var seen <-chan visibility
	if !whole {
		seen = g.visibility(ctx)
	}
	which = r.ask(ctx, which)
	for try := 0; len(which) > 0 && try < len(patience) && wait(ctx, patience[try]); try++ {
		which = r.ask(ctx, which)
	}
	for i := range qs {
		r.answer(i)
	}
	r.confirm(ctx)
	r.qs = qs
	for i := range qs {
		r.refuseNames(i)
	}
	if seen != nil {
		r.gaps(<-seen)
	}
	return r.out
}

// holdable are the queries without the partitions whose names Kafka cannot have: they would spoil the answer for the others.
func holdable(qs []offset.Query) []offset.Query {
	known := offset.Partition{} // neighbours share their topic
	bad := func(p offset.Partition) bool {
		if p.Topic == known.Topic && p.Broker == "" && p.Topic != "" {
			return false
		}
		if badPartition(p) != nil {
			return true
		}
		known = p
		return false
	}
	out := qs
	for i := range qs {
		if !slices.ContainsFunc(qs[i].Expect, bad) {
			continue
		}
		if &out[0] == &qs[0] {
			out = slices.Clone(qs)
		}
		out[i].Expect = slices.DeleteFunc(slices.Clone(qs[i].Expect), bad)
	}
	return out
}

// refuseNames gives the partitions that were left out their errors.
func (r *reading) refuseNames(i int) {
	expect, answered := r.qs[i].Expect, r.out[i].Expected
	if len(expect) == len(answered) {
		return
	}
	all := make([]offset.Result[offset.Stored], len(expect))
	for k, p := range expect {
		if all[k].Err = badPartition(p); all[k].Err == nil {
			all[k], answered = answered[0], answered[1:]
		}
	}
	r.out[i].Expected = all
}

type reading struct {
	c                *Cluster
	qs               []offset.Query
	all, named, byID []fetched
	shares, shared   []sharedAnswer // of share groups: all, and by name
	out              []offset.Answer
	doubts           []doubt
}

func newReading(c *Cluster, qs []offset.Query) (r *reading, which []int) {
	n := len(qs)
	f := make([]fetched, 3*n)
	s := make([]sharedAnswer, 2*n)
	r = &reading{c: c, qs: qs, all: f[:n], named: f[n : 2*n], byID: f[2*n:], shares: s[:n], shared: s[n:], out: make([]offset.Answer, n)}
	which = make([]int, n)
	for i := range qs {
		which[i] = i
		r.out[i].Expected = make([]offset.Result[offset.Stored], len(qs[i].Expect))
	}
	return r, which
}

// doubt is a position that is there by name and not by id.
type doubt struct{ query, expected int }

// ask sends everything about these queries and answers which of them another coordinator keeps by now.
func (r *reading) ask(ctx context.Context, which []int) (again []int) {
	names := make([]string, len(which))
	for k, i := range which {
		names[k] = r.qs[i].Group
	}
	fs := r.c.find(ctx, names)
	for k, i := range which {
		if r.out[i].Err = badGroup(names[k]); r.out[i].Err != nil {
			fs[k] = &coordinator{err: r.out[i].Err}
		}
		r.out[i].Err = fs[k].err
	}
	var asks []*fetchAsk
	var shares []*shareAsk
	nodes, members := byNode(fs)
	for n, node := range nodes {
		of := make([]int, len(members[n]))
		for k, m := range members[n] {
			of[k] = which[m]
		}
		asks = append(asks, r.fetches(node, of)...)
		shares = append(shares, r.shareAsks(node, of)...)
	}
	each(len(asks)+len(shares), func(k int) {
		if k < len(asks) {
			asks[k].run(ctx, r.c)
		} else {
			shares[k-len(asks)].run(ctx, r.c)
		}
	})
	for _, a := range asks {
		into := r.all
		if a.stable {
			into = r.named
		}
		if a.max >= fetchByID {
			into = r.byID
		}
		for k, i := range a.which {
			into[i] = a.out[k]
		}
	}
	for _, s := range shares {
		s.into(r)
	}
	r.askNewShares(ctx, fs, which)
	for k, i := range which {
		if fs[k].err == nil && r.elsewhere(i) {
			r.c.forget(names[k], fs[k])
			again = append(again, i)
		}
	}
	return again
}

// elsewhere tells whether another coordinator keeps the group by now, or the known one is gone.
func (r *reading) elsewhere(i int) bool {
	a := r.all[i]
	s := r.shares[i]
	switch {
	case a.g != nil:
		return moved(a.g.ErrorCode)
	case a.err != nil:
		return errors.Is(a.err, offset.ErrUnreachable) && !errors.Is(a.err, context.DeadlineExceeded)
	}
	return s.g != nil && (moved(s.g.ErrorCode) || s.g.ErrorCode == kerr.GroupIDNotFound.Code)
}

// fetches are the questions to one coordinator.
func (r *reading) fetches(node int32, of []int) (asks []*fetchAsk) {
	all := &fetchAsk{node: node, max: fetchName}
	named := &fetchAsk{node: node, max: fetchName, stable: true}
	byID := &fetchAsk{node: node, max: fetchByID}
	t := r.c.table.Load()
	ids := r.c.offers.Load().has(keyOffsetFetch, fetchByID)
	for _, i := range of {
		if r.c.kindOf(r.qs[i].Group) == share {
			continue
		}
		q := kmsg.OffsetFetchRequestGroup{Group: r.qs[i].Group, MemberEpoch: -1}
		all.groups, all.which = append(all.groups, q), append(all.which, i)
		if len(r.qs[i].Expect) == 0 {
			continue
		}
		q.Topics = topicsOf(r.qs[i].Expect, t)
		named.groups, named.which = append(named.groups, q), append(named.which, i)
		if q.Topics = withIDs(q.Topics); ids && len(q.Topics) > 0 {
			byID.groups, byID.which = append(byID.groups, q), append(byID.which, i)
		}
	}
	for _, a := range []*fetchAsk{all, named, byID} {
		if len(a.which) > 0 {
			asks = append(asks, a)
		}
	}
	return asks
}

// topicsOf groups sorted partitions by topic, with the ids that the table has.
func topicsOf(ps []offset.Partition, t *table) (out []kmsg.OffsetFetchRequestGroupTopic) {
	numbers := make([]int32, len(ps))
	for from := 0; from < len(ps); {
		to := from
		for to < len(ps) && ps[to].Topic == ps[from].Topic {
			numbers[to] = ps[to].Index
			to++
		}
		q := kmsg.OffsetFetchRequestGroupTopic{Topic: ps[from].Topic, Partitions: numbers[from:to:to]}
		if x := t.topic(q.Topic); x != nil {
			q.TopicID = x.id
		}
		out = append(out, q)
		from = to
	}
	return out
}

func withIDs(ts []kmsg.OffsetFetchRequestGroupTopic) []kmsg.OffsetFetchRequestGroupTopic {
	unknown := func(t kmsg.OffsetFetchRequestGroupTopic) bool { return t.TopicID == topicID{} }
	if !slices.ContainsFunc(ts, unknown) {
		return ts
	}
	return slices.DeleteFunc(slices.Clone(ts), unknown)
}

// nameIDs writes the names beside the ids of an answer.
func nameIDs(g *fetchedGroup, asked []kmsg.OffsetFetchRequestGroupTopic) {
	for i := range g.Topics {
		t := &g.Topics[i]
		if t.Topic != "" {
			continue
		}
		if i < len(asked) && asked[i].TopicID == t.TopicID {
			t.Topic = asked[i].Topic
			continue
		}
		for k := range asked {
			if asked[k].TopicID == t.TopicID {
				t.Topic = asked[k].Topic
				break
			}
		}
	}
}

// answer puts together what was said of one query.
func (r *reading) answer(i int) {
	a, group := &r.out[i], r.qs[i].Group
	if a.Err == nil && (r.shares[i].is() || r.all[i].g == nil && r.all[i].err == nil && r.shares[i].g != nil) {
		r.shareAnswer(i)
		return
	}
	if a.Err == nil {
		a.Err = wholeGroup(group, r.all[i])
	}
	if a.Err == nil && len(r.qs[i].Expect) > 0 {
		a.Err = wholeGroup(group, r.named[i])
	}
	if a.Err != nil {
		for k := range a.Expected {
			a.Expected[k].Err = a.Err
		}
		return
	}
	r.expected(i)
	r.others(i)
}

// wholeGroup is why there is no answer for the whole group.
func wholeGroup(group string, f fetched) error {
	if f.err != nil {
		return fmt.Errorf("group %s: %w", group, f.err)
	}
	if f.g == nil {
		return leftOut("group " + group)
	}
	if f.g.ErrorCode == 0 || f.g.ErrorCode == kerr.GroupIDNotFound.Code { // the latter is proof enough that nothing is stored
		return nil
	}
	return refused("group "+group, "DESCRIBE", f.g.ErrorCode, nil)
}

func (r *reading) expected(i int) {
	expect, out := r.qs[i].Expect, r.out[i].Expected
	if len(expect) == 0 {
		return
	}
	all, named, byID := walk(r.all[i].g), walk(r.named[i].g), &cursor{}
	if g := r.byID[i].g; g != nil && g.ErrorCode == 0 {
		nameIDs(g, r.byID[i].asked)
		byID = walk(g)
	}
	unknown := r.named[i].g.ErrorCode == kerr.GroupIDNotFound.Code
	for k, p := range expect {
		n := named.seek(p)
		if n == nil && unknown {
			out[k].Value = absent()
			continue
		}
		out[k] = position(p, all.seek(p), n)
		if id := byID.seek(p); id != nil && id.ErrorCode == 0 && id.Offset == -1 && out[k].Err == nil && out[k].Value.State == offset.Set {
			r.doubts = append(r.doubts, doubt{i, k})
		}
	}
}

// position is one partition out of the list of all, which has the position in force, and out of the answer by name.
func position(p offset.Partition, listed, named *fetchedPartition) (r offset.Result[offset.Stored]) {
	inForce := func() offset.Stored {
		if listed == nil {
			return absent()
		}
		return stored(listed.Offset, listed.LeaderEpoch, listed.Metadata)
	}
	switch {
	case named == nil:
		r.Err = leftOut(p.String())
	case named.ErrorCode == kerr.UnstableOffsetCommit.Code:
		r.Value = pending(inForce())
	case named.ErrorCode == codeTopicDenied:
		r.Err = refused("topic "+p.Topic, "DESCRIBE", named.ErrorCode, nil)
	case named.ErrorCode != 0:
		r.Err = refused(p.String(), "DESCRIBE", named.ErrorCode, nil)
	case named.Offset == -1 && (listed == nil || listed.Offset >= 0) && deref(named.Metadata) == "":
		r.Value = absent()
	default:
		// A -1 that the list of all has was committed by somebody; what is absent is not listed.
		r.Value = stored(named.Offset, named.LeaderEpoch, named.Metadata)
	}
	return r
}

// others are the listed positions that were not asked by name.
func (r *reading) others(i int) {
	q, a := r.qs[i], &r.out[i]
	if q.Topics != nil && len(q.Topics) == 0 {
		return
	}
	c := walk(r.all[i].g)
	a.Others = make([]offset.Entry, 0, max(0, c.size()-len(q.Expect)))
	next := 0 // of Expect
	for ti := range c.topics {
		t := &c.topics[ti]
		if q.Topics != nil {
			if _, ok := slices.BinarySearch(q.Topics, t.Topic); !ok {
				continue
			}
		}
		for pi := range t.Partitions {
			p := &t.Partitions[pi]
			e := offset.Entry{Partition: offset.Partition{Topic: t.Topic, Index: p.Partition}}
			for next < len(q.Expect) && q.Expect[next].Compare(e.Partition) < 0 {
				next++
			}
			if next < len(q.Expect) && q.Expect[next] == e.Partition {
				continue
			}
			if p.ErrorCode == 0 {
				e.Value = stored(p.Offset, p.LeaderEpoch, p.Metadata)
			} else {
				e.Err = refused(e.Partition.String(), "DESCRIBE", p.ErrorCode, nil)
			}
			a.Others = append(a.Others, e)
		}
	}
}

// gaps says of every list of all topics why it may be short.
func (r *reading) gaps(v visibility) {
	if v.topics == nil {
		return
	}
	for i := range r.out {
		if r.qs[i].Topics == nil && r.out[i].Err == nil {
			r.out[i].Gaps = append(r.out[i].Gaps, v.topics)
		}
	}
}

// confirm asks once more for what is there by name and not by id: it may just have been deleted.
func (r *reading) confirm(ctx context.Context) {
	if len(r.doubts) == 0 {
		return
	}
	var qs []offset.Query
	var at [][]doubt
	for _, d := range r.doubts {
		if n := len(at); n == 0 || at[n-1][0].query != d.query {
			qs, at = append(qs, offset.Query{Group: r.qs[d.query].Group, Topics: []string{}}), append(at, nil)
		}
		n := len(at) - 1
		qs[n].Expect = append(qs[n].Expect, r.qs[d.query].Expect[d.expected])
		at[n] = append(at[n], d)
	}
	second, which := newReading(r.c, qs)
	second.ask(ctx, which)
	for i := range qs {
		second.answer(i)
		for k, d := range at[i] {
			r.out[d.query].Expected[d.expected] = second.out[i].Expected[k]
		}
	}
	for _, d := range second.doubts {
		o := at[d.query][d.expected]
		r.out[o.query].Expected[o.expected].Value.Evidence = &recreated
	}
}
