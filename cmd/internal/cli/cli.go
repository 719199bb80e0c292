// Package cli contains the common parts of usher's programs: exit statuses, the
// connection to a cluster, and the version.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Exit statuses of every command.
const (
	Clean  = 0 // success without findings
	Failed = 1 // findings at the threshold or more severe, or a failure
	Usage  = 2 // wrong usage, or unreadable input; takes precedence over Failed

	Interrupted = 130 // the user pressed Ctrl-C
)

// Namespace is usher's own namespace unless a flag names another one.
const Namespace = "usher-system"

// exit ends a command with a status.
type exit struct {
	status int
	err    error
}

// Exit returns an error that ends a command with the status. The message of err
// goes to stderr; with nil there is none. Any other error ends with Usage.
func Exit(status int, err error) error { return &exit{status, err} }

func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// Execute runs a program's root command and returns the exit status. The
// command's results go to out, everything else to errs.
func Execute(ctx context.Context, root *cobra.Command, args []string, in io.Reader, out, errs io.Writer) int {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.PersistentPreRunE = validate
	root.SetFlagErrorFunc(flagError)
	wrapHelp(root)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return Clean
	}
	var e *exit
	if !errors.As(err, &e) {
		e = &exit{Usage, err}
	}
	stopped := ctx.Err() != nil && errors.Is(e.err, context.Canceled)
	if e.err != nil && !stopped {
		Report(errs, e.err)
	}
	return e.status
}
