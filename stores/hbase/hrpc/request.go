package hrpc

import "google.golang.org/protobuf/encoding/protowire"

// Names and numbers of HBase's messages. Optional fields that are not named here are left out.
const (
	filterPackage = "org.apache.hadoop.hbase.filter."

	typePut    = 2
	typeDelete = 3

	compareLess  = 0
	compareEqual = 2

	pageRows  = 1000
	pageBytes = 8 << 20

	deleteAllVersions = 1 // up to the timestamp; "one version" would uncover older ones
)

// specifier names a region. ClientService takes the full name only.
func specifier(region string) []byte { return message(1, number(1, 1), text(2, region)) }

func getMessage(n protowire.Number, row []byte, family string) []byte {
	return message(n, data(1, row), message(2, text(1, family)))
}

// multiGet asks one server for rows of several regions. The actions' indexes are the rows' places in the whole request.
func multiGet(parts []regionRows, family string) []byte {
	var b []byte
	index := uint64(0)
	for _, p := range parts {
		action := [][]byte{specifier(p.region.name)}
		for _, row := range p.rows {
			action = append(action, message(3, number(1, index), getMessage(3, row, family)))
			index++
		}
		b = append(b, message(1, action...)...)
	}
	return b
}

// regionRows are rows of one region.
type regionRows struct {
	region region
	rows   [][]byte
}

// scanRequest asks for the next page of one region, opening and closing the scanner in the same call: a small range costs one
// round trip, and no scanner can expire between two.
func scanRequest(r region, family string, start, stop []byte, firstOnly bool) []byte {
	scan := [][]byte{message(1, text(1, family)), data(3, start), data(4, stop), number(10, pageBytes)}
	if firstOnly {
		scan = append(scan, filterMessage(5, "FirstKeyOnlyFilter"))
	}
	return join(specifier(r.name), message(2, scan...), number(4, pageRows), yes(5))
}

func filterMessage(n protowire.Number, class string, parts ...[]byte) []byte {
	return message(n, text(1, filterPackage+class), message(2, parts...))
}

// mutateRequest is the method and parameter of a conditional mutation of one row.
func mutateRequest(r region, family string, m Mutation) (method string, param []byte) {
	condition := conditionOf(family, m)
	switch {
	case len(m.Delete) == 0:
		return "Mutate", join(specifier(r.name), putMessage(2, family, m), message(3, condition))
	case len(m.Put) == 0:
		return "Mutate", join(specifier(r.name), deleteMessage(2, family, m), message(3, condition))
	}
	// Both in one step: field 3 of the whole request, which every version honours or refuses. Never field 4 of the region's
	// action: servers before 2.4 skip it and write.
	action := message(1, specifier(r.name), yes(2),
		message(3, number(1, 0), putMessage(2, family, m)),
		message(3, number(1, 1), deleteMessage(2, family, m)))
	return "Multi", join(action, message(3, condition))
}

func putMessage(n protowire.Number, family string, m Mutation) []byte {
	cells := [][]byte{text(1, family)}
	for _, c := range m.Put {
		cell := join(data(1, c.Qualifier), data(2, c.Value))
		if c.Time != 0 {
			cell = append(cell, number(3, uint64(c.Time))...)
		}
		cells = append(cells, data(2, cell))
	}
	return message(n, data(1, m.Row), number(2, typePut), message(3, cells...))
}

func deleteMessage(n protowire.Number, family string, m Mutation) []byte {
	cells := [][]byte{text(1, family)}
	for _, c := range m.Delete {
		cells = append(cells, message(2, data(1, c.Qualifier), number(3, uint64(c.Time)), number(4, deleteAllVersions)))
	}
	return message(n, data(1, m.Row), number(2, typeDelete), message(3, cells...))
}

// conditionOf is either the column form or the filter form. In one condition a server before 2.4 would look at the first only.
func conditionOf(family string, m Mutation) []byte {
	if !m.Filter {
		e := m.When[0]
		expected := e.Value
		if e.Absent {
			expected = nil // an empty value stands for absence
		}
		return join(data(1, m.Row), text(2, family), data(3, e.Qualifier), number(4, compareEqual), comparator(5, expected))
	}
	list := [][]byte{number(1, 1)} // all must pass
	for _, e := range m.When {
		list = append(list, filterMessage(2, "SingleColumnValueFilter", columnFilter(family, e)))
	}
	return join(data(1, m.Row), filterMessage(7, "FilterList", list...))
}

// columnFilter: nothing is less than an empty value, so a column passes "less, or missing" only when it is not there.
func columnFilter(family string, e Expect) []byte {
	column := join(text(1, family), data(2, e.Qualifier))
	if e.Absent {
		return join(column, number(3, compareLess), comparator(4, nil), number(5, 0), yes(6))
	}
	return join(column, number(3, compareEqual), comparator(4, e.Value), yes(5), yes(6))
}

func comparator(n protowire.Number, value []byte) []byte {
	return filterMessage(n, "BinaryComparator", message(1, data(1, value)))
}
