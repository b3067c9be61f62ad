package kafka

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

var retentionKeys = []string{"cleanup.policy", "retention.bytes", "retention.ms", "message.timestamp.type"}

// Retention asks for the topics' settings, all in one request; it needs the right DESCRIBE_CONFIGS on each topic.
func (c *Cluster) Retention(ctx context.Context, topics []string) []offset.Result[offset.Retention] {
	out := make([]offset.Result[offset.Retention], len(topics))
	if len(topics) == 0 {
		return out
	}
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Resources = make([]kmsg.DescribeConfigsRequestResource, len(topics))
	for i, t := range topics {
		req.Resources[i] = kmsg.DescribeConfigsRequestResource{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: t, ConfigNames: retentionKeys}
		out[i].Err = leftOut("the settings of topic " + t)
	}
	r, err := request[*kmsg.DescribeConfigsResponse](ctx, c, bootNode, req)
	for i := range out {
		if err != nil {
			out[i].Err = fmt.Errorf("the settings of topic %s: %w", topics[i], err)
		}
	}
	if err != nil {
		return out
	}
	for k := range r.Resources {
		x := &r.Resources[k]
		i := k
		if i >= len(topics) || topics[i] != x.ResourceName {
			i = slices.Index(topics, x.ResourceName)
		}
		if i < 0 {
			continue
		}
		if out[i].Err = refused("topic "+topics[i], "DESCRIBE_CONFIGS", x.ErrorCode, x.ErrorMessage); out[i].Err == nil {
			out[i].Value, out[i].Err = retention(topics[i], x.Configs)
		}
	}
	return out
}

// retention reads a topic's settings. -1 is no limit; a topic that is only compacted has none at all.
func retention(topic string, configs []kmsg.DescribeConfigsResponseResourceConfig) (r offset.Retention, err error) {
	deletes := false
	for i := range configs {
		v := deref(configs[i].Value)
		switch configs[i].Name {
		case "cleanup.policy":
			deletes, r.Compacted = strings.Contains(v, "delete"), strings.Contains(v, "compact")
		case "message.timestamp.type":
			r.LogAppend = v == "LogAppendTime"
		case "retention.bytes", "retention.ms":
			n, perr := strconv.ParseInt(v, 10, 64)
			if perr != nil {
				return r, fmt.Errorf("topic %s: setting %s is %q, which is no number", topic, configs[i].Name, v)
			}
			if configs[i].Name == "retention.bytes" {
				r.Bytes = max(n, 0)
			} else {
				r.Time = milliseconds(n)
			}
		}
	}
	if !deletes {
		r.Time, r.Bytes = 0, 0
	}
	return r, nil
}

// milliseconds is a duration; what is no limit, or too long to be one, is 0.
func milliseconds(n int64) time.Duration {
	if n < 0 || n > int64(1<<63-1)/int64(time.Millisecond) {
		return 0
	}
	return time.Duration(n) * time.Millisecond
}
