package hbasetest

import (
	"maps"
	"slices"
)

// row is a row's columns; each has its versions and markers.
type row map[string][]version

// version is a put, or a marker that deletes all puts up to its timestamp, whenever they come.
type version struct {
	time    int64
	order   int
	value   []byte
	deleted bool
}

// visible is what a reader sees of a column.
func (r row) visible(qualifier string) (version, bool) {
	var newest version
	found := false
	var marker int64
	for _, v := range r[qualifier] {
		switch {
		case v.deleted:
			marker = max(marker, v.time)
		case !found || v.time > newest.time || v.time == newest.time && v.order > newest.order:
			newest, found = v, true
		}
	}
	if !found || newest.time <= marker {
		return version{}, false
	}
	return newest, true
}

func (r row) columns() (names []string) {
	for _, q := range slices.Sorted(maps.Keys(r)) {
		if _, ok := r.visible(q); ok {
			names = append(names, q)
		}
	}
	return names
}

func (c *Cluster) add(key, qualifier string, v version) {
	if c.rows[key] == nil {
		c.rows[key] = row{}
	}
	c.sequence++
	v.order = c.sequence
	c.rows[key][qualifier] = append(c.rows[key][qualifier], v)
}

// Put writes as a job does that compares nothing; time 0 is the server's clock.
func (c *Cluster) Put(key, qualifier, value string, time int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time == 0 {
		time = c.now()
	}
	c.add(key, qualifier, version{time: time, value: []byte(value)})
}

// Delete puts a marker over a column; time 0 is the server's clock.
func (c *Cluster) Delete(key, qualifier string, time int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time == 0 {
		time = c.now()
	}
	c.add(key, qualifier, version{time: time, deleted: true})
}

// Value is what a reader sees; ok is false where there is nothing.
func (c *Cluster) Value(key, qualifier string) (value string, time int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.rows[key].visible(qualifier)
	return string(v.value), v.time, ok
}

// mutation is one PUT or DELETE of a row.
type mutation struct {
	row    string
	delete bool
	cells  []change
}

type change struct {
	qualifier string
	value     []byte
	time      int64 // 0: the server's
}

// apply carries out mutations of one row. atLeast is the timestamp that a condition looked at.
func (c *Cluster) apply(ms []mutation, atLeast int64) {
	now := max(c.now(), atLeast)
	for _, m := range ms {
		for _, ch := range m.cells {
			time := ch.time
			if time == 0 {
				time = now
			}
			c.add(m.row, ch.qualifier, version{time: time, value: ch.value, deleted: m.delete})
		}
	}
}

// condition is one of the two forms.
type condition struct {
	row    string
	column *columnCondition
	filter []columnCondition
}

type columnCondition struct {
	qualifier string
	value     string
	absent    bool
}

// holds tells whether a condition is met, and the timestamp that the server took in passing.
func (c *Cluster) holds(cond condition) (ok bool, time int64) {
	r := c.rows[cond.row]
	if cond.column != nil {
		v, there := r.visible(cond.column.qualifier)
		return string(v.value) == cond.column.value && (there || cond.column.value == ""), v.time
	}
	names := r.columns()
	if len(names) == 0 {
		return false, 0
	}
	for _, f := range cond.filter {
		v, there := r.visible(f.qualifier)
		if f.absent && there || !f.absent && (!there || string(v.value) != f.value) {
			return false, 0
		}
	}
	first, _ := r.visible(names[0])
	return true, first.time
}
