package sql

import (
	"context"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
)

// BenchmarkSQLite reads ten thousand positions of ten topics, and writes a thousand.
func BenchmarkSQLite(b *testing.B) {
	path, _ := sqliteFile(b)
	s := open(b, quiet(), sqliteAddress(path))
	defer func() { _ = s.Close() }()
	var at []offset.Partition
	for _, topic := range "abcdefghij" {
		for i := range int32(1000) {
			at = append(at, offset.Partition{Topic: string(topic), Index: i})
		}
	}
	write(b, s, change(b, s, at, make([]int64, len(at))...))
	b.Run("read 10000", func(b *testing.B) {
		for b.Loop() {
			if a := s.Read(context.Background(), []offset.Query{{Group: "g", Expect: at}}); a[0].Err != nil {
				b.Fatal(a[0].Err)
			}
		}
	})
	b.Run("write 1000", func(b *testing.B) {
		from := get(b, s, at[:1000]...)
		for b.Loop() {
			ch := make([]offset.Change, len(from))
			for i := range ch {
				ch[i] = offset.Change{Partition: at[i], From: from[i], To: set(from[i].Next + 1)}
			}
			for i, r := range s.Write(context.Background(), "g", ch) {
				if r.Err != nil {
					b.Fatal(r.Err)
				}
				from[i] = r.Value
			}
		}
	})
}
