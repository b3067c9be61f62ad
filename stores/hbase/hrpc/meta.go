package hrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/offsetctl/offsetctl/offset"
)

const metaRegion = "hbase:meta,,1"

// region is where a run of rows lives: start <= row < end, an empty end is open.
type region struct {
	name       string
	start, end []byte
	server     string
}

func (r region) holds(row []byte) bool {
	return bytes.Compare(r.start, row) <= 0 && (len(r.end) == 0 || bytes.Compare(row, r.end) < 0)
}

// located is the cache of one table's regions, sorted by start.
type located []region

func (l located) find(row []byte) (region, bool) {
	i, found := slices.BinarySearchFunc(l, row, func(r region, row []byte) int { return bytes.Compare(r.start, row) })
	if !found {
		i--
	}
	if i >= 0 && l[i].holds(row) {
		return l[i], true
	}
	return region{}, false
}

// add puts a region in and takes out whatever overlaps: it was split or merged.
func (l located) add(r region) located {
	l = slices.DeleteFunc(l, func(o region) bool {
		return (len(r.end) == 0 || bytes.Compare(o.start, r.end) < 0) && (len(o.end) == 0 || bytes.Compare(r.start, o.end) < 0)
	})
	i, _ := slices.BinarySearchFunc(l, r.start, func(o region, start []byte) int { return bytes.Compare(o.start, start) })
	return slices.Insert(l, i, r)
}

func (l located) remove(name string) located {
	return slices.DeleteFunc(l, func(o region) bool { return o.name == name })
}

// locate answers the region of a row, from the cache or from hbase:meta.
func (c *Client) locate(ctx context.Context, row []byte) (region, error) {
	c.mu.Lock()
	r, ok := c.regions.find(row)
	c.mu.Unlock()
	if ok {
		return r, nil
	}
	r, err := c.lookUp(ctx, row)
	if err != nil {
		return region{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.regions = c.regions.add(r)
	return r, nil
}

// lookUp reads the last region of the table that starts at or before the row.
func (c *Client) lookUp(ctx context.Context, row []byte) (region, error) {
	// ':' sorts after every digit of a region's id. The stop row needs both commas, or the table's first region is not found.
	start := c.table + "," + string(row) + ",:"
	body, err := c.callMeta(ctx, "Scan", join(
		specifier(metaRegion),
		message(2, message(1, text(1, "info")), data(3, []byte(start)), text(4, c.table+",,"), yes(15)),
		number(4, 1), yes(5)))
	if err != nil {
		return region{}, err
	}
	page, err := parseScan(body)
	if err != nil {
		return region{}, fmt.Errorf("hbase:meta: %w", err)
	}
	if len(page.rows) == 0 {
		return region{}, fmt.Errorf("HBase table %s %w: create it with \"store init\", or correct the address", c.table, offset.ErrUnknownName)
	}
	r, err := parseMetaRow(page.rows[0], c.table)
	if err != nil {
		return region{}, fmt.Errorf("hbase:meta, table %s: %w", c.table, err)
	}
	if !r.holds(row) {
		return region{}, &unsettledError{fmt.Sprintf("no region of table %s holds row %q right now", c.table, row)}
	}
	return r, nil
}

// parseMetaRow reads one region out of its row. An *unsettledError says that the region is on its way.
func parseMetaRow(row Row, table string) (region, error) {
	r := region{name: string(row.Key)}
	var server, state string
	var info []byte
	for _, c := range row.Cells {
		switch string(c.Qualifier) {
		case "regioninfo":
			info = c.Value
		case "server":
			server = string(c.Value)
		case "state":
			state = string(c.Value)
		}
	}
	msg, ok := bytes.CutPrefix(info, []byte("PBUF"))
	if !ok {
		return region{}, errors.New("a region without description")
	}
	var of string
	var away bool
	for f, err := range fields(msg) {
		if err != nil {
			return region{}, err
		}
		switch f.num {
		case 2:
			if of, err = parseTableName(f.bytes); err != nil {
				return region{}, err
			}
		case 3:
			r.start = f.bytes
		case 4:
			r.end = f.bytes
		case 5, 6: // offline, split
			away = away || f.bool()
		}
	}
	if of != table {
		return region{}, fmt.Errorf("the region %q is of table %q", r.name, of)
	}
	if server == "" || away || state != "" && state != "OPEN" {
		return region{}, &unsettledError{fmt.Sprintf("region %q has no server yet (state %q)", r.name, state)}
	}
	r.server = server
	return r, nil
}

func parseTableName(msg []byte) (string, error) {
	var ns, name string
	for f, err := range fields(msg) {
		if err != nil {
			return "", err
		}
		switch f.num {
		case 1:
			ns = string(f.bytes)
		case 2:
			name = string(f.bytes)
		}
	}
	if ns == "" || ns == "default" {
		return name, nil
	}
	return ns + ":" + name, nil
}

func tableName(n protowire.Number, table string) []byte {
	ns, name, ok := strings.Cut(table, ":")
	if !ok {
		ns, name = "default", table
	}
	return message(n, text(1, ns), text(2, name))
}

// forget drops a region that was not where it was thought to be.
func (c *Client) forget(r region) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.regions = c.regions.remove(r.name)
}

// callMeta asks the server of hbase:meta, whose address is remembered until a call there fails.
func (c *Client) callMeta(ctx context.Context, method string, param []byte) ([]byte, error) {
	c.mu.Lock()
	server := c.meta
	c.mu.Unlock()
	if server == "" {
		var err error
		if server, err = c.registry.metaServer(ctx); err != nil {
			return nil, err
		}
	}
	body, err := c.call(ctx, server, clientService, method, param)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.meta = ""
		return nil, fmt.Errorf("hbase:meta at %s: %w", server, err)
	}
	c.meta = server
	return body, nil
}

// disabled tells whether the table was switched off: its regions then answer like ones that are moving, for ever.
func (c *Client) disabled(ctx context.Context) bool {
	const (
		disabled  = 1
		disabling = 2
	)
	state, err := c.tableState(ctx)
	return err == nil && (state == disabled || state == disabling)
}

var errDisabled = errors.New("is disabled")

func (c *Client) switchedOff() error {
	return fmt.Errorf("HBase table %s %w, and %w until it is enabled", c.table, errDisabled, offset.ErrUnreachable)
}

func (c *Client) tableState(ctx context.Context) (uint64, error) {
	if strings.HasPrefix(c.version, "1.") {
		return c.registry.tableState(ctx, c.table)
	}
	body, err := c.callMeta(ctx, "Get", join(specifier(metaRegion), message(2, text(1, c.table), message(2, text(1, "table"), text(2, "state")))))
	if err != nil {
		return 0, err
	}
	row, err := parseGet(body)
	if err != nil || len(row.Cells) == 0 {
		return 0, errors.New("hbase:meta says nothing of the table's state")
	}
	return parseTableState(row.Cells[0].Value)
}

func parseTableState(msg []byte) (uint64, error) {
	for f, err := range fields(msg) {
		if err != nil {
			return 0, err
		}
		if f.num == 1 {
			return f.value, nil
		}
	}
	return 0, errors.New("no state")
}
