package hrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// RowResult is the answer for one row of Get.
type RowResult struct {
	Row Row
	Err error
}

// Get reads rows, in one request to each region server. Each row gets its cells or its error; a row without cells is positively
// not there.
func (c *Client) Get(ctx context.Context, rows [][]byte) []RowResult {
	out := make([]RowResult, len(rows))
	open := make([]int, len(rows)) // places in rows that still have no answer
	for i := range open {
		open[i] = i
	}
	err := c.onTable(ctx, func() error {
		c.getOnce(ctx, rows, open, out)
		open = slices.DeleteFunc(open, func(i int) bool { return out[i].Err == nil || cureOf(out[i].Err) == final })
		return worst(out, open)
	})
	for _, i := range open {
		if errors.Is(err, errDisabled) || out[i].Err == nil { // nil: it was not even asked for
			out[i].Err = err
		}
	}
	return out
}

// worst is the error that allows the most tries: the rows with others are tried along with it.
func worst(out []RowResult, open []int) error {
	var err error
	for _, i := range open {
		if err == nil || cureOf(err) == doubtful {
			err = out[i].Err
		}
	}
	return err
}

// batch is what goes to one server.
type batch struct {
	parts []regionRows
	at    [][]int // of each part's rows: the place in the question
}

// maxGets bounds one request.
const maxGets = 1000

func (c *Client) getOnce(ctx context.Context, rows [][]byte, open []int, out []RowResult) {
	var wg sync.WaitGroup
	for server, batches := range c.batches(ctx, rows, open, out) {
		for _, b := range batches {
			wg.Go(func() { c.multi(ctx, server, b, out) })
		}
	}
	wg.Wait()
}

// batches sorts the rows by server and region.
func (c *Client) batches(ctx context.Context, rows [][]byte, open []int, out []RowResult) map[string][]batch {
	byRow := slices.SortedFunc(slices.Values(open), func(i, j int) int { return bytes.Compare(rows[i], rows[j]) })
	servers := map[string][]batch{}
	size := map[string]int{}
	for _, i := range byRow {
		r, err := c.locate(ctx, rows[i])
		if err != nil {
			out[i].Err = err
			continue
		}
		if size[r.server]%maxGets == 0 {
			servers[r.server] = append(servers[r.server], batch{})
		}
		size[r.server]++
		b := &servers[r.server][len(servers[r.server])-1]
		if n := len(b.parts); n == 0 || b.parts[n-1].region.name != r.name {
			b.parts, b.at = append(b.parts, regionRows{region: r}), append(b.at, nil)
		}
		n := len(b.parts) - 1
		b.parts[n].rows, b.at[n] = append(b.parts[n].rows, rows[i]), append(b.at[n], i)
	}
	return servers
}

// multi asks one server. Its answers come by region, and each region and each row may have failed for itself.
func (c *Client) multi(ctx context.Context, server string, b batch, out []RowResult) {
	body, err := c.call(ctx, server, clientService, "Multi", multiGet(b.parts, c.family))
	var results []multiResult
	if err == nil {
		results, err = parseMulti(body)
	}
	if err == nil && len(results) != len(b.parts) {
		err = fmt.Errorf("%d answers to %d regions", len(results), len(b.parts))
	}
	index := uint64(0)
	for n, p := range b.parts {
		regionErr := err
		if regionErr == nil && results[n].exception != nil {
			regionErr = results[n].exception
		}
		if regionErr != nil {
			regionErr = c.heal(ctx, p.region, regionErr)
		}
		for k := range p.rows {
			i := b.at[n][k]
			if regionErr != nil {
				out[i] = RowResult{Err: regionErr}
			} else {
				out[i] = c.rowOf(ctx, p, results[n], index, k)
			}
			index++
		}
	}
}

