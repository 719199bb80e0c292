package main

import "github.com/spf13/cobra"

func newExplain(s streams) *cobra.Command {
	cmd := newExplainWorkload(s, "explain KIND/NAME... | -l SELECTOR | -f FILE", "")
	cmd.Short = "Explain the templates of pods, the levels of a namespace, a rule, a reason, or when a CronJob runs"
	cmd.AddCommand(
		newExplainCronJob(s),
		newExplainNamespace(s),
		newExplainWorkload(s, "pod NAME... | KIND/NAME... | -l SELECTOR | -f FILE", "pod"),
		newExplainReason(s),
		newExplainRule(s),
	)
	return cmd
}
