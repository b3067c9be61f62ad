package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// offering is the answer of a server that offers what a release does.
func offering(release string) *kmsg.ApiVersionsResponse {
	r := kmsg.NewPtrApiVersionsResponse()
	kversion.FromString(release).EachMaxKeyVersion(func(key, most int16) {
		r.ApiKeys = append(r.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: key, MaxVersion: most})
	})
	return r
}

func TestProduct(t *testing.T) {
	for release, want := range map[string]string{"v2.8": "Kafka 2.8", "v3.9": "Kafka 3.9", "v4.0": "Kafka 4.0", "v4.4": "Kafka 4.4"} {
		if got := product(offering(release)); got != want {
			t.Errorf("%s: %q", release, got)
		}
	}
	newer := offering("v4.4")
	for i := range newer.ApiKeys {
		newer.ApiKeys[i].MaxVersion++
	}
	if got := product(newer); got != "Kafka 4.4 or newer" {
		t.Errorf("newer than all that are known: %q", got)
	}
	some := offering("v3.9")
	some.ApiKeys = some.ApiKeys[:20]
	if got := product(some); got != "Kafka (version not known, requests up to those of 3.9)" {
		t.Errorf("a part of a release: %q", got)
	}
	some.ApiKeys[0].MaxVersion = 99
	if got := product(some); got != "Kafka (version not known)" {
		t.Errorf("a part, and what nobody knows: %q", got)
	}
}

func TestProductOfServers(t *testing.T) {
	show := func(t *testing.T, hosts []string, want string) {
		top, err := dialTo(t, hosts, "", nil).Topology(t.Context(), []string{})
		if err != nil || top.Product != want {
			t.Errorf("%q, %v; want %q", top.Product, err, want)
		}
	}
	t.Run("in process", func(t *testing.T) {
		show(t, fake(t, kfake.NumBrokers(1)).ListenAddrs(), "Kafka (version not known, requests up to those of 4.4)")
	})
	versions := map[string]string{"kafka44": "Kafka 4.4", "kafka39": "Kafka 3.9", "kafka28": "Kafka 2.8"}
	everyKafka(t, func(t *testing.T, hosts []string) {
		for server, want := range versions {
			if t.Name() == "TestProductOfServers/"+server {
				show(t, hosts, want)
			}
		}
	})
}
