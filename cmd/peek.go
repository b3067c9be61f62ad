package cmd

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/offsetctl/offsetctl/internal/render"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/positions"
	"github.com/spf13/cobra"
)

const maxPeek = 1000

func newPeek(f *factory) *cobra.Command {
	count := 1
	c := &cobra.Command{
		Use:   "peek PARTITION@OFFSET…",
		Short: "Show the records at a position, joining no group",
		Long: `Shows the first record at or after a position, or several with --count. No group is joined, nothing is committed.
Where the position is outside the log that is said beside what is there. Records of open and of aborted transactions are shown
with --isolation read-uncommitted alone.`,
		Example: `  offsetctl peek orders:3@88122
  offsetctl peek orders:3@88122 --count 5 -o json
  offsetctl peek orders@broker-a:3@88122`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("peek takes at least one position, as orders:3@88122 (see: offsetctl peek --help)")
			}
			if count < 1 || count > maxPeek {
				return usagef("--count is 1 to %d, not %d", maxPeek, count)
			}
			var at []offset.Position
			for _, a := range args {
				p, err := parsePosition(a)
				if err != nil {
					return err
				}
				at = append(at, p)
			}
			isolation, err := f.isolation()
			if err != nil {
				return err
			}
			for i := range at {
				at[i].Uncommitted = isolation == offset.ReadUncommitted
			}
			format, err := f.format("table", "json")
			if err != nil {
				return err
			}
			return runPeek(c.Context(), f, at, count, format)
		},
	}
	c.Flags().IntVar(&count, "count", 1, "how many records to show from each position")
	return c
}

// parsePosition reads orders:3@88122.
func parsePosition(s string) (offset.Position, error) {
	i := strings.LastIndexByte(s, '@')
	if i < 0 {
		return offset.Position{}, usagef("%q is not PARTITION@OFFSET, as orders:3@88122", s)
	}
	p, err := offset.ParsePartition(s[:i])
	n, nerr := strconv.ParseUint(s[i+1:], 10, 63)
	if err != nil || nerr != nil {
		return offset.Position{}, usagef("%q is not PARTITION@OFFSET, as orders:3@88122", s)
	}
	return offset.Position{Partition: p, Offset: int64(n)}, nil
}

