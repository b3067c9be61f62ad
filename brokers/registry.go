// Package brokers is the table of every kind of broker.
package brokers

import (
	"context"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/brokers/kafka"
	"github.com/offsetctl/offsetctl/brokers/rocketmq"
	"github.com/offsetctl/offsetctl/offset"
)

// Driver is one kind of broker. Docs and help texts are made from it. A broker's own store has the broker's address.
type Driver struct {
	address.Form
	Title string // "Kafka"
	Store string // what its own store is called: "Kafka group"
	Open  func(ctx context.Context, env offset.Env, a address.Address) (offset.Broker, error)
}

// Drivers lists every broker, in the order of the documentation.
var Drivers = []Driver{
	{Form: kafka.Form, Title: "Kafka", Store: "Kafka group", Open: kafka.Open},
	{Form: rocketmq.Form, Title: "RocketMQ", Store: "RocketMQ broker", Open: rocketmq.Open},
}
