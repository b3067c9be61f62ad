package inspect

import (
	"fmt"
	"strings"

	"github.com/offsetctl/offsetctl/offset"
)

// IsRetry tells the topics that RocketMQ keeps for a group itself: messages to be tried again, and those that were given up.
// They are no part of the group's own work, so their lag is counted apart and a reset of its topics does not move them.
func IsRetry(topic string) bool {
	return strings.HasPrefix(topic, retryPrefix) || strings.HasPrefix(topic, "%DLQ%")
}

const retryPrefix = "%RETRY%"

// RetryTopic is the topic in which RocketMQ keeps what a group has to try again.
func RetryTopic(group string) string { return retryPrefix + group }

// untilMinusOne recognises, as far as it can be, what rocketmq-spark stores: the last offset that it has read. It proves nothing.
func (c *classifier) untilMinusOne(g *GroupReport) string {
	if !strings.HasPrefix(c.Topology.Product, "RocketMQ") || g.Group.Err == nil && g.Group.Value.Phase == offset.Live {
		return ""
	}
	behind := 0
	for i := range g.Rows {
		r := &g.Rows[i]
		switch {
		case IsRetry(r.Partition.Topic), r.Log.Err == nil && r.Log.Value.End == 0: // nothing was ever there
		case !r.LagKnown || r.Lag != 1 || r.Stored.Value.State != offset.Set:
			return ""
		default:
			behind++
		}
	}
	if behind < 2 {
		return ""
	}
	return fmt.Sprintf("each of %d queues lags by exactly 1 and nobody is seen to consume: looks like rocketmq-spark's until-1, the last offset read instead of the next. "+
		"Nothing can prove it, so nothing is converted; only a store that is declared with value=last is", behind)
}
