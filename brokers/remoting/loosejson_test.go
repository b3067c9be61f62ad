package remoting

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestStandardJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`:                                 `{"a":1}`,
		`{0:"x",-1:null, 12 : [true,{3:4}]}`:      `{"0":"x","-1":null,"12":[true,{"3":4}]}`,
		`{{"q":1,"t":"a:b,}"}:{"n":2}}`:           `{"{\"q\":1,\"t\":\"a:b,}\"}":{"n":2}}`,
		`{{"q":{1:2}}:5}`:                         `{"{\"q\":{\"1\":2}}":5}`,
		`{"%RETRY%a|b@\"g\\":{0:-1}}`:             `{"%RETRY%a|b@\"g\\":{"0":-1}}`,
		"{\r\n\t\"offsetTable\":{\"T@G\":{0:3}}}": `{"offsetTable":{"T@G":{"0":3}}}`,
		`{}`: `{}`,
		`[]`: `[]`,
	} {
		got, err := StandardJSON([]byte(in))
		if err != nil || string(got) != want || !json.Valid(got) {
			t.Errorf("%s: %s %v", in, got, err)
		}
	}
}

func TestStandardJSONRefuses(t *testing.T) {
	for in, want := range map[string]string{
		``:                                   "too early",
		`{0:1`:                               "too early",
		`{0:"a}`:                             "too early",
		`{0 1}`:                              "colon",
		`{0:1}}`:                             "follows",
		`{0:NaN}`:                            "no value",
		`{0:1 2:3}`:                          "where ,",
		`{:1}`:                               "not expected",
		`{"$ref":"$.a"}`:                     "$ref",
		`{0:{"$ref":"$"}}`:                   "$ref",
		strings.Repeat("[", 100) + `{0:1}`:   "too deeply",
		strings.Repeat("{0:", 100) + `{0:1}`: "too deeply",
	} {
		if got, err := StandardJSON([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30s: %s, %v; want %q", in, got, err, want)
		}
	}
}

// Captured from brokers and name servers.
func TestBodies(t *testing.T) {
	route, err := parseRoute("ns", []byte(`{"brokerDatas":[{"brokerAddrs":{0:"127.0.0.1:10911"},"brokerName":"broker-a","cluster":"DefaultCluster"}],"filterServerTable":{},"queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}`))
	if err != nil || route.Brokers[0].Master() != "127.0.0.1:10911" || route.Queues[0] != (RouteQueues{"broker-a", 4, 4, 6}) || route.Static() {
		t.Error(route, err)
	}
	static, err := parseRoute("ns", []byte(`{"brokerDatas":[],"queueDatas":[],"topicQueueMappingByBroker":{"broker-a":{"bname":"broker-a","currIdMap":{2:0,0:1},"totalQueues":4}}}`))
	if err != nil || !static.Static() || !slices.Equal(static.Logical["broker-a"], []int32{0, 2}) {
		t.Error(static, err)
	}
	stats, err := parseTopicStats([]byte(`{"offsetTable":{{"brokerName":"broker-a","queueId":2,"topic":"T:1"}:{"lastUpdateTimestamp":-1,"maxOffset":10,"minOffset":0}},"topicPutTps":0.0}`))
	if err != nil || !reflect.DeepEqual(stats, map[int32]QueueStats{2: {0, 10, -1}}) {
		t.Error(stats, err)
	}
	all, err := parseAllOffsets([]byte(`{"offsetTable":{"T@G1":{0:9007199254740993},"T@G@broadcast":{1:2},"odd":{0:1}},"pullOffsetTable":{"T@X":{0:1}}}`))
	if err != nil || len(all) != 2 {
		t.Error(all, err)
	}
	for _, o := range all {
		switch o {
		case StoredOffset{"G1", "T", 0, 9007199254740993}, StoredOffset{"G@broadcast", "T", 1, 2}:
		default:
			t.Error(o)
		}
	}
	// A Go client writes the codes as texts.
	info, err := parseRunningInfo([]byte(`{"jstack":"","mqTable":{{"topic":"T","brokerName":"b","queueId":1}:{"commitOffset":3,"dropped":false,"lastConsumeTimestamp":1796036888509}},"properties":{"PROP_X":"y","n":1},"statusTable":{},"subscriptionSet":[{"codeSet":["65"],"subString":"A","topic":"T"}]}`))
	if err != nil || info.Properties["PROP_X"] != "y" || len(info.Queues) != 1 || info.Queues[Queue{"T", "b", 1}].LastConsumed != 1796036888509 || info.Subscriptions[0].SubString != "A" {
		t.Error(info, err)
	}
	if p := parseProperties("a=1\nstorePath=/x\\:y\\=z\n#c=d\n\nempty=\n"); !reflect.DeepEqual(p, map[string]string{"a": "1", "storePath": "/x:y=z", "empty": ""}) {
		t.Error(p)
	}
}

// Numbers of queues that no topic has are refused before anything is made of them.
func TestRouteRefuses(t *testing.T) {
	for _, n := range []string{"-1", "2147483647", "65537"} {
		for _, field := range []string{"readQueueNums", "writeQueueNums"} {
			body := `{"brokerDatas":[{"brokerAddrs":{0:"a"},"brokerName":"b"}],"queueDatas":[{"brokerName":"b","` + field + `":` + n + `}]}`
			if r, err := parseRoute("ns:9876", []byte(body)); err == nil || !strings.Contains(err.Error(), "ns:9876") || r.Queues != nil {
				t.Error(field, n, r, err)
			}
		}
	}
}

func FuzzStandardJSON(f *testing.F) {
	for _, s := range []string{`{0:"x",{"a":1}:[2]}`, `{"offsetTable":{"T@G1":{0:3,2:-1}}}`, `{"a":{"$ref":"$"}}`, `[{"k":"\""}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := StandardJSON(in)
		if err != nil {
			return
		}
		if json.Valid(in) && string(out) != string(in) {
			t.Fatalf("standard JSON %q was changed to %q", in, out)
		}
		if again, err := StandardJSON(out); json.Valid(out) && (err != nil || string(again) != string(out)) {
			t.Fatalf("%q, once more %q, %v", out, again, err)
		}
	})
}

func FuzzBodies(f *testing.F) {
	f.Add([]byte(`{"offsetTable":{{"brokerName":"b","queueId":1,"topic":"T"}:{"maxOffset":1}}}`))
	f.Add([]byte(`{"brokerDatas":[{"brokerAddrs":{0:"a"}}],"queueDatas":[{"readQueueNums":1}]}`))
	f.Add([]byte(`{"subscriptionSet":[{"topic":"T"}],"mqTable":{{"topic":"T"}:{}}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, _ := parseRoute("a", in)
		for _, q := range r.Queues {
			if min(q.Read, q.Write) < 0 || max(q.Read, q.Write) > maxQueues {
				t.Fatal(q)
			}
		}
		parseTopicStats(in)
		parseAllOffsets(in)
		parseRunningInfo(in)
		parseProperties(string(in))
	})
}
