package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// HelpWidth is the largest number of columns of a line of help.
const HelpWidth = 100

// wrapHelp wraps the descriptions of flags.
func wrapHelp(root *cobra.Command) {
	wrapped := fmt.Sprintf("(%%s.FlagUsagesWrapped %d)", HelpWidth)
	root.SetUsageTemplate(strings.NewReplacer(
		".LocalFlags.FlagUsages", fmt.Sprintf(wrapped, ".LocalFlags"),
		".InheritedFlags.FlagUsages", fmt.Sprintf(wrapped, ".InheritedFlags"),
	).Replace(root.UsageTemplate()))
}
