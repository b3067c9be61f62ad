package main

import (
	"fmt"
	"io"
	"time"
)

// show prints one outcome: what each program took, and below it how that lies beside the aims.
func show(w io.Writer, o *outcome) {
	fmt.Fprintf(w, "%-68s %10s %10s %9s\n", o.scene.title, "WALL", "CPU", "MAX RSS")
	for i, c := range o.costs {
		fmt.Fprintf(w, "  %-66s %10s %10s %5d MiB\n", o.names[i], millis(c.wall), millis(c.cpu), c.rss>>20)
	}
	for _, a := range o.scene.aims {
		if ratio, ok := a.of(o.byName); ok {
			fmt.Fprintf(w, "  %9s %s%s\n", times(ratio), a.text, missed(ratio, a.most))
		}
	}
	fmt.Fprintln(w)
}

func missed(ratio, most float64) string {
	if ratio > most {
		return "   MISSED"
	}
	return ""
}

func times(ratio float64) string {
	if ratio < 0.2 {
		return fmt.Sprintf("1/%.0f", 1/ratio)
	}
	return fmt.Sprintf("%.2fx", ratio)
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }

// series is what offsetctl took for more and more of the same thing.
type series struct {
	what  string
	sizes []int
	cpu   []float64
}

func (s *series) add(o *outcome, size int) {
	if c, ok := o.byName(offsetctl); ok {
		s.sizes, s.cpu = append(s.sizes, size), append(s.cpu, cpuOf(c))
	}
}

// show compares the growth of cost and size; idle is what the program takes for nothing.
func (s *series) show(w io.Writer, idle cost) {
	if len(s.sizes) < 2 {
		return
	}
	fmt.Fprintf(w, "offsetctl's CPU beyond start-up, by %s\n", s.what)
	for i, n := range s.sizes {
		fmt.Fprintf(w, "  %7d %-30s %5.2fx\n", n, fmt.Sprintf("(%.2gx)", float64(n)/float64(s.sizes[0])), (s.cpu[i]-cpuOf(idle))/(s.cpu[0]-cpuOf(idle)))
	}
	fmt.Fprintln(w)
}
