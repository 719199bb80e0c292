package main

import (
	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/cli/explain"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/facts/kubeconfig"
	"github.com/usher-dev/usher/finding"
)

const explainNamespaceLong = `Explain which levels the labels of a namespace set, and which of its existing
workloads would be denied, or would get a warning, if they were created now.

usher reads the namespace and its workloads with your rights, and judges them
like the webhook. Objects with a controller count as part of it. With --enforce it
assumes another level, to see its effect before you set the label.

Exit status: 0 explained, 2 bad usage, or objects that cannot be read.`

// newExplainNamespace returns the command that explains the levels of a
// namespace.
func newExplainNamespace(s streams) *cobra.Command {
	var connect cli.Connection
	var own, output, enforce string
	cmd := &cobra.Command{
		Use:     "namespace NAME",
		Aliases: []string{"ns", "namespaces"},
		Short:   "Explain the levels of a namespace, and which of its workloads they would deny",
		Long:    explainNamespaceLong,
		Example: `  usher explain namespace team
  usher explain namespace team --enforce baseline -o json`,
		Args:              cli.OneArgument("the name of a namespace", "team"),
		ValidArgsFunction: connect.CompleteNamespaces,
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := connect.Config()
			if err != nil {
				return err
			}
			cluster, err := kubeconfig.Connect(cmd.Context(), config, kubeconfig.Installation{Own: own})
			if err != nil {
				return err
			}
			explained, err := explain.Explainer{Cluster: cluster}.Namespace(cmd.Context(), args[0], enforce)
			if err != nil {
				return err
			}
			if output == "text" {
				return explained.WriteText(s.out)
			}
			return printData(s.out, output, explained)
		},
	}
	cli.OwnNamespace(cmd, &own)
	cli.Choose(cmd, &enforce, cli.Choice{
		Name: "enforce", Usage: "assume this level for the label policy.usher.dev/enforce", Values: append(finding.LevelNames(), finding.Off.String()),
	})
	cli.Output(cmd, &output, "text", "json", "yaml")
	connect.RegisterUser(cmd)
	cli.Without(cmd, "the namespace is its argument, as in usher explain namespace team", cli.NamespaceFlag)
	cli.Without(cmd, "it explains one namespace; usher status counts the levels of every namespace", cli.AllNamespacesFlag)
	cli.Without(cmd, "it looks at every workload of the namespace; usher explain -l selects pods", cli.SelectorFlag)
	return cmd
}
