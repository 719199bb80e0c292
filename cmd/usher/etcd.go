package main

import (
	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

func newEtcd(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "etcd",
		Short: "Check etcd clusters, managed by usher or not",
		Args:  cli.NoArguments("usher etcd doctor checks a cluster"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	withoutKubernetes(cmd)
	cmd.AddCommand(newEtcdDoctor(s))
	return cmd
}

// withoutKubernetes says what to do instead of the flags that select objects.
func withoutKubernetes(cmd *cobra.Command) {
	cli.WithoutCluster(cmd, "it asks etcd; name its members with usher etcd doctor --endpoints")
}
