package rocketmq

import "github.com/offsetctl/offsetctl/address"

// Form is how a RocketMQ cluster is addressed: by its name servers.
var Form = address.Form{
	Schemes: []string{"rocketmq"},
	Example: "rocketmq://ns1:9876,ns2:9876?brokers=broker-a,broker-b",
	Port:    9876,
	Many:    true,
	TLS:     true,
	Options: []address.Option{
		{Name: "brokers", Value: "NAME,NAME", Help: "the names of all brokers that should be there. A dead broker vanishes from RocketMQ's metadata: " +
			"only with this list is it missed"},
		{Name: "access-key", Value: "NAME", Help: "the access key (4.x) or user name (5.x) that signs requests"},
		{Name: "secret-key", Value: "env:NAME|file:PATH|command:LINE", Help: "the secret key (4.x) or password (5.x) of access-key", Secret: true},
		{Name: "token", Value: "env:NAME|file:PATH|command:LINE", Help: "a security token that goes with access-key", Secret: true},
		{Name: "timeout", Value: "DURATION", Help: "how long one request may take, 5s where it is not given"},
	},
}
