package hrpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Schema is what a table's description says about keeping positions.
type Schema struct {
	Families   map[string]map[string]string // attributes by family: TTL, VERSIONS
	Attributes map[string]string            // of the table: DURABILITY
}

// familyAttributes are sent in full, because HBase 1 reads each without asking whether it is there.
var familyAttributes = [][2]string{
	{"VERSIONS", "1"}, {"MIN_VERSIONS", "0"}, {"TTL", "2147483647"}, {"BLOCKSIZE", "65536"}, {"IN_MEMORY", "false"},
	{"BLOCKCACHE", "true"}, {"BLOOMFILTER", "ROW"}, {"COMPRESSION", "NONE"}, {"DATA_BLOCK_ENCODING", "NONE"},
	{"KEEP_DELETED_CELLS", "FALSE"}, {"REPLICATION_SCOPE", "0"},
}

// Create makes the table, its namespace and its family, whatever of it is missing, and tells what it made.
func (c *Client) Create(ctx context.Context) (made []string, err error) {
	schema, found, err := c.Describe(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case found && schema.Families[c.family] != nil:
		return nil, nil
	case found:
		err = c.procedure(ctx, "AddColumn", join(tableName(1, c.table), familySchema(2, c.family)))
		return []string{"family " + c.family}, ignore(err, "InvalidFamilyOperationException")
	}
	if ns, _, ok := strings.Cut(c.table, ":"); ok {
		err := c.procedure(ctx, "CreateNamespace", message(1, text(1, ns)))
		if err == nil {
			made = append(made, "namespace "+ns)
		} else if ignore(err, "NamespaceExistException") != nil {
			return nil, err
		}
	}
	err = c.procedure(ctx, "CreateTable", message(1, tableName(1, c.table), familySchema(3, c.family)))
	if err != nil {
		return made, ignore(err, "TableExistsException")
	}
	return append(made, "table "+c.table, "family "+c.family), nil
}

// ignore: somebody else made it at the same moment.
func ignore(err error, class string) error {
	var ex *ServerError
	if errors.As(err, &ex) && ex.Class == class {
		return nil
	}
	return err
}

func familySchema(n protowire.Number, family string) []byte {
	parts := [][]byte{text(1, family)}
	for _, a := range familyAttributes {
		parts = append(parts, message(2, text(1, a[0]), text(2, a[1])))
	}
	return message(n, parts...)
}

// Describe answers the table's description. A user without the right to see it gets an error, or found = false.
func (c *Client) Describe(ctx context.Context) (s Schema, found bool, err error) {
	body, err := c.callMaster(ctx, "GetTableDescriptors", tableName(1, c.table))
	if err := ignore(err, "TableNotFoundException"); err != nil {
		return s, false, err
	}
	for f, err := range fields(body) {
		if err != nil {
			return s, false, err
		}
		if f.num == 1 {
			s, err = parseSchema(f.bytes)
			return s, err == nil, err
		}
	}
	return s, false, nil
}

func parseSchema(b []byte) (Schema, error) {
	s := Schema{Families: map[string]map[string]string{}, Attributes: map[string]string{}}
	for f, err := range fields(b) {
		if err != nil {
			return s, err
		}
		switch f.num {
		case 2:
			if err := parsePair(f.bytes, s.Attributes); err != nil {
				return s, err
			}
		case 3:
			if err := parseFamily(f.bytes, s.Families); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

func parseFamily(b []byte, into map[string]map[string]string) error {
	name, attributes := "", map[string]string{}
	for f, err := range fields(b) {
		if err != nil {
			return err
		}
		switch f.num {
		case 1:
			name = string(f.bytes)
		case 2:
			if err := parsePair(f.bytes, attributes); err != nil {
				return err
			}
		}
	}
	into[name] = attributes
	return nil
}

func parsePair(b []byte, into map[string]string) error {
	var pair [3]string
	for f, err := range fields(b) {
		if err != nil {
			return err
		}
		if f.num == 1 || f.num == 2 {
			pair[f.num] = string(f.bytes)
		}
	}
	into[pair[1]] = pair[2]
	return nil
}

func (c *Client) callMaster(ctx context.Context, method string, param []byte) (body []byte, err error) {
	err = c.retry(ctx, func() error {
		server, err := c.registry.master(ctx)
		if err != nil {
			return err
		}
		if body, err = c.call(ctx, server, masterService, method, param); err != nil {
			if cureOf(err) == reconnect {
				c.pool.drop(server)
			}
			return fmt.Errorf("HBase master %s: %s: %w", server, method, err)
		}
		return nil
	})
	return body, err
}

// procedure starts a change of the cluster and waits until it is through. Asked twice, because an answer was lost, the master
// answers that the thing exists, which Create takes for success.
func (c *Client) procedure(ctx context.Context, method string, param []byte) error {
	body, err := c.callMaster(ctx, method, param)
	if err != nil {
		return err
	}
	id, ok, err := parseNumber(body)
	if err != nil || !ok {
		return err // HBase 1 answers to some only when they are done
	}
	for {
		body, err := c.callMaster(ctx, "getProcedureResult", number(1, id))
		if err != nil {
			return err
		}
		running, err := parseProcedure(body)
		if err != nil {
			return fmt.Errorf("HBase master: %s: %w", method, err)
		}
		if !running {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("HBase master: %s was started and is not through yet: %w", method, context.Cause(ctx))
		}
	}
}

// parseNumber reads the first field, a number.
func parseNumber(b []byte) (n uint64, found bool, err error) {
	for f, err := range fields(b) {
		if err != nil {
			return 0, false, err
		}
		if f.num == 1 {
			return f.value, true, nil
		}
	}
	return 0, false, nil
}

func parseProcedure(b []byte) (running bool, err error) {
	state, _, err := parseNumber(b)
	if err != nil {
		return false, err
	}
	for f, err := range fields(b) {
		if err != nil {
			return false, err
		}
		if f.num == 5 {
			return false, parseForeign(f.bytes)
		}
	}
	return state == 1, nil
}

// parseForeign reads a procedure's exception: {1 where, 2 an exception}.
func parseForeign(b []byte) error {
	for f, err := range fields(b) {
		if err != nil {
			return err
		}
		if f.num != 2 {
			continue
		}
		e, err := parseException(f.bytes)
		if err != nil {
			return err
		}
		e.DoNotRetry = true
		return e
	}
	return &ServerError{Class: "the procedure failed", DoNotRetry: true}
}
