package hbasetest

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

func (c *Cluster) result(n protowire.Number, key string, firstOnly bool) []byte {
	var cells [][]byte
	r := c.rows[key]
	for _, q := range r.columns() {
		v, _ := r.visible(q)
		cells = append(cells, message(1, text(1, key), text(2, Family), text(3, q), number(4, uint64(v.time)), number(5, 4), data(6, v.value)))
		if firstOnly {
			break
		}
	}
	return message(n, cells...)
}

func (c *Cluster) scan(server int, param msg) ([]byte, *failure) {
	r, failed := c.served(server, param.message(1))
	if failed != nil {
		return nil, failed
	}
	scan := param.message(2)
	if failed := c.familyMissing(scan.message(1).text(1)); failed != nil {
		return nil, failed
	}
	start, stop := scan.text(3), scan.text(4)
	firstOnly := scan.message(5).text(1) == pkg+"filter.FirstKeyOnlyFilter"
	var out []byte
	var count uint64
	more := uint64(0)
	for _, key := range slices.Sorted(maps.Keys(c.rows)) {
		if key < start || stop != "" && key >= stop || !r.holds(key) || len(c.rows[key].columns()) == 0 {
			continue
		}
		if count == param.number(4) {
			more = 1
			break
		}
		out = append(out, c.result(5, key, firstOnly)...)
		count++
	}
	return append(out, join(number(3, 1), number(8, more))...), nil
}

// mutate is one conditional mutation.
func (c *Cluster) mutate(server int, param msg) ([]byte, *failure) {
	if _, failed := c.served(server, param.message(1)); failed != nil {
		return nil, failed
	}
	m := c.mutation(param.message(2))
	if !param.has(3) {
		c.complain("a mutation of row " + m.row + " without a condition")
	}
	done, failed := c.conditional(param.message(3), []mutation{m})
	return number(2, done), failed
}

func (c *Cluster) multi(server int, param msg) ([]byte, *failure) {
	var ms []mutation
	var out []byte
	for _, action := range param.messages(1) {
		if action.has(4) {
			c.complain("RegionAction.condition is used, which old servers skip")
		}
		_, failed := c.served(server, action.message(1))
		var results [][]byte
		for _, a := range action.messages(3) {
			get := a.message(3)
			switch {
			case a.has(2):
				ms = append(ms, c.mutation(a.message(2)))
			case failed == nil:
				missing := c.familyMissing(get.message(2).text(1))
				if missing != nil {
					results = append(results, message(1, number(1, a.number(1)), message(3, text(1, missing.class), text(2, missing.text))))
				} else {
					results = append(results, message(1, number(1, a.number(1)), c.result(2, get.text(1), false)))
				}
			}
		}
		if failed != nil {
			results = [][]byte{message(2, text(1, failed.class), text(2, failed.text))}
		}
		out = append(out, message(1, results...)...)
		if failed != nil && len(ms) > 0 {
			return nil, failed
		}
	}
	if len(ms) == 0 {
		return out, nil
	}
	if !param.has(3) {
		c.complain("a multi of mutations without a condition")
	}
	done, failed := c.conditional(param.message(3), ms)
	return append(out, number(2, done)...), failed
}

func (c *Cluster) mutation(m msg) mutation {
	const typeDelete, allVersions = 3, 1
	out := mutation{row: m.text(1), delete: m.number(2) == typeDelete}
	for _, column := range m.messages(3) {
		for _, q := range column.messages(2) {
			out.cells = append(out.cells, change{q.text(1), []byte(q.text(2)), int64(q.number(3))})
			if out.delete && (!q.has(3) || q.number(4) != allVersions) {
				c.complain("a delete of " + out.row + " without the timestamp that was read, or of one version")
			}
		}
	}
	if len(out.cells) == 0 {
		c.complain("a mutation of " + out.row + " that names no column: as a delete it takes the whole row")
	}
	return out
}

func (c *Cluster) conditional(m msg, ms []mutation) (done uint64, failed *failure) {
	const filter = 7
	if m.has(filter) && m.has(2) {
		c.complain("a condition of both forms: old servers look at the column only")
	}
	if m.has(filter) && c.old() {
		return 0, &failure{"org.apache.hbase.thirdparty.com.google.protobuf.UninitializedMessageException",
			"/127.0.0.1:1 is unable to read call parameter from client 127.0.0.1; Message missing required fields: condition.family, condition.qualifier", false}
	}
	if failed := c.familyMissing(m.text(2)); failed != nil {
		return 0, failed
	}
	cond := condition{row: m.text(1)}
	if m.has(filter) {
		for _, f := range m.message(filter).message(2).messages(2) {
			column := f.message(2)
			cond.filter = append(cond.filter, columnCondition{
				qualifier: column.text(2),
				value:     column.message(4).message(2).message(1).text(1),
				absent:    column.number(3) == 0,
			})
		}
	} else {
		cond.column = &columnCondition{qualifier: m.text(3), value: m.message(5).message(2).message(1).text(1)}
	}
	for _, x := range ms {
		if x.row != cond.row {
			c.complain("a condition on another row than the mutation's")
		}
	}
	ok, at := c.holds(cond)
	if !ok {
		return 0, nil
	}
	c.apply(ms, at)
	return 1, nil
}
