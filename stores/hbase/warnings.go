package hbase

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/hbase/hrpc"
)

// Warnings tells what of the table's settings and the servers' version puts positions in danger. A user who may not see the
// table's description gets no warning from it.
func (s *Store) Warnings(ctx context.Context) (out []offset.Warning) {
	if s.cellwise.Load() {
		out = append(out, offset.Warning{
			Text: fmt.Sprintf("HBase %s takes no condition over several columns: the partitions of a topic are written one by one, and a cut leaves some of them written", s.client.Version()),
			Next: "stop the job before a reset, and run the same reset again after a cut",
		})
	}
	schema, found, err := s.client.Describe(ctx)
	if err != nil || !found {
		return out
	}
	return append(out, s.settings(schema)...)
}

// forever is HBase's time to live for cells that stay.
const forever = "2147483647"

func (s *Store) settings(schema hrpc.Schema) (out []offset.Warning) {
	family := schema.Families[s.family]
	if family == nil {
		return []offset.Warning{{
			Text: fmt.Sprintf("the HBase table has no family %s", s.family),
			Next: "create it with \"store init\", or correct family= in the address",
		}}
	}
	if ttl := family["TTL"]; ttl != "" && ttl != forever && ttl != "FOREVER" {
		text := ttl
		if n, err := strconv.ParseInt(ttl, 10, 32); err == nil {
			text = (time.Duration(n) * time.Second).String()
		}
		out = append(out, offset.Warning{
			Text: fmt.Sprintf("positions that are not written again vanish after %s: family %s has that TTL", text, s.family),
			Next: fmt.Sprintf("alter the table: family %s, TTL FOREVER", s.family),
		})
	}
	if d := schema.Attributes["DURABILITY"]; d == "SKIP_WAL" || d == "ASYNC_WAL" {
		out = append(out, offset.Warning{
			Text: fmt.Sprintf("positions may be lost when a region server dies: the table has DURABILITY %s", d),
			Next: "alter the table: DURABILITY USE_DEFAULT",
		})
	}
	return out
}
