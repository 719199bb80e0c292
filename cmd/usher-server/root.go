package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "usher-server",
		Short: "Serve usher's admission webhook, and run its controllers",
		Long: `usher-server is the part of usher that runs in a cluster: the admission webhook,
the controllers, and what usher's own containers run. "usher" is the command
line.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return fmt.Errorf("usher-server has no command %q, and the image contains only the server; run %q with the command line", args[0], "usher "+args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		// Flags of an unknown command; Args names the command.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
	}
	root.AddCommand(
		newController(),
		newFetchSnapshot(),
		newRedirect(),
		newRestoreSnapshot(),
		newServeVolume(),
		newWebhook(),
		cli.NewVersion(),
	)
	return root
}
