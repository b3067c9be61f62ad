package hbase

import (
	"context"

	"github.com/offsetctl/offsetctl/stores/hbase/hrpc"
)

// client is what the store needs of an HBase client: one family of one table. *hrpc.Client is one; any other that can send
// these conditions and timestamps would do.
type client interface {
	// Get reads rows in one request to each region server. A row without cells is positively not there.
	Get(ctx context.Context, rows [][]byte) []hrpc.RowResult
	// Mutate changes a row where its conditions hold, and tells whether they did. Errors: offset.ErrOutcome where it may have
	// been carried out, hrpc.ErrNoFilter where the server is too old for the condition; with any other error it was not.
	Mutate(ctx context.Context, m hrpc.Mutation) (done bool, err error)
	// Scan reads the rows from start up to, not including, stop (empty: to the end), in order; firstOnly answers one cell of each.
	Scan(ctx context.Context, start, stop []byte, firstOnly bool, each func(hrpc.Row) error) error
	// Describe answers the table's description; found is false also where the user may not see it.
	Describe(ctx context.Context) (s hrpc.Schema, found bool, err error)
	// Filters tells whether the servers take a condition over several columns.
	Filters() bool
	Version() string
	Close() error
}
