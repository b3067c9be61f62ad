package repair

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/offset"
)

// Schema is the first field of a plan file.
const Schema = "offsetctl.plan/v1"

// Encode writes p as a plan file. A plan with a refused row is no plan.
func (p *Plan) Encode() ([]byte, error) {
	for it := range p.items() {
		if it.Refused != "" {
			return nil, fmt.Errorf("%s is refused and cannot be saved as a plan: %s", it.Partition, it.Refused)
		}
	}
	q := *p
	q.Digest = q.digest()
	b, err := json.MarshalIndent(q, "", "  ")
	return append(b, '\n'), err
}

// digest is a hash over everything else in p, so that a plan which was changed after somebody looked at it is not applied.
func (p *Plan) digest() string {
	q := *p
	q.Digest = ""
	b, err := json.Marshal(q)
	if err != nil { // nothing in a plan can fail to marshal
		panic(err)
	}
	h := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(h[:])
}

// Decode reads a plan file. Unknown fields, a partition that stands twice, numbers that are no positions, and a file that was
// edited after it was made are refused with a *Refused.
func Decode(b []byte) (*Plan, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	bad := func(format string, args ...any) error {
		return refuse(CausePlan, "the plan file "+fmt.Sprintf(format, args...), "make a new one with --plan-out")
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, bad("is not readable: %v", err)
	}
	if head.Schema != Schema {
		return nil, bad("has the schema %q, not %s", head.Schema, Schema)
	}
	var p Plan
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return nil, bad("is not readable: %v", err)
	}
	if err := p.sound(); err != nil {
		return nil, bad("%v", err)
	}
	if p.Digest != p.digest() {
		return nil, bad("was changed after it was made: its digest does not hold")
	}
	return &p, nil
}

// sound holds what every plan keeps.
func (p *Plan) sound() error {
	if !slices.IsSortedFunc(p.Groups, func(a, b Group) int { return strings.Compare(a.Name, b.Name) }) {
		return errors.New("has groups out of order")
	}
	for i, g := range p.Groups {
		if i > 0 && p.Groups[i-1].Name == g.Name {
			return fmt.Errorf("has group %s twice", g.Name)
		}
		for j, it := range g.Items {
			if j > 0 {
				switch c := g.Items[j-1].Partition.Compare(it.Partition); {
				case c == 0:
					return fmt.Errorf("has %s twice", it.Partition)
				case c > 0:
					return fmt.Errorf("has %s out of order", it.Partition)
				}
			}
			if err := it.sound(p.Kind); err != nil {
				return fmt.Errorf("%s: %w", it.Partition, err)
			}
		}
	}
	return nil
}

func (it *Item) sound(k Kind) error {
	to := it.To
	switch {
	case it.Refused != "":
		return errors.New("is refused")
	case it.Partition.Topic == "" || it.Partition.Index < 0:
		return errors.New("is no partition")
	case it.From.State == offset.Unknown:
		return errors.New("does not say what is stored")
	case it.Action == Delete && to.State != offset.Absent:
		return errors.New("is deleted and has a position to go to")
	case it.Action == Write && k == KindUndo && to.State == offset.Invalid && to.Raw != nil:
	case it.Action == Write && (to.State != offset.Set || to.Next < 0):
		return errors.New("has no position to go to")
	case it.Action == Write && k != KindUndo && to.Raw != nil:
		return errors.New("has raw bytes, which only an undo may write")
	}
	return nil
}
