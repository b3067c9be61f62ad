package kafka

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/offsetctl/offsetctl/offset"
)

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
