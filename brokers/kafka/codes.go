package kafka

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/offsetctl/offsetctl/offset"
)

// refused turns the code of an answer about what ("topic orders", "group billing", "orders:3") into an error of a kind,
// nil for code 0. right is what the user needs for the request, where it is a matter of rights.
func refused(what, right string, code int16, message *string) error {
	err := kerr.ErrorForCode(code)
	if err == nil {
		return nil
	}
	text := ""
	if message != nil && *message != "" {
		text = " (" + *message + ")"
	}
	switch kind := kindOf(err); {
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return fmt.Errorf("%s: %s on the topic is %w to this user; Kafka says the same of a topic that does not exist", what, right, offset.ErrDenied)
	case errors.Is(kind, offset.ErrDenied):
		return fmt.Errorf("%s: %s is %w to this user%s", what, right, kind, text)
	case errors.Is(err, kerr.CoordinatorNotAvailable), errors.Is(err, kerr.NotCoordinator), errors.Is(err, kerr.CoordinatorLoadInProgress):
		return fmt.Errorf("%s: its coordinator %w (%w): is a partition of __consumer_offsets without a leader?", what, kind, err)
	case errors.Is(err, kerr.UnknownTopicID):
		return fmt.Errorf("%s: its topic %w any more: it was deleted, or made again, since it was looked at", what, kind)
	case errors.Is(err, kerr.GroupSubscribedToTopic):
		return fmt.Errorf("%s %w: its group has members that subscribe to the topic", what, kind)
	case errors.Is(kind, offset.ErrLive):
		return fmt.Errorf("%s %w: its group has members, and Kafka takes positions from outside only when all of them have left", what, kind)
	case kind != nil:
		return fmt.Errorf("%s %w%s", what, kind, text)
	}
	return fmt.Errorf("%s: the broker answered %w%s", what, err, text)
}

// kindOf is the kind of failure that a code means, nil for none of ours.
func kindOf(err error) error {
	switch {
	case isAny(err, kerr.GroupAuthorizationFailed, kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed):
		return offset.ErrDenied
	case isAny(err, kerr.UnknownMemberID, kerr.NonEmptyGroup, kerr.GroupSubscribedToTopic, kerr.IllegalGeneration,
		kerr.StaleMemberEpoch, kerr.RebalanceInProgress):
		return offset.ErrLive
	case isAny(err, kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.InvalidTopicException, kerr.GroupIDNotFound):
		return offset.ErrUnknownName
	case isAny(err, kerr.LeaderNotAvailable, kerr.NotLeaderForPartition, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch,
		kerr.ReplicaNotAvailable, kerr.OffsetNotAvailable, kerr.KafkaStorageError):
		return offset.ErrNoLeader
	case isAny(err, kerr.CoordinatorNotAvailable, kerr.NotCoordinator, kerr.CoordinatorLoadInProgress):
		return offset.ErrUnreachable
	}
	return nil
}

func isAny(err error, targets ...error) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

var codeTopicDenied = kerr.TopicAuthorizationFailed.Code

// leaderMoved tells whether a code says that another broker leads by now, or soon will.
func leaderMoved(code int16) bool {
	return errors.Is(kindOf(kerr.ErrorForCode(code)), offset.ErrNoLeader) || code == kerr.UnknownTopicOrPartition.Code
}
