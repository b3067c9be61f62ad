package render

import (
	"fmt"
	"io"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

// gauges are the metrics of a report. A number that is not known has no sample: a zero would be a lie.
type gauges struct {
	stored, start, stable, end, lag, lost, ahead, held, oldest, gone, in, out, verdict *prometheus.GaugeVec // of a partition
	topicLag, topicLost, topicUnmeasured, topicVerdict                                 *prometheus.GaugeVec
	groupLag, groupLost, groupUnmeasured, groupVerdict, groupMembers                   *prometheus.GaugeVec
	taken, exit                                                                        *prometheus.GaugeVec
}

func newGauges(reg *prometheus.Registry) *gauges {
	part := []string{"group", "topic", "broker", "partition"}
	topic := part[:3:3]
	vec := func(name, help string, labels ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "offsetctl", Name: name, Help: help}, labels)
		reg.MustRegister(v)
		return v
	}
	return &gauges{
		stored:          vec("partition_stored_offset", "Next offset that the group will read.", part...),
		start:           vec("partition_log_start_offset", "First offset that the log still has.", part...),
		stable:          vec("partition_last_stable_offset", "Where a reader of committed records stops.", part...),
		end:             vec("partition_log_end_offset", "High watermark.", part...),
		lag:             vec("partition_lag_records", "Unread records that are still there.", part...),
		lost:            vec("partition_lost_records", "Unread records that retention took.", part...),
		ahead:           vec("partition_ahead_records", "How far the position is past the log end.", part...),
		held:            vec("partition_held_records", "Records that an open transaction holds back.", part...),
		oldest:          vec("partition_oldest_unread_timestamp_seconds", "Timestamp of the oldest unread record.", part...),
		gone:            vec("partition_oldest_unread_gone_in_seconds", "Time until retention takes the oldest unread record.", part...),
		in:              vec("partition_in_records_per_second", "Records appended, between two looks.", part...),
		out:             vec("partition_out_records_per_second", "Records read, between two looks.", part...),
		verdict:         vec("partition_verdict", "1 for the worst verdict of the partition.", append(part, "verdict")...),
		topicLag:        vec("topic_lag_records", "Unread records of the topic's partitions whose lag is known.", topic...),
		topicLost:       vec("topic_lost_records", "Unread records that retention took.", topic...),
		topicUnmeasured: vec("topic_unmeasured_partitions", "Partitions that could not be measured.", topic...),
		topicVerdict:    vec("topic_verdict", "1 for the worst verdict of the topic.", append(topic, "verdict")...),
		groupLag:        vec("group_lag_records", "Unread records of all partitions whose lag is known.", "group"),
		groupLost:       vec("group_lost_records", "Unread records that retention took.", "group"),
		groupUnmeasured: vec("group_unmeasured_partitions", "Partitions that could not be measured.", "group"),
		groupVerdict:    vec("group_verdict", "1 for the worst verdict of the group.", "group", "verdict"),
		groupMembers:    vec("group_members", "Members that the broker knows.", "group"),
		taken:           vec("report_timestamp_seconds", "When the report was taken."),
		exit:            vec("report_exit_code", "Exit code of the command that wrote the report."),
	}
}

// inspectPrometheus writes the text format, for a textfile collector.
func inspectPrometheus(w io.Writer, r *inspect.Report, o InspectOptions) error {
	reg := prometheus.NewRegistry()
	g := newGauges(reg)
	g.taken.WithLabelValues().Set(float64(r.Survey.Taken.UnixMilli()) / 1e3)
	g.exit.WithLabelValues().Set(float64(inspect.ExitCode(r, o.FailOn)))
	for i := range r.Groups {
		g.group(&r.Groups[i], o)
	}
	families, err := reg.Gather()
	if err != nil {
		return fmt.Errorf("names that are no UTF-8 cannot be labels: %w", err)
	}
	e := expfmt.NewEncoder(w, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range families {
		if err := e.Encode(f); err != nil {
			return err
		}
	}
	return nil
}

func (m *gauges) group(g *inspect.GroupReport, o InspectOptions) {
	m.groupLag.WithLabelValues(g.Name).Set(float64(g.Lag))
	m.groupLost.WithLabelValues(g.Name).Set(float64(g.Lost))
	m.groupUnmeasured.WithLabelValues(g.Name).Set(float64(g.Unmeasured))
	m.groupVerdict.WithLabelValues(g.Name, g.Verdict.String()).Set(1)
	if g.Group.Err == nil {
		m.groupMembers.WithLabelValues(g.Name).Set(float64(len(g.Group.Value.Members)))
	}
	switch o.By {
	case "group":
	case "topic":
		sums := topicSums(g)
		for i := range sums {
			if o.showsAny(&sums[i].GroupReport) {
				m.topic(&sums[i])
			}
		}
	default:
		for i := range g.Rows {
			if o.shows(g.Rows[i].Verdict) {
				m.row(&g.Rows[i])
			}
		}
	}
}

func (m *gauges) topic(s *topicSum) {
	at := []string{s.Name, s.Rows[0].Partition.Topic, s.Rows[0].Partition.Broker}
	m.topicLag.WithLabelValues(at...).Set(float64(s.Lag))
	m.topicLost.WithLabelValues(at...).Set(float64(s.Lost))
	m.topicUnmeasured.WithLabelValues(at...).Set(float64(s.Unmeasured))
	m.topicVerdict.WithLabelValues(append(at, s.Verdict.String())...).Set(1)
}

func (m *gauges) row(r *inspect.Row) {
	at := []string{r.Group, r.Partition.Topic, r.Partition.Broker, strconv.Itoa(int(r.Partition.Index))}
	set := func(v *prometheus.GaugeVec, known bool, x float64) {
		if known {
			v.WithLabelValues(at...).Set(x)
		}
	}
	b, bounds := r.Log.Value.Bounds, r.Log.Err == nil
	set(m.stored, r.Stored.Err == nil && r.Stored.Value.State == offset.Set, float64(r.Stored.Value.Next))
	set(m.start, bounds, float64(b.Start))
	set(m.stable, bounds, float64(b.Stable))
	set(m.end, bounds, float64(b.End))
	set(m.lag, r.LagKnown, float64(r.Lag))
	set(m.lost, r.LagKnown, float64(r.Lost))
	set(m.ahead, r.LagKnown || r.Ahead > 0, float64(r.Ahead))
	set(m.held, bounds, float64(r.Held))
	set(m.oldest, !r.Oldest.IsZero(), float64(r.Oldest.UnixMilli())/1e3)
	set(m.gone, r.GoneKnown, r.GoneIn.Seconds())
	if r.Move != nil {
		set(m.in, true, r.Move.In)
		set(m.out, true, r.Move.Out)
	}
	m.verdict.WithLabelValues(append(at, r.Verdict.String())...).Set(1)
}
