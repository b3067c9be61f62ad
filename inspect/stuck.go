package inspect

import (
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/offset"
)

// stuck marks the rows that the store would never write, whatever the target: no command is offered for those.
func (t *taking) stuck(group string, lines []Line) {
	refuser, ok := t.store.(offset.Refuser)
	if !ok {
		return
	}
	for i := range lines {
		l := &lines[i]
		if l.Stored.Err != nil || !l.Exists {
			continue
		}
		c := offset.Change{Partition: l.Partition, From: l.Stored.Value, To: offset.Stored{State: offset.Set, Next: l.Log.Value.Start}}
		if err := refuser.Refuses(group, c); err != nil {
			l.Stuck = strings.TrimPrefix(err.Error(), l.Partition.String()+": ")
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
