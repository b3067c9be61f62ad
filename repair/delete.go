package repair

import (
	"fmt"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

// MakeDelete plans to delete whole groups with all they have stored. cannot says why the store can delete none; nil: it can. The
// undo brings the positions back where it can, not the group's settings. The plan is never nil; the error is a *Refused.
func MakeDelete(rep *inspect.Report, cannot error, o Origin) (*Plan, error) {
	sv := rep.Survey
	p := &Plan{Schema: Schema, Kind: KindDelete, Made: sv.Taken.UTC().Round(0), Origin: o, Isolation: sv.Ask.Isolation.String(), To: "nothing: the group is deleted"}
	p.Cluster, p.seen = sv.Topology.Cluster, sv
	var reasons []Reason
	if cannot != nil {
		reasons = append(reasons, Reason{Cause: CauseImpossible, Err: cannot, Text: cannot.Error(), Next: "delete its positions with reset --to-absent where the store can"})
	}
	for _, gr := range rep.Groups {
		if gr.Err != nil {
			reasons = append(reasons, Reason{Cause: CauseUnknown, Group: gr.Name, Err: gr.Err, Text: fmt.Sprintf("group %s: what it has stored could not be read, so it could not be brought back: %v", gr.Name, gr.Err), Next: "repeat when it can be read"})
			continue
		}
		g := Group{Name: gr.Name, Delete: true}
		for _, l := range linesOf(sv, gr.Name) {
			if l.Stored.Err != nil || l.Stored.Value.State == offset.Unknown {
				reason := unmeasured(&l, "what is stored is not known, so it could not be brought back", l.Stored.Err)
				reason.Group, reason.Partition = gr.Name, &l.Partition
				reasons = append(reasons, reason)
				continue
			}
			if l.Stored.Value.State != offset.Absent {
				g.Items = append(g.Items, deleted(sv, &l))
			}
		}
		if sv.Own && len(g.Items) == 0 && gr.Group.Err == nil && gr.Group.Value.Phase == offset.Missing {
			reasons = append(reasons, Reason{Cause: CauseNames, Group: gr.Name, Err: offset.ErrUnknownName, Text: fmt.Sprintf("group %s does not exist", gr.Name), Next: "see groups"})
		}
		p.Groups = append(p.Groups, g)
	}
	return p, refused(reasons)
}

func deleted(sv *inspect.Survey, l *inspect.Line) Item {
	it := Item{Change: offset.Change{Partition: l.Partition, From: l.Stored.Value, To: offset.Stored{State: offset.Absent}}, Action: Delete}
	if l.Exists && l.Log.Err == nil {
		b := l.Log.Value.Bounds
		it.Bounds = &b
	}
	if sv.Own && !l.Exists {
		it.Note = "an undo cannot bring it back: there is no such partition"
	}
	return it
}
