package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
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
		"values":  "f", // Helm's
		"version": "v",
	}
	together := [][]string{{"kubeconfig", "context"}}
	commands(t, func(cmd *cobra.Command, words []string) {
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

// TestFlags_OfKubectlThatACommandLacks checks that each command takes -n, -A and -l,
// or says what to do instead.
func TestFlags_OfKubectlThatACommandLacks(t *testing.T) {
	commands(t, func(cmd *cobra.Command, words []string) {
		if len(words) == 0 || words[0] == "completion" || words[0] == "help" || cmd.Hidden {
			return
		}
		for _, flag := range []string{"namespace", "all-namespaces", "selector"} {
			if cmd.Flags().Lookup(flag) != nil {
				continue
			}
			status, _, errs := command("", append(words[:len(words):len(words)], "--"+flag, "x")...)
			if status != cli.Usage || !strings.HasPrefix(errs, "Error: "+cmd.CommandPath()+" has no flag --"+flag+": ") || strings.Contains(errs, "--help") {
				t.Errorf("%v: status %d, %s", words, status, errs)
			}
		}
	})
}

// TestVersionFlag_PrintsWhatTheCommandPrints compares --version with version.
func TestVersionFlag_PrintsWhatTheCommandPrints(t *testing.T) {
	_, want, _ := command("", "version")
	if status, out, errs := command("", "--version"); status != cli.Clean || out != want || errs != "" {
		t.Errorf("status %d, stdout %q, stderr %q; want %q", status, out, errs, want)
	}
}

var codeWords = regexp.MustCompile("`([^`]*)`")

// TestCommandLineDocument_ListsTheCommandsOfEachFlag compares the table of flags in
// docs/command-line.md with the commands.
func TestCommandLineDocument_ListsTheCommandsOfEachFlag(t *testing.T) {
	text, err := os.ReadFile("../../docs/command-line.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| flag | commands | meaning |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	if len(rows) < 10 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	for _, row := range rows {
		cells := strings.Split(row, " | ")
		var want []string
		for _, word := range codeWords.FindAllStringSubmatch(cells[1], -1) {
			want = append(want, word[1])
		}
		for _, word := range codeWords.FindAllStringSubmatch(cells[0], -1) {
			name, long := strings.CutPrefix(word[1], "--")
			if !long || name == "version" {
				continue
			}
			var got []string
			commands(t, func(cmd *cobra.Command, words []string) {
				if command := strings.Join(words, " "); cmd.Flags().Lookup(name) != nil && command != "explain pod" { // as explain
					got = append(got, command)
				}
			})
			slices.Sort(got)
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("--%s: commands that have it, and those in the document (-have +document):\n%s", name, diff)
			}
		}
	}
}

// TestHelp_Style checks the form of help: a command's summary is an imperative, and
// a flag's description begins with a small letter; neither ends with a full stop.
func TestHelp_Style(t *testing.T) {
	imperative := regexp.MustCompile(`^(Check|Convert|Explain|Generate|Inject|List|Print|Remove|Show)\b`)
	commands(t, func(cmd *cobra.Command, words []string) {
		if !cmd.HasParent() || cmd.Hidden {
			return
		}
		if !imperative.MatchString(cmd.Short) || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%v: the summary is not an imperative without a full stop: %s", words, cmd.Short)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			first, _ := utf8.DecodeRuneInString(f.Usage)
			if f.Usage == "" || unicode.IsUpper(first) && !unicode.IsUpper(rune(f.Usage[1])) || strings.HasSuffix(f.Usage, ".") {
				t.Errorf("%v: --%s is not described by words that begin small, without a full stop: %s", words, f.Name, f.Usage)
			}
		})
	})
}
