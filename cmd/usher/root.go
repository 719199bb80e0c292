package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// streams are what a command reads and writes: results go to out, everything
// else to err.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// Exit statuses of every subcommand.
const (
	exitClean    = 0 // nothing found
	exitFindings = 1 // findings, conflicts or differences at or above the threshold
	exitUsage    = 2 // bad usage, or input that cannot be read; wins over exitFindings
)

// exitError ends a command with a status. Its message, if any, goes to stderr.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// ownNamespace is usher's own, by default.
const ownNamespace = "usher-system"

// run executes the command line and returns the exit status.
func run(ctx context.Context, args []string, s streams) int {
	root := newRoot(s)
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitClean
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{status: exitUsage, err: err}
	}
	if exit.err != nil {
		fmt.Fprintf(s.err, "Error: %v\n", exit.err)
	}
	return exit.status
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "usher",
		Short: "Admit objects into a Kubernetes cluster, with a reason for every decision",
		Long: `usher injects sidecars into pods that ask for them, refuses workloads that
cannot work, and says why. The same decisions run in the cluster and on files.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(
		newCheck(s),
		newController(s),
		newDiff(s),
		newDrift(s),
		newExplain(s),
		newFetchSnapshot(),
		newServeVolume(),
		newInject(s),
		newMigrate(s),
		newRedirect(s),
		newRestoreSnapshot(s),
		newRules(s),
		newTransitions(s),
		newUninstall(s),
		newVersion(s),
		newWebhook(s),
	)
	return root
}
