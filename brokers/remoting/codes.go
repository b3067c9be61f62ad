package remoting

import "strconv"

// Code is the number of a request.
type Code int

// Requests.
const (
	CodePull             Code = 11
	CodeQueryOffset      Code = 14
	CodeUpdateOffset     Code = 15
	CodeUpdateTopic      Code = 17
	CodeUpdateConfig     Code = 25
	CodeConfig           Code = 26
	CodeRuntimeInfo      Code = 28
	CodeSearchOffset     Code = 29
	CodeMaxOffset        Code = 30
	CodeMinOffset        Code = 31
	CodeEarliestTime     Code = 32
	CodeConsumerList     Code = 38
	CodeAllOffsets       Code = 43
	CodeRoute            Code = 105
	CodeClusterInfo      Code = 106
	CodeUpdateGroup      Code = 200
	CodeGroups           Code = 201
	CodeTopicStats       Code = 202
	CodeConnections      Code = 203
	CodeTopicList        Code = 206
	CodeDeleteGroup      Code = 207
	CodeConsumeStats     Code = 208
	CodeDeleteTopic      Code = 215 // at a broker
	CodeForgetTopic      Code = 216 // at a name server
	CodeResetOffset      Code = 222
	CodeGroupsOfTopic    Code = 300
	CodeTimeSpan         Code = 303
	CodeCleanQueues      Code = 306
	CodeRunningInfo      Code = 307
	CodeDeleteExpired    Code = 329
	CodeTopicsOfGroup    Code = 343
	CodeCreateUser       Code = 3001
	CodeCreatePermission Code = 3006
)

var codeNames = map[Code]string{
	CodePull: "pull", CodeQueryOffset: "query offset", CodeUpdateOffset: "update offset", CodeUpdateTopic: "update topic",
	CodeUpdateConfig: "update config", CodeConfig: "config", CodeRuntimeInfo: "runtime info", CodeSearchOffset: "search offset",
	CodeMaxOffset: "max offset", CodeMinOffset: "min offset", CodeEarliestTime: "earliest time", CodeConsumerList: "consumer list",
	CodeAllOffsets: "all offsets", CodeRoute: "route", CodeClusterInfo: "cluster info", CodeUpdateGroup: "update group",
	CodeGroups: "groups", CodeTopicStats: "topic stats", CodeConnections: "connections", CodeTopicList: "topic list",
	CodeDeleteGroup: "delete group", CodeConsumeStats: "consume stats", CodeDeleteTopic: "delete topic",
	CodeForgetTopic: "forget topic", CodeResetOffset: "reset offset", CodeGroupsOfTopic: "groups of topic",
	CodeTimeSpan: "time span", CodeCleanQueues: "clean queues", CodeRunningInfo: "running info",
	CodeDeleteExpired: "delete expired", CodeTopicsOfGroup: "topics of group", CodeCreateUser: "create user",
	CodeCreatePermission: "create permission",
}

// String is the number and the name, such as "208 consume stats".
func (c Code) String() string {
	n := strconv.Itoa(int(c))
	if name := codeNames[c]; name != "" {
		return n + " " + name
	}
	return n
}

// What answers say.
const (
	Success              = 0
	SystemError          = 1
	SystemBusy           = 2
	NotSupported         = 3
	NotAvailable         = 14
	FieldMissing         = 15 // a proxy that was not told the broker's name
	NoPermission         = 16
	TopicNotExist        = 17
	PullNotFound         = 19
	PullRetryImmediately = 20
	PullOffsetMoved      = 21
	QueryNotFound        = 22
	GroupNotExist        = 26
	InvalidParameter     = 29
	NotOnline            = 206
	FlowControl          = 215
	NotLeader            = 501
	GoAway               = 1500
)
