package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/brokers"
	"github.com/offsetctl/offsetctl/stores"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// WriteDocs writes the generated pages below dir: commands/*.md, exit-codes.md, addresses.md.
func WriteDocs(dir string) error {
	pages, err := docPages()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(dir, "commands")); err != nil {
		return err
	}
	for name, text := range pages {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// docPages makes the generated pages, by their names below docs/.
func docPages() (map[string][]byte, error) {
	root := newRoot(newFactory(&IO{}))
	root.DisableAutoGenTag = true
	root.InitDefaultCompletionCmd()
	pages := map[string][]byte{"exit-codes.md": exitCodesPage(), "addresses.md": addressesPage()}
	if err := commandPages(root, pages); err != nil {
		return nil, err
	}
	return pages, nil
}

func commandPages(c *cobra.Command, pages map[string][]byte) error {
	var b bytes.Buffer
	c.DisableAutoGenTag = true
	if err := doc.GenMarkdown(c, &b); err != nil {
		return err
	}
	pages["commands/"+strings.ReplaceAll(c.CommandPath(), " ", "_")+".md"] = b.Bytes()
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			if err := commandPages(sub, pages); err != nil {
				return err
			}
		}
	}
	return nil
}

func exitCodesPage() []byte {
	var b bytes.Buffer
	b.WriteString("# Exit codes\n\nOne table for every command. The higher of 3 to 5 wins over 1; a verdict `unknown` is 3 whatever `--fail-on` says; a group without any\noffset is 1.\n\n| code | meaning |\n|---|---|\n")
	for _, e := range ExitCodes {
		fmt.Fprintf(&b, "| %d | %s |\n", e.Code, e.Meaning)
	}
	return b.Bytes()
}

// addressesPage lists every scheme with its options.
func addressesPage() []byte {
	var b bytes.Buffer
	b.WriteString("# Addresses\n\nBrokers and stores are named by addresses: `scheme://[user@]host[:port][,host[:port]…][/path][?option=value&…]`, or `scheme:path` for files.\n" +
		"An option that a scheme does not have is refused. In values and paths `%`, `&`, `#` and `?` are written as `%25`, `%26`, `%23`, `%3F`.\n\n" +
		"Secrets are given by reference: `env:NAME`, `file:PATH` or `command:LINE` (its output). What they point to is never shown, logged or kept.\n")
	for _, d := range brokers.Drivers {
		formPage(&b, d.Title, d.Form)
	}
	for _, d := range stores.Drivers {
		formPage(&b, d.Title, d.Form)
	}
	return b.Bytes()
}

func formPage(b *bytes.Buffer, title string, f address.Form) {
	fmt.Fprintf(b, "\n## %s\n\n`%s`\n\n| option | value | meaning |\n|---|---|---|\n", title, f.Example)
	cell := strings.NewReplacer("|", `\|`)
	for _, o := range f.All() {
		value := ""
		if o.Value != "" {
			value = "`" + cell.Replace(o.Value) + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", o.Name, value, cell.Replace(o.Help))
	}
}
