package inspect

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// need is a question that only a doubt raises.
type need uint8

const (
	needBounds need = 1 << iota // asked by nobody yet
	needEnd                     // past the end: the end may have moved on since
	needEpoch                   // where the committed epoch ends
	needCommit                  // is a record below the position younger than the position
	needProof                   // whether the log still has what its start promises
	needBefore                  // the record before the position
	needUnread                  // the oldest unread record
)

// peeks bounds how many records are fetched only to judge staleness; beyond it the look-up by time speaks alone.
const peeks = 512

// lookAgain asks what the answers so far call into question, trip by trip, until nothing is open. A healthy group costs none.
func (t *taking) lookAgain(ctx context.Context) {
	left := peeks
	for {
		logs, lines, unread := t.questions(&left)
		if len(logs) == 0 && len(lines) == 0 && len(unread) == 0 {
			return
		}
		t.stage("doubts", len(logs)+len(lines)+len(unread))
		var wg sync.WaitGroup
		wg.Go(func() { t.askLogs(ctx, logs) })
		wg.Go(func() { t.peekAll(ctx, lines, unread) })
		wg.Go(func() { t.commitTimes(ctx, lines) })
		wg.Wait()
		t.spread(func(s *logState) bool { return s.again })
		for i := range t.logs {
			t.logs[i].again = false
		}
	}
}

// questions lists the logs to ask again, the lines whose record before the position is wanted, and those whose oldest unread one is.
func (t *taking) questions(left *int) (logs, before, unread []int32) {
	for i := range t.sv.Lines {
		l, lk := &t.sv.Lines[i], &t.looks[i]
		if lk.log < 0 || l.Stored.Err != nil {
			continue
		}
		s := &t.logs[lk.log]
		if t.logAgain(i) && !s.again {
			s.again = true
			logs = append(logs, lk.log)
		}
		if s.again || l.Log.Err != nil {
			continue
		}
		if lk.done&needBefore == 0 && doubtsBefore(l) {
			lk.done |= needBefore
			before = append(before, int32(i))
		}
		if lk.done&needUnread == 0 && t.wantsOldest(l) && (*left > 0 || t.ask.TimeLag || t.sv.Caps.LastRead) {
			lk.done |= needUnread
			*left--
			unread = append(unread, int32(i))
		}
	}
	return logs, before, unread
}

// logAgain: the log of the line has to be asked (again).
func (t *taking) logAgain(i int) bool {
	l, lk := &t.sv.Lines[i], &t.looks[i]
	s := &t.logs[lk.log]
	again := t.wantFrom(i)
	switch {
	case errors.Is(s.answer.Err, errOpen) && lk.done&needBounds == 0:
		lk.done |= needBounds
		again = true
	case s.answer.Err == nil && l.Stored.Value.State == offset.Set && l.Stored.Value.Next > l.Log.Value.End && lk.done&needEnd == 0:
		lk.done |= needEnd
		again, s.end = true, true
	}
	// A record before the position that can be read leaves no doubt about those behind it.
	if _, lag := reading(l, t.ask.Isolation); s.answer.Err == nil && s.answer.Value.Unproven && lag > 0 && l.Stored.Value.LastRead.IsZero() && lk.done&needProof == 0 {
		lk.done |= needProof
		again, s.prove = true, true
	}
	return again
}

// doubtsBefore: the record before the position would settle whether the log is the one that was read.
func doubtsBefore(l *Line) bool {
	s, b := l.Stored.Value, l.Log.Value.Bounds
	if s.State != offset.Set || s.Next <= b.Start || s.Next > b.End {
		return false
	}
	return l.WroteAt != offset.NoRecord && l.WroteAt < s.Next || l.EpochEnd >= 0 && l.EpochEnd < s.Next
}

// wantsOldest: the oldest unread record is asked for, or would settle whether unread records are old, or there at all.
func (t *taking) wantsOldest(l *Line) bool {
	at, lag := reading(l, t.ask.Isolation)
	if lag <= 0 {
		return false
	}
	return t.ask.TimeLag || mayBeStale(l, at, t.ask.Now, t.ask.Stale, t.sv.Caps.LastRead) || t.ask.Since.unmoved(l)
}

