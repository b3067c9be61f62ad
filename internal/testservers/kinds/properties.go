//go:build linux

package kinds

import (
	"fmt"
	"strings"
)

// properties is a file of "key=value" lines in the order they were set.
type properties struct{ text strings.Builder }

func (p *properties) set(key string, value any) { fmt.Fprintf(&p.text, "%s=%v\n", key, value) }

// add takes lines as they are written in the file.
func (p *properties) add(lines string) {
	p.text.WriteString(strings.TrimSpace(lines))
	p.text.WriteByte('\n')
}

func (p *properties) String() string { return p.text.String() }
