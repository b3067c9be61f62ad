package hbasetest

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

func (c *Cluster) accept(server int, l net.Listener) {
	for {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		c.mu.Lock()
		c.conns[nc] = true
		c.mu.Unlock()
		go func() {
			c.serve(server, nc)
			_ = nc.Close()
			c.mu.Lock()
			delete(c.conns, nc)
			c.mu.Unlock()
		}()
	}
}

// serve reads the preamble and then requests until the connection ends.
func (c *Cluster) serve(server int, nc net.Conn) {
	r := bufio.NewReader(nc)
	var head [10]byte
	if _, err := io.ReadFull(r, head[:]); err != nil || string(head[:6]) != "HBas\x00\x50" {
		return
	}
	header := make([]byte, binary.BigEndian.Uint32(head[6:]))
	if _, err := io.ReadFull(r, header); err != nil {
		return
	}
	service := decode(header).text(2)
	for {
		var size [4]byte
		if _, err := io.ReadFull(r, size[:]); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		h, n := protowire.ConsumeBytes(body)
		param, _ := protowire.ConsumeBytes(body[n:])
		answer, ok := c.request(server, service, decode(h), decode(param))
		if !ok {
			return
		}
		if _, err := nc.Write(answer); err != nil {
			return
		}
	}
}

// request carries one request out and answers its frame; !ok ends the connection.
func (c *Cluster) request(server int, service string, header, param msg) (answer []byte, ok bool) {
	id := number(1, header.number(1))
	method := header.text(3)
	var fault Fault
	if service == "ClientService" && !isMeta(param) {
		fault = c.decide(Call{Server: server, Method: method, Rows: rowsOf(method, param), Write: writes(method, param)})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if service != "ClientService" && c.starting > 0 {
		c.starting--
		return frame(append(id, exception(notReady(service))...)), true
	}
	switch {
	case fault.Cut:
		return nil, false
	case fault.Class != "":
		return frame(append(id, exception(&failure{fault.Class, fault.Text, false})...)), true
	}
	body, failed := c.answer(server, service, method, param)
	switch {
	case fault.CutAfter:
		return nil, false
	case fault.Silent:
		return nil, true
	case failed != nil:
		return frame(append(id, exception(failed)...)), true
	}
	return frame(id, body), true
}

// decide notes a call and asks what shall come of it, one call at a time.
func (c *Cluster) decide(call Call) Fault {
	c.mu.Lock()
	c.calls = append(c.calls, call)
	f := c.fault
	c.mu.Unlock()
	if f == nil {
		return Fault{}
	}
	c.deciding.Lock()
	defer c.deciding.Unlock()
	return f(call)
}

// failure is an exception.
type failure struct {
	class, text string
	doNotRetry  bool
}

const pkg = "org.apache.hadoop.hbase."

// notReady is what a master answers that is still starting.
func notReady(service string) *failure {
	if service == "MasterService" {
		return &failure{pkg + "PleaseHoldException", "Master is initializing", false}
	}
	return &failure{"java.io.IOException", `Cannot invoke "getActiveMasterServerName()" because "this.activeMasterManager" is null`, false}
}

func exception(f *failure) []byte {
	b := join(text(1, f.class), text(2, f.class+": "+f.text+"\n\tat org.apache.hadoop.hbase.Somewhere"))
	if f.doNotRetry {
		b = append(b, number(5, 1)...)
	}
	return message(2, b)
}

func join(parts ...[]byte) (b []byte) {
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

func isMeta(param msg) bool { return param.message(1).text(2) == "hbase:meta,,1" }

func rowsOf(method string, param msg) (rows []string) {
	switch method {
	case "Mutate":
		rows = append(rows, param.message(2).text(1))
	case "Multi":
		for _, region := range param.messages(1) {
			for _, action := range region.messages(3) {
				rows = append(rows, action.message(3).text(1)+action.message(2).text(1))
			}
		}
	}
	return rows
}

func writes(method string, param msg) bool {
	if method != "Multi" {
		return method == "Mutate"
	}
	for _, region := range param.messages(1) {
		for _, action := range region.messages(3) {
			if action.has(2) {
				return true
			}
		}
	}
	return false
}

func (c *Cluster) answer(server int, service, method string, param msg) ([]byte, *failure) {
	switch service + "." + method {
	case "ClientMetaService.GetMasters":
		return message(1, c.masterName(1), number(2, 1)), nil
	case "ClientMetaService.GetMetaRegionLocations":
		return message(1, c.masterName(2)), nil
	case "MasterService.GetClusterStatus":
		return message(1, message(1, text(1, c.opts.Version))), nil
	case "MasterService.GetTableDescriptors":
		return c.describe(param), nil
	case "MasterService.CreateTable":
		return c.createTable(param)
	case "MasterService.AddColumn":
		c.families[param.message(2).text(1)] = true
		return number(1, 1), nil
	case "MasterService.CreateNamespace":
		return number(1, 1), nil
	case "MasterService.getProcedureResult":
		return number(1, 2), nil
	case "ClientService.Scan":
		if isMeta(param) {
			return c.scanMeta(param.message(2)), nil
		}
		return c.scan(server, param)
	case "ClientService.Get":
		return c.tableState(param), nil
	case "ClientService.Mutate":
		return c.mutate(server, param)
	case "ClientService.Multi":
		return c.multi(server, param)
	}
	return nil, &failure{pkg + "DoNotRetryIOException", "java.lang.UnsupportedOperationException: " + method, true}
}

// served finds a region by its full name, which is the only one that HBase 2 takes.
func (c *Cluster) served(server int, specifier msg) (*region, *failure) {
	name := specifier.text(2)
	for _, r := range c.regions {
		if r.name == name && r.server == server && r.state == "OPEN" && !c.disabled {
			return r, nil
		}
		if r.name == name && r.server != server {
			return nil, &failure{pkg + "exceptions.RegionMovedException", "Region moved to: hostname=localhost port=1 startCode=1. As of locationSeqNum=1.", false}
		}
	}
	return nil, &failure{pkg + "NotServingRegionException", name + " is not online", false}
}

func (c *Cluster) familyMissing(families ...string) *failure {
	for _, f := range families {
		if f != "" && !c.families[f] {
			return &failure{pkg + "regionserver.NoSuchColumnFamilyException", "Column family " + f + " does not exist", true}
		}
	}
	return nil
}

func (c *Cluster) complain(what string) {
	c.t.Errorf("hbasetest: %s", strings.TrimSpace(what))
}
