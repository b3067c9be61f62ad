package inspect_test

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

// bounds of the log that the table of verdicts is about: start 100, last stable 180, high watermark 200.
func plain(stored offset.Result[offset.Stored]) inspect.Line {
	l := inspect.Line{Group: "g", Exists: true, Selected: true, Beside: true, Stored: stored, StaleAt: offset.NoRecord, AtTime: offset.NoRecord, EpochEnd: -1, WroteAt: offset.NoRecord}
	l.Partition = offset.Partition{Topic: "orders", Index: 3}
	l.Log.Value.Bounds = offset.Bounds{Start: 100, Stable: 180, End: 200}
	l.Log.Value.Current = offset.EpochOf(6)
	return l
}

// classify judges one line of group g, of a Kafka group unless with changes it.
func classify(l inspect.Line, p inspect.Policy, with ...func(*inspect.Survey)) *inspect.Report {
	sv := &inspect.Survey{Taken: now, Own: true, Lines: []inspect.Line{l}, Ask: inspect.Ask{Groups: []string{"g"}, Stale: p.StaleAfter},
		Groups: []inspect.GroupLine{{Name: "g", Group: offset.Result[offset.Group]{Value: offset.Group{Name: "g", Phase: offset.Empty}}}}}
	sv.Topology.Product = "Kafka 4.4.0"
	for _, f := range with {
		f(sv)
	}
	return inspect.Classify(sv, p)
}

func epoch(next int64, e int32) offset.Stored {
	return offset.Stored{State: offset.Set, Next: next, LeaderEpoch: offset.EpochOf(e)}
}

