package remoting

import (
	"context"
	"encoding/json"
	"strconv"
)

// CreateTopic makes a topic on one broker, or changes its number of queues.
func (c *Client) CreateTopic(ctx context.Context, b Broker, topic string, queues int) error {
	n := strconv.Itoa(queues)
	_, err := c.Do(ctx, b.Addr, Request{Code: CodeUpdateTopic, Once: true, Ext: map[string]string{
		"topic": topic, "defaultTopic": "TBW102", "readQueueNums": n, "writeQueueNums": n, "perm": "6",
		"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
	}})
	return err
}

// DeleteTopic deletes a topic on one broker. The name servers forget it by ForgetTopic.
func (c *Client) DeleteTopic(ctx context.Context, b Broker, topic string) error {
	_, err := c.Do(ctx, b.Addr, Request{Code: CodeDeleteTopic, Ext: map[string]string{"topic": topic}, Once: true})
	return err
}

// ForgetTopic has a name server forget a topic that was deleted.
func (c *Client) ForgetTopic(ctx context.Context, nameServer, topic string) error {
	_, err := c.Do(ctx, nameServer, Request{Code: CodeForgetTopic, Ext: map[string]string{"topic": topic}, Once: true})
	return err
}

// CreateGroup makes a group's settings on one broker, with the values that brokers themselves use for new groups.
func (c *Client) CreateGroup(ctx context.Context, b Broker, group string) error {
	body, err := json.Marshal(map[string]any{
		"groupName": group, "consumeEnable": true, "consumeFromMinEnable": true, "consumeBroadcastEnable": true,
		"retryQueueNums": 1, "retryMaxTimes": 16, "brokerId": 0, "whichBrokerWhenConsumeSlowly": 1,
		"notifyConsumerIdsChangedEnable": true,
	})
	if err != nil {
		return err
	}
	_, err = c.Do(ctx, b.Addr, Request{Code: CodeUpdateGroup, Body: body, Once: true})
	return err
}

// DeleteGroup deletes a group's settings on one broker, and its positions of every topic.
func (c *Client) DeleteGroup(ctx context.Context, b Broker, group string) error {
	_, err := c.Do(ctx, b.Addr, Request{Code: CodeDeleteGroup, Once: true, Ext: map[string]string{
		"groupName": group, "cleanOffset": "true", "removeOffset": "true", // as 5.x and as 4.9 call it
	}})
	return err
}
