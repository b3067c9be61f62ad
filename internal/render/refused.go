package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/offsetctl/offsetctl/repair"
)

// maxReasons is how many reasons of one kind are written out; a refusal over a thousand partitions must not scroll away.
const maxReasons = 8

// Refused writes why nothing was written: each reason once, its details, and the next step once for all that share it. program is
// what stands before a repair's arguments: "offsetctl --context prod-eu".
func Refused(w io.Writer, no *repair.Refused, code int, program string) {
	var b strings.Builder
	fmt.Fprintf(&b, "refused, nothing written (exit %d):", code)
	if len(no.Reasons) == 1 {
		b.WriteString(" " + no.Reasons[0].Text)
	}
	b.WriteByte('\n')
	said := map[string]int{}
	for i, r := range no.Reasons {
		if said[r.Next]++; said[r.Next] > maxReasons {
			continue
		}
		if len(no.Reasons) > 1 {
			fmt.Fprintf(&b, "  %s\n", r.Text)
		}
		for _, d := range r.Details {
			fmt.Fprintf(&b, "  %s\n", d)
		}
		for _, x := range r.Repairs {
			fmt.Fprintf(&b, "  %s %s  %s %s\n", x.Effect, Number(x.Count), program, Command(x.Args))
		}
		if last := i == len(no.Reasons)-1 || no.Reasons[i+1].Next != r.Next; last && r.Next != "" {
			next(&b, r.Next)
		}
	}
	for n, k := range said {
		if k > maxReasons {
			fmt.Fprintf(&b, "  … and %s more like these\n", Number(int64(k-maxReasons)))
			next(&b, n)
		}
	}
	_, _ = io.WriteString(w, b.String()) // there is nowhere else to say it
}

func next(b *strings.Builder, text string) {
	for _, line := range wrap("→ "+text, 2, 100) {
		fmt.Fprintf(b, "  %s\n", line)
	}
}
