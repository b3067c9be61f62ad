// Package remoting speaks RocketMQ's wire protocol: to name servers, to brokers, and enough of it to tell a proxy apart.
//
// A Client keeps one connection to each address, sends requests without waiting for earlier answers and matches the answers
// by their number. Calls are typed; what a broker answers is handed on as it is, and the traps of each version are the
// caller's: brokers answer 0 for topics, queues and groups that they do not know.
package remoting
