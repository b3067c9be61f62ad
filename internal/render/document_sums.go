package render

import "github.com/offsetctl/offsetctl/inspect"

// docGroupSum is a group without what is below it.
type docGroupSum struct {
	docGroupHead
	docCounts
}

// docTopic is a group as far as one topic goes; on RocketMQ, one broker's part of it.
type docTopic struct {
	Topic      string          `json:"topic"`
	Broker     string          `json:"broker,omitempty"`
	Verdict    inspect.Verdict `json:"verdict"` // the worst
	Lag        int64           `json:"lag"`     // of the partitions where it is known
	Unmeasured int             `json:"unmeasured"`
	Lost       int64           `json:"lost"`
	docCounts
}

// docCounts is how many partitions there are, and how many of each verdict.
type docCounts struct {
	Partitions int            `json:"partitionCount"`
	Counts     map[string]int `json:"verdicts"`
}

func newDocCounts(g *inspect.GroupReport) docCounts {
	d := docCounts{Partitions: len(g.Rows), Counts: map[string]int{}}
	for v, n := range g.Counts {
		if n > 0 {
			d.Counts[inspect.Verdict(v).String()] = n
		}
	}
	return d
}

func newDocTopic(s *topicSum) docTopic {
	p := s.Rows[0].Partition
	return docTopic{Topic: p.Topic, Broker: p.Broker, Verdict: s.Verdict, Lag: s.Lag, Unmeasured: s.Unmeasured, Lost: s.Lost, docCounts: newDocCounts(&s.GroupReport)}
}

// summedBy is what a document is summed up by; "" where it has partitions.
func summedBy(o InspectOptions) string {
	if o.By == "partition" {
		return ""
	}
	return o.By
}
