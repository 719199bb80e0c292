package cli

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// execute runs a command with two choices.
func execute(args ...string) (status int, errs string) {
	root := &cobra.Command{Use: "root"}
	var format, level, dry string
	run := &cobra.Command{Use: "run", RunE: func(cmd *cobra.Command, _ []string) error {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), format, level, dry)
		return err
	}}
	Output(run, &format, "text", "json", "yaml")
	Choose(run, &level, Choice{Name: "level", Usage: "the level", Values: []string{"baseline", "strict"}})
	Choose(run, &dry, Choice{Name: "dry-run", Default: "none", Bare: "client", Values: []string{"none", "client", "server"}})
	root.AddCommand(run)
	var out, stderr strings.Builder
	status = Execute(context.Background(), root, append([]string{"run"}, args...), strings.NewReader(""), &out, &stderr)
	return status, out.String() + stderr.String()
}

func TestChoose(t *testing.T) {
	for name, tc := range map[string]struct {
		args   []string
		status int
		errs   string
	}{
		"the defaults":             {errs: "text  none\n"},
		"every flag":               {args: []string{"-o", "json", "--level=strict", "--dry-run=server"}, errs: "json strict server\n"},
		"a flag without its value": {args: []string{"--dry-run"}, errs: "text  client\n"},
		"every wrong value": {
			args: []string{"-o", "jsn", "--level", "high", "--dry-run=servre"}, status: Usage,
			errs: "Error: --dry-run is \"servre\"; did you mean server?\n--level is \"high\"; write baseline or strict\n--output is \"jsn\"; did you mean json?\n",
		},
		"a misspelt flag":      {args: []string{"--levl=strict"}, status: Usage, errs: "Error: root run has no flag --levl: did you mean --level?\n"},
		"an unrelated flag":    {args: []string{"--color"}, status: Usage, errs: "Error: root run has no flag --color: see root run --help\n"},
		"an unknown shorthand": {args: []string{"-x"}, status: Usage, errs: "Error: root run has no flag -x: see root run --help\n"},
	} {
		t.Run(name, func(t *testing.T) {
			status, errs := execute(tc.args...)
			if diff := cmp.Diff(tc.errs, errs); diff != "" || status != tc.status {
				t.Errorf("status %d, stderr (-want +got):\n%s", status, diff)
			}
		})
	}
}
