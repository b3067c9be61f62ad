package offset

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPartitionText(t *testing.T) {
	for text, want := range map[string]Partition{
		"orders:3":                  {"orders", "", 3},
		"orders@broker-a:3":         {"orders", "broker-a", 3},
		"orders.v1.0:2":             {"orders.v1.0", "", 2},
		"orders:0:2":                {"orders:0", "", 2},
		"%RETRY%billing@b:1:0":      {"%RETRY%billing", "b:1", 0},
		"orders@a@b:2147483647":     {"orders", "a@b", 2147483647},
		"or ders:0":                 {"or ders", "", 0},
		"a-b_c.%RETRY%x|y@broker:9": {"a-b_c.%RETRY%x|y", "broker", 9},
	} {
		got, err := ParsePartition(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", ":", "orders", ":3", "@b:3", "orders@:3", "orders:", "orders:-1", "orders:+1", "orders:01", "orders:1 ", "orders:2147483648", "orders:1e3", "orders:0x1", "orders:1_0", "orders:3,4"} {
		if got, err := ParsePartition(text); err == nil || !strings.Contains(err.Error(), "TOPIC:PARTITION") {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func anyPartition(t *rapid.T) Partition {
	return Partition{
		Topic:  rapid.StringMatching(`[a-zA-Z0-9._:%|-]{1,12}`).Draw(t, "topic"),
		Broker: rapid.StringMatching(`[a-z0-9.:@-]{0,8}`).Draw(t, "broker"),
		Index:  rapid.Int32Min(0).Draw(t, "index"),
	}
}

func TestPartitionRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPartition(t)
		if q, err := ParsePartition(p.String()); err != nil || q != p {
			t.Fatalf("%+v is %s is %+v, %v", p, p, q, err)
		}
		m := map[Partition]int64{p: 1 << 62}
		b, err := json.Marshal(m)
		var back map[Partition]int64
		if err == nil {
			err = json.Unmarshal(b, &back)
		}
		if err != nil || len(back) != 1 || back[p] != 1<<62 {
			t.Fatalf("%s is %v, %v", b, back, err)
		}
	})
}

func TestPartitionOrder(t *testing.T) {
	sorted := []Partition{{"orders", "", 0}, {"orders", "", 2}, {"orders", "", 10}, {"orders", "broker-a", 0}, {"orders", "broker-b", 0}, {"payments", "", 0}}
	shuffled := slices.Clone(sorted)
	slices.Reverse(shuffled)
	slices.SortFunc(shuffled, Partition.Compare)
	if !slices.Equal(shuffled, sorted) {
		t.Errorf("%v", shuffled)
	}
}

func FuzzParsePartition(f *testing.F) {
	for _, s := range []string{"orders:3", "orders@broker-a:3", "%RETRY%g@b:0", "a:b:1", "@:0", "orders:01"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePartition(s)
		if err != nil {
			return
		}
		if p.Topic == "" || p.Index < 0 || p.String() != s {
			t.Errorf("%q is %+v is %q", s, p, p)
		}
	})
}
