package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestExamplesAreCommands: every command that the README, the pages and the help texts show is one, with flags that it has, and can be
// pasted into a shell.
func TestExamplesAreCommands(t *testing.T) {
	n := 0
	for where, text := range pages(t) {
		for _, line := range shown(text) {
			if err := parses(line); err != nil {
				t.Errorf("%s: %s\n%v", where, line, err)
			}
			n++
		}
	}
	if n < 100 {
		t.Errorf("only %d commands were found", n)
	}
}

// TestFlagsInPages: no page and no help text names a flag that no command has.
func TestFlagsInPages(t *testing.T) {
	known := map[string]bool{"--help": true, "--operation": true, "--export": true, "--prefix": true} // the last three are others'
	eachCommand(newRoot(newFactory(&IO{})), func(c *cobra.Command) {
		for _, fs := range []*pflag.FlagSet{c.LocalFlags(), c.InheritedFlags()} {
			fs.VisitAll(func(f *pflag.Flag) { known["--"+f.Name] = true })
		}
	})
	flag := regexp.MustCompile("--[a-z][a-z-]+")
	others := regexp.MustCompile(`(?m)^.*(\.sh |kubectl |go run |BENCHFLAGS).*$|\(#[^)]*\)`)
	for where, text := range pages(t) {
		for _, f := range flag.FindAllString(others.ReplaceAllString(text, ""), -1) {
			if !known[f] {
				t.Errorf("%s names %s, which no command has", where, f)
			}
		}
	}
}

// pages are the README, the pages that are written by hand, and the help texts, by their names.
func pages(t *testing.T) map[string]string {
	files, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, f := range append(files, "../README.md") {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(f)] = string(b)
	}
	eachCommand(newRoot(newFactory(&IO{})), func(c *cobra.Command) {
		texts[c.CommandPath()+" --help"] = "```\n" + prose.ReplaceAllString(c.Long, "it ") + "\n" + c.Example + "\n```\n"
	})
	return texts
}

func eachCommand(c *cobra.Command, do func(*cobra.Command)) {
	do(c)
	for _, sub := range c.Commands() {
		eachCommand(sub, do)
	}
}

var (
	inCode   = regexp.MustCompile("`(offsetctl [^`]+)`")
	inBlocks = regexp.MustCompile(`^(?:\s*\$ |\s*- run: |\s*run: |\s+(?:go on|go back) +|\s*)(offsetctl .+)$`)
	prose    = regexp.MustCompile(`(?m)^offsetctl `)                            // begins a sentence, and no command
	behind   = regexp.MustCompile(`\s{3,}[^-\s].*$|\s+#.*$|\s+(\||\|\||>) .*$`) // what is no part of the command
)

// shown are the commands in a page: the lines of its code blocks, and what stands in its sentences as code.
func shown(text string) (out []string) {
	for i, part := range strings.Split(text, "```") {
		if i%2 == 0 {
			for _, m := range inCode.FindAllStringSubmatch(part, -1) {
				out = append(out, m[1])
			}
			continue
		}
		for line := range strings.SplitSeq(part, "\n") {
			if m := inBlocks.FindStringSubmatch(line); m != nil {
				out = append(out, behind.ReplaceAllString(m[1], ""))
			}
		}
	}
	return out
}

// parses reads a command up to where it would begin to work.
func parses(line string) error {
	args, err := words(line)
	if err != nil {
		return err
	}
	root := newRoot(newFactory(&IO{}))
	c, rest, err := root.Find(args[1:])
	if err != nil {
		return err
	}
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	if err := c.ValidateArgs(c.Flags().Args()); err != nil {
		return err
	}
	if c.PreRunE != nil {
		return c.PreRunE(c, c.Flags().Args())
	}
	return nil
}

// words splits a line as a shell does. A character that a shell takes for itself must be quoted.
func words(line string) (out []string, err error) {
	var b strings.Builder
	var quote rune
	for _, r := range line + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(r)
		case r == '\'' || r == '"':
			quote = r
		case r == ' ':
			if b.Len() > 0 {
				out = append(out, b.String())
			}
			b.Reset()
		case strings.ContainsRune("&?*;<>()|", r):
			return nil, fmt.Errorf("a shell takes %q for itself: quote it", r)
		default:
			b.WriteRune(r)
		}
	}
	return out, nil
}
