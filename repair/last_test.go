package repair

import (
	"testing"
	"time"
)

// TestLast: what "undo" without an id takes back.
func TestLast(t *testing.T) {
	entry := func(id, undoes int64, s Status) *Entry {
		return &Entry{ID: id, Undoes: undoes, Ended: time.Unix(1, 0), Done: []Outcome{{Status: AlreadyThere}, {Status: s}}}
	}
	open := entry(9, 0, NotTried)
	open.Ended = time.Time{}
	for name, c := range map[string]struct {
		newestFirst []*Entry
		want        int64
	}{
		"nothing":                            {nil, 0},
		"a write":                            {[]*Entry{entry(2, 0, Written), entry(1, 0, Written)}, 2},
		"a write that was undone":            {[]*Entry{entry(3, 2, Written), entry(2, 0, Written), entry(1, 0, Written)}, 1},
		"an undo that was taken back":        {[]*Entry{entry(4, 3, Written), entry(3, 2, Written), entry(2, 0, Written), entry(1, 0, Written)}, 2},
		"taken back and undone again":        {[]*Entry{entry(5, 4, Written), entry(4, 3, Written), entry(3, 2, Written), entry(2, 0, Written), entry(1, 0, Written)}, 1},
		"an undo that was refused":           {[]*Entry{entry(3, 2, Live), entry(2, 0, Written), entry(1, 0, Written)}, 2},
		"a write that was refused":           {[]*Entry{entry(2, 0, Moved), entry(1, 0, Written)}, 1},
		"a write that was overwritten":       {[]*Entry{entry(2, 0, Overwritten), entry(1, 0, Written)}, 2},
		"a write of which nothing is known":  {[]*Entry{open, entry(1, 0, Written)}, 9},
		"everything was undone":              {[]*Entry{entry(2, 1, Written), entry(1, 0, Written)}, 0},
		"an undo of what is not in the list": {[]*Entry{entry(7, 5, Written), entry(6, 0, Written)}, 6},
	} {
		got := int64(0)
		if e := Last(c.newestFirst); e != nil {
			got = e.ID
		}
		if got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
