package hbase

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/hbase/hbasetest"
	"github.com/offsetctl/offsetctl/stores/hbase/hrpc"
)

// HBase calls writes successful that no reader sees. Each way to such a write is laid out here, in our own HBase and in real
// ones, old and new, and the store must get through it, or say that it cannot.

// ground is a table in which cells with any timestamp can be made.
type ground struct {
	url    string
	put    func(t testing.TB, key, qualifier, value string, time int64)
	marker func(t testing.TB, key, qualifier string, time int64)
}

func onGrounds(t *testing.T, f func(t *testing.T, g ground)) {
	for _, version := range []string{"2.6.3", "2.2.7"} {
		t.Run("ours as "+version, func(t *testing.T) {
			c := hbasetest.Start(t, hbasetest.Options{Version: version, Now: milliseconds})
			f(t, ground{c.URL(""),
				func(_ testing.TB, key, q, value string, time int64) { c.Put(key, q, value, time) },
				func(_ testing.TB, key, q string, time int64) { c.Delete(key, q, time) }})
		})
	}
	for _, server := range []string{"hbase26", "hbase22"} {
		t.Run(server, func(t *testing.T) { f(t, realGround(t, server)) })
	}
}

func realGround(t testing.TB, server string) ground {
	url := newTable(t, testservers.Need(t, server))
	c := foreignClient(t, url)
	// An explicit timestamp is kept as it is given, condition or not.
	mutate := func(t testing.TB, key, q string, m hrpc.Mutation) {
		t.Helper()
		got := c.Get(context.Background(), [][]byte{[]byte(key)})[0]
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		m.Row, m.When = []byte(key), []hrpc.Expect{{Qualifier: []byte(q), Absent: true}}
		for _, cell := range got.Row.Cells {
			if string(cell.Qualifier) == q {
				m.When[0] = hrpc.Expect{Qualifier: []byte(q), Value: cell.Value}
			}
		}
		if done, err := c.Mutate(context.Background(), m); err != nil || !done {
			t.Fatal(done, err)
		}
	}
	return ground{url,
		func(t testing.TB, key, q, value string, time int64) {
			mutate(t, key, q, hrpc.Mutation{Put: []hrpc.Cell{{Qualifier: []byte(q), Value: []byte(value), Time: time}}})
		},
		func(t testing.TB, key, q string, time int64) {
			mutate(t, key, q, hrpc.Mutation{Delete: []hrpc.Cell{{Qualifier: []byte(q), Time: time}}})
		}}
}