func runPeek(ctx context.Context, f *factory, at []offset.Position, count int, format string) error {
	b, err := f.openBroker(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, pos := range at {
		if err := peekOne(ctx, f, b, pos, count, format); err != nil {
			if len(at) == 1 {
				return err
			}
			f.complain(err, exitIncomplete)
			failed = ended(max(exitIncomplete, exitCode(failed, 0), exitCode(err, 0)))
		}
	}
	return failed
}

func peekOne(ctx context.Context, f *factory, b offset.Broker, pos offset.Position, count int, format string) error {
	ctx, cancel := f.step(ctx)
	defer cancel()
	t, err := b.Topology(ctx, []string{pos.Partition.Topic})
	if err != nil {
		return err
	}
	if err := existing(t, pos.Partition); err != nil {
		return err
	}
	lg := b.Logs(ctx, []offset.LogQuery{{Partition: pos.Partition}})[0]
	if lg.Err != nil {
		return naming(pos.Partition, lg.Err)
	}
	bounds := lg.Value.Bounds
	aloud := format == "table" && !f.global.quiet
	if aloud {
		render.Note(f.sys.Err, placeOf(pos, bounds))
	}
	shown := 0
	for at := pos; shown < count && at.Offset < bounds.End; shown++ {
		at.Offset = max(at.Offset, bounds.Start)
		r := b.Peek(ctx, []offset.Position{at})[0]
		if r.Err != nil {
			return naming(pos.Partition, r.Err)
		}
		if r.Value == nil {
			break
		}
		if err := printRecord(f, pos.Partition, r.Value, format); err != nil {
			return err
		}
		at.Offset = r.Value.Offset + 1
	}
	held := bounds.End - bounds.Stable
	if pos.Uncommitted {
		held = 0
	}
	if held > 0 && shown < count && aloud {
		render.Note(f.sys.Err, fmt.Sprintf("%s from %d on belong to a transaction that is open: --isolation read-uncommitted shows them", render.Number(held), bounds.Stable))
	}
	if shown == 0 && format == "table" {
		what := "record"
		if held > 0 {
			what = "committed record"
		}
		_, err = fmt.Fprintf(f.sys.Out, "%s: no %s at or after %d\n", pos.Partition, what, pos.Offset)
	}
	return err
}

func placeOf(pos offset.Position, b offset.Bounds) string {
	switch {
	case pos.Offset < b.Start:
		return fmt.Sprintf("%s@%d is %s before the log start %d; what follows is the first record that is left", pos.Partition, pos.Offset, render.Number(b.Start-pos.Offset), b.Start)
	case pos.Offset > b.End:
		return fmt.Sprintf("%s@%d is %s past the log end %d", pos.Partition, pos.Offset, render.Number(pos.Offset-b.End), b.End)
	case pos.Offset == b.End:
		return fmt.Sprintf("%s@%d is the log end: nothing has been written there yet", pos.Partition, pos.Offset)
	}
	return fmt.Sprintf("%s has %d to %d", pos.Partition, b.Start, b.End)
}

// existing answers an error where a cluster has no such partition, or will not say.
func existing(t offset.Topology, p offset.Partition) error {
	for _, tp := range t.Topics {
		if tp.Name != p.Topic {
			continue
		}
		if tp.Err != nil {
			return tp.Err
		}
		var there []offset.Partition
		for _, l := range tp.Logs {
			if l.Partition == p {
				return naming(p, l.Err)
			}
			there = append(there, l.Partition)
		}
		return fmt.Errorf("partition %s %w: the topic has %s", p, offset.ErrUnknownName, positions.SelectionOf(there))
	}
	return fmt.Errorf("topic %s %w", p.Topic, offset.ErrUnknownName)
}

// naming makes sure that an error says which partition it is about.
func naming(p offset.Partition, err error) error {
	if err == nil || strings.Contains(err.Error(), p.String()) {
		return err
	}
	return fmt.Errorf("%s: %w", p, err)
}

type recordJSON struct {
	Schema    string       `json:"schema"`
	Partition string       `json:"partition"`
	Offset    int64        `json:"offset"`
	Time      time.Time    `json:"time"`
	TimeKind  string       `json:"timeKind"`
	Key       *bytesJSON   `json:"key"`
	Value     *bytesJSON   `json:"value"`
	Headers   []headerJSON `json:"headers,omitempty"`
}

type headerJSON struct {
	Key   string     `json:"key"`
	Value *bytesJSON `json:"value"`
}

// bytesJSON is text where the bytes are text, else base64.
type bytesJSON struct {
	Text   *string `json:"text,omitempty"`
	Base64 *string `json:"base64,omitempty"`
}

func toJSON(b []byte) *bytesJSON {
	if b == nil {
		return nil
	}
	if utf8.Valid(b) {
		s := string(b)
		return &bytesJSON{Text: &s}
	}
	s := base64.StdEncoding.EncodeToString(b)
	return &bytesJSON{Base64: &s}
}

func printRecord(f *factory, p offset.Partition, r *offset.Record, format string) error {
	kind := "CreateTime"
	if r.LogAppend {
		kind = "LogAppendTime"
	}
	if format == "json" {
		j := recordJSON{Schema: "offsetctl.record/v1", Partition: p.String(), Offset: r.Offset, Time: r.Time.UTC(), TimeKind: kind, Key: toJSON(r.Key), Value: toJSON(r.Value)}
		for _, h := range r.Headers {
			j.Headers = append(j.Headers, headerJSON{h.Key, toJSON(h.Value)})
		}
		return json.NewEncoder(f.sys.Out).Encode(j)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s@%d  %s (%s)", p, r.Offset, r.Time.UTC().Format("2006-01-02 15:04:05.000Z"), kind)
	if r.Tag != "" {
		fmt.Fprintf(&b, "  tag %s", printable([]byte(r.Tag)))
	}
	fmt.Fprintf(&b, "\nkey    %s\n", printable(r.Key))
	for _, h := range r.Headers {
		fmt.Fprintf(&b, "header %s: %s\n", printable([]byte(h.Key)), printable(h.Value))
	}
	fmt.Fprintf(&b, "value  %s\n", printable(r.Value))
	_, err := f.sys.Out.Write([]byte(b.String()))
	return err
}

// printable shows bytes on one line: text as it is, control characters and bytes that are no text escaped, null apart from empty.
func printable(b []byte) string {
	if b == nil {
		return "(null)"
	}
	if len(b) == 0 {
		return "(empty)"
	}
	q := strconv.Quote(string(b))
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}
