package hbase

import (
	"time"

	"github.com/offsetctl/offsetctl/stores/hbase/hrpc"
)

// mutation is one call: what the cells shall be, if all are as they were read.
func (r *rowWrite) mutation(s *Store, cells []*cellWrite) hrpc.Mutation {
	m := hrpc.Mutation{Row: r.key, Filter: len(cells) > 1}
	for _, c := range cells {
		expect := hrpc.Expect{Qualifier: c.qualifier, Absent: c.now == nil}
		if c.now != nil {
			expect.Value = c.now.Value
		}
		m.When = append(m.When, expect)
		if c.put == nil {
			// Up to the timestamp that was read: without it a cell whose timestamp lies in the future would stay.
			m.Delete = append(m.Delete, hrpc.Cell{Qualifier: c.qualifier, Time: c.now.Time})
			c.marker = c.now.Time
			continue
		}
		m.Put = append(m.Put, hrpc.Cell{Qualifier: c.qualifier, Value: c.put})
	}
	r.setTimes(s, cells, &m)
	return m
}

// setTimes gives puts a timestamp where the server's own would hide them behind an older one, or spread one from the future.
//
// A condition on one column makes the server take a timestamp that is not below that column's. A filter makes it take one that is
// not below the row's first cell's: too low for another cell whose timestamp lies in the future, and itself in the future where
// only the first one's is, so that the job's next plain put would be hidden.
func (r *rowWrite) setTimes(s *Store, cells []*cellWrite, m *hrpc.Mutation) {
	now := s.now().UnixMilli()
	at := 0
	for _, c := range cells {
		if c.put == nil {
			continue
		}
		put := &m.Put[at]
		at++
		switch {
		case c.now != nil && (r.hidden || m.Filter && c.now.Time >= now):
			put.Time = c.now.Time + 1
		case m.Filter && !r.hidden && r.view.firstTime >= now:
			put.Time = now
		}
	}
}

// deletesFresh tells of a cell that is to go and was written just now: the marker would hide what another program writes in the
// rest of that millisecond.
func (r *rowWrite) deletesFresh(now time.Time) bool {
	for _, c := range r.open() {
		if c.put == nil && c.now != nil && now.Sub(time.UnixMilli(c.now.Time)).Abs() <= markerPause {
			return true
		}
	}
	return false
}
