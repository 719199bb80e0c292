package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"
)

// NoArguments accepts no argument. instead says what to run with one; "" refers to
// the help.
func NoArguments(instead string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return fmt.Errorf("%s takes no argument, but got %q: %s", cmd.CommandPath(), args[0], cmp.Or(instead, "see "+cmd.CommandPath()+" --help"))
	}
}

// OneArgument expects one argument. what names it with its article, such as "the
// id of a rule", and example is a value.
func OneArgument(what, example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s needs %s, as in %s %s", cmd.CommandPath(), what, cmd.CommandPath(), example)
		}
		return AtMostOneArgument(what, example)(cmd, args)
	}
}

// AtMostOneArgument accepts one argument, as OneArgument, or none.
func AtMostOneArgument(what, example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < 2 {
			return nil
		}
		return fmt.Errorf("%s takes %s, but got %d arguments: run it once for each, as in %s %s", cmd.CommandPath(), what, len(args), cmd.CommandPath(), example)
	}
}
