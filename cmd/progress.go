package cmd

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Work over a second is shown on a terminal; elsewhere it is a line every ten.
const (
	progressAfter = time.Second
	progressEvery = 10 * time.Second
)

// progress shows how far a step is. It prints nothing for quick ones.
type progress struct {
	f     *factory
	began time.Time
	said  time.Time

	mu  sync.Mutex
	bar *progressbar.ProgressBar
}

func (f *factory) progress() *progress {
	now := f.sys.Now()
	return &progress{f: f, began: now, said: now}
}

func (p *progress) stage(what string, done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.f.sys.Now()
	switch {
	case p.f.global.quiet || now.Sub(p.began) < progressAfter:
	case p.f.sys.ErrTTY:
		p.show(what, done, total)
	case now.Sub(p.said) >= progressEvery:
		p.said = now
		if total > 0 {
			fmt.Fprintf(p.f.sys.Err, "%s: %d of %d, %s\n", what, done, total, now.Sub(p.began).Round(time.Second))
		} else {
			fmt.Fprintf(p.f.sys.Err, "%s, %s\n", what, now.Sub(p.began).Round(time.Second))
		}
	}
}

func (p *progress) show(what string, done, total int) {
	if total <= 0 {
		total = -1 // a spinner
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(p.f.sys.Err), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(20))
	}
	p.bar.Describe(what)
	p.bar.ChangeMax(total)
	_ = p.bar.Set(done) // a bar that cannot be drawn is no failure
}

// done takes the bar off the screen.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
		_, _ = io.WriteString(p.f.sys.Err, "\r")
	}
}
