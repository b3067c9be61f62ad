package remoting

import (
	"context"
	"strings"
)

// Config asks a broker for its settings.
func (c *Client) Config(ctx context.Context, b Broker) (map[string]string, error) {
	a, err := c.Do(ctx, b.Addr, Request{Code: CodeConfig})
	if err != nil {
		return nil, err
	}
	return parseProperties(string(a.Body)), nil
}

// parseProperties reads KEY=VALUE lines; Java's escapes of = and : in values are undone.
func parseProperties(s string) map[string]string {
	out := map[string]string{}
	unescape := strings.NewReplacer(`\:`, ":", `\=`, "=", `\\`, `\`)
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if k, v, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			out[k] = unescape.Replace(v)
		}
	}
	return out
}

// RuntimeInfo asks a broker how it does.
func (c *Client) RuntimeInfo(ctx context.Context, b Broker) (map[string]string, error) {
	a, err := c.Do(ctx, b.Addr, Request{Code: CodeRuntimeInfo})
	if err != nil {
		return nil, err
	}
	var v struct {
		Table map[string]string `json:"table"`
	}
	if err := decode(a.Body, &v); err != nil {
		return nil, malformed(b.Addr, CodeRuntimeInfo, err)
	}
	return v.Table, nil
}
