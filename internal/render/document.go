package render

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

// SchemaInspect names the JSON of an inspect report. Fields may be added to it; none is renamed or changes its meaning.
const SchemaInspect = "offsetctl.inspect/v1"

// document is a report as programs read it, and as a later inspect --compare reads it again.
type document struct {
	docHead
	Groups []docGroup `json:"groups"`
}

type docHead struct {
	Schema     string            `json:"schema"`
	Taken      time.Time         `json:"taken"`
	Context    string            `json:"context,omitempty"`
	Broker     string            `json:"broker"`
	Cluster    string            `json:"cluster"`
	Store      string            `json:"store"`
	NoRoster   bool              `json:"brokersExpectedNotKnown,omitempty"` // a broker that is gone would not be missed
	Isolation  string            `json:"isolation"`
	Verdict    inspect.Verdict   `json:"verdict"` // the worst
	Incomplete bool              `json:"incomplete"`
	ExitCode   int               `json:"exitCode"`
	Findings   []inspect.Finding `json:"findings,omitempty"` // of the cluster
	Gaps       []string          `json:"gaps,omitempty"`     // why what was seen may not be all
	By         string            `json:"by,omitempty"`       // group or topic: the partitions are summed up
}

type docGroup struct {
	docGroupHead
	Partitions []docRow `json:"partitions"`
}

type docGroupHead struct {
	Group      string            `json:"group"`
	Kind       string            `json:"kind,omitempty"`
	Phase      string            `json:"phase"`
	State      string            `json:"state,omitempty"`
	Members    int               `json:"members"`
	Verdict    inspect.Verdict   `json:"verdict"`
	Lag        int64             `json:"lag"`                // of the partitions where it is known
	RetryLag   int64             `json:"retryLag,omitempty"` // of RocketMQ's retry topics, not part of lag
	Unmeasured int               `json:"unmeasured"`
	Lost       int64             `json:"lost"`
	Findings   []inspect.Finding `json:"findings,omitempty"` // of the group as a whole
	Notes      []string          `json:"notes,omitempty"`
	Gaps       []string          `json:"gaps,omitempty"`
}

type docRow struct {
	Topic     string             `json:"topic"`
	Broker    string             `json:"broker,omitempty"`
	Partition int32              `json:"partition"`
	TopicID   string             `json:"topicId,omitempty"`
	Exists    bool               `json:"exists"`
	Stored    *offset.Stored     `json:"stored"`
	StoredErr string             `json:"storedError,omitempty"`
	Start     *int64             `json:"start"`
	Stable    *int64             `json:"stable"`
	End       *int64             `json:"end"` // high watermark
	Epoch     *int32             `json:"leaderEpoch,omitempty"`
	LogErr    string             `json:"logError,omitempty"`
	Lag       *int64             `json:"lag"`
	Lost      int64              `json:"lost"`
	Ahead     int64              `json:"ahead"`
	Held      int64              `json:"held"`
	Oldest    *time.Time         `json:"oldestUnread,omitempty"`
	GoneIn    *float64           `json:"goneInSeconds,omitempty"`
	Consume   *offset.Resolution `json:"consume,omitempty"`
	Stops     string             `json:"consumeStops,omitempty"`
	Owner     *docOwner          `json:"owner,omitempty"`
	Move      *docMove           `json:"movement,omitempty"`
	Verdict   inspect.Verdict    `json:"verdict"`
	Detail    string             `json:"detail,omitempty"`
	Findings  []inspect.Finding  `json:"findings,omitempty"`
}

type docOwner struct {
	Member   string `json:"member"`
	Client   string `json:"client,omitempty"`
	Host     string `json:"host,omitempty"`
	Instance string `json:"instance,omitempty"`
}

type docMove struct {
	Over    float64  `json:"overSeconds"`
	In      float64  `json:"inPerSecond"`
	Out     float64  `json:"outPerSecond"`
	CatchUp *float64 `json:"catchUpSeconds"` // null: never, or nothing to catch up with
}

func newDocument(r *inspect.Report, o InspectOptions) document {
	d := document{Groups: []docGroup{}, docHead: newDocHead(r, o)}
	for i := range r.Groups {
		g := docGroup{docGroupHead: newDocGroup(&r.Groups[i]), Partitions: []docRow{}}
		for k := range r.Groups[i].Rows {
			if row := &r.Groups[i].Rows[k]; o.shows(row.Verdict) {
				g.Partitions = append(g.Partitions, newDocRow(row))
			}
		}
		d.Groups = append(d.Groups, g)
	}
	return d
}

func newDocHead(r *inspect.Report, o InspectOptions) docHead {
	h := o.Header.Of(r.Survey)
	return docHead{Schema: SchemaInspect, Taken: r.Survey.Taken.UTC(), Context: h.Context, Broker: h.Product, Cluster: h.Cluster, Store: h.Store, NoRoster: h.BrokersUnknown,
		Isolation: r.Survey.Ask.Isolation.String(), Verdict: r.Verdict, Incomplete: r.Incomplete, ExitCode: inspect.ExitCode(r, o.FailOn),
		Findings: r.Findings, Gaps: texts(r.Survey.Gaps), By: summedBy(o)}
}

func texts(errs []error) (out []string) {
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}

