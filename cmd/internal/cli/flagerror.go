package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/usher-dev/usher/suggest"
)

// without is the prefix of a command's annotations that say what to do instead of a
// flag that the command lacks.
const without = "without-"

// Without says what to do instead of some flags that users know from other commands.
// The text follows a colon; {command} in it is the command.
func Without(cmd *cobra.Command, instead string, flags ...string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	for _, flag := range flags {
		cmd.Annotations[without+flag] = instead
	}
}

// WithoutCluster says that a command asks no cluster, unless Without has said more
// about one of the flags that select objects in one.
func WithoutCluster(cmd *cobra.Command, instead string) {
	for _, flag := range []string{NamespaceFlag, AllNamespacesFlag, SelectorFlag, "kubeconfig", "context", "as"} {
		if cmd.Flags().Lookup(flag) == nil && cmd.Annotations[without+flag] == "" {
			Without(cmd, instead, flag)
		}
	}
}

// WithoutSelection says that a command reads objects from files, whatever their
// namespace and labels.
func WithoutSelection(cmd *cobra.Command) {
	Without(cmd, "it reads files, and the objects of every namespace in them; usher drift -A looks at a cluster", AllNamespacesFlag)
	Without(cmd, "it reads every object of the files; select them before, as in kubectl get deployments -l app=web -o yaml | {command} -", SelectorFlag)
}

// letters are kubectl's shorthands of flags.
var letters = map[string]string{"A": AllNamespacesFlag, "f": FilenameFlag, "l": SelectorFlag, "n": NamespaceFlag, "o": OutputFlag, "w": "watch"}

// flagError says which flag was probably meant, what to do without a flag, or what
// to write as its value.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &invalid):
		return fmt.Errorf("--%s is %q; write %s", invalid.GetFlag().Name, invalid.GetValue(), form(invalid.GetFlag()))
	case errors.As(err, &missing):
		return fmt.Errorf("--%s needs a value: %s", missing.GetFlag().Name, missing.GetFlag().Usage)
	case !cmd.HasParent() && cmd.Flags().NArg() > 0: // the flag of a misspelt command
		return unknownCommand(cmd, cmd.Flags().Args())
	case errors.As(err, &unknown):
		return unknownFlag(cmd, unknown)
	}
	return err
}

func unknownFlag(cmd *cobra.Command, err *pflag.NotExistError) error {
	written := err.GetSpecifiedName()
	name, shown := cmp.Or(letters[written], written), "--"+written
	if err.GetSpecifiedShortnames() != "" {
		shown = "-" + written
	}
	for c := cmd; c != nil; c = c.Parent() {
		if instead := c.Annotations[without+name]; instead != "" {
			return fmt.Errorf("%s has no flag %s: %s", cmd.CommandPath(), shown, strings.ReplaceAll(instead, "{command}", cmd.CommandPath()))
		}
	}
	var flags []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
	instead := "see " + cmd.CommandPath() + " --help"
	if nearest := suggest.Nearest(written, flags); nearest != "" {
		instead = "did you mean --" + nearest + "?"
	}
	return fmt.Errorf("%s has no flag %s: %s", cmd.CommandPath(), shown, instead)
}

// form says what to write as the value of a flag.
func form(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool":
		return "true or false"
	case "int":
		return "a number, such as " + f.DefValue
	case "duration":
		return "a duration with its unit, such as 30s, 10m or 6h"
	case "stringToString":
		return "KEY=VALUE, such as policy.usher.dev/enforce=baseline"
	}
	return "a value for this: " + f.Usage
}

// Commands makes a command that only groups subcommands show its help, and suggest the
// subcommand that the user probably meant.
func Commands(root *cobra.Command) {
	root.Args = cobra.ArbitraryArgs
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknownCommand(cmd, args)
	}
}

func unknownCommand(root *cobra.Command, args []string) error {
	word := args[0]
	var near []string
	exact := ""
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			if !sub.IsAvailableCommand() {
				continue
			}
			if sub.Name() == word || sub.HasAlias(word) {
				exact = cmp.Or(exact, sub.CommandPath())
			}
			if cmd == root {
				near = append(near, sub.Name())
			}
			walk(sub)
		}
	}
	walk(root)
	instead := root.CommandPath() + " help lists the commands"
	if nearest := suggest.Nearest(word, near); nearest != "" {
		instead = "did you mean " + root.CommandPath() + " " + nearest + "?"
	}
	if exact != "" {
		instead = "did you mean " + strings.Join(append([]string{exact}, args[1:]...), " ") + "?"
	}
	return fmt.Errorf("%s has no command %q: %s", root.CommandPath(), word, instead)
}
