package offsettest

import (
	"context"
	"errors"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
)

// caps proves every field of Caps both ways.
func (d Store) caps(t *testing.T) {
	t.Run("together", d.together)
	t.Run("fence", func(t *testing.T) {
		p := d.at(t, "fence")
		first := p.fresh(100)
		for i, r := range p.write(p.s, p.to(first, 100)) {
			if changed := r.Value.Version != first[i].Value.Version; changed != d.Caps.Fence {
				t.Errorf("%s: the same number again changes the version: %v, claimed: %v", p.ps[i], changed, d.Caps.Fence)
			}
		}
	})
	t.Run("delete", d.deletion)
	if d.Caps.Delete && d.Caps.Atomic && !d.Caps.Whole {
		t.Run("recreated", d.recreated)
	}
	t.Run("metadata", d.metadata)
	t.Run("commit time", func(t *testing.T) {
		p := d.at(t, "committed")
		p.fresh(100)
		for i, r := range p.read(p.open()) {
			if r.Value.Committed.IsZero() == d.Caps.CommitTime {
				t.Errorf("%s: committed at %v, kept is claimed: %v", p.ps[i], r.Value.Committed, d.Caps.CommitTime)
			}
		}
	})
	t.Run("queues", d.queues)
	t.Run("members", d.members)
	t.Run("whole", d.wholeTopics)
	if d.Caps.Settle == 0 {
		t.Run("settled at once", func(t *testing.T) {
			p := d.at(t, "settled")
			from := p.fresh(100)
			for n := range int64(20) {
				from = p.write(p.s, p.to(from, 200+n))
				p.same(from, p.read(p.open()), -1, "just after the write")
			}
		})
	}
}

func (d Store) together(t *testing.T) {
	p := d.at(t, "together")
	from := p.fresh(100)
	ch := p.to(from, 200)
	last := len(ch) - 1
	p.poke(last, 55)
	r := p.try(context.Background(), p.s, ch)
	now := p.read(p.open())
	for i, c := range ch {
		stopped := i == last || d.Caps.Together == offset.PerGroup || d.Caps.Together == offset.PerTopic && c.Partition.Topic == ch[last].Partition.Topic
		wrote := now[i].Value.Same(c.To)
		want := offset.ErrUntouched
		if i == last {
			want = offset.ErrMoved
		}
		switch {
		case stopped && (wrote || !errors.Is(r[i].Err, want)):
			t.Errorf("%s: one of the changes cannot be made, and this one, which goes with it: written %v, %v; it should be: %v", c.Partition, wrote, r[i].Err, want)
		case !stopped && (!wrote || r[i].Err != nil):
			t.Errorf("%s: a change that does not go with it: written %v, %v", c.Partition, wrote, r[i].Err)
		}
	}
}

func (d Store) deletion(t *testing.T) {
	if d.Caps.Whole {
		return
	}
	p := d.at(t, "delete")
	from := p.fresh(100)
	ch := p.to(from, 0)
	for i := range ch {
		ch[i].To = offset.Stored{State: offset.Absent}
	}
	if !d.Caps.Delete {
		p.refused(ch, offset.ErrUnsupported, "a deletion by a store that cannot delete")
		return
	}
	gone := p.write(p.s, ch[:1])
	now := p.read(p.open())
	if now[0].Value.State != offset.Absent || now[0].Value.Version != gone[0].Value.Version {
		t.Errorf("%s was deleted, and is %s", p.ps[0], describe(now[0]))
	}
	p.same(from, now, 0, "after a neighbour was deleted")
	p.write(p.s, ch[1:])
	for i, r := range p.read(p.open()) {
		if r.Value.State != offset.Absent {
			t.Errorf("%s was deleted, and is %s", p.ps[i], describe(r))
		}
	}
}

func (d Store) metadata(t *testing.T) {
	p := d.at(t, "metadata")
	from := p.fresh(100)
	for _, text := range []string{"batch 17", "", "ü 中文 🙂 'quoted' \"twice\" \\ % \n\t;"} {
		ch := p.to(from, 200)
		for i := range ch {
			ch[i].To.Metadata, ch[i].To.LeaderEpoch = text, offset.EpochOf(int32(i))
		}
		from = p.write(p.s, ch)
		for i, r := range p.read(p.open()) {
			want := expected(ch[i].To, d.Caps)
			if !d.Caps.Metadata {
				want.LeaderEpoch = offset.Epoch{}
			}
			if r.Value.Metadata != want.Metadata || r.Value.LeaderEpoch != want.LeaderEpoch {
				t.Errorf("%s: metadata %q and epoch %d; it should be %q and %d", p.ps[i], r.Value.Metadata, r.Value.LeaderEpoch.Wire(), want.Metadata, want.LeaderEpoch.Wire())
			}
		}
	}
	if !d.Caps.Metadata {
		return
	}
	// A new number without an epoch must not stand beside the old one's.
	for i, r := range p.write(p.s, p.to(from, 300)) {
		if _, known := r.Value.LeaderEpoch.Get(); known || r.Value.Metadata != "" {
			t.Errorf("%s: metadata and epoch of the position before stay behind: %q, %d", p.ps[i], r.Value.Metadata, r.Value.LeaderEpoch.Wire())
		}
	}
}

func (d Store) queues(t *testing.T) {
	p := d.at(t, "queues")
	if !d.Caps.Queues {
		from := p.fresh(100)
		queue := offset.Partition{Topic: p.ps[0].Topic, Broker: "broker-a", Index: p.ps[0].Index}
		ch := []offset.Change{{Partition: queue, From: from[0].Value, To: offset.Stored{State: offset.Set, Next: 5}}}
		p.refused(ch, offset.ErrUnsupported, "a queue, by a store that cannot keep its broker")
		for _, a := range p.s.Read(context.Background(), []offset.Query{{Group: p.group, Expect: []offset.Partition{queue}}}) {
			if a.Err == nil && a.Expected[0].Err == nil {
				t.Errorf("a store that cannot keep brokers answers %s for %s", describe(a.Expected[0]), queue)
			}
		}
		return
	}
	from := p.fresh(100)
	at := -1
	for i := range p.ps {
		if p.ps[i].Broker != "" {
			at = i
		}
	}
	if at < 0 {
		t.Fatal("none of the suite's partitions has a broker")
	}
	p.write(p.s, p.to(from, 500)[at:at+1])
	now := p.read(p.open())
	p.same(from, now, at, "after "+p.ps[at].String()+" was written")
	if now[at].Value.Next != 500+int64(at) {
		t.Errorf("%s: %s", p.ps[at], describe(now[at]))
	}
}

func (d Store) members(t *testing.T) {
	p := d.at(t, "members")
	from := p.fresh(100)
	switch {
	case d.Live == nil:
		return
	case !d.Caps.Members:
		t.Fatal("a live group, of a store that knows of none")
	}
	d.Live(t, p.group, p.ps)
	p.refused(p.to(from, 200), offset.ErrLive, "a write into a live group")
}

// wholeTopics: some of a topic's partitions can be written alone, or must not be.
func (d Store) wholeTopics(t *testing.T) {
	p := d.at(t, "whole")
	from := p.fresh(100)
	one := p.to(from, 200)[1:2]
	if d.Caps.Whole {
		p.refused(one, offset.ErrUnsupported, "one partition alone")
		return
	}
	p.write(p.s, one)
	p.same(from, p.read(p.open()), 1, "after a neighbour was written")
}
