package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/controllers/transfer"
)

// newFetchSnapshot and newRestoreSnapshot are run by the init containers of a
// member that is being restored; they are not for users.
func newFetchSnapshot() *cobra.Command {
	var f transfer.Fetch
	cmd := &cobra.Command{
		Use: "fetch-snapshot", Short: "Fetch the backup that this pod is restored from", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.CA = os.Getenv(transfer.EnvCA)
			if err := f.Run(cmd.Context()); err != nil {
				return cli.Exit(cli.Failed, fmt.Errorf("fetching the backup: %w", err))
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.URL, "url", "", "URL from which to fetch it; its CA is in "+transfer.EnvCA)
	flags.StringVar(&f.TokenFile, "token-file", "", "file with this pod's token")
	flags.StringVar(&f.Data, "data-dir", "", "folder that exists once the backup is restored")
	flags.StringVar(&f.To, "to", "", "folder to store it in")
	return cmd
}

func newRestoreSnapshot() *cobra.Command {
	var r transfer.Restore
	cmd := &cobra.Command{
		Use: "restore-snapshot -- ETCDUTL…", Short: "Create a member's data from the fetched backup", Hidden: true, Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Command, r.Log = args, cmd.ErrOrStderr()
			if err := r.Run(cmd.Context()); err != nil {
				return cli.Exit(cli.Failed, err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&r.From, "from", "", "folder that contains the fetched backup")
	cmd.Flags().StringVar(&r.Data, "data-dir", "", "folder to create")
	return cmd
}
