package cmd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/offsetctl/offsetctl/internal/near"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// noCommand is of commands that only have others below them.
func noCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	msg := fmt.Sprintf("unknown command %q", args[0])
	c.SuggestionsMinimumDistance = 2
	if s := c.SuggestionsFor(args[0]); len(s) > 0 {
		msg += "; did you mean " + strings.Join(s, " or ") + "?"
	}
	return usagef("%s (see: %s --help)", msg, c.CommandPath())
}

// oneArg wants exactly one argument, which is what.
func oneArg(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("%s takes %s (see: %s --help)", c.CommandPath(), what, c.CommandPath())
		}
		return nil
	}
}

func maxArgs(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > n {
			return usagef("%s takes %s; %q is too much (see: %s --help)", c.CommandPath(), what, args[n], c.CommandPath())
		}
		return nil
	}
}

// noArgs refuses arguments: most often a flag was forgotten.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no argument, only flags; %q is one too many (see: %s --help)", c.CommandPath(), args[0], c.CommandPath())
	}
	return nil
}

// flagError says what is wrong with a flag, and what may have been meant.
func flagError(c *cobra.Command, err error) error {
	see := fmt.Sprintf(" (see: %s --help)", c.CommandPath())
	if no, ok := errors.AsType[*pflag.NotExistError](err); ok && no.GetSpecifiedShortnames() == "" {
		meant := near.Name(no.GetSpecifiedName(), func(yield func(string) bool) {
			more := true
			c.Flags().VisitAll(func(f *pflag.Flag) { more = more && yield(f.Name) })
		})
		if meant != "" {
			return usagef("%w; did you mean --%s?%s", err, meant, see)
		}
	}
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		what := "no whole number"
		switch {
		case errors.Is(err, strconv.ErrRange):
			what = "too large a number"
		case bad.GetFlag().Value.Type() == "duration":
			what = "no duration: write it like 500ms, 30s or 2m"
		case bad.GetFlag().Value.Type() == "bool":
			what = "neither true nor false"
		}
		return usagef("--%s: %q is %s%s", bad.GetFlag().Name, bad.GetValue(), what, see)
	}
	return usagef("%w%s", err, see)
}

// strictHelp makes the library's own commands refuse what they do not know.
func strictHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				of, rest, err := root.Find(args)
				if err != nil {
					return usage(err)
				}
				return noCommand(of, rest)
			}
		case "completion":
			c.Args, c.Example = noCommand, "  source <(offsetctl completion bash)\n  offsetctl completion zsh > \"${fpath[1]}/_offsetctl\""
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
}
