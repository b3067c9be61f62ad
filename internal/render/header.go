package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

// Header is where one is: the first line of everything that people read.
type Header struct {
	Context string // "" where none is used
	Product string // "Kafka 4.4.0"
	Cluster string
	Store   string // "Kafka group (default)"

	BrokersUnknown bool // nobody knows which brokers should be there, and the cluster's metadata does not tell
}

func (h Header) String() string {
	var out []string
	if h.Context != "" {
		out = append(out, h.Context)
	}
	broker := h.Product
	if h.Cluster != "" {
		broker += ", cluster " + h.Cluster
	}
	out = append(out, broker)
	s := strings.Join(out, "  ")
	if h.Store != "" {
		s += "   store: " + h.Store
	}
	if h.BrokersUnknown {
		s += "   brokers expected: not known"
	}
	return s
}

// Of fills in what the survey knows.
func (h Header) Of(sv *inspect.Survey) Header {
	if h.Product == "" {
		h.Product = sv.Topology.Product
	}
	if h.Cluster == "" {
		h.Cluster = sv.Topology.Cluster
	}
	return h
}

// ends says what the column END is, "" where a log has one end.
func ends(sv *inspect.Survey) string {
	if !strings.HasPrefix(sv.Topology.Product, "Kafka") {
		return ""
	}
	if sv.Ask.Isolation == offset.ReadUncommitted {
		return "   ends: high watermark"
	}
	return "   ends: last stable"
}

// phase says who consumes, in a few words. own: the positions are the broker's own; of a group that is kept elsewhere a broker
// need not know anything.
func phase(g *inspect.GroupReport, own bool) string {
	if g.Group.Err != nil {
		return "phase not known"
	}
	v := g.Group.Value
	switch v.Phase {
	case offset.Live:
		hosts := map[string]bool{}
		for _, m := range v.Members {
			hosts[m.Host] = true
		}
		return fmt.Sprintf("live, %s on %s", plural(len(v.Members), "member"), plural(len(hosts), "host"))
	case offset.Missing:
		if !own {
			return "members not known"
		}
		return "not known to the broker"
	case offset.PhaseUnknown:
		return "phase not known"
	}
	return v.Phase.String()
}

// Note writes a sentence beside the results.
func Note(w io.Writer, text string) { _, _ = fmt.Fprintln(w, text) }
