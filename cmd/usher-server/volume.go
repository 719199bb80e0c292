package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/controllers/etcd/backup/volume"
	"github.com/usher-dev/usher/controllers/transfer"
)

// newServeVolume is run by the pod that mounts a backup's claim.
func newServeVolume() *cobra.Command {
	var v volume.Serve
	cmd := &cobra.Command{
		Use: "serve-volume", Short: "Serve the folder with the backups to the controller", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v.CA = os.Getenv(transfer.EnvCA)
			if err := v.Run(cmd.Context()); err != nil {
				return cli.Exit(cli.Failed, fmt.Errorf("serving %s: %w", v.Folder, err))
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&v.URL, "url", "", "URL of the controller; its CA is in "+transfer.EnvCA)
	flags.StringVar(&v.TokenFile, "token-file", "", "file with this pod's token")
	flags.StringVar(&v.Folder, "folder", "", "folder with the backups")
	return cmd
}
