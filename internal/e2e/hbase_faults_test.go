package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/stores/hbase/hbasetest"
)

// TestHBaseRegionServerDies: a reset whose region goes to another server between its plan and its write gets there, and a look
// in between says what is the matter.
func TestHBaseRegionServerDies(t *testing.T) {
	server := testservers.NeedOwn(t, "hbase26procs")
	c, h := kafkaCluster(t, "kafka44"), openCells(t, server)
	topic := c.topic("orders", 3, "retention.ms", "-1")
	o := c.operator("OFFSETCTL_STORE=" + h.url(""))
	o.exits(0, "store", "init")
	for p := range int32(3) {
		c.produce(topic, p, 50, 0)
		h.put("g", topic, fmt.Sprint(p), "1|5")
	}
	for i, node := range []string{"rs1", "rs2"} {
		to := fmt.Sprint(10 + i)
		reset := make(chan *said)
		go func() {
			reset <- o.run("reset", "-g", "g", "-t", topic, "--to-offset", to, "--allow-skip", "--yes", "--settle", "3s", "--timeout", "90s")
		}()
		time.Sleep(1500 * time.Millisecond)
		server.Kill(node)
		look := o.run("inspect", "-g", "g", "--timeout", "2s")
		if look.code == 3 || look.code == 5 {
			look.says("HBase|hbase:meta|ZooKeeper")
		} else if look.code != 0 {
			t.Errorf("just after %s died: %s", node, look)
		}
		if s := <-reset; s.code != 0 {
			t.Errorf("while %s died: %s", node, s)
		}
		for p := range 3 {
			if got := h.raw("g", topic, fmt.Sprint(p)); got != to+"|"+to {
				t.Errorf("partition %d holds %q, want %s", p, got, to)
			}
		}
		server.Start(node)
	}
}

// TestHBaseRefuses: no right, a table that is switched off, names that cannot be.
func TestHBaseRefuses(t *testing.T) {
	cl := kafkaCluster(t, "kafka44")
	topic := cl.topic("orders", 1, "retention.ms", "-1")
	cl.produce(topic, 0, 50, 0)
	c := hbasetest.Start(t, hbasetest.Options{Now: milliseconds})
	c.Put("g|"+topic, "0", "1|5", 0)
	o := cl.operator("OFFSETCTL_STORE=" + c.URL("&user=bob"))
	reset := []string{"reset", "-g", "g", "-t", topic, "--to-earliest", "--yes", "--settle", "0"}
	denied := hbasetest.Fault{Class: "org.apache.hadoop.hbase.security.AccessDeniedException", Text: "Insufficient permissions (user=bob, scope=default:offsets, action=WRITE)"}

	c.Fail(func(call hbasetest.Call) (f hbasetest.Fault) {
		if call.Write {
			f = denied
		}
		return f
	})
	o.exits(0, "inspect", "-g", "g")
	o.exits(5, reset...).says("user=bob", "written 0 of 1")
	c.Fail(func(hbasetest.Call) hbasetest.Fault { return denied })
	o.exits(5, "inspect", "-g", "g").says("user=bob")
	c.Fail(nil)
	c.Disable()
	o.exits(5, "inspect", "-g", "g").says("is disabled", "!REFUSED")
	if raw, _, _ := c.Value("g|"+topic, "0"); raw != "1|5" {
		t.Errorf("the row holds %q", raw)
	}
	bad := cl.operator("OFFSETCTL_STORE=" + strings.Replace(c.URL(""), "/offsets", "/off*sets", 1))
	bad.exits(2, "store", "init").says("table's name")
	logs := cl.operator("OFFSETCTL_STORE=" + c.URL(""))
	logs.exits(2, "inspect", "-g", "LOG").says(`group "LOG".*job's log`)
}