// reading is where a reader of the line would go on, and how much there is from there.
func reading(l *Line, iso offset.Isolation) (at, lag int64) {
	b := l.Log.Value.Bounds
	at = b.Start
	if s := l.Stored.Value; s.State == offset.Set {
		at = max(at, s.Next)
	}
	return at, b.Reach(iso) - at
}

// mayBeStale: by the look-up, everything from the position on that is unread and below StaleAt is older than allowed. Where
// nothing was looked up, the record before the position is no younger than those behind it.
func mayBeStale(l *Line, at int64, now time.Time, after time.Duration, lastRead bool) bool {
	s := l.Stored.Value
	switch {
	case after <= 0 || s.State != offset.Set:
		return false
	case lastRead:
		return s.LastRead.Before(now.Add(-after))
	}
	return l.StaleAt == offset.NoRecord || at < l.StaleAt || !s.Committed.IsZero() && s.Committed.Before(now.Add(-after))
}

// peekAll fetches records for all lines in one trip.
func (t *taking) peekAll(ctx context.Context, before, unread []int32) {
	var at []peek
	for _, i := range before {
		l := &t.sv.Lines[i]
		at = append(at, peek{offset.Position{Partition: l.Partition, Offset: l.Stored.Value.Next - 1}, i, true})
	}
	for _, i := range unread {
		l := &t.sv.Lines[i]
		n, _ := reading(l, t.ask.Isolation)
		at = append(at, peek{offset.Position{Partition: l.Partition, Offset: n}, i, false})
	}
	slices.SortFunc(at, peek.compare)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 4)
	for len(at) > 0 {
		var batch, rest []peek
		for i, p := range at { // a partition may stand in a list once only
			if i > 0 && p.Partition == at[i-1].Partition {
				rest = append(rest, p)
			} else {
				batch = append(batch, p)
			}
		}
		at = rest
		slots <- struct{}{}
		wg.Go(func() {
			t.peekBatch(ctx, batch)
			<-slots
		})
	}
	wg.Wait()
}

// peek is a record that a line wants.
type peek struct {
	offset.Position
	line   int32
	before bool
}

func (p peek) compare(q peek) int {
	return cmp.Or(p.Partition.Compare(q.Partition), cmp.Compare(p.Offset, q.Offset), cmp.Compare(p.line, q.line))
}

func (t *taking) peekBatch(ctx context.Context, batch []peek) {
	at := make([]offset.Position, len(batch))
	for i, p := range batch {
		at[i] = p.Position
	}
	for i, r := range t.broker.Peek(ctx, at) {
		l := &t.sv.Lines[batch[i].line]
		switch {
		case r.Err != nil:
		case batch[i].before:
			if r.Value != nil && r.Value.Offset == batch[i].Offset {
				l.Before = r.Value.Time
			}
		case r.Value == nil || r.Value.Offset >= l.Log.Value.Reach(t.ask.Isolation):
			l.NoUnread = true
		default:
			l.Oldest = r.Value.Time
		}
	}
}

// commitTimes finds out when positions in doubt were written, where the store's answers do not carry it.
func (t *taking) commitTimes(ctx context.Context, lines []int32) {
	timer, ok := t.store.(offset.CommitTimer)
	for len(lines) > 0 {
		group := t.sv.Lines[lines[0]].Group
		n := 0
		var at []offset.Partition
		var open []int32
		for n < len(lines) && t.sv.Lines[lines[n]].Group == group {
			l := &t.sv.Lines[lines[n]]
			if l.Wrote = l.Stored.Value.Committed; l.Wrote.IsZero() && ok {
				at, open = append(at, l.Partition), append(open, lines[n])
			}
			n++
		}
		lines = lines[n:]
		if at == nil {
			continue
		}
		for i, r := range timer.CommitTimes(ctx, group, at) {
			if r.Err == nil {
				t.sv.Lines[open[i]].Wrote = r.Value
			}
		}
	}
}
