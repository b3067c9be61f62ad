package kafka

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// Keys of the requests that not every broker offers.
const (
	keyOffsetFetch           = 9
	keyFindCoordinator       = 10
	keyConsumerGroupDescribe = 69
	keyShareGroupDescribe    = 77
	keyStreamsGroupDescribe  = 89
	keyShareOffsets          = 90
)

// offers is which requests the cluster's bootstrap server takes, up to which version.
type offers struct {
	max     [128]int16 // -1: not at all
	product string
}

// versionsRequest asks what a server offers. Version 5 would name the cluster that is expected, which is not known yet.
func versionsRequest() kmsg.Request {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = clientName, clientVersion
	return capped{req, 4}
}

func newOffers(r *kmsg.ApiVersionsResponse) *offers {
	o := &offers{product: "Kafka"}
	for i := range o.max {
		o.max[i] = -1
	}
	for _, k := range r.ApiKeys {
		if k.ApiKey >= 0 && int(k.ApiKey) < len(o.max) {
			o.max[k.ApiKey] = k.MaxVersion
		}
	}
	o.product = product(r)
	return o
}

func (o *offers) has(key int, version int16) bool { return o.max[key] >= version }

// product guesses the server's version from what it offers: nothing in the protocol tells it, and never the patch level. A server
// that offers what no release does, as other makes do, has no version that could be told; how new its requests are, could.
func product(r *kmsg.ApiVersionsResponse) string {
	offered := kversion.FromApiVersionsResponse(r)
	guess := offered.VersionGuess()
	if v, exact := strings.CutPrefix(guess, "v"); exact {
		return "Kafka " + v
	}
	if v, newer := strings.CutPrefix(guess, "at least v"); newer {
		return "Kafka " + v + " or newer"
	}
	if v := newestOf(offered); v != "" {
		return "Kafka (version not known, requests up to those of " + v + ")"
	}
	return "Kafka (version not known)"
}

// newestOf is the first release that knows all that is offered, "" where none does.
func newestOf(offered *kversion.Versions) (release string) {
	for _, name := range kversion.VersionStrings() { // the newest first
		known, all := kversion.FromString(name), true
		offered.EachMaxKeyVersion(func(key, most int16) {
			v, ok := known.LookupMaxKeyVersion(key)
			all = all && ok && v >= most
		})
		// Requests are given up in time, so that the newest releases may not know all of the older ones.
		switch {
		case all:
			release = strings.TrimPrefix(name, "v")
		case release != "":
			return release
		}
	}
	return release
}