func (g ground) store(t testing.TB) *Store {
	s := open(t, environment(), g.url)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func inAnHour() int64 { return milliseconds() + time.Hour.Milliseconds() }

func TestFutureCell(t *testing.T) {
	onGrounds(t, func(t *testing.T, g ground) {
		s := g.store(t)
		p := offset.Partition{Topic: "orders"}
		g.put(t, "g|orders", "0", "5|9", inAnHour())
		r := s.Write(t.Context(), "g", []offset.Change{change(p, read(t, s, "g", p)[0], 3)})[0]
		if now := read(t, s, "g", p)[0]; r.Err != nil || now.Next != 3 {
			t.Errorf("%+v, %v", now, r.Err)
		}
		if !strings.Contains(r.Value.Note, "the cell's timestamp") {
			t.Errorf("what the job writes now is hidden, and the store says %q", r.Value.Note)
		}
	})
}

// The future stands in one column of several: in the first, which the server looks at, or in another, which it does not.
func TestFutureCellAmongOthers(t *testing.T) {
	for _, future := range []int{0, 1, 2} {
		onGrounds(t, func(t *testing.T, g ground) {
			s := g.store(t)
			ps := partitions("orders", 4) // the last is new
			for i := range 3 {
				time := milliseconds() - 1000
				if i == future {
					time = inAnHour()
				}
				g.put(t, "g|orders", string(rune('0'+i)), "5|9", time)
			}
			var ch []offset.Change
			for i, was := range read(t, s, "g", ps...) {
				ch = append(ch, change(ps[i], was, int64(10+i)))
			}
			write(t, s, "g", ch...)
			for i, now := range read(t, s, "g", ps...) {
				if now.Next != int64(10+i) {
					t.Errorf("%s is %d", ps[i], now.Next)
				}
				if i != future && now.Committed.After(time.Now().Add(time.Minute)) {
					t.Errorf("%s was taken into the future, %v: the job's next put would be hidden", ps[i], now.Committed)
				}
			}
		})
	}
}

func TestDeleteFutureCell(t *testing.T) {
	onGrounds(t, func(t *testing.T, g ground) {
		s := g.store(t)
		ps := partitions("orders", 2)
		g.put(t, "g|orders", "0", "5|9", inAnHour())
		g.put(t, "g|orders", "1", "5|9", 0)
		was := read(t, s, "g", ps...)
		gone := offset.Stored{State: offset.Absent}
		r := s.Write(t.Context(), "g", []offset.Change{{Partition: ps[0], From: was[0], To: gone}, {Partition: ps[1], From: was[1], To: gone}})
		for i, now := range read(t, s, "g", ps...) {
			if r[i].Err != nil || now.State != offset.Absent {
				t.Errorf("%s is %s, %v", ps[i], now.State, r[i].Err)
			}
		}
		if !strings.Contains(r[0].Value.Note, "the deleted cell's timestamp") || r[1].Value.Note != "" {
			t.Errorf("%q, %q", r[0].Value.Note, r[1].Value.Note)
		}
	})
}

// Puts in the same millisecond as the deletion before them.
func TestPutAfterDelete(t *testing.T) {
	onGrounds(t, func(t *testing.T, g ground) {
		s := g.store(t)
		ps := partitions("orders", 3)
		for n := range int64(100) {
			var ch []offset.Change
			for i, was := range read(t, s, "g", ps...) {
				ch = append(ch, change(ps[i], was, n))
			}
			write(t, s, "g", ch...)
			for i, was := range read(t, s, "g", ps...) {
				if was.Next != n {
					t.Fatalf("round %d, %s: %+v", n, ps[i], was)
				}
				ch[i] = offset.Change{Partition: ps[i], From: was, To: offset.Stored{State: offset.Absent}}
			}
			write(t, s, "g", ch...)
		}
	})
}

// With a clock that stands still, the second try must wait for the next millisecond.
func TestPutInTheMillisecondOfADelete(t *testing.T) {
	for _, version := range []string{"2.6.3", "2.2.7"} {
		clock := int64(1_000_000)
		c := hbasetest.Start(t, hbasetest.Options{Version: version, Now: func() int64 { return clock }})
		s := on(t, c, "")
		s.now = func() time.Time { return time.UnixMilli(clock) }
		waited := 0
		s.pause = func(context.Context, time.Duration) { clock++; waited++ }
		c.Put("app|g|orders", "0", "1|1", clock)
		c.Delete("app|g|orders", "0", clock)
		p := offset.Partition{Topic: "orders"}
		write(t, s, "g", change(p, read(t, s, "g", p)[0], 5))
		if now, _, _ := c.Value("app|g|orders", "0"); now != "5|5" || waited != 1 {
			t.Errorf("HBase %s: %q is there after %d pauses", version, now, waited)
		}
	}
}

// A marker over a cell of this very millisecond would hide what a job writes in the rest of it.
func TestDeleteInTheMillisecondOfAPut(t *testing.T) {
	clock := int64(1_000_000)
	c := hbasetest.Start(t, hbasetest.Options{Now: func() int64 { return clock }})
	s := on(t, c, "")
	s.now = func() time.Time { return time.UnixMilli(clock) }
	s.pause = func(context.Context, time.Duration) { clock++ }
	c.Put("app|g|orders", "0", "1|1", clock)
	p := offset.Partition{Topic: "orders"}
	write(t, s, "g", offset.Change{Partition: p, From: read(t, s, "g", p)[0], To: offset.Stored{State: offset.Absent}})
	c.Put("app|g|orders", "0", "9|9", clock)
	if now, _, _ := c.Value("app|g|orders", "0"); now != "9|9" {
		t.Errorf("the job's write is hidden: %q", now)
	}
}

func TestDeleteMarkerInTheFuture(t *testing.T) {
	onGrounds(t, func(t *testing.T, g ground) {
		s := g.store(t)
		s.pause = func(context.Context, time.Duration) {}
		ps := partitions("orders", 2)
		g.put(t, "g|orders", "1", "5|9", 0)
		g.marker(t, "g|orders", "0", inAnHour())
		var ch []offset.Change
		for i, was := range read(t, s, "g", ps...) {
			ch = append(ch, change(ps[i], was, 3))
		}
		r := s.Write(t.Context(), "g", ch)
		if r[0].Err == nil || !strings.Contains(r[0].Err.Error(), "delete marker") || errors.Is(r[0].Err, offset.ErrOutcome) || r[0].Value.State != offset.Absent {
			t.Errorf("hidden: %+v", r[0])
		}
		if r[1].Err != nil || r[1].Value.Next != 3 {
			t.Errorf("beside it: %+v", r[1])
		}
	})
}

// A client whose clock is behind or ahead of the servers' by a day gets through all the same.
func TestForeignClock(t *testing.T) {
	for _, shift := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		onGrounds(t, func(t *testing.T, g ground) {
			s := g.store(t)
			s.now = func() time.Time { return time.Now().Add(shift) }
			ps := partitions("orders", 3)
			for n := range int64(5) {
				var ch []offset.Change
				for i, was := range read(t, s, "g", ps...) {
					ch = append(ch, change(ps[i], was, n))
				}
				write(t, s, "g", ch...)
				for i, now := range read(t, s, "g", ps...) {
					if now.Next != n {
						t.Fatalf("%s is %+v", ps[i], now)
					}
				}
			}
			g.put(t, "g|orders", "0", "5|9", milliseconds()+time.Hour.Milliseconds())
			g.put(t, "g|orders", "2", "5|9", milliseconds()+2*time.Hour.Milliseconds())
			was := read(t, s, "g", ps...)
			write(t, s, "g", change(ps[0], was[0], 70), change(ps[1], was[1], 71), change(ps[2], was[2], 72))
			for i, now := range read(t, s, "g", ps...) {
				if now.Next != int64(70+i) {
					t.Errorf("%s is %+v", ps[i], now)
				}
			}
		})
	}
}
