package kafka

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/offsetctl/offsetctl/offset"
)

// A broker keeps no version of a commit, so the values themselves are it.
const absentVersion offset.Version = "absent"

// version is a printable token of a commit's values; long texts stand in it by their hash.
func version(next int64, epoch int32, metadata string) offset.Version {
	var buf [64]byte
	b := strconv.AppendInt(buf[:0], next, 10)
	b = append(b, '/')
	b = strconv.AppendInt(b, int64(epoch), 10)
	if metadata != "" {
		sum := sha256.Sum256([]byte(metadata))
		b = append(b, '/')
		b = hex.AppendEncode(b, sum[:8])
	}
	return offset.Version(b)
}

// stored is a commit as it was read. A negative number is one that somebody committed: brokers take any.
func stored(next int64, epoch int32, metadata *string) offset.Stored {
	m := deref(metadata)
	s := offset.Stored{State: offset.Set, Next: next, LeaderEpoch: offset.EpochOf(epoch), Metadata: m, Version: version(next, epoch, m)}
	if next < 0 {
		s.State, s.Next, s.Raw = offset.Invalid, 0, strconv.AppendInt(nil, next, 10)
	}
	return s
}

func absent() offset.Stored { return offset.Stored{State: offset.Absent, Version: absentVersion} }

// recreated is what it means when a commit is there by the topic's name and not by its id.
var recreated = offset.Evidence{Proof: true, Text: "the topic was made again since: the broker has this position under the topic's name, and none under its present id"}

// pending is an open transaction's commit: what it will be is known to its producer alone.
func pending(s offset.Stored) offset.Stored {
	s.Pending = &offset.Pending{Next: -1, What: "a transaction that commits this position is open"}
	return s
}
