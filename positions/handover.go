package positions

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// Handover is where a job shall start, to be handed to another program.
type Handover struct {
	Origin
	Set
	Servers   []string // host:port of the brokers, for a job that is printed whole
	Isolation offset.Isolation
}

// Format is one way to print a Handover.
type Format struct {
	Name, Help string
	print      func(Handover) ([]byte, error)
}

// Formats lists what Print knows, in the order of the help text.
var Formats = []Format{
	{"file", "a file for reset --from-file and for --start @FILE", func(h Handover) ([]byte, error) { return JSON(h.Origin, h.Set) }},
	{"spark", "startingOffsets of Structured Streaming", func(h Handover) ([]byte, error) { return Spark(h.Set) }},
	{"pyspark", "a whole small Structured Streaming job", pyspark},
	{"flink", "options of a Flink SQL table, for one topic", flink},
	{"rocketmq-spark", "the ConsumerStrategy of a rocketmq-spark stream, in Scala", rocketMQSpark},
}

// Print writes positions in one of Formats.
func (h Handover) Print(format string) ([]byte, error) {
	if len(h.Positions) == 0 {
		return nil, fmt.Errorf("%s: there are no positions to print", format)
	}
	for _, f := range Formats {
		if f.Name == format {
			return f.print(h)
		}
	}
	return nil, fmt.Errorf("%q is no format of positions", format)
}

// Said is where the positions come from, for a comment.
func (h Handover) Said() string {
	s := "Positions that offsetctl resolved"
	if h.Group != "" {
		s += " for group " + h.Group
	}
	if h.Cluster != "" {
		s += ", cluster " + strconv.QuoteToASCII(h.Cluster)
	}
	if !h.Written.IsZero() {
		s += ", " + h.Written.UTC().Format(time.RFC3339)
	}
	return s + "."
}

// kafkaOnly refuses what only a Kafka cluster can give.
func (h Handover) kafkaOnly(format string) error {
	for _, x := range h.Positions {
		if err := checkPosition(format, h.Group, x, false); err != nil {
			return err
		}
	}
	return nil
}

var pysparkJob = template.Must(template.New("").Parse(`#!/usr/bin/env python3
# {{.Said}}
# The topics are read from there on; put the work into batch(). Run it with the package for your version of Spark:
#   spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:SPARK_VERSION job.py CHECKPOINT_DIRECTORY
# The directory must be new: where a checkpoint exists, Spark starts from it and ignores START without a word.
# Partitions that are added later are not read: they are assigned by number, so that START names them all.
import json
import sys

from pyspark.sql import SparkSession

SERVERS = {{.ServerList}}
START = {{.Start}}

spark = SparkSession.builder.appName({{.App}}).getOrCreate()
records = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", SERVERS)
    # TLS and SASL: .option("kafka.security.protocol", ...) and its neighbours
    .option("assign", json.dumps({t: sorted(int(p) for p in ps) for t, ps in START.items()}))
    .option("startingOffsets", json.dumps(START))
    .option("kafka.isolation.level", "{{.Level}}")
    .option("failOnDataLoss", "true")
    .load()
)


def batch(df, batch_id):
    df.selectExpr("topic", "partition", "offset", "CAST(key AS STRING)", "CAST(value AS STRING)").show(truncate=False)


query = records.writeStream.foreachBatch(batch).option("checkpointLocation", sys.argv[1]).start()
query.awaitTermination()
`))

func pyspark(h Handover) ([]byte, error) {
	if err := h.kafkaOnly("pyspark"); err != nil {
		return nil, err
	}
	if len(h.Servers) == 0 {
		return nil, errors.New("pyspark: the brokers' addresses are missing")
	}
	start, err := Spark(h.Set)
	if err != nil {
		return nil, err
	}
	level := "read_committed"
	if h.Isolation == offset.ReadUncommitted {
		level = "read_uncommitted"
	}
	name := "offsetctl"
	if h.Group != "" {
		name += "-" + h.Group
	}
	var b strings.Builder
	err = pysparkJob.Execute(&b, map[string]string{
		"Said": h.Said(), "ServerList": quote(strings.Join(h.Servers, ",")), "Start": strings.TrimSpace(string(start)), "App": quote(name), "Level": level,
	})
	return []byte(b.String()), err
}

func flink(h Handover) ([]byte, error) {
	if err := h.kafkaOnly("flink"); err != nil {
		return nil, err
	}
	topic := h.Positions[0].Partition.Topic
	var list []string
	for _, x := range h.Positions {
		if x.Partition.Topic != topic {
			return nil, fmt.Errorf("flink: specific offsets are possible for one topic, and there are %s and %s; select one", topic, x.Partition.Topic)
		}
		list = append(list, fmt.Sprintf("partition:%d,offset:%d", x.Partition.Index, x.Offset))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "-- %s\n", h.Said())
	b.WriteString("-- For the WITH clause of a table. A job that is restored from a checkpoint or savepoint ignores them.\n")
	fmt.Fprintf(&b, "'connector' = 'kafka',\n'topic' = %s,\n", sqlQuote(topic))
	fmt.Fprintf(&b, "'scan.startup.mode' = 'specific-offsets',\n'scan.startup.specific-offsets' = '%s'\n", strings.Join(list, ";"))
	return []byte(b.String()), nil
}

func sqlQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func rocketMQSpark(h Handover) ([]byte, error) {
	for _, x := range h.Positions {
		if err := checkPosition("rocketmq-spark", h.Group, x, true); err != nil {
			return nil, err
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "// %s\n", h.Said())
	b.WriteString(`import org.apache.rocketmq.common.message.MessageQueue
import org.apache.rocketmq.spark.ConsumerStrategy

val queueToOffset = new java.util.HashMap[MessageQueue, Long]()
`)
	for _, x := range h.Positions {
		p := x.Partition
		fmt.Fprintf(&b, "queueToOffset.put(new MessageQueue(%s, %s, %d), %dL)\n", quote(p.Topic), quote(p.Broker), p.Index, x.Offset)
	}
	b.WriteString(`val strategy = ConsumerStrategy.specificOffset(queueToOffset)
// Give it to RocketMqUtils.createMQPullStream with forceSpecial = true: otherwise what the broker has stored for the group wins.
// Set forceSpecial to false again after the first start: otherwise every restart begins here anew.
`)
	return []byte(b.String()), nil
}
