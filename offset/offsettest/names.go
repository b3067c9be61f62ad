package offsettest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
)

// Names are groups and topics that look like something else to somebody: patterns, paths, separators, placeholders, other
// names in another case, padded, prefixes of each other.
var Names = []string{
	"a", "a ", " a", "A", "\u00e1", "a\u0301", "aa", "a:b", "a/b", "a*", "a?", "a_c", "axc", "a|b", "a.b", "a-0", "a,b", "a;b", "a@b", "a#b", "a&b=c", "a+b",
	"a%", "%", "%61", "%s", "%RETRY%a", ".", "..", "{a}", "}a{", "[a]", "(a)", "$1", "'a'", `"a"`, "`a`", `a\b`, "a--", "a\tb", "a\nb",
	"中文", "🙂", "null", "0", "a\x00b", "a\xffb", strings.Repeat("n", 249),
}

// names: groups and topics are data, byte for byte; a name that cannot be held is refused before anything is written.
func (d Store) names(t *testing.T) {
	if !d.OneGroup {
		t.Run("groups", func(t *testing.T) {
			base := d.at(t, "names")
			d.apart(base, Names, false, func(name string) *place {
				q := *base
				q.group = d.Prefix + name
				return &q
			})
		})
	}
	if !d.Caps.Whole {
		t.Run("topics", func(t *testing.T) {
			base := d.at(t, "topics")
			d.apart(base, d.Topics, true, func(name string) *place {
				q := *base
				q.ps = d.Partitions(d.Prefix + name)
				return &q
			})
		})
	}
}

// apart gives every name its own positions and changes them one name after another.
func (d Store) apart(base *place, names []string, topic bool, with func(string) *place) {
	var places []*place
	for _, name := range names {
		p := with(name)
		p.label = name
		if d.Refuses(name, topic) {
			p.unsupported()
			continue
		}
		p.prepare(p.group)
		places = append(places, p)
	}
	if len(places) < 3 {
		base.Fatal("it refuses nearly every name")
	}
	for i, p := range places {
		p.fresh(int64(1000 * i))
	}
	values := func() []results { return together(base, places) }
	before := values()
	for i, p := range places {
		for j, r := range before[i] {
			if r.Value.Next != int64(1000*i+j) {
				base.Fatalf("%q: %s is %s, it should be %d: two names are one", p.label, p.ps[j], describe(r), 1000*i+j)
			}
		}
	}
	for i, p := range places {
		before[i] = p.write(p.s, p.to(before[i], int64(1000*i+500)))
		for j, now := range values() {
			places[j].same(before[j], now, -1, "after "+p.label+" was written")
		}
		if base.Failed() {
			return
		}
	}
}

// together reads all the places by one question, whose parts are sorted as the contract wants them.
func together(base *place, places []*place) []results {
	base.Helper()
	var qs []offset.Query
	for _, p := range places {
		i, found := slices.BinarySearchFunc(qs, p.group, func(q offset.Query, g string) int { return strings.Compare(q.Group, g) })
		if !found {
			qs = slices.Insert(qs, i, offset.Query{Group: p.group})
		}
		qs[i].Expect = append(qs[i].Expect, p.ps...)
	}
	for _, q := range qs {
		slices.SortFunc(q.Expect, offset.Partition.Compare)
	}
	as := base.s.Read(context.Background(), qs)
	if len(as) != len(qs) {
		base.Fatalf("%d queries have %d answers", len(qs), len(as))
	}
	out := make([]results, len(places))
	for i, p := range places {
		n, _ := slices.BinarySearchFunc(qs, p.group, func(q offset.Query, g string) int { return strings.Compare(q.Group, g) })
		if as[n].Err != nil || len(as[n].Expected) != len(qs[n].Expect) {
			base.Fatalf("%q: %d answers for %d partitions, %v", p.label, len(as[n].Expected), len(qs[n].Expect), as[n].Err)
		}
		for _, q := range p.ps {
			k, _ := slices.BinarySearchFunc(qs[n].Expect, q, offset.Partition.Compare)
			if r := as[n].Expected[k]; r.Err != nil {
				base.Fatalf("%q: reading %s: %v", p.label, q, r.Err)
			}
			out[i] = append(out[i], as[n].Expected[k])
		}
	}
	return out
}

// unsupported holds that a name is refused, by reading as by writing.
func (p *place) unsupported() {
	p.Helper()
	if d := p.d; d.Prepare == nil {
		for i, r := range p.ask(context.Background(), p.s) {
			if !errors.Is(r.Err, offset.ErrUnsupported) {
				p.Errorf("%q cannot be held, and reading %s answers %s", p.label, p.ps[i], describe(r))
			}
		}
	}
	ch := make([]offset.Change, len(p.ps))
	for i := range ch {
		ch[i] = offset.Change{Partition: p.ps[i], From: offset.Stored{State: offset.Absent}, To: offset.Stored{State: offset.Set, Next: 1}}
	}
	for i, r := range p.try(context.Background(), p.s, ch) {
		if !errors.Is(r.Err, offset.ErrUnsupported) {
			p.Errorf("%q cannot be held, and writing %s answers %v", p.label, p.ps[i], r.Err)
		}
	}
}

// listing: what was not asked by name is found too, once, in order, and only where it was asked for.
func (d Store) listing(t *testing.T) {
	p := d.at(t, "listing")
	p.fresh(100)
	all := p.ps
	p.others(offset.Query{Group: p.group}, all)
	p.others(offset.Query{Group: p.group, Expect: all[:2]}, all[2:])
	p.others(offset.Query{Group: p.group, Expect: all}, nil)
	one := all[0].Topic
	of := slices.DeleteFunc(slices.Clone(all), func(q offset.Partition) bool { return q.Topic != one })
	p.others(offset.Query{Group: p.group, Topics: []string{one}}, of)
	p.others(offset.Query{Group: p.group, Topics: []string{one}, Expect: of[1:]}, of[:1])
	p.others(offset.Query{Group: p.group, Topics: []string{one[:len(one)-1], one + "*", one + "0"}}, nil)
	groups, _, err := p.s.Groups(context.Background())
	switch {
	case err != nil:
		t.Errorf("groups: %v", err)
	case d.OneGroup && len(groups) != 1:
		t.Errorf("one group is claimed, and %q are listed", groups)
	case !d.OneGroup && !slices.Contains(groups, p.group):
		t.Errorf("%q is not among the groups %q", p.group, groups)
	case !slices.IsSorted(groups) || len(slices.Compact(slices.Clone(groups))) != len(groups):
		t.Errorf("groups are not sorted, or twice there: %q", groups)
	}
}

func (p *place) others(q offset.Query, want []offset.Partition) {
	p.Helper()
	a := p.s.Read(context.Background(), []offset.Query{q})
	if len(a) != 1 || a[0].Err != nil {
		p.Fatalf("%+v: %+v", q, a)
	}
	var got []offset.Partition
	for _, e := range a[0].Others {
		if e.Err != nil {
			p.Errorf("%s: %v", e.Partition, e.Err)
			continue
		}
		got = append(got, e.Partition)
		if i := slices.Index(p.ps, e.Partition); i >= 0 && e.Value.Next != 100+int64(i) {
			p.Errorf("%s is listed with %d, it should be %d", e.Partition, e.Value.Next, 100+i)
		}
	}
	if !slices.Equal(got, want) {
		p.Errorf("topics %q, %d expected: it also lists %v, it should list %v", q.Topics, len(q.Expect), got, want)
	}
}
