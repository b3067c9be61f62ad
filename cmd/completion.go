package cmd

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// completionTime bounds a look at the cluster while somebody waits with the finger on the tab key.
const completionTime = 500 * time.Millisecond

const noFiles = cobra.ShellCompDirectiveNoFileComp

func (f *factory) completeGroups(c *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return f.names(c, prefix, func(ctx context.Context) (out []string) {
		st, err := f.openStore(ctx, "")
		if err != nil {
			return nil
		}
		out, _, _ = st.Groups(ctx)
		return out
	})
}

func (f *factory) completeTopics(c *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return f.names(c, prefix, func(ctx context.Context) (out []string) {
		b, err := f.openBroker(ctx)
		if err != nil {
			return nil
		}
		t, err := b.Topology(ctx, nil)
		if err != nil {
			return nil
		}
		for _, tp := range t.Topics {
			if !tp.Internal {
				out = append(out, tp.Name)
			}
		}
		return out
	})
}

// names answers what begins with prefix, or nothing where the cluster does not answer in time.
func (f *factory) names(c *cobra.Command, prefix string, look func(context.Context) []string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(c.Context(), completionTime)
	defer cancel()
	found := make(chan []string, 1)
	go func() { found <- look(ctx) }()
	var out []string
	select {
	case all := <-found:
		for _, n := range all {
			if strings.HasPrefix(n, prefix) {
				out = append(out, n)
			}
		}
	case <-ctx.Done():
	}
	return out, noFiles
}

func (f *factory) completeContexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	file, _, err := f.file()
	if err != nil {
		return nil, noFiles
	}
	return file.Names(), noFiles
}

// completeFormats answers the formats that commands have in common, and those of resolve.
func completeFormats(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if c.Name() == "resolve" {
		return fixed(resolveFormats()...)(c, args, prefix)
	}
	return fixed("table", "wide", "json", "yaml", "csv", "prometheus")(c, args, prefix)
}