func TestVerdicts(t *testing.T) {
	streams := base64.StdEncoding.EncodeToString(append([]byte{2}, binary.BigEndian.AppendUint64(nil, uint64(now.UnixMilli()))...))
	day := inspect.Policy{StaleAfter: 24 * time.Hour}
	for _, c := range []struct {
		name    string
		stored  offset.Stored
		change  func(*inspect.Line)
		policy  inspect.Policy
		verdict inspect.Verdict
		text    string // in the finding
		proof   bool
		repairs string // effects and counts
	}{
		{name: "inside", stored: set(150), verdict: inspect.OK},
		{name: "at the log start", stored: set(100), verdict: inspect.OK},
		{name: "at the last stable offset", stored: set(180), verdict: inspect.OK},
		{name: "above the last stable offset is inside", stored: set(190), verdict: inspect.OK},
		{name: "at the high watermark", stored: set(200), verdict: inspect.OK},
		{name: "one before the log start", stored: set(99), verdict: inspect.HeadOverflow, text: "1 unread record fell to retention", repairs: "keeps 80"},
		{name: "negative, as value=last may come out", stored: set(-1), verdict: inspect.HeadOverflow, text: "101 unread records", repairs: "keeps 80"},
		{name: "one past the end", stored: set(201), verdict: inspect.TailOverflow, text: "1 past the log end", repairs: "reads 80, skips 80"},
		{name: "past the end of a log that was cut", stored: epoch(220, 4), change: func(l *inspect.Line) { l.EpochEnd = 150 }, verdict: inspect.TailOverflow,
			text: "epoch 4 ended at 150", repairs: "reads 30, reads 80, skips 80"},
		{name: "absent", stored: offset.Stored{State: offset.Absent}, verdict: inspect.Absent, text: "consume starts at 100", repairs: "keeps 80"},
		{name: "absent, and nothing of the topic", stored: offset.Stored{State: offset.Absent}, change: func(l *inspect.Line) { l.Beside = false },
			verdict: inspect.Absent, text: "nothing is stored", repairs: "reads 80, skips 80"},
		{name: "absent, and others of the topic not known", stored: offset.Stored{State: offset.Absent}, change: func(l *inspect.Line) { l.Beside, l.Unsure = false, true },
			verdict: inspect.Absent, text: "whether other partitions of the topic are stored could not be read"},
		{name: "no position", stored: offset.Stored{State: offset.Invalid, Raw: []byte("12.0")}, verdict: inspect.Invalid, text: `"12.0" is no position`, repairs: "reads 80, skips 80"},
		{name: "not measured", stored: offset.Stored{}, verdict: inspect.Unknown},
		{name: "no such partition", stored: set(5), change: func(l *inspect.Line) { l.Exists, l.Log.Err = false, offset.ErrUnknownName }, verdict: inspect.Orphan, text: "by expiry"},
		{name: "no leader", stored: set(5), change: func(l *inspect.Line) { l.Log.Err = offset.ErrNoLeader }, verdict: inspect.Unknown, text: "Neither ok nor zero"},
		{name: "invalid beats a missing leader", stored: offset.Stored{State: offset.Invalid}, change: func(l *inspect.Line) { l.Log.Err = offset.ErrNoLeader }, verdict: inspect.Invalid},
		{name: "on two brokers", stored: set(5), change: func(l *inspect.Line) { l.Ambiguous = "broker-a, broker-b" }, verdict: inspect.Invalid, text: "ambiguous"},

		{name: "epoch of today", stored: epoch(150, 6), verdict: inspect.OK},
		{name: "older epoch that reaches the position", stored: epoch(150, 4), change: func(l *inspect.Line) { l.EpochEnd = 150 }, verdict: inspect.OK},
		{name: "older epoch whose end is not known", stored: epoch(150, 4), verdict: inspect.OK},
		{name: "epoch above the current", stored: epoch(150, 7), verdict: inspect.Diverged, text: "epoch 7, and the log is at 6", repairs: "keeps 30, rereads 50"},
		{name: "epoch ended before, writer not known", stored: epoch(150, 4), change: func(l *inspect.Line) { l.EpochEnd = 120 }, verdict: inspect.Diverged,
			text: "the log was cut, or the client stores wrong epochs", repairs: "keeps 30, rereads 30"},
		{name: "epoch ended before, franz-go", stored: withMetadata(epoch(150, 4), "kgo-1234"), change: func(l *inspect.Line) { l.EpochEnd = 120 }, verdict: inspect.Diverged,
			text: "the log was cut", proof: true, repairs: "rereads 30"},
		{name: "epoch ended before, franz-go with a zero epoch", stored: withMetadata(epoch(150, 0), "kgo-1234"), change: func(l *inspect.Line) { l.EpochEnd = 120 },
			verdict: inspect.Diverged, text: "or the client", repairs: "keeps 30, rereads 30"},
		{name: "epoch ended before, Kafka Streams", stored: withMetadata(epoch(150, 4), streams), change: func(l *inspect.Line) { l.EpochEnd = 120 }, verdict: inspect.Diverged, proof: true, repairs: "rereads 30"},
		{name: "epoch ended before the log start", stored: withMetadata(epoch(150, 4), streams), change: func(l *inspect.Line) { l.EpochEnd = 90 }, verdict: inspect.Diverged, proof: true, repairs: "rereads 50"},
		{name: "record before it is older than the commit", stored: epoch(150, 4), change: func(l *inspect.Line) {
			l.EpochEnd, l.Before, l.Wrote = 120, now.Add(-time.Hour), now.Add(-time.Minute)
		}, verdict: inspect.Diverged, text: "the client stored a wrong epoch", repairs: "keeps 30"},
		{name: "record before it is younger than the commit", stored: epoch(150, 4), change: func(l *inspect.Line) {
			l.EpochEnd, l.Before, l.Wrote = 120, now.Add(-time.Minute), now.Add(-2*time.Minute)
		}, verdict: inspect.Diverged, text: "written again after", proof: true, repairs: "rereads 30"},
		{name: "another topic id", stored: offset.Stored{State: offset.Set, Next: 150, TopicID: "a"}, change: func(l *inspect.Line) { l.TopicID = "b" }, verdict: inspect.Diverged,
			text: "its id changed", proof: true, repairs: "reads 80, keeps 30"},
		{name: "another topic id, past the end", stored: offset.Stored{State: offset.Set, Next: 250, TopicID: "a"}, change: func(l *inspect.Line) { l.TopicID = "b" }, verdict: inspect.TailOverflow,
			text: "topic made again (its id changed); its 80 records are unread", repairs: "reads 80, skips 80"},
		{name: "the same topic id", stored: offset.Stored{State: offset.Set, Next: 150, TopicID: "a"}, change: func(l *inspect.Line) { l.TopicID = "a" }, verdict: inspect.OK},
		{name: "a broker without topic ids", stored: offset.Stored{State: offset.Set, Next: 150, TopicID: "a"}, verdict: inspect.OK},
		{name: "evidence of the store", stored: offset.Stored{State: offset.Set, Next: 150, Evidence: &offset.Evidence{Proof: true, Text: "by its id nothing is stored"}},
			verdict: inspect.Diverged, text: "by its id nothing is stored", proof: true, repairs: "reads 80, keeps 30"},
		{name: "doubt of the store", stored: offset.Stored{State: offset.Set, Next: 150, Evidence: &offset.Evidence{Text: "its checksum is another"}},
			verdict: inspect.Diverged, text: "its checksum", repairs: "reads 80, keeps 30"},

		{name: "stale", stored: set(150), change: func(l *inspect.Line) { l.StaleAt = 160 }, policy: day, verdict: inspect.Stale, text: "older than 1 d"},
		{name: "stale to the end", stored: set(150), policy: day, verdict: inspect.Stale},
		{name: "young", stored: set(150), change: func(l *inspect.Line) { l.StaleAt = 150 }, policy: day, verdict: inspect.OK},
		{name: "old, and all of it is read", stored: set(180), policy: day, verdict: inspect.OK},
		{name: "old by the look-up, young by the record itself", stored: set(150), change: func(l *inspect.Line) { l.StaleAt, l.Oldest = 160, now.Add(-time.Hour) }, policy: day, verdict: inspect.OK},
		{name: "old by the record itself", stored: set(150), change: func(l *inspect.Line) { l.Oldest = now.Add(-41 * time.Hour) }, policy: day, verdict: inspect.Stale, text: "1 d 17 h old"},
		{name: "exactly as old as allowed", stored: set(150), change: func(l *inspect.Line) { l.Oldest = now.Add(-24 * time.Hour) }, policy: day, verdict: inspect.OK},
		{name: "markers and holes only", stored: set(150), change: func(l *inspect.Line) { l.NoUnread = true }, policy: day, verdict: inspect.OK},
		{name: "written long ago, unread for an hour", stored: set(150), change: func(l *inspect.Line) {
			l.StaleAt, l.Wrote, l.Oldest = 150, now.Add(-72*time.Hour), now.Add(-time.Hour)
		}, policy: day, verdict: inspect.Stale, text: "written 3 d ago"},
		{name: "idle for days, and a record has just come", stored: set(150), change: func(l *inspect.Line) {
			l.StaleAt, l.Wrote, l.Oldest = 150, now.Add(-72*time.Hour), now.Add(-time.Second)
		}, policy: day, verdict: inspect.OK},
		{name: "lagging", stored: set(150), policy: inspect.Policy{MaxLag: 29}, verdict: inspect.Lagging, text: "30 records unread, more than 29"},
		{name: "as much lag as allowed", stored: set(150), policy: inspect.Policy{MaxLag: 30}, verdict: inspect.OK},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := plain(value(c.stored))
			if c.change != nil {
				c.change(&l)
			}
			r := classify(l, c.policy)
			x := &r.Groups[0].Rows[0]
			if x.Verdict != c.verdict {
				t.Fatalf("%v, want %v: %+v", x.Verdict, c.verdict, x.Findings)
			}
			if c.verdict == inspect.OK {
				if len(x.Findings) != 0 {
					t.Errorf("ok with %+v", x.Findings)
				}
				return
			}
			f := x.Findings[0]
			if f.Text == "" || !strings.Contains(f.Text, c.text) || f.Proof != c.proof {
				t.Errorf("%+v", f)
			}
			if got := effects(f); got != c.repairs {
				t.Errorf("repairs %q, want %q", got, c.repairs)
			}
			if x.Detail == "" {
				t.Error("no words beside the verdict")
			}
		})
	}
}

