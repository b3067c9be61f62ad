package cmd

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version is set by the linker; a plain build says what the module knows of itself.
var Version = ""

func version() string {
	if Version != "" {
		return Version
	}
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" && b.Main.Version != "(devel)" {
		return b.Main.Version
	}
	return "devel"
}

func newVersion(f *factory) *cobra.Command {
	c := &cobra.Command{
		Use:     "version",
		Short:   "Say which offsetctl this is",
		Long:    "Says the version of offsetctl and what it was built with. No server is asked.",
		Example: "  offsetctl version\n  offsetctl version -o json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			format, err := f.format("table", "json")
			if err != nil {
				return err
			}
			if format == "json" {
				return json.NewEncoder(f.sys.Out).Encode(map[string]string{"schema": "offsetctl.version/v1", "version": version(),
					"go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH})
			}
			_, err = fmt.Fprintf(f.sys.Out, "offsetctl %s, %s, %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
	return c
}
