package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/suggest"
)

// streams are the input and output of a command: results go to out, everything
// else to err.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// grace is how long an interrupted command has to end by itself. A read of
// standard input, or of a server that does not answer, may not notice.
const grace = time.Second

// run executes the command line and returns the exit status.
func run(ctx context.Context, args []string, s streams) int {
	ended := make(chan int, 1)
	go func() { ended <- cli.Execute(ctx, newRoot(s), args, s.in, s.out, s.err) }()
	select {
	case status := <-ended:
		if ctx.Err() == nil {
			return status
		}
	case <-ctx.Done():
		select {
		case <-ended:
		case <-time.After(grace):
		}
	}
	fmt.Fprintln(s.err, "Interrupted.")
	return cli.Interrupted
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "usher",
		Short: "Inject sidecars, check workloads and explain usher's decisions",
		Long: `usher injects sidecars into pods that ask for them, refuses workloads that
cannot work, and says why. The same decisions run in the cluster and on files.`,
	}
	root.AddCommand(
		newCheck(s),
		newDiff(s),
		newDrift(s),
		newEtcd(s),
		newExplain(s),
		newInject(s),
		newInstall(s),
		newMigrate(s),
		newRules(s),
		newStatus(s),
		newTransitions(s),
		newUninstall(s),
		cli.NewVersion(),
	)
	for _, name := range serverCommands {
		root.AddCommand(pointToServer(name))
	}
	root.SetHelpCommand(newHelp())
	addCompletion(root)
	cli.VersionFlag(root)
	cli.Commands(root)
	return root
}

// addCompletion adds cobra's command for shells, which says which shells it knows.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"})
	var shells []string
	for _, shell := range completion.Commands() {
		shells = append(shells, shell.Name())
		shell.Args = cli.NoArguments("")
	}
	completion.Args = cobra.ArbitraryArgs
	completion.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return fmt.Errorf("usher completion has no shell %q; %s", args[0], "write "+suggest.List(shells, "or"))
	}
}

// newHelp returns the command that prints the help of another one.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print the help of a command",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			found, _, _ := cmd.Root().Find(args)
			var names []cobra.Completion
			for _, sub := range found.Commands() {
				if sub.IsAvailableCommand() {
					names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if !found.HasParent() && len(rest) > 0 {
				return found.RunE(found, rest)
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// serverCommands are the commands of the server's image.
var serverCommands = []string{"controller", "fetch-snapshot", "redirect", "restore-snapshot", "serve-bucket", "serve-volume", "webhook"}

// pointToServer returns a hidden command that explains where to find the
// command with this name.
func pointToServer(name string) *cobra.Command {
	return &cobra.Command{
		Use: name, Hidden: true, DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return fmt.Errorf("%q runs in the cluster and is not part of the command line: run %q in usher's image", "usher "+name, "/usher "+name)
		},
	}
}