func newDocGroup(g *inspect.GroupReport) docGroupHead {
	v := g.Group.Value
	d := docGroupHead{Group: g.Name, Kind: v.Kind, Phase: v.Phase.String(), State: v.State, Members: len(v.Members), Verdict: g.Verdict, Lag: g.Lag,
		RetryLag: g.RetryLag, Unmeasured: g.Unmeasured, Lost: g.Lost, Findings: g.Findings, Notes: g.Notes, Gaps: texts(g.Gaps)}
	if g.Group.Err != nil {
		d.Phase = offset.PhaseUnknown.String()
	}
	return d
}

func newDocRow(r *inspect.Row) docRow {
	p := r.Partition
	d := docRow{Topic: p.Topic, Broker: p.Broker, Partition: p.Index, TopicID: r.TopicID, Exists: r.Exists, Lost: r.Lost, Ahead: r.Ahead, Held: r.Held,
		Verdict: r.Verdict, Detail: r.Detail, Findings: r.Findings}
	if r.Stored.Err != nil {
		d.StoredErr = r.Stored.Err.Error()
	} else {
		d.Stored = &r.Stored.Value
	}
	if r.Log.Err != nil {
		d.LogErr = r.Log.Err.Error()
	} else {
		b := &r.Log.Value.Bounds
		d.Start, d.Stable, d.End = &b.Start, &b.Stable, &b.End
		if e, ok := r.Log.Value.Current.Get(); ok {
			d.Epoch = &e
		}
	}
	if r.LagKnown {
		d.Lag = &r.Lag
	}
	if !r.Oldest.IsZero() {
		at := r.Oldest.UTC()
		d.Oldest = &at
	}
	if r.GoneKnown {
		s := r.GoneIn.Seconds()
		d.GoneIn = &s
	}
	if r.Consume.Err != nil {
		d.Stops = r.Consume.Err.Error()
	} else {
		d.Consume = &r.Consume.Value
	}
	if m := r.Owner; m != nil {
		d.Owner = &docOwner{m.ID, m.Client, m.Host, m.Instance}
	}
	if m := r.Move; m != nil {
		d.Move = &docMove{Over: m.Over.Seconds(), In: m.In, Out: m.Out}
		if m.CatchUp > 0 {
			s := m.CatchUp.Seconds()
			d.Move.CatchUp = &s
		}
	}
	return d
}

// ParseReport reads what inspect -o json wrote, as far as a comparison needs it: positions, bounds and lag.
func ParseReport(b []byte) (*inspect.Report, error) {
	var d document
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, fmt.Errorf("it is no JSON of an inspect report: %w", err)
	}
	if d.Schema != SchemaInspect {
		return nil, fmt.Errorf("its schema is %q; what inspect -o json writes has %q", d.Schema, SchemaInspect)
	}
	if d.By != "" {
		return nil, fmt.Errorf("it was written with --by %s and has no partitions, which are what is compared", d.By)
	}
	if d.Taken.IsZero() {
		return nil, errors.New("it does not say when it was taken")
	}
	r := &inspect.Report{Verdict: d.Verdict, Incomplete: d.Incomplete, Survey: &inspect.Survey{Taken: d.Taken,
		Topology: offset.Topology{Cluster: d.Cluster, Product: d.Broker}}}
	for i := range d.Groups {
		r.Groups = append(r.Groups, d.Groups[i].report())
	}
	slices.SortFunc(r.Groups, func(a, b inspect.GroupReport) int { return cmp.Compare(a.Name, b.Name) })
	return r, nil
}

func (d *docGroup) report() inspect.GroupReport {
	g := inspect.GroupReport{GroupLine: inspect.GroupLine{Name: d.Group}, Verdict: d.Verdict, Lag: d.Lag, RetryLag: d.RetryLag, Lost: d.Lost, Unmeasured: d.Unmeasured}
	for i := range d.Partitions {
		g.Rows = append(g.Rows, d.Partitions[i].row(d.Group))
	}
	slices.SortFunc(g.Rows, func(a, b inspect.Row) int { return a.Partition.Compare(b.Partition) })
	return g
}

func (d *docRow) row(group string) inspect.Row {
	r := inspect.Row{Line: &inspect.Line{}, Verdict: d.Verdict, Lost: d.Lost, Ahead: d.Ahead, Held: d.Held, Detail: d.Detail, Findings: d.Findings}
	r.Group, r.TopicID, r.Exists, r.Selected = group, d.TopicID, d.Exists, true
	r.Partition = offset.Partition{Topic: d.Topic, Broker: d.Broker, Index: d.Partition}
	r.Stored.Err, r.Log.Err = errors.New(d.StoredErr), errors.New(d.LogErr)
	if d.Stored != nil {
		r.Stored = offset.Result[offset.Stored]{Value: *d.Stored}
	}
	if d.Start != nil && d.Stable != nil && d.End != nil {
		r.Log.Err = nil
		r.Log.Value.Bounds = offset.Bounds{Start: *d.Start, Stable: *d.Stable, End: *d.End}
	}
	if d.Epoch != nil {
		r.Log.Value.Current = offset.EpochOf(*d.Epoch)
	}
	if d.Lag != nil {
		r.Lag, r.LagKnown = *d.Lag, true
	}
	return r
}
