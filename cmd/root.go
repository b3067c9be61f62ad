// Package cmd is the command line: it opens brokers and stores, asks the user, prints results, and turns errors into exit codes.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/offsetctl/offsetctl/internal/render"
	"github.com/offsetctl/offsetctl/repair"
	"github.com/spf13/cobra"
	_ "time/tzdata" // --tz works on machines without a zone database
)

// Main runs the process's command line and answers its exit code.
func Main() int {
	collect(collectSeldom)
	return Run(context.Background(), System(), os.Args[1:])
}

// Run runs one command line. SIGINT and SIGTERM end it: what is being written is finished, the rest is not begun.
func Run(ctx context.Context, sys *IO, args []string) int {
	var caught atomic.Int32
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		for s := range signals {
			if n, ok := s.(syscall.Signal); ok {
				caught.CompareAndSwap(0, int32(n))
			}
			cancel()
		}
	}()
	f := newFactory(sys)
	f.args = args
	defer f.close()
	root := newRoot(f)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	code := exitCode(err, int(caught.Load()))
	if err != nil && err.Error() != "" {
		f.complain(err, code)
	}
	return code
}

// complain writes an error: a refusal with all that speaks against the write, anything else in one sentence.
func (f *factory) complain(err error, code int) {
	var no *repair.Refused
	switch {
	case code == exitInterrupted || code == exitTerminated:
		fmt.Fprintln(f.sys.Err, "offsetctl: interrupted:", strings.TrimPrefix(strings.TrimSuffix(err.Error(), ": "+context.Canceled.Error()), "interrupted, "))
	case errors.As(err, &no):
		render.Refused(f.sys.Err, no, code, f.program())
	default:
		fmt.Fprintln(f.sys.Err, "offsetctl:", err)
	}
}

// global are the flags that every command has.
type global struct {
	context, broker, store, config, output, isolation string
	timeout                                           time.Duration
	quiet, verbose, noInput, timeoutTyped             bool
}

const (
	groupLook   = "look"
	groupRepair = "repair"
	groupSetup  = "setup"
)

func newRoot(f *factory) *cobra.Command {
	root := &cobra.Command{
		Use:   "offsetctl",
		Short: "See where stream consumers stand, what is wrong, and repair it",
		Long: `offsetctl shows where consumers of Kafka and RocketMQ stand against what the broker still has, says what is wrong and
what a repair costs, repairs it safely, and can undo it. Positions may be kept in the consumer group itself, in
ZooKeeper, HBase or Redis, in a table of MySQL, PostgreSQL or SQLite, or in a file.

  offsetctl demo                                       try everything, no server needed
  offsetctl inspect -g billing --broker kafka://k1:9092
  offsetctl reset -g billing -t orders --repair        shows the plan and asks before it writes
  offsetctl undo                                       takes the last write back`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		f.global.timeoutTyped = c.Flags().Changed("timeout")
		if f.global.timeout <= 0 {
			return usagef("--timeout %s leaves no time for anything: write 30s or 2m", f.global.timeout)
		}
		return nil
	}
	root.SetOut(f.sys.Out)
	root.SetErr(f.sys.Err)
	root.SetIn(f.sys.In)
	root.AddGroup(&cobra.Group{ID: groupLook, Title: "Look (never writes, joins no group):"},
		&cobra.Group{ID: groupRepair, Title: "Repair (every write is planned, shown, verified and can be undone):"},
		&cobra.Group{ID: groupSetup, Title: "Set up:"})
	f.flags(root)
	for id, cs := range map[string][]*cobra.Command{
		groupLook:   {newInspect(f), newGroups(f), newTopics(f), newPeek(f), newResolve(f), newCheck(f)},
		groupRepair: {newReset(f), newApply(f), newUndo(f), newHistory(f), newCopy(f)},
		groupSetup:  {newConfig(f), newStore(f), newDemo(f), newVersion(f)},
	} {
		for _, c := range cs {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	root.SetHelpCommandGroupID(groupSetup)
	root.SetCompletionCommandGroupID(groupSetup)
	root.SetFlagErrorFunc(flagError)
	strictHelp(root)
	return root
}

func (f *factory) flags(root *cobra.Command) {
	p, g := root.PersistentFlags(), &f.global
	p.StringVar(&g.context, "context", "", "the context of the configuration file to use")
	p.StringVar(&g.broker, "broker", "", "address of the broker: kafka://HOST:PORT,… or rocketmq://NAMESERVER:PORT,…")
	p.StringVar(&g.store, "store", "", "address of the place where the job keeps its offsets (default: the broker's own)")
	p.StringVar(&g.config, "config", "", "configuration file (default: "+defaultConfigHelp+")")
	p.StringVarP(&g.output, "output", "o", "", "output format: table, wide, json, yaml, csv, prometheus, as far as the command has them")
	p.DurationVar(&g.timeout, "timeout", 30*time.Second, "of each step; it never cuts a write in half")
	p.StringVar(&g.isolation, "isolation", "read-committed", "read-committed or read-uncommitted: what \"latest\" and lag mean")
	p.BoolVarP(&g.quiet, "quiet", "q", false, "no header, no progress, no hints")
	p.BoolVarP(&g.verbose, "verbose", "v", false, "show each request to a server")
	p.BoolVar(&g.noInput, "no-input", false, "never ask; what needs a yes is refused without --yes (CI=true does the same)")
	complete(root, "context", f.completeContexts)
	complete(root, "isolation", fixed("read-committed", "read-uncommitted"))
	complete(root, "output", completeFormats)
}

// canceled tells whether err is an interruption.
func canceled(err error) bool { return errors.Is(err, context.Canceled) }
