package rocketmq

import (
	"errors"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/offset"
)

const (
	retryPrefix      = "%RETRY%"
	deadLetterPrefix = "%DLQ%"
	// broadcastSuffix marks the positions that brokers of 5.x keep for the broadcast clients of a group.
	broadcastSuffix = "@broadcast"
	maxTopic        = 127
	maxGroup        = 255
)

var internalTopics = []string{
	"BenchmarkTest", "CHECKPOINT_TOPIC", "OFFSET_MOVED_EVENT", "SCHEDULE_TOPIC_XXXX", "SELF_TEST_TOPIC", "TBW102", "TRANS_CHECK_MAX_TIME_TOPIC",
}

// isInternal tells topics that nobody's business lies in: the system's, and those of retries and dead letters.
func isInternal(topic string) bool {
	_, found := slices.BinarySearch(internalTopics, topic)
	return found || strings.HasPrefix(topic, retryPrefix) || strings.HasPrefix(topic, deadLetterPrefix) ||
		strings.HasPrefix(topic, "rmq_sys_") || strings.HasPrefix(topic, "RMQ_SYS_") || strings.HasSuffix(topic, "_REPLY_TOPIC")
}

var internalGroups = []string{
	"CID_ONS-HTTP-PROXY", "CID_ONSAPI_OWNER", "CID_ONSAPI_PERMISSION", "CID_ONSAPI_PULL", "CID_SYS_RMQ_TRANS", "DEFAULT_CONSUMER",
	"DEFAULT_PRODUCER", "FILTERSRV_CONSUMER", "SELF_TEST_C_GROUP", "SELF_TEST_P_GROUP", "TOOLS_CONSUMER",
}

// isInternalGroup tells groups that brokers have by themselves.
func isInternalGroup(group string) bool {
	_, found := slices.BinarySearch(internalGroups, group)
	return found || strings.HasPrefix(group, "CID_RMQ_SYS_")
}

// isName tells what RocketMQ's clients take for the name of a topic or group.
func isName(s string, longest int) bool {
	if s == "" || len(s) > longest {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '%' && c != '|' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// isPopRetry tells the topic in which a group's unacknowledged messages wait when it consumes by popping.
func isPopRetry(group, topic string) bool {
	rest, ok := strings.CutPrefix(topic, retryPrefix+group)
	return ok && len(rest) > 1 && (rest[0] == '_' || rest[0] == '+')
}

func isUnknown(err error) bool { return errors.Is(err, offset.ErrUnknownName) }
