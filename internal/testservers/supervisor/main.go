//go:build linux

// Command supervisor fetches, starts, watches and stops the real servers that
// the tests need. See package testservers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/offsetctl/offsetctl/internal/testservers/artifacts"
	"github.com/offsetctl/offsetctl/internal/testservers/kinds"
	"github.com/offsetctl/offsetctl/internal/testservers/wire"
)

const usage = `usage:
  supervisor fetch                 get everything that the servers are made of
  supervisor run -- CMD [ARG...]   run a command with servers at hand, in a network of loopback alone
  supervisor serve [-all-interfaces]
                                   keep servers for "go test" in other terminals, until interrupted;
                                   with the flag also those that cannot be bound to loopback alone
  supervisor list                  the servers, and what is missing to start them

SERVERS=newest leaves out the old versions, MYSQL8=1 adds mysql8.
`

// errUsage is a command line that was not understood; the usage was printed.
var errUsage = errors.New("usage")

func main() { os.Exit(exitCodeOf(os.Args[1:])) }

func exitCodeOf(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, err := dispatch(ctx, args)
	switch {
	case errors.Is(err, errUsage):
		fmt.Fprint(os.Stderr, usage)
		return 2
	case err != nil:
		fmt.Fprintln(os.Stderr, "test servers:", err)
		return 1
	}
	return code
}

func dispatch(ctx context.Context, args []string) (int, error) {
	if len(args) == 0 {
		return 0, errUsage
	}
	switch name, rest := args[0], args[1:]; name {
	case "fetch":
		return 0, fetch(ctx, os.Stderr)
	case "list":
		list(os.Stdout)
		return 0, nil
	case "serve":
		flags := flag.NewFlagSet("serve", flag.ContinueOnError)
		everywhere := flags.Bool("all-interfaces", false, "")
		if flags.Parse(rest) != nil || flags.NArg() > 0 {
			return 0, errUsage
		}
		return 0, serve(ctx, *everywhere)
	case "run", insideName:
		if len(rest) > 0 && rest[0] == "--" {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return 0, errUsage
		}
		if name == insideName {
			return inside(ctx, rest)
		}
		return run(ctx, rest)
	default:
		return 0, errUsage
	}
}

// chosen are the kinds that this environment asks for.
func chosen() []kinds.Kind {
	var some []kinds.Kind
	for _, k := range kinds.All() {
		old := wire.Old(k.Name) && os.Getenv("SERVERS") == "newest"
		unasked := k.Name == "mysql8" && os.Getenv("MYSQL8") != "1"
		if !old && !unasked {
			some = append(some, k)
		}
	}
	return some
}

func fetch(ctx context.Context, out io.Writer) error {
	items := kinds.Tools()
	for _, k := range chosen() {
		items = append(items, k.Needs...)
	}
	if err := artifacts.Fetch(ctx, out, items); err != nil {
		return err
	}
	modules := exec.CommandContext(ctx, "go", "mod", "download")
	modules.Stdout, modules.Stderr = out, out
	if err := modules.Run(); err != nil {
		return fmt.Errorf("go mod download: %w", err)
	}
	return nil
}

func list(out io.Writer) {
	for _, k := range chosen() {
		state := "ready to start"
		if missing := artifacts.Missing(k.Needs); len(missing) > 0 {
			state = fmt.Sprintf("to be fetched: %v", missing)
		}
		fmt.Fprintf(out, "%-15s %-8s %s\n", k.Name, k.Version, state)
	}
}
