package cmd

import (
	"github.com/spf13/cobra"
)

func newStore(f *factory) *cobra.Command {
	c := &cobra.Command{
		Use:     "store",
		Short:   "Prepare a place for offsets",
		Long:    "Prepares a place where offsets are kept. See docs/stores.md for the layouts and docs/addresses.md for the addresses.",
		Example: "  offsetctl store init --store sqlite:offsets.db",
		Args:    noCommand,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use:   "init",
		Short: "Create the table, node or file that a store needs",
		Long:  "Creates what the store of --store needs: a table with its family, a znode, a file. What is there already is left as it is. No broker is asked.",
		Example: `  offsetctl store init --store sqlite:offsets.db
  offsetctl store init --store 'postgres://app@db/jobs?password=env:PW'
  offsetctl store init --store 'hbase://zk1:2181/offsets?family=t'
  offsetctl store init --store zk://zk1:2181/jobs`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			text := f.global.store
			if text == "" {
				text = f.sys.env("OFFSETCTL_STORE")
			}
			if text == "" {
				return usagef("no store is named: --store sqlite:offsets.db")
			}
			a, err := f.parse(text, storeForms())
			if err != nil {
				return err
			}
			d := storeDriver(a.Scheme)
			if d == nil || d.Init == nil {
				return usagef("%s needs nothing to be created", a)
			}
			ctx, cancel := f.step(c.Context())
			defer cancel()
			said, err := d.Init(ctx, f.env(), a)
			if err != nil {
				return err
			}
			f.hint("%s", said)
			return nil
		},
	})
	return c
}
