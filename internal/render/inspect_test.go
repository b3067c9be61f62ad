package render

import "testing"

func TestInspectFormats(t *testing.T) {
	for _, format := range []string{"table", "wide", "json", "yaml", "csv", "prometheus"} {
		t.Run(format, func(t *testing.T) { golden(t, "inspect."+format, shown(t, billing(t), options(format))) })
	}
}
