package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/controllers/etcdbackup/volume"
	"github.com/usher-dev/usher/controllers/handover"
)

// newFetchSnapshot and newRestoreSnapshot are what the init containers of a
// member run that is restored; people have no use for them.
func newFetchSnapshot() *cobra.Command {
	var f handover.Fetch
	cmd := &cobra.Command{
		Use: "fetch-snapshot", Short: "Fetch the backup that this pod is restored from", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.CA = os.Getenv(handover.EnvCA)
			if err := f.Run(cmd.Context()); err != nil {
				return &exitError{exitFindings, fmt.Errorf("fetching the backup: %w", err)}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.URL, "url", "", "where the controller hands it over; its CA is in "+handover.EnvCA)
	flags.StringVar(&f.TokenFile, "token-file", "", "file with this pod's token")
	flags.StringVar(&f.Data, "data-dir", "", "folder that is there once the backup was restored")
	flags.StringVar(&f.To, "to", "", "folder to put it in")
	return cmd
}

func newRestoreSnapshot(s streams) *cobra.Command {
	var r handover.Restore
	cmd := &cobra.Command{
		Use: "restore-snapshot -- ETCDUTL…", Short: "Make a member's data from the backup that was fetched", Hidden: true, Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Command, r.Log = args, s.err
			if err := r.Run(cmd.Context()); err != nil {
				return &exitError{exitFindings, err}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&r.From, "from", "", "folder that the backup was fetched to")
	cmd.Flags().StringVar(&r.Data, "data-dir", "", "folder to make")
	return cmd
}

// newServeVolume is what the pod runs that mounts a backup's claim.
func newServeVolume() *cobra.Command {
	var v volume.Serve
	cmd := &cobra.Command{
		Use: "serve-volume", Short: "Serve the folder that backups are kept in to the controller", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v.CA = os.Getenv(handover.EnvCA)
			if err := v.Run(cmd.Context()); err != nil {
				return &exitError{exitFindings, fmt.Errorf("serving %s: %w", v.Folder, err)}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&v.URL, "url", "", "where the controller is called; its CA is in "+handover.EnvCA)
	flags.StringVar(&v.TokenFile, "token-file", "", "file with this pod's token")
	flags.StringVar(&v.Folder, "folder", "", "folder that backups are kept in")
	return cmd
}
