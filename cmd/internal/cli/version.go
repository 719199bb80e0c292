package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/cmd/internal/buildinfo"
)

// Version returns the version of the running program.
func Version() string { return buildinfo.Version() }

// NewVersion returns the command that prints the version.
func NewVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print usher's version, and the commit and Go version it was built from",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), buildinfo.Line())
			return err
		},
	}
}
