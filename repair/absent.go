package repair

import (
	"github.com/offsetctl/offsetctl/offset"
)

func (m *making) absent(it Item, stop func(Reason) Item) Item {
	switch {
	case it.From.State == offset.Absent:
		it.To, it.Note = it.From, "nothing is stored"
	case !m.sv.Caps.Delete:
		return stop(Reason{Cause: CauseImpossible, Err: offset.ErrUnsupported, Text: it.Partition.String() + ": this store cannot delete a position", Next: "give it a target instead"})
	default:
		it.Action, it.To = Delete, offset.Stored{State: offset.Absent}
	}
	return it
}

func (m *making) orphan(it Item, stop func(Reason) Item) Item {
	switch {
	case !m.Prune && m.Mode != ToAbsent || it.From.State == offset.Absent:
		it.To, it.Note = it.From, "orphan: there is no such partition; left alone"
	case m.sv.Own:
		return stop(Reason{Cause: CauseImpossible, Err: offset.ErrUnsupported,
			Text: it.Partition.String() + ": the broker does not delete the position of a partition that does not exist", Next: "it goes with the whole group (groups delete) or when it expires"})
	case !m.sv.Caps.Delete:
		return stop(Reason{Cause: CauseImpossible, Err: offset.ErrUnsupported, Text: it.Partition.String() + ": this store cannot delete a position", Next: "leave --prune out"})
	default:
		it.Action, it.To, it.Note = Delete, offset.Stored{State: offset.Absent}, "orphan: there is no such partition"
	}
	return it
}
