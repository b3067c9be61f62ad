package repair

import "slices"

// Last is the newest of the entries, which come newest first, that wrote something, is no undo, and is in force: no undo of it
// wrote anything, unless that undo was itself taken back. nil: there is none.
func Last(es []*Entry) *Entry {
	undone := map[int64]bool{}
	for _, e := range es {
		switch {
		case undone[e.ID] || !e.wrote():
		case e.Undoes == 0:
			return e
		default:
			undone[e.Undoes] = true
		}
	}
	return nil
}

// wrote tells whether anything may have been written.
func (e *Entry) wrote() bool {
	return e.Ended.IsZero() || slices.ContainsFunc(e.Done, func(o Outcome) bool {
		return slices.Contains([]Status{Written, NotKnown, Differs, Overwritten}, o.Status)
	})
}
