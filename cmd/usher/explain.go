package main

import "github.com/spf13/cobra"

func newExplain(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "Explain a rule, a reason, or what an object will do",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Usage() },
	}
	cmd.AddCommand(
		newExplainCronJob(s),
		newExplainPod(s),
		newExplainReason(s),
		newExplainRule(s),
	)
	return cmd
}
