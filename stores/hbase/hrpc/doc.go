// Package hrpc is a small HBase client: the native protocol, as far as a table of positions needs it. It finds the cluster through
// ZooKeeper, remembers where rows live, and reads, conditionally writes and scans rows of one family of one table. It speaks
// to HBase 1.7 and to 2.0 up to 2.6, without Kerberos and TLS.
//
// Nothing is ever written without a condition. RegionAction.condition is not used at all: servers before 2.4 skip it without
// a word and write.
package hrpc

// Cell is one cell of the client's family.
type Cell struct {
	Qualifier, Value []byte
	// Time is the cell's timestamp in milliseconds. In a put 0 leaves it to the server; a delete needs the one that was read.
	Time int64
}

// Row is a row's cells, sorted by qualifier. A row that is not there has none.
type Row struct {
	Key   []byte
	Cells []Cell
}

// Expect is a condition on one column.
type Expect struct {
	Qualifier, Value []byte
	Absent           bool // the column must not be there; Value means nothing
}

// Mutation changes one row in one step, where all of When holds.
type Mutation struct {
	Row    []byte
	Put    []Cell
	Delete []Cell // each with its Time: all versions up to it
	When   []Expect
	// Filter sends When as one filter, which a row without any cell never passes and servers before 2.4 refuse (ErrNoFilter).
	// Otherwise When is a single column; "absent" is then also true of an empty value.
	Filter bool
}
