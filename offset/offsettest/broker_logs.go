package offsettest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

func queries(ps []offset.Partition) []offset.LogQuery {
	qs := make([]offset.LogQuery, len(ps))
	for i, p := range ps {
		qs[i].Partition = p
	}
	return qs
}

func values(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("value %d", i)
	}
	return out
}

// ask asks for logs that must all be answered.
func (x *desk) ask(qs []offset.LogQuery) []offset.Log {
	x.Helper()
	r := x.b.Logs(context.Background(), qs)
	if len(r) != len(qs) {
		x.Fatalf("%d logs were asked, and %d answered", len(qs), len(r))
	}
	out := make([]offset.Log, len(r))
	for i := range r {
		if r[i].Err != nil {
			x.Fatalf("%v: %v", qs[i].Partition, r[i].Err)
		}
		l := r[i].Value
		if l.Start < 0 || l.Start > l.Stable || l.Stable > l.End || len(l.Times) != len(qs[i].Times) || len(l.EpochEnds) != len(qs[i].Epochs) {
			x.Fatalf("%v: %+v for %+v", qs[i].Partition, l, qs[i])
		}
		out[i] = l
	}
	return out
}

// logs: every log has its own bounds, and what does not exist does not spoil the others.
func (d Broker) logs(t *testing.T) {
	x := d.at(t)
	if r := x.b.Logs(context.Background(), nil); len(r) != 0 {
		t.Errorf("no query has %d answers", len(r))
	}
	ps := d.Create(t, d.name("bounds"), 3)
	for _, l := range x.ask(queries(ps)) {
		if l.Start != l.End || l.Stable != l.End {
			t.Errorf("an empty log: %+v", l)
		}
	}
	for i, p := range ps {
		d.Append(t, p, values(i+1))
	}
	for i, l := range x.ask(queries(ps)) {
		if l.End-l.Start != int64(i+1) || l.Stable != l.End {
			t.Errorf("%v has %d records: %+v", ps[i], i+1, l)
		}
	}
	beyond := ps[0]
	beyond.Index = 99
	qs := queries([]offset.Partition{ps[0], ps[1], beyond, d.nowhere()})
	if ps[1].Compare(beyond) > 0 {
		qs[1], qs[2] = qs[2], qs[1]
	}
	for i, r := range x.b.Logs(context.Background(), qs) {
		exists := qs[i].Partition == ps[0] || qs[i].Partition == ps[1]
		if exists != (r.Err == nil) || !exists && !errors.Is(r.Err, offset.ErrUnknownName) {
			t.Errorf("%v exists: %v; %v", qs[i].Partition, exists, r.Err)
		}
	}
}

// times: the first record at or after each time, in the same call as the bounds.
func (d Broker) times(t *testing.T) {
	x := d.at(t)
	ps := d.Create(t, d.name("times"), 2)
	at := d.Append(t, ps[0], values(5))
	start := x.ask(queries(ps))[0].Start
	qs := queries(ps)
	qs[0].Times = append([]time.Time{at[0].Add(-time.Hour), time.UnixMilli(0), at[4].Add(time.Hour)}, at...)
	qs[1].Times = at[:1]
	qs[0].Epochs = []int32{0}
	l := x.ask(qs)
	want := []int64{start, start, offset.NoRecord, start, start + 1, start + 2, start + 3, start + 4}
	for i, n := range want {
		if l[0].Times[i] != n {
			t.Errorf("first record at or after %v: %d, it should be %d", qs[0].Times[i], l[0].Times[i], n)
		}
	}
	if l[1].Times[0] != offset.NoRecord {
		t.Errorf("an empty log has a record %d", l[1].Times[0])
	}
	between := at[2].Add(at[3].Sub(at[2]) / 2)
	qs = queries(ps[:1])
	qs[0].Times = []time.Time{between}
	if l := x.ask(qs); between.After(at[2]) && l[0].Times[0] != start+3 {
		t.Errorf("first record after the third: %d, it should be %d", l[0].Times[0], start+3)
	}
}

