package zookeeper

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/offsetctl/offsetctl/offset"
)

// A spout's node is JSON, of which "offset" is the position and "topic" says whose it is. The rest belongs to the spout.

// spoutNode is a spout's JSON: whose it is, and where the bytes of its offset lie.
type spoutNode struct {
	topic    string
	from, to int
}

// parseSpout reads a node. What its spout would take for no position is an error; topic is there as far as it could be read.
func parseSpout(raw []byte) (n spoutNode, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	t, err := d.Token()
	if err != nil || t != json.Delim('{') {
		return n, errors.New("it is no JSON object")
	}
	var topology struct {
		ID string `json:"id"`
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return n, err
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return n, err
		}
		switch key {
		case "topic":
			err = json.Unmarshal(v, &n.topic)
		case "topology":
			err = json.Unmarshal(v, &topology)
		case "offset":
			if n.to > 0 {
				err = errors.New("it has two offsets")
			}
			n.to = int(d.InputOffset())
			n.from = n.to - len(v)
		}
		if err != nil {
			return n, err
		}
	}
	if _, err := d.Token(); err != nil {
		return n, err
	}
	switch {
	case n.to == 0:
		return n, errors.New("it has no offset")
	case topology.ID == "":
		return n, errors.New("it has no topology.id, and a spout takes it for none")
	}
	return n, nil
}

// spout is what a spout's node means, and whose it is. topic is "" where the node does not say.
func (c config) spout(raw []byte) (topic string, s offset.Stored) {
	n, err := parseSpout(raw)
	if err == nil {
		if next, _, err := c.number.Decode(raw[n.from:n.to]); err == nil {
			return n.topic, offset.Stored{State: offset.Set, Next: next, Raw: raw}
		}
	}
	return n.topic, offset.Stored{State: offset.Invalid, Raw: raw}
}

// respout puts another position into a spout's node.
func (c config) respout(raw []byte, next int64) ([]byte, error) {
	n, err := parseSpout(raw)
	if err != nil {
		return nil, fmt.Errorf("what is there cannot be changed: %w; delete the node, and let the spout make it", err)
	}
	if c.number.Last {
		next--
	}
	out := append(bytes.Clone(raw[:n.from]), strconv.AppendInt(nil, next, 10)...)
	return append(out, raw[n.to:]...), nil
}
