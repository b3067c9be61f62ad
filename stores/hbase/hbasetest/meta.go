package hbasetest

import (
	"net"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// masterName is the first server's name as registries have it: it is the master too, and has hbase:meta.
func (c *Cluster) masterName(n protowire.Number) []byte {
	host, port, _ := net.SplitHostPort(c.Addr())
	p, _ := strconv.ParseUint(port, 10, 16)
	return message(n, text(1, host), number(2, p), number(3, 1))
}

// scanMeta answers the last region of the table that starts at or before the row in "table,row,:".
func (c *Cluster) scanMeta(scan msg) []byte {
	start := scan.text(3)
	table, rest, _ := strings.Cut(start, ",")
	key := rest[:max(strings.LastIndexByte(rest, ','), 0)]
	if table != c.opts.Table || len(c.regions) == 0 || scan.text(4) != table+",," || scan.number(15) != 1 {
		return nil
	}
	var r *region
	for _, o := range c.regions {
		if o.start <= key {
			r = o
		}
	}
	cell := func(qualifier string, value []byte) []byte {
		return message(1, text(1, r.name), text(2, "info"), text(3, qualifier), number(4, 1), number(5, 4), data(6, value))
	}
	info := join([]byte("PBUF"), number(1, 1), message(2, text(1, "default"), text(2, table)), text(3, r.start), text(4, r.end))
	return message(5,
		cell("regioninfo", info),
		cell("server", []byte(c.servers[r.server].Addr().String())),
		cell("state", []byte(r.state)))
}

func (c *Cluster) tableState(param msg) []byte {
	state := uint64(0)
	if c.disabled {
		state = 1
	}
	key := param.message(2).text(1)
	return message(1, message(1, text(1, key), text(2, "table"), text(3, "state"), number(4, 1), number(5, 4), data(6, number(1, state))))
}

func (c *Cluster) describe(param msg) []byte {
	if param.message(1).text(2) != c.opts.Table || len(c.regions) == 0 {
		return nil
	}
	parts := [][]byte{param.nameField()}
	for name := range c.families {
		family := [][]byte{text(1, name)}
		for k, v := range c.settings {
			if k != "DURABILITY" {
				family = append(family, message(2, text(1, k), text(2, v)))
			}
		}
		parts = append(parts, message(3, family...))
	}
	if v := c.settings["DURABILITY"]; v != "" {
		parts = append(parts, message(2, text(1, "DURABILITY"), text(2, v)))
	}
	return message(1, parts...)
}

func (m msg) nameField() []byte {
	f, _ := m.get(1)
	return data(1, f.bytes)
}

func (c *Cluster) createTable(param msg) ([]byte, *failure) {
	schema := param.message(1)
	name := schema.message(1).text(2)
	if name == c.opts.Table {
		return nil, &failure{pkg + "TableExistsException", name, true}
	}
	c.create(name, schema.message(3).text(1))
	return number(1, 7), nil
}
