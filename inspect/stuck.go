package inspect

import (
	"context"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/offset"
)

// stuck asks a store beforehand which rows it would not write, whatever the target: no command is offered for those. A broker's
// own store says so of groups, by state and members.
func (t *taking) stuck(ctx context.Context, group string, lines []Line) {
	guard, ok := t.store.(offset.Guarded)
	if !ok || t.sv.Own {
		return
	}
	for i := range lines {
		l := &lines[i]
		if l.Stored.Err != nil || !l.Exists {
			continue
		}
		c := offset.Change{Partition: l.Partition, From: l.Stored.Value, To: offset.Stored{State: offset.Set, Next: l.Log.Value.Start}}
		for _, o := range guard.Guard(ctx, group, []offset.Change{c}) {
			if o.Allow == "" {
				l.Stuck = strings.TrimPrefix(o.Text, l.Partition.String()+": ")
				break
			}
		}
	}
}

// offer is the finding with the commands that put its rows right, or with the reason why none of them would.
func (f Finding) offer(rows []*Row, repairs []Repair) Finding {
	i := slices.IndexFunc(rows, func(r *Row) bool { return r.Stuck != "" })
	if i < 0 || len(repairs) == 0 {
		f.Repairs = repairs
		return f
	}
	f.Text += "; no reset can write it: " + rows[i].Stuck
	return f
}
