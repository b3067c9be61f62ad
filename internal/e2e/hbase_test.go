package e2e

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/stores/hbase/hrpc"
)

// cells is an HBase table as a job uses it: row app|group|topic, a column for each partition.
type cells struct {
	t      testing.TB
	client *hrpc.Client
	server testservers.Server
	table  string
	app    string
}

func openCells(t testing.TB, server testservers.Server) *cells {
	t.Helper()
	h := &cells{t: t, server: server, table: fmt.Sprintf("e2e_%x", rand.Uint64())}
	client, err := hrpc.Open(context.Background(), hrpc.Config{Hosts: []string{h.server.Addr["zookeeper"]}, Parent: h.server.Vars["znode"], Table: h.table, Family: "t",
		User: "job", Log: slog.New(slog.DiscardHandler), Trace: func(string, string) {}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	h.client = client
	return h
}

func (h *cells) url(options string) string {
	return "hbase://" + h.server.Addr["zookeeper"] + "/" + h.table + "?parent=" + h.server.Vars["znode"] + options
}

func (h *cells) row(group, topic string) []byte {
	if h.app == "" {
		return []byte(group + "|" + topic)
	}
	return []byte(h.app + "|" + group + "|" + topic)
}

func (h *cells) put(group, topic, partition, raw string) {
	h.t.Helper()
	done, err := h.client.Mutate(context.Background(), hrpc.Mutation{Row: h.row(group, topic), Put: []hrpc.Cell{{Qualifier: []byte(partition), Value: []byte(raw)}},
		When: []hrpc.Expect{{Qualifier: []byte(partition), Absent: true}}})
	if !done || err != nil {
		h.t.Fatalf("%s of %s: done %v, %v", partition, h.row(group, topic), done, err)
	}
}

func (h *cells) raw(group, topic, partition string) string {
	h.t.Helper()
	got := h.client.Get(context.Background(), [][]byte{h.row(group, topic)})[0]
	if got.Err != nil {
		h.t.Fatal(got.Err)
	}
	for _, c := range got.Row.Cells {
		if string(c.Qualifier) == partition {
			return string(c.Value)
		}
	}
	return gone
}

func long(n int64) string { return string(binary.BigEndian.AppendUint64(nil, uint64(n))) }

// TestHBaseSeed: rows as a Java job has sown them, with and without an app, in each form that a Java job gives its values; HBase 2.6.
func TestHBaseSeed(t *testing.T) {
	c, h := kafkaCluster(t, "kafka44"), openCells(t, testservers.Need(t, "hbase26"))
	o := c.operator("OFFSETCTL_STORE=" + h.url(""))
	s := o.run("inspect", "-g", "billing")
	if s.code != 2 && s.code != 5 {
		t.Errorf("a table that is not there: %s", s)
	}
	s.says(h.table, "store init")
	o.exits(0, "store", "init", "--store", h.url("")).says(h.table)
	o.exits(0, "store", "init", "--store", h.url("")).says("already")
	h.app = "app-1"
	sown(t, c, "text", seed{job: h, store: h.url("&app=app-1"),
		was:      map[string]string{"0": "1|5", "1": "290|300", "2": "40|50", "3": "abc", "9": "44|44"},
		repaired: map[string]string{"0": "20|20", "1": "100|100", "2": "40|50", "3": "20|20", "4": "20|20", "5": "20|20"},
		more:     []string{"--prune"},
	})
	h.app = ""
	t.Run("long", func(t *testing.T) {
		c := kafkaCluster(t, "kafka44")
		sown(t, c, "long", seed{job: h, store: h.url(""),
			was:      map[string]string{"0": long(5), "1": long(300), "2": long(50), "3": "\x00\x01\x02", "9": long(44)},
			repaired: map[string]string{"0": long(20), "1": long(100), "2": long(50), "3": long(20), "4": long(20), "5": long(20)},
			more:     []string{"--prune"},
		})
	})
}

// TestHBaseSeedOldVersions: HBase without conditions over several columns, of 1.x and of 2.x.
func TestHBaseSeedOldVersions(t *testing.T) {
	for _, server := range []string{"hbase22", "hbase17"} {
		t.Run(server, func(t *testing.T) {
			c, h := kafkaCluster(t, "kafka44"), openCells(t, testservers.Need(t, server))
			o := c.operator("OFFSETCTL_STORE=" + h.url(""))
			o.exits(0, "store", "init").says(h.table)
			o.exits(0, "store", "init").says("already")
			o.exits(0, "check").says("^warn +store +.*one by one", "!FAIL")
			sown(t, c, "text", seed{job: h, store: h.url(""),
				was:      map[string]string{"0": "1|5", "1": "300", "2": long(50), "3": "abc", "9": "44|44"},
				repaired: map[string]string{"0": "20|20", "1": "100", "2": long(50), "3": "20|20", "4": "20|20", "5": "20|20"},
				more:     []string{"--prune"},
			})
		})
	}
}

// TestBR24HBaseNames: a name is byte for byte a part of its row; and two resets of one group at once (BR-34).
func TestBR24HBaseNames(t *testing.T) {
	c, h := kafkaCluster(t, "kafka44"), openCells(t, testservers.Need(t, "hbase26"))
	o := c.operator("OFFSETCTL_STORE=" + h.url(""))
	o.exits(0, "store", "init", "--store", h.url(""))
	neighbours(t, c, h.url(""), "a", "a:b", "a{b}", "a%2Fb", "a/b", "a b", "a*", "a|b", "中文")
	duel(t, c, h.url(""), "raced")
	s := c.operator("OFFSETCTL_STORE="+h.url("&family=nofamily")).run("inspect", "-g", "a")
	if s.code != 2 && s.code != 5 {
		t.Errorf("a family that is not there: %s", s)
	}
	s.says("nofamily")
	nowhere := c.operator("OFFSETCTL_STORE=hbase://127.0.0.1:1/x")
	for _, command := range []string{"inspect", "check"} {
		nowhere.exits(5, command, "-g", "a", "--timeout", "5s").says(`127\.0\.0\.1:1.*refused`)
	}
}
