package main

import (
	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/policies/ruledocs"
)

func newExplainRule(s streams) *cobra.Command {
	return &cobra.Command{
		Use:               "rule ID",
		Short:             "Explain what a rule finds, why it matters and what to write instead",
		Args:              cobra.ExactArgs(1),
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
}