func withMetadata(s offset.Stored, m string) offset.Stored {
	s.Metadata = m
	return s
}

func effects(f inspect.Finding) string {
	var out []string
	for _, r := range f.Repairs {
		out = append(out, fmt.Sprint(r.Effect, " ", r.Count))
	}
	return strings.Join(out, ", ")
}

// TestWorstOfSeveral: the row shows the worst, programs get all of them.
func TestWorstOfSeveral(t *testing.T) {
	l := plain(value(epoch(50, 7)))
	l.Oldest = now.Add(-41 * time.Hour)
	r := classify(l, inspect.Policy{StaleAfter: 24 * time.Hour, MaxLag: 10})
	x := r.Groups[0].Rows[0]
	var got []string
	for _, f := range x.Findings {
		got = append(got, f.Verdict.String())
	}
	if want := "head-overflow diverged stale lagging"; strings.Join(got, " ") != want || x.Verdict != inspect.HeadOverflow {
		t.Errorf("%v, want %v", got, want)
	}
	if inspect.ExitCode(r, []inspect.Verdict{inspect.Lagging}) != 1 || inspect.ExitCode(r, []inspect.Verdict{inspect.Orphan}) != 0 {
		t.Error("--fail-on looks at every finding of a row, and at no other")
	}
}

func TestHeadroom(t *testing.T) {
	for _, c := range []struct {
		name      string
		age, keep time.Duration
		headroom  time.Duration
		verdict   inspect.Verdict
		gone      time.Duration
	}{
		{"nearly gone", 167*time.Hour + 46*time.Minute, 168 * time.Hour, 0, inspect.Stale, 14 * time.Minute},
		{"time enough", 100 * time.Hour, 168 * time.Hour, 0, inspect.OK, 68 * time.Hour},
		{"not enough for --min-headroom", 164 * time.Hour, 168 * time.Hour, 6 * time.Hour, inspect.Stale, 4 * time.Hour},
		{"a topic that keeps a minute, read at once", time.Second, time.Minute, 0, inspect.OK, 59 * time.Second},
		{"a topic without a limit", 5000 * time.Hour, 0, 6 * time.Hour, inspect.OK, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := plain(value(set(150)))
			l.Oldest = now.Add(-c.age)
			r := classify(l, inspect.Policy{MinHeadroom: c.headroom}, func(sv *inspect.Survey) {
				sv.Retention = map[string]offset.Result[offset.Retention]{"orders": {Value: offset.Retention{Time: c.keep}}}
			})
			if x := r.Groups[0].Rows[0]; x.Verdict != c.verdict || x.GoneIn != c.gone || x.GoneKnown != (c.keep > 0) {
				t.Errorf("%v gone in %v (%v): %+v", x.Verdict, x.GoneIn, x.GoneKnown, x.Findings)
			}
		})
	}
}

