package remoting

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// PullRequest asks for messages of one queue.
type PullRequest struct {
	Group  string // ToolsGroup for a look that joins nothing
	Topic  string
	Queue  int32
	Offset int64
	Max    int           // messages; brokers give at most 32
	Tags   string        // "a || b"; "" is all
	Wait   time.Duration // how long the broker may wait for a message; brokers look every 5 s
}

// ToolsGroup is the group of administrative reads, which every broker knows. Under access control it needs a grant of its own.
const ToolsGroup = "TOOLS_CONSUMER"

// PullStatus is how a pull ended.
type PullStatus uint8

// Ends of a pull.
const (
	PullFound      PullStatus = iota // there are messages
	PullNothingNew                   // the offset is the end
	PullSkip                         // filtered or expired: go on at Next
	PullOutOfRange                   // the offset is before the start or past the end
	PullReset                        // a reset was pending; Next is its target, and it is over now
)

// PullResult is the answer to a pull.
type PullResult struct {
	Status         PullStatus
	Next, Min, Max int64
	Messages       []Message
}

const (
	pullFlagSuspend      = 2
	pullFlagSubscription = 4
)

// Pull reads messages at an offset.
func (c *Client) Pull(ctx context.Context, b Broker, r PullRequest) (PullResult, error) {
	ext := b.queue(r.Topic, r.Queue)
	flag := pullFlagSubscription
	if r.Wait > 0 {
		flag |= pullFlagSuspend
	}
	tags := r.Tags
	if tags == "" {
		tags = "*"
	}
	for k, v := range map[string]string{
		"consumerGroup": r.Group, "queueOffset": strconv.FormatInt(r.Offset, 10), "maxMsgNums": strconv.Itoa(r.Max),
		"sysFlag": strconv.Itoa(flag), "commitOffset": "0", "suspendTimeoutMillis": strconv.FormatInt(r.Wait.Milliseconds(), 10),
		"subscription": tags, "subVersion": "0", "expressionType": "TAG",
	} {
		ext[k] = v
	}
	wait := r.Wait
	if wait > 0 {
		wait += 10 * time.Second
	}
	a, err := c.Do(ctx, b.Addr, Request{Code: CodePull, Ext: ext, Wait: wait})
	var refused *Error
	if errors.As(err, &refused) {
		switch refused.Code {
		case PullNotFound, PullRetryImmediately, PullOffsetMoved:
			err = nil
		}
	}
	if err != nil {
		return PullResult{}, err
	}
	return parsePull(a, b.Addr)
}

func parsePull(a *Command, addr string) (r PullResult, err error) {
	for name, n := range map[string]*int64{"nextBeginOffset": &r.Next, "minOffset": &r.Min, "maxOffset": &r.Max} {
		if *n, err = parseInt(a, addr, CodePull, name); err != nil {
			return r, err
		}
	}
	switch a.Code {
	case Success:
		if r.Messages, err = DecodeMessages(a.Body); err != nil {
			return r, malformed(addr, CodePull, err)
		}
		if len(r.Messages) == 0 {
			return r, malformed(addr, CodePull, fmt.Errorf("messages were found, and none is in the answer"))
		}
	case PullNotFound:
		r.Status = PullNothingNew
	case PullRetryImmediately:
		r.Status = PullSkip
	case PullOffsetMoved:
		r.Status = PullOutOfRange
		if a.Remark == "OFFSET_RESET" {
			r.Status = PullReset
		}
	}
	return r, nil
}
