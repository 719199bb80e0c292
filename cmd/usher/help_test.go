package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

// commands calls visit for each command of the command line, with its words.
func commands(t *testing.T, visit func(cmd *cobra.Command, words []string)) {
	t.Helper()
	visited := 0
	var walk func(cmd *cobra.Command, words []string)
	walk = func(cmd *cobra.Command, words []string) {
		visited++
		visit(cmd, words)
		for _, sub := range cmd.Commands() {
			walk(sub, append(words[:len(words):len(words)], sub.Name()))
		}
	}
	walk(newRoot(streams{}), nil)
	if visited < 15 {
		t.Errorf("visited %d commands", visited)
	}
}

func TestHelp_NoLineIsWide(t *testing.T) {
	commands(t, func(cmd *cobra.Command, words []string) {
		if cmd.DisableFlagParsing {
			return
		}
		status, out, errs := command("", append(words, "--help")...)
		if status != cli.Clean || errs != "" || out == "" {
			t.Errorf("%v: status %d, stderr %q", words, status, errs)
		}
		for line := range strings.Lines(out) {
			if width := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > cli.HelpWidth {
				t.Errorf("%v: %d columns: %s", words, width, line)
			}
		}
	})
}

// TestFlags_MeanTheSameEverywhere checks that commands have kubectl's flags
// under kubectl's names.
func TestFlags_MeanTheSameEverywhere(t *testing.T) {
	shorthands := map[string]string{
		"filename": "f", "output": "o", "namespace": "n", "selector": "l", "watch": "w", "all-namespaces": "A", "template": "t", "help": "h",
		"values": "f", // Helm's
	}
	together := [][]string{{"kubeconfig", "context"}}
	commands(t, func(cmd *cobra.Command, words []string) {
		if len(words) > 0 && words[0] == "uninstall" {
			return // its --namespace is usher's own
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			want, known := shorthands[f.Name]
			if f.Name == "values" && cmd.Flags().Lookup("filename") != nil {
				want = "" // -f names the objects
			}
			if known && f.Shorthand != want || !known && f.Shorthand != "" {
				t.Errorf("%v: --%s has the shorthand %q, want %q", words, f.Name, f.Shorthand, want)
			}
		})
		for _, flags := range append(together, []string{"kubeconfig", "as", "as-group", "request-timeout"}) {
			for _, name := range flags[1:] {
				if (cmd.Flags().Lookup(flags[0]) == nil) != (cmd.Flags().Lookup(name) == nil) {
					t.Errorf("%v: has only one of --%s and --%s", words, flags[0], name)
				}
			}
		}
	})
}
