package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/suggest"
)

func newExplainReason(s streams) *cobra.Command {
	return &cobra.Command{
		Use:               "reason [CODE]",
		Short:             "Explain a reason code of injection, or list them",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(reasonCodes(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				for _, r := range reason.All() {
					fmt.Fprintf(s.out, "%-20s %s\n", r, r.Summary()+".")
				}
				return nil
			}
			text := reason.Reason(args[0]).Explain()
			if text == "" {
				return fmt.Errorf("%q is not a reason code; `usher explain reason` lists them%s", args[0], suggest.Question(": ", args[0], reasonCodes()))
			}
			_, err := fmt.Fprintln(s.out, text)
			return err
		},
	}
}

func reasonCodes() []string {
	var codes []string
	for _, r := range reason.All() {
		codes = append(codes, string(r))
	}
	return codes
}