func TestUnreadablePosition(t *testing.T) {
	l := plain(offset.Result[offset.Stored]{Err: fmt.Errorf("region is moving: %w", offset.ErrUnreachable)})
	r := classify(l, inspect.Policy{})
	if x := r.Groups[0].Rows[0]; x.Verdict != inspect.Unknown || !strings.Contains(x.Findings[0].Text, "region is moving") || !errors.Is(x.Consume.Err, offset.ErrUnreachable) {
		t.Errorf("%+v", x)
	}
	if !r.Incomplete || inspect.ExitCode(r, nil) != 3 {
		t.Error("what could not be read makes the report incomplete")
	}
}

// TestDocumented: every verdict has its place in the page for users.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/verdicts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range inspect.Verdicts() {
		if !strings.Contains(string(page), "\n## "+v.String()+"\n") || !strings.Contains(string(page), "`"+v.String()+"`") {
			t.Errorf("docs/verdicts.md has no section for %v", v)
		}
		var back inspect.Verdict
		if text, err := v.MarshalText(); err != nil || back.UnmarshalText(text) != nil || back != v {
			t.Errorf("%s came back as %v", text, back)
		}
	}
	if new(inspect.Verdict).UnmarshalText([]byte("fine")) == nil {
		t.Error("fine is no verdict")
	}
}
