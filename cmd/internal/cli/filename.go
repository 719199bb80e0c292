package cli

import "github.com/spf13/cobra"

// FilenameFlag is the name of the flag that names files, like kubectl's.
const FilenameFlag = "filename"

// Filenames adds -f, which names the files of a command. what says what they
// contain.
func Filenames(cmd *cobra.Command, value *[]string, what string) {
	cmd.Flags().StringSliceVarP(value, FilenameFlag, "f", nil, `files, folders, or "-" for standard input, with `+what)
	complete(cmd, FilenameFlag, Manifests)
}

// Manifests completes files of manifests, and folders.
func Manifests(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}

// Complete completes the values of flags of a command.
func Complete(cmd *cobra.Command, values cobra.CompletionFunc, flags ...string) {
	for _, flag := range flags {
		complete(cmd, flag, values)
	}
}
