package repair

import (
	"fmt"
	"testing"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

// BenchmarkMake plans a reset of all partitions of a group, and its repair where every position is before the log start.
func BenchmarkMake(b *testing.B) {
	for _, n := range []int{1_000, 2_000, 4_000} {
		w := ownStore()
		for i := range n {
			p := fmt.Sprintf("orders:%d", i)
			w.Log(p, 100, 200)
			w.Store("billing", p, offset.Result[offset.Stored]{Value: offset.Stored{State: offset.Set, Next: 50}})
		}
		w.Group(offset.Group{Name: "billing", Phase: offset.Empty})
		rep := reportOf(b, w, inspect.Ask{})
		for name, o := range map[string]Options{
			"reset":  {Target: offset.Target{Kind: offset.ToEarliest}, Origin: here},
			"repair": {Mode: ToRepair, Origin: here},
		} {
			b.Run(fmt.Sprintf("%s/partitions=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					p, err := Make(rep, o)
					if err != nil || len(p.Groups[0].Items) != n {
						b.Fatalf("%d items, %v; want %d", len(p.Groups[0].Items), err, n)
					}
				}
			})
		}
	}
}
