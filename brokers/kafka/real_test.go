package kafka

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset/offsettest"
)

// everyKafka runs a test on the real brokers of each version.
func everyKafka(t *testing.T, f func(t *testing.T, hosts []string)) {
	for _, name := range []string{"kafka44", "kafka39", "kafka28"} {
		t.Run(name, func(t *testing.T) { f(t, strings.Split(testservers.Need(t, name).Addr["plain"], ",")) })
	}
}

// unique is a name that no other test has.
func unique(name string) string { return name + "-" + strings.ToLower(rand.Text()[:10]) }

func TestStoreContractOnBrokers(t *testing.T) {
	everyKafka(t, func(t *testing.T, hosts []string) {
		offsettest.RunStore(t, contract(hosts, unique("contract")+"."))
	})
}
