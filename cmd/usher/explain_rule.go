package main

import (
	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/policies/ruledocs"
)

func newExplainRule(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "rule ID",
		Aliases:           []string{"rules"},
		Short:             "Explain what a rule finds, why it matters and what to write instead",
		Args:              cli.OneArgument("the id of a rule", "job-ttl"),
		ValidArgsFunction: completeRules,
		RunE: func(_ *cobra.Command, args []string) error {
			entry, err := ruledocs.Find(args[0])
			if err != nil {
				return err
			}
			_, err = s.out.Write(ruledocs.Text(entry))
			return err
		},
	}
	cli.WithoutCluster(cmd, "it describes usher's own rules, and asks no cluster")
	return cmd
}
