package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/policies/ruledocs"
)

func newRules(s streams) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List the rules of usher check and the webhook",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return cli.NoArguments("did you mean usher explain rule "+args[0]+"?")(cmd, args)
		},
		RunE: func(*cobra.Command, []string) error {
			out, err := renderRules(ruledocs.Entries(), output)
			if err != nil {
				return err
			}
			_, err = s.out.Write(out)
			return err
		},
	}
	cli.Output(cmd, &output, tableFormats...)
	cli.WithoutCluster(cmd, "it lists usher's own rules, and asks no cluster")
	return cmd
}

// tableFormats are the formats of the tables of rules and transitions.
var tableFormats = []string{"text", "json", "yaml", "markdown"}

func renderRules(entries []ruledocs.Entry, format string) ([]byte, error) {
	switch format {
	case "markdown":
		return ruledocs.Markdown(entries), nil
	case "json":
		out, err := json.MarshalIndent(entries, "", "  ")
		return append(out, '\n'), err
	case "yaml":
		out, err := json.Marshal(entries)
		if err != nil {
			return nil, err
		}
		return manifest.YAML(out, nil)
	}
	return ruledocs.Table(entries), nil
}
