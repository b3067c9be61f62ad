package cmd

import (
	"context"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// dangerTime bounds the question for a store's dangers, which is no reason to wait.
const dangerTime = 2 * time.Second

// dangers tells, beside the results, what may lose the positions that are looked at: a Redis that may evict, a table without a key.
// Of a broker's own store check tells, and the broker's findings.
func (f *factory) dangers(ctx context.Context, st *place) {
	w, ok := st.Store.(offset.Warner)
	if !ok || st.own || f.global.quiet {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, dangerTime)
	defer cancel()
	for _, x := range w.Warnings(ctx) {
		f.warn("%s", dangerText(x))
	}
}

// dangerText is a warning in one line: the danger, and the step that leads out of it.
func dangerText(w offset.Warning) string { return strings.TrimSuffix(w.Text+"; "+w.Next, "; ") }
