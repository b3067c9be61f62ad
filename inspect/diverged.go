package inspect

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// madeAgain: the topic is provably not the one that the position was read under.
func (c *classifier) madeAgain(r *Row) bool {
	s := r.Stored.Value
	return s.TopicID != "" && r.TopicID != "" && s.TopicID != r.TopicID || s.Evidence != nil && s.Evidence.Proof
}

// diverged looks for evidence that the log is not the one that was read. A committed epoch alone is never proof: some clients
// store one that is not that of the record before the position.
func (c *classifier) diverged(r *Row) (cause, bool) {
	s := r.Stored.Value
	if s.State != offset.Set {
		return 0, false
	}
	if c.madeAgain(r) {
		return topicAnew, true
	}
	if k, ok := c.divergedEpoch(r); ok {
		return k, true
	}
	if !r.Before.IsZero() && !s.Committed.IsZero() && r.Before.After(s.Committed.Add(clockSkew)) && s.Next > r.Log.Value.Start {
		return youngerRecord, true
	}
	return storeDoubts, s.Evidence != nil
}

func (c *classifier) divergedEpoch(r *Row) (cause, bool) {
	e, known := r.Stored.Value.LeaderEpoch.Get()
	if !known {
		return 0, false
	}
	if current, ok := r.Log.Value.Current.Get(); ok && e > current {
		return epochAbove, true
	}
	if r.EpochEnd < 0 || r.EpochEnd >= r.Stored.Value.Next {
		return 0, false
	}
	switch timed := !r.Before.IsZero() && !r.Wrote.IsZero(); {
	case timed && r.Before.After(r.Wrote.Add(epochSkew)):
		return epochCut, true // overwritten after the commit
	case timed && !r.Before.After(r.Wrote):
		return epochWrong, true
	case honestEpoch(r.Stored.Value, e):
		return epochCut, true
	}
	return epochDoubt, true
}

// epochSkew is how far clocks may differ where an epoch speaks for a cut log already.
const epochSkew = 5 * time.Second

// honestEpoch: the writer is known to store the epoch of the record before the position.
func honestEpoch(s offset.Stored, e int32) bool {
	return strings.HasPrefix(s.Metadata, "kgo-") && e > 0 || StreamsText(s.Metadata)
}

// StreamsText recognises what Kafka Streams writes beside a position: base64 of a version byte and a time in milliseconds.
func StreamsText(metadata string) bool {
	b, err := base64.StdEncoding.DecodeString(metadata)
	if err != nil || len(b) < 9 || b[0] < 1 || b[0] > 2 {
		return false
	}
	at := time.UnixMilli(int64(binary.BigEndian.Uint64(b[1:9])))
	return at.Year() >= 2000 && at.Year() < 2200
}