func (d Broker) trimmed(t *testing.T) {
	if d.Trim == nil {
		return
	}
	x := d.at(t)
	ps := d.Create(t, d.name("trimmed"), 2)
	d.Append(t, ps[0], values(10))
	d.Trim(t, ps[0], 7)
	qs := queries(ps)
	qs[0].Prove = true
	if l := x.ask(qs); l[0].Start != 7 || l[0].End != 10 || l[1].End != 0 || l[0].Unproven {
		t.Errorf("a log of ten records that was trimmed to start at 7: %+v", l)
	}
}

// peek: the record at or after a position, whole, and none at the end.
func (d Broker) peek(t *testing.T) {
	x := d.at(t)
	if r := x.b.Peek(context.Background(), nil); len(r) != 0 {
		t.Errorf("no position has %d answers", len(r))
	}
	ps := d.Create(t, d.name("peek"), 2)
	at := d.Append(t, ps[0], values(3))
	start := x.ask(queries(ps))[0].Start
	var where []offset.Position
	for i := range int64(4) {
		where = append(where, offset.Position{Partition: ps[0], Offset: start + i})
	}
	where = append(where, offset.Position{Partition: ps[1]})
	r := x.b.Peek(context.Background(), append(where, offset.Position{Partition: d.nowhere()}))
	if len(r) != len(where)+1 {
		t.Fatalf("%d positions were asked, and %d answered", len(where)+1, len(r))
	}
	for i := range where {
		v := r[i].Value
		switch {
		case r[i].Err != nil:
			t.Errorf("%v: %v", where[i], r[i].Err)
		case (i < 3) != (v != nil):
			t.Errorf("%v: %+v", where[i], v)
		case v != nil && (v.Offset != where[i].Offset || string(v.Value) != values(3)[i] || !v.Time.Equal(at[i])):
			t.Errorf("%v: record %d of %v with %q; it should be of %v with %q", where[i], v.Offset, v.Time, v.Value, at[i], values(3)[i])
		}
	}
	if err := r[len(where)].Err; !errors.Is(err, offset.ErrUnknownName) {
		t.Errorf("a record of a topic that does not exist: %v", err)
	}
}

// fewRequests: many logs cost no more requests than few.
func (d Broker) fewRequests(t *testing.T) {
	x := d.at(t)
	few, many := d.Create(t, d.name("few"), 30), d.Create(t, d.name("many"), 60)
	names := []string{d.name("few"), d.name("many")}
	if _, err := x.b.Topology(context.Background(), names); err != nil {
		t.Fatal(err)
	}
	count := func(ps []offset.Partition) int64 {
		x.ask(queries(ps))
		x.hook.set(nil)
		qs := queries(ps)
		for i := range qs {
			qs[i].Times = []time.Time{time.UnixMilli(1)}
		}
		x.ask(qs)
		return x.hook.calls.Load()
	}
	a, b := count(few), count(many)
	if a == 0 {
		t.Fatal("requests are not reported to Env.Trace")
	}
	if b > a {
		t.Errorf("asking %d logs takes %d requests, %d logs %d", len(few), a, len(many), b)
	}
}

// together: one handle used by several at a time mixes nothing up.
func (d Broker) together(t *testing.T) {
	x := d.at(t)
	topics := make([][]offset.Partition, 4)
	for i := range topics {
		topics[i] = d.Create(t, d.name(fmt.Sprintf("same-time-%d", i)), 2)
		d.Append(t, topics[i][0], values(i+1))
	}
	var wg sync.WaitGroup
	for i, ps := range topics {
		wg.Go(func() {
			for range 5 {
				for k, r := range x.b.Logs(context.Background(), queries(ps)) {
					if want := int64(i+1) * int64(1-k); k < 2 && (r.Err != nil || r.Value.End-r.Value.Start != want) {
						t.Errorf("%v: %+v, it should have %d records", ps[k], r, want)
					}
				}
				g := x.b.Describe(context.Background(), []string{d.name(fmt.Sprintf("nobody-%d", i))})
				if g[0].Err != nil || g[0].Value.Phase != offset.Missing {
					t.Errorf("a group that is not there: %+v", g[0])
				}
			}
		})
	}
	wg.Wait()
}
