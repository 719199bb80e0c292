package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies/transition"
	"github.com/usher-dev/usher/suggest"
)

func newTransitions(s streams) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "transitions [KIND]",
		Short: "Print the effect of changes, by kind and field",
		Long: `usher transitions prints the table of changes to existing objects: for each kind
and field, the effect of a change, who refuses it, what it breaks, and the steps
around it. KIND is a kind such as Deployment, in upper or lower case; without it
the command prints every kind.`,
		Args:              cli.AtMostOneArgument("one kind", "Deployment"),
		ValidArgsFunction: cobra.FixedCompletions(kindNames(transition.All().Kinds()), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, args []string) error {
			kinds := transition.All().Kinds()
			if len(args) == 1 {
				var err error
				if kinds, err = selectKind(kinds, args[0]); err != nil {
					return err
				}
			}
			switch output {
			case "markdown":
				_, err := io.WriteString(s.out, transition.Markdown(kinds))
				return err
			case "json", "yaml":
				return printData(s.out, output, map[string]any{"kinds": kinds})
			}
			return printTransitions(s.out, kinds)
		},
	}
	cli.Output(cmd, &output, tableFormats...)
	cli.WithoutCluster(cmd, "it lists usher's own table, and asks no cluster")
	return cmd
}

// selectKind finds a kind by its name in upper or lower case, also in the
// plural.
func selectKind(kinds []*transition.Kind, name string) ([]*transition.Kind, error) {
	for _, k := range kinds {
		if strings.EqualFold(k.Kind, name) || strings.EqualFold(k.Kind+"s", name) {
			return []*transition.Kind{k}, nil
		}
	}
	return nil, fmt.Errorf("usher knows no transitions of kind %q: %s", name, suggest.Instead(name, kindNames(kinds)))
}

func kindNames(kinds []*transition.Kind) []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.Kind)
	}
	return names
}

func printTransitions(w io.Writer, kinds []*transition.Kind) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "KIND\tFIELD\tWHEN\tOUTCOME\tREFUSED BY\tLEVEL\tSINCE\tROW")
	for _, k := range kinds {
		for _, r := range k.Rows {
			level := ""
			if r.Level != finding.Off {
				level = r.Level.String()
			}
			for i, path := range r.Paths {
				if i == 0 {
					fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.Kind, path, r.When, r.Outcome, r.RefusedBy, level, r.Since, r.ID)
				} else {
					fmt.Fprintf(t, "%s\t%s\t\t\t\t\t\t\n", k.Kind, path)
				}
			}
		}
		for _, d := range k.Defaults {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t\t\t\n", k.Kind, transition.DefaultPath(d), "anything else", d.Outcome, d.RefusedBy)
		}
	}
	return t.Flush()
}
