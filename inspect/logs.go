package inspect

import (
	"context"
	"slices"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// clockSkew is how far the clocks of producers, brokers and stores may differ before a time is evidence of anything.
const clockSkew = time.Minute

// logState is one log, shared by all groups that read it.
type logState struct {
	info   *offset.LogInfo
	times  []time.Time // besides the fixed ones: commit times
	epochs []int32
	again  bool // asked in the coming trip
	end    bool // because of its end
	prove  bool // with proof of its start
	answer offset.Result[offset.Log]
}

func newLog(info *offset.LogInfo) logState {
	return logState{info: info, answer: offset.Result[offset.Log]{Err: errOpen}}
}

// fixedTimes are looked up in every log: where stale begins, and a reset's target.
func (t *taking) fixedTimes() (out []time.Time) {
	if t.looksUpStale() {
		out = append(out, t.ask.Now.Add(-t.ask.Stale))
	}
	if !t.ask.At.IsZero() {
		out = append(out, t.ask.At)
	}
	return out
}

// looksUpStale: where stale begins is looked up in every log, unless positions come with the time of what was read last.
func (t *taking) looksUpStale() bool { return t.ask.Stale > 0 && !t.sv.Caps.LastRead }

func (t *taking) everyLog() []int32 {
	out := make([]int32, len(t.logs))
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

// askLogs asks for the bounds of these logs, with the times and epochs that lines want to know.
func (t *taking) askLogs(ctx context.Context, at []int32) {
	if len(at) == 0 {
		return
	}
	slices.SortFunc(at, func(x, y int32) int { return t.logs[x].info.Partition.Compare(t.logs[y].info.Partition) })
	fixed := t.fixedTimes()
	qs := make([]offset.LogQuery, len(at))
	for i, k := range at {
		s := &t.logs[k]
		qs[i] = offset.LogQuery{Partition: s.info.Partition, Times: fixed, Epochs: s.epochs, Prove: s.prove || t.ask.Prove}
		if s.times != nil {
			qs[i].Times = slices.Concat(fixed, s.times)
		}
	}
	for i, r := range t.broker.Logs(ctx, qs) {
		s := &t.logs[at[i]]
		if r.Err == nil || s.answer.Err != nil || s.end { // bounds that were measured outlive a failed question about something else
			s.answer = r
		}
		s.end = false
	}
}

// wantAtOnce: what is known to be stored lets the epochs and commit times be asked with the bounds.
func (t *taking) wantAtOnce() {
	for i := range t.sv.Lines {
		if t.looks[i].log >= 0 {
			t.wantFrom(i)
		}
	}
}

// wantFrom notes the epoch and the commit time of a line that its log should be asked for, and answers whether there is anything new.
func (t *taking) wantFrom(i int) bool {
	l, lk := &t.sv.Lines[i], &t.looks[i]
	s := &t.logs[lk.log]
	fresh := false
	if e, ok := t.epochInDoubt(l, s); ok && lk.done&needEpoch == 0 {
		lk.done |= needEpoch
		fresh = true
		if !slices.Contains(s.epochs, e) {
			s.epochs = append(s.epochs, e)
		}
	}
	if at, ok := commitInDoubt(l); ok && lk.done&needCommit == 0 {
		lk.done |= needCommit
		fresh = true
		if !slices.ContainsFunc(s.times, at.Equal) {
			s.times = append(s.times, at)
		}
	}
	return fresh
}

// epochInDoubt: an epoch below the current one may have ended before the stored position. The current one ends where the log ends.
func (t *taking) epochInDoubt(l *Line, s *logState) (int32, bool) {
	e, known := l.Stored.Value.LeaderEpoch.Get()
	if l.Stored.Err != nil || l.Stored.Value.State != offset.Set || !known {
		return 0, false
	}
	current, ok := s.info.Epoch.Get()
	if c, fresh := s.answer.Value.Current.Get(); s.answer.Err == nil && fresh {
		current, ok = max(current, c), true
	}
	return e, !ok || e < current
}

// commitInDoubt: a record below the position that is younger than the position was not what was read. A position that is known to
// be of this topic's own life needs no such look.
func commitInDoubt(l *Line) (time.Time, bool) {
	s := l.Stored.Value
	if l.Stored.Err != nil || s.State != offset.Set || s.Next < 1 || s.Committed.IsZero() || s.TopicID != "" && s.TopicID == l.TopicID {
		return time.Time{}, false
	}
	return s.Committed.Add(clockSkew), true
}

// spread hands the answers for these logs to the lines.
func (t *taking) spread(which func(*logState) bool) {
	for i := range t.sv.Lines {
		if k := t.looks[i].log; k >= 0 && which(&t.logs[k]) {
			t.spreadTo(i)
		}
	}
}

func allLogs(*logState) bool { return true }

func (t *taking) spreadTo(i int) {
	l, lk := &t.sv.Lines[i], &t.looks[i]
	s := &t.logs[lk.log]
	l.Log = s.answer
	l.Log.Value.Times, l.Log.Value.EpochEnds = nil, nil
	if led, _ := s.info.Epoch.Get(); led > l.Log.Value.Current.Wire() {
		l.Log.Value.Current = s.info.Epoch // a leader that has written nothing yet
	}
	if s.info.Err != nil {
		l.LeaderText = s.info.Err.Error()
	}
	if s.answer.Err != nil {
		return
	}
	times, ends := s.answer.Value.Times, s.answer.Value.EpochEnds
	next := func() int64 {
		if len(times) == 0 {
			return offset.NoRecord
		}
		n := times[0]
		times = times[1:]
		return n
	}
	if t.looksUpStale() {
		l.StaleAt = next()
	} else if t.ask.Stale > 0 {
		l.StaleAt = s.answer.Value.Start // nothing is old until the oldest unread record was looked at
	}
	if !t.ask.At.IsZero() {
		l.AtTime = next()
	}
	if at, ok := commitInDoubt(l); ok {
		if k := slices.IndexFunc(s.times, at.Equal); k >= 0 && k < len(times) {
			l.WroteAt = times[k]
		}
	}
	if e, ok := l.Stored.Value.LeaderEpoch.Get(); ok {
		if k := slices.Index(s.epochs, e); k >= 0 && k < len(ends) {
			l.EpochEnd = ends[k]
		}
	}
}
