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
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print usher's version, and the commit and Go version it was built from",
		Args:  NoArguments(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), buildinfo.Line())
			return err
		},
	}
	WithoutCluster(cmd, "it prints the version of this program; usher status prints those of the replicas")
	return cmd
}

// VersionFlag adds --version, which prints what the command version prints.
func VersionFlag(root *cobra.Command) {
	root.Version = buildinfo.Line()
	root.SetVersionTemplate("{{.Version}}\n")
}
