package repair

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

// Translation says what a position of one cluster is on another.
type Translation uint8

// Translations.
const (
	NoTranslation   Translation = iota // refused between different clusters
	SameNumbers                        // the target's records have the numbers of the source's
	TranslateByTime                    // CopyOptions.Translated
)

// CopyOptions are a copy's. Of Options it takes Clamp, RewindOnly, Isolation, Owner and Origin, which is the target's.
type CopyOptions struct {
	Options
	FromBroker  string            // identity of the source's broker
	FromStore   string            // identity of the source
	MapTopic    map[string]string // other names of topics at the target
	Translation Translation
	Translated  map[offset.Partition]offset.Result[int64] // by source partition, from Translate
	Overwrite   bool                                      // the target's own positions give way
}

// MakeCopy plans to write what one group of from has stored into one group of to. The source is left alone; its metadata and
// leader epochs stay there, for they mean nothing elsewhere. The plan is never nil; the error is a *Refused.
func MakeCopy(from, to *inspect.Report, o CopyOptions) (*Plan, error) {
	o.Mode, o.Target, o.Replay, o.strict, o.Only = ToTarget, offset.Target{Kind: offset.ToOffsets}, true, true, nil
	c := copying{from: from, o: o, apart: map[offset.Partition]bool{}}
	c.places(to)
	o.Target.Offsets, o.apart = c.numbers(), c.apart
	target := narrowed(to, o.Target.Offsets)
	if len(o.Target.Offsets) == 0 && len(c.reasons) == 0 {
		c.nothing()
	}
	p, err := Make(target, o.Options)
	p.Kind, p.Asked = KindCopy, false
	var r *Refused
	if errors.As(err, &r) {
		c.reasons = append(c.reasons, r.Reasons...)
	}
	c.overwrites(p)
	p.NotSelected = append(p.NotSelected, c.left...)
	return p, refused(c.reasons)
}

type copying struct {
	from    *inspect.Report
	o       CopyOptions
	reasons []Reason
	left    []string                  // and why
	apart   map[offset.Partition]bool // the same, by their names at the target
}

// shareBroker tells whether two answers are of one cluster where its name does not: every RocketMQ cluster may be called
// DefaultCluster.
func shareBroker(a, b offset.Topology) bool {
	return slices.ContainsFunc(a.Brokers, func(x offset.Server) bool {
		return x.Addr != "" && slices.ContainsFunc(b.Brokers, func(y offset.Server) bool { return y.Name == x.Name && y.Addr == x.Addr })
	})
}

func (c *copying) places(to *inspect.Report) {
	f, t := c.from.Survey, to.Survey
	same := f.Topology.Cluster == t.Topology.Cluster
	if f.Topology.Cluster == "" && t.Topology.Cluster == "" {
		same = c.o.FromBroker == c.o.Origin.Broker
	}
	if same && !strings.HasPrefix(f.Topology.Product, "Kafka") { // whose clusters' ids are their own
		same = c.o.FromBroker == c.o.Origin.Broker || shareBroker(f.Topology, t.Topology)
	}
	for _, x := range c.from.Findings {
		if x.Verdict == inspect.Unknown {
			c.reasons = append(c.reasons, Reason{Cause: CauseUnknown, Text: "at the source, " + x.Text, Next: "bring it back, or name what shall be copied of the others: -t TOPIC@BROKER"})
		}
	}
	if len(c.from.Groups) != 1 || len(to.Groups) != 1 {
		c.reasons = append(c.reasons, Reason{Cause: CauseSeveral, Text: "a copy has one group as its source and one as its target", Next: "name them with --from-group and --to-group"})
		return
	}
	if !same && c.o.Translation == NoTranslation {
		c.reasons = append(c.reasons, Reason{Cause: CauseCluster, Text: fmt.Sprintf("source and target are different clusters, %s and %s, and a number of one means nothing on the other", orNone(f.Topology.Cluster), orNone(t.Topology.Cluster)),
			Next: "--translate time goes by the records' timestamps; --translate none takes the numbers as they are, for topics that were mirrored with their offsets"})
	}
	if same && c.o.FromStore == c.o.Origin.Store && c.from.Groups[0].Name == to.Groups[0].Name && len(c.o.MapTopic) == 0 {
		c.reasons = append(c.reasons, Reason{Cause: CauseChoice, Text: "source and target are the same group of the same store", Next: "name another --to, --to-group, or --map-topic"})
	}
}

// numbers answers where each partition of the target goes.
func (c *copying) numbers() map[offset.Partition]int64 {
	out := map[offset.Partition]int64{}
	for i := range c.from.Groups {
		for j := range c.from.Groups[i].Rows {
			r := &c.from.Groups[i].Rows[j]
			if !r.Selected {
				continue
			}
			n, ok := c.number(r)
			if !ok {
				continue
			}
			p := c.o.At(r.Partition)
			if _, twice := out[p]; twice {
				c.refuse(r, CauseNames, fmt.Sprintf("%s would be written twice", p), "map each topic to one of its own", nil)
			}
			out[p] = n
		}
	}
	return out
}

// nothing refuses a copy of nothing: most often the source's name is not what was meant.
func (c *copying) nothing() {
	name := c.from.Groups[0].Name
	c.reasons = append(c.reasons, Reason{Cause: CauseNames, Group: name, Err: offset.ErrUnknownName,
		Text: fmt.Sprintf("group %s has nothing stored at the source for what is selected", name), Next: "look at it with inspect -g " + name})
}

