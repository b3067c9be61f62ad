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

// spoutOffset finds the top level's "offset": its bytes lie at from to to.
func spoutOffset(raw []byte) (topic string, from, to int, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	t, err := d.Token()
	if err != nil || t != json.Delim('{') {
		return "", 0, 0, errors.New("it is no JSON object")
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return "", 0, 0, err
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return "", 0, 0, err
		}
		switch key {
		case "topic":
			if err := json.Unmarshal(v, &topic); err != nil {
				return "", 0, 0, err
			}
		case "offset":
			if to > 0 {
				return "", 0, 0, errors.New("it has two offsets")
			}
			to = int(d.InputOffset())
			from = to - len(v)
		}
	}
	if _, err := d.Token(); err != nil {
		return "", 0, 0, err
	}
	if to == 0 {
		return topic, 0, 0, errors.New("it has no offset")
	}
	return topic, from, to, nil
}

// spout is what a spout's node means, and whose it is. topic is "" where the node does not say.
func (c config) spout(raw []byte) (topic string, s offset.Stored) {
	topic, from, to, err := spoutOffset(raw)
	if err == nil {
		if next, _, err := c.number.Decode(raw[from:to]); err == nil {
			return topic, offset.Stored{State: offset.Set, Next: next, Raw: raw}
		}
	}
	return topic, offset.Stored{State: offset.Invalid, Raw: raw}
}

// respout puts another position into a spout's node.
func (c config) respout(raw []byte, next int64) ([]byte, error) {
	_, from, to, err := spoutOffset(raw)
	if err != nil {
		return nil, fmt.Errorf("what is there cannot be changed: %w; delete the node, and let the spout make it", err)
	}
	if c.number.Last {
		next--
	}
	out := append(bytes.Clone(raw[:from]), strconv.AppendInt(nil, next, 10)...)
	return append(out, raw[to:]...), nil
}
