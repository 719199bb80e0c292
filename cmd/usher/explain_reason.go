package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/suggest"
)

func newExplainReason(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "reason [CODE]",
		Aliases:           []string{"reasons"},
		Short:             "Explain a reason code of injection, or list them",
		Args:              cli.AtMostOneArgument("the code of one reason", "template-missing"),
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
				return fmt.Errorf("%q is not a reason code: %s", args[0], cmp.Or(suggest.Question("", args[0], reasonCodes()), "usher explain reason lists them"))
			}
			_, err := fmt.Fprintln(s.out, text)
			return err
		},
	}
	cli.WithoutCluster(cmd, "it describes usher's own reasons, and asks no cluster")
	return cmd
}

func reasonCodes() []string {
	var codes []string
	for _, r := range reason.All() {
		codes = append(codes, string(r))
	}
	return codes
}