// At is a source partition's name at the target.
func (o CopyOptions) At(p offset.Partition) offset.Partition {
	if t, ok := o.MapTopic[p.Topic]; ok {
		p.Topic = t
	}
	return p
}

func (c *copying) number(r *inspect.Row) (int64, bool) {
	s := r.Stored.Value
	switch {
	case r.Stored.Err != nil || s.State == offset.Unknown:
		c.refuse(r, CauseUnknown, fmt.Sprintf("%s: what the source has stored is not known: %v", r.Partition, r.Stored.Err), "leave it out with -t, or repeat when it can be measured", r.Stored.Err)
	case s.State == offset.Invalid:
		c.refuse(r, CauseChoice, fmt.Sprintf("%s: what the source has stored is no position", r.Partition), "leave it out with -t", nil)
	case s.State == offset.Absent:
		c.leave(r, "nothing to copy")
	case !r.Exists:
		c.leave(r, "no such partition")
	case c.o.Translation != TranslateByTime:
		return s.Next, true
	default:
		t, ok := c.o.Translated[r.Partition]
		if !ok || t.Err != nil {
			c.refuse(r, CauseUnknown, fmt.Sprintf("%s: its place on the target is not known: %v", r.Partition, t.Err), "leave it out with -t and reset it by itself", t.Err)
			return 0, false
		}
		return t.Value, true
	}
	return 0, false
}

func (c *copying) leave(r *inspect.Row, why string) {
	c.left = append(c.left, fmt.Sprintf("%s (%s)", r.Partition, why))
	c.apart[c.o.At(r.Partition)] = true
}

func (c *copying) refuse(r *inspect.Row, cause Cause, text, next string, err error) {
	c.reasons = append(c.reasons, Reason{Cause: cause, Group: r.Group, Partition: &r.Partition, Text: text, Next: next, Err: err})
}

// overwrites refuses to change what the target has without having been told.
func (c *copying) overwrites(p *Plan) {
	n := 0
	var first offset.Partition
	for it := range p.items() {
		if it.Action != Keep && it.From.State != offset.Absent {
			if n++; n == 1 {
				first = it.Partition
			}
		}
	}
	if n > 0 && !c.o.Overwrite {
		c.reasons = append(c.reasons, Reason{Cause: CauseOverwrite, Partition: &first, Allow: Overwrite,
			Text: fmt.Sprintf("the target has positions of its own, other ones, for %s (%s)", plural(n, "partition"), first), Next: "repeat with --overwrite if they shall give way"})
	}
}

// narrowed is rep with only those partitions selected that have a number.
func narrowed(rep *inspect.Report, numbers map[offset.Partition]int64) *inspect.Report {
	out := *rep
	out.Groups = slices.Clone(rep.Groups)
	for i := range out.Groups {
		out.Groups[i].Rows = slices.DeleteFunc(slices.Clone(out.Groups[i].Rows), func(r inspect.Row) bool {
			_, ok := numbers[r.Partition]
			return !ok
		})
	}
	return &out
}

// Translate finds each position of one cluster on another by time: the first record there whose timestamp is at or after that of
// the record at the position. A position at the end goes behind the last record that was read. rename is CopyOptions.At. It
// takes two round trips, three when something stands at its end, and answers by source partition.
func Translate(ctx context.Context, from, to offset.Broker, at []offset.Position, rename func(offset.Partition) offset.Partition) map[offset.Partition]offset.Result[int64] {
	out := map[offset.Partition]offset.Result[int64]{}
	times := map[offset.Partition]time.Time{}
	var ends []offset.Position
	for i, r := range from.Peek(ctx, at) {
		p := at[i].Partition
		switch {
		case r.Err != nil:
			out[p] = offset.Result[int64]{Err: r.Err}
		case r.Value != nil:
			times[p] = r.Value.Time
		case at[i].Offset > 0:
			ends = append(ends, offset.Position{Partition: p, Offset: at[i].Offset - 1})
		default:
			out[p] = offset.Result[int64]{Err: errNoRecord}
		}
	}
	if len(ends) > 0 {
		for i, r := range from.Peek(ctx, ends) {
			p := ends[i].Partition
			switch {
			case r.Err != nil:
				out[p] = offset.Result[int64]{Err: r.Err}
			case r.Value == nil:
				out[p] = offset.Result[int64]{Err: errNoRecord}
			default:
				times[p] = r.Value.Time.Add(time.Millisecond)
			}
		}
	}
	search(ctx, to, times, rename, out)
	return out
}

var errNoRecord = fmt.Errorf("the source has no record whose time could be taken: %w", offset.ErrUnsupported)

func search(ctx context.Context, to offset.Broker, times map[offset.Partition]time.Time, rename func(offset.Partition) offset.Partition, out map[offset.Partition]offset.Result[int64]) {
	sources := slices.SortedFunc(maps.Keys(times), func(a, b offset.Partition) int { return rename(a).Compare(rename(b)) })
	var qs []offset.LogQuery
	for _, p := range sources {
		qs = append(qs, offset.LogQuery{Partition: rename(p), Times: []time.Time{times[p]}})
	}
	if len(qs) == 0 {
		return
	}
	for i, l := range to.Logs(ctx, qs) {
		r := offset.Result[int64]{Err: l.Err}
		if l.Err == nil {
			if r.Value = l.Value.Times[0]; r.Value == offset.NoRecord {
				r.Value = l.Value.End
			}
		}
		out[sources[i]] = r
	}
}
