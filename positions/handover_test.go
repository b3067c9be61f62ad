package positions

import (
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
)

func handover(text string) Handover {
	return Handover{Origin: Origin{Cluster: "5L6g3nShT", Written: now}, Set: set(text), Servers: []string{"h1:9092", "h2:9092"}}
}

const said = "Positions that offsetctl resolved for group billing, cluster \"5L6g3nShT\", 2026-11-30T02:17:00Z."

func TestPrint(t *testing.T) {
	kafka, queues := "billing orders:0=23 orders:2=9007199254740993 orders:10=5", "billing orders@broker-a:0=23 orders@broker-b:0=5"
	for _, x := range []struct{ format, in, want string }{
		{"file", kafka, `{"schema":"offsetctl.positions/v1","cluster":"5L6g3nShT","written":"2026-11-30T02:17:00Z","group":"billing","positions":[
{"topic":"orders","partition":0,"offset":23},
{"topic":"orders","partition":2,"offset":9007199254740993},
{"topic":"orders","partition":10,"offset":5}
]}
`},
		{"file", "- orders@broker-a:0=23", `{"schema":"offsetctl.positions/v1","cluster":"5L6g3nShT","written":"2026-11-30T02:17:00Z","positions":[
{"topic":"orders","broker":"broker-a","partition":0,"offset":23}
]}
`},
		{"spark", kafka + " payments:0=1", `{"orders":{"0":23,"2":9007199254740993,"10":5},"payments":{"0":1}}` + "\n"},
		{"spark", queues, `{"orders":{"broker-a":{"0":23},"broker-b":{"0":5}}}` + "\n"},
		{"flink", kafka, "-- " + said + `
-- For the WITH clause of a table. A job that is restored from a checkpoint or savepoint ignores them.
'connector' = 'kafka',
'topic' = 'orders',
'scan.startup.mode' = 'specific-offsets',
'scan.startup.specific-offsets' = 'partition:0,offset:23;partition:2,offset:9007199254740993;partition:10,offset:5'
`},
		{"rocketmq-spark", queues, "// " + said + `
import org.apache.rocketmq.common.message.MessageQueue
import org.apache.rocketmq.spark.ConsumerStrategy

val queueToOffset = new java.util.HashMap[MessageQueue, Long]()
queueToOffset.put(new MessageQueue("orders", "broker-a", 0), 23L)
queueToOffset.put(new MessageQueue("orders", "broker-b", 0), 5L)
val strategy = ConsumerStrategy.specificOffset(queueToOffset)
// Give it to RocketMqUtils.createMQPullStream with forceSpecial = true: otherwise what the broker has stored for the group wins.
// Set forceSpecial to false again after the first start: otherwise every restart begins here anew.
`},
	} {
		got, err := handover(x.in).Print(x.format)
		if err != nil || string(got) != x.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", x.format, err, got, x.want)
		}
	}
}

func TestPySpark(t *testing.T) {
	h := handover("billing orders:0=23 orders:1=5 payments:0=7")
	got, err := h.Print("pyspark")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"# " + said,
		`SERVERS = "h1:9092,h2:9092"`,
		`START = {"orders":{"0":23,"1":5},"payments":{"0":7}}`,
		`spark = SparkSession.builder.appName("offsetctl-billing").getOrCreate()`,
		`    .option("kafka.isolation.level", "read_committed")`,
	} {
		if !strings.Contains(string(got), "\n"+line+"\n") {
			t.Errorf("%q is missing in\n%s", line, got)
		}
	}
	h.Isolation = offset.ReadUncommitted
	if got, err = h.Print("pyspark"); err != nil || !strings.Contains(string(got), `"read_uncommitted"`) {
		t.Error(err)
	}
	h.Servers = nil
	if _, err = h.Print("pyspark"); err == nil {
		t.Error("a job without brokers")
	}
}

// Names are data: nothing in them gets out of its quotes.
func TestPrintQuotes(t *testing.T) {
	odd := Set{Group: `b"'\`, Positions: []offset.Position{{Partition: offset.Partition{Topic: `o'"\r%s`, Broker: `b"`}, Offset: 1}}}
	h := Handover{Set: odd, Servers: []string{"h:1"}}
	scala, err := h.Print("rocketmq-spark")
	if err != nil || !strings.Contains(string(scala), `new MessageQueue("o'\"\\r%s", "b\"", 0), 1L`) {
		t.Errorf("%s %v", scala, err)
	}
	h.Positions[0].Partition.Broker = ""
	sql, err := h.Print("flink")
	if err != nil || !strings.Contains(string(sql), `'topic' = 'o''"\r%s',`) {
		t.Errorf("%s %v", sql, err)
	}
	py, err := h.Print("pyspark")
	if err != nil || !strings.Contains(string(py), `START = {"o'\"\\r%s":{"0":1}}`) || !strings.Contains(string(py), `appName("offsetctl-b\"'\\")`) {
		t.Errorf("%s %v", py, err)
	}
}

func TestPrintRefused(t *testing.T) {
	negative := handover("billing orders:0=5")
	negative.Positions[0].Offset = -1
	newline := handover("billing orders:0=5")
	newline.Group = "b\nimport os"
	nothing := handover("billing orders:0=5")
	nothing.Positions = nil
	for _, f := range Formats {
		for name, h := range map[string]Handover{"a negative offset": negative, "a line break": newline, "nothing": nothing} {
			if got, err := h.Print(f.Name); err == nil || !strings.HasPrefix(strings.ToLower(err.Error()), strings.NewReplacer("file", "json").Replace(f.Name)) && name != "nothing" {
				t.Errorf("%s prints %s: %s, %v", f.Name, name, got, err)
			}
		}
	}
	for _, x := range []struct{ format, in, want string }{
		{"flink", "- orders:0=1 payments:0=1", "possible for one topic, and there are orders and payments"},
		{"flink", "- orders@a:0=1", "orders@a:0 is a RocketMQ queue"},
		{"pyspark", "- orders@a:0=1", "RocketMQ queue"},
		{"rocketmq-spark", "- orders:0=1", "orders:0 has no broker"},
		{"spark", "- orders@a:0=1 payments@a:0=1", "reads one topic"},
		{"spark", "- orders:0=1 orders@a:0=1", "RocketMQ queue"},
		{"yaml", "- orders:0=1", "no format"},
	} {
		if got, err := handover(x.in).Print(x.format); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %s, %v; want %q", x.format, got, err, x.want)
		}
	}
	if got, err := CSV(set("- orders@a:0=1")); err == nil {
		t.Errorf("%s", got)
	}
	if got, err := CSV(set("- {orders:0=1")); err == nil {
		t.Errorf("%s", got)
	}
	if got, err := CSV(set("- orders:0=1"), set("b orders:0=1")); err == nil {
		t.Errorf("%s", got)
	}
}