func (c *Client) rowOf(ctx context.Context, p regionRows, r multiResult, index uint64, k int) RowResult {
	if ex := r.failed[index]; ex != nil {
		return RowResult{Err: c.heal(ctx, p.region, ex)}
	}
	row, ok := r.rows[index]
	if !ok {
		return RowResult{Err: fmt.Errorf("HBase table %s, region server %s: no answer for row %q", c.table, p.region.server, p.rows[k])}
	}
	if row.Key != nil && !bytes.Equal(row.Key, p.rows[k]) {
		return RowResult{Err: fmt.Errorf("HBase table %s, region server %s: row %q in answer to %q", c.table, p.region.server, row.Key, p.rows[k])}
	}
	row.Key = p.rows[k]
	return RowResult{Row: row}
}

// Mutate changes one row where the conditions hold; done tells whether they did. An offset.ErrOutcome means that it may have
// been carried out: read the row. Any other error changed nothing.
func (c *Client) Mutate(ctx context.Context, m Mutation) (done bool, err error) {
	if len(m.When) == 0 || !m.Filter && len(m.When) != 1 {
		return false, errors.New("a mutation without a condition, or with too many")
	}
	err = c.onTable(ctx, func() error {
		r, err := c.locate(ctx, m.Row)
		if err != nil {
			return err
		}
		method, param := mutateRequest(r, c.family, m)
		body, err := c.callThrough(ctx, r.server, method, param)
		if err == nil {
			done, err = parseAnswer(method, body)
		}
		return c.mutationFailed(ctx, r, m, err)
	})
	return done, err
}

func parseAnswer(method string, body []byte) (bool, error) {
	if method == "Multi" {
		results, err := parseMulti(body)
		if err != nil {
			return false, err
		}
		for _, r := range results {
			if r.exception != nil {
				return false, r.exception
			}
			for _, ex := range r.failed {
				return false, ex
			}
		}
	}
	return parseProcessed(body)
}

// mutationFailed makes one error of what went wrong, such that retry repeats only what was surely not carried out.
func (c *Client) mutationFailed(ctx context.Context, r region, m Mutation, err error) error {
	if err == nil {
		return nil
	}
	var ex *ServerError
	maybe := mayBeDone(err) || !errors.As(err, &ex) && cureOf(err) == final // an answer that cannot be read proves nothing
	err = c.heal(ctx, r, err)
	switch {
	case maybe:
		return &outcomeError{m.Row, err}
	case m.Filter && ex != nil && notUnderstood(ex):
		return fmt.Errorf("row %q: %w", m.Row, ErrNoFilter)
	}
	return err
}

// Scan reads the rows from start up to, not including, stop, in order of their keys; firstOnly answers one cell of each. It ends
// at the first error of its own or of each.
func (c *Client) Scan(ctx context.Context, start, stop []byte, firstOnly bool, each func(Row) error) error {
	for {
		end, err := c.scanRegion(ctx, &start, stop, firstOnly, each)
		if err != nil {
			return err
		}
		if len(end) == 0 || len(stop) > 0 && bytes.Compare(end, stop) >= 0 {
			return nil
		}
		start = end
	}
}

// scanRegion reads one region to its end, which it answers. start moves along, so that a new try goes on behind the last row.
func (c *Client) scanRegion(ctx context.Context, start *[]byte, stop []byte, firstOnly bool, each func(Row) error) (end []byte, err error) {
	for {
		var page scanPage
		var r region
		err := c.onTable(ctx, func() error {
			var err error
			if r, err = c.locate(ctx, *start); err != nil {
				return err
			}
			body, err := c.call(ctx, r.server, clientService, "Scan", scanRequest(r, c.family, *start, stop, firstOnly))
			if err == nil {
				page, err = parseScan(body)
			}
			if err != nil {
				return c.heal(ctx, r, err)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		for _, row := range page.rows {
			if bytes.Compare(row.Key, *start) < 0 {
				return nil, fmt.Errorf("HBase table %s, region server %s: row %q in answer to a scan from %q", c.table, r.server, row.Key, *start)
			}
			if err := each(row); err != nil {
				return nil, err
			}
			*start = append(slices.Clone(row.Key), 0)
		}
		if !page.more {
			return r.end, nil
		}
		if len(page.rows) == 0 {
			return nil, fmt.Errorf("HBase table %s, region server %s: a scan that goes on without rows", c.table, r.server)
		}
	}
}
