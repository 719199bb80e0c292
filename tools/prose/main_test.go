package main

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

// found returns the lines and words of the hits in a file.
func found(t *testing.T, name, text string, comments bool) []string {
	t.Helper()
	list, err := os.ReadFile("words.tsv")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := parseRules(string(list))
	if err != nil {
		t.Fatal(err)
	}
	var hits []string
	for _, b := range blocks(name, text, comments) {
		for _, h := range check(rules, b) {
			hits = append(hits, fmt.Sprintf("%d: %.12s", h.line, h.message))
		}
	}
	return hits
}

func TestCheck(t *testing.T) {
	tests := map[string]struct {
		file, text string
		want       []string
	}{
		"a paragraph":                   {"a.md", "A URL\nis no\npath.", []string{`2: "is no": wri`}},
		"a word that is no longer used": {"a.md", "It is no longer used, and there are no pods.", nil},
		"code and addresses":            {"a.md", "See `is no` and [a page](is no).\n\n    is no\n\n```\nis no\n```\n", nil},
		"a cell of a table":             {"a.md", "| a |\n|---|\n| one; two; three alone |\n", []string{`3: "alone": wri`}},
		"leave alone":                   {"a.md", "usher leaves the pods alone.", nil},
		"a subject":                     {"a.md", "It is so. What it does is this. It ends.", []string{`1: ". What": be`}},
		"a subject that begins":         {"a.md", "What it does is this.", []string{`1: "What": begi`}},
		"a question and a heading":      {"a.md", "# What it does\n\nIt ends. What does it do?", nil},
		"semicolons":                    {"a.md", "- a; b\n- a; b; c", []string{"2: 2 semicolons"}},
		"a description":                 {"a.yaml", "kind: CustomResourceDefinition\nx:\n  description: |-\n    The next\n    one is left by nobody.\n  type: none alone\n", []string{`5: "nobody": na`}},
		"a comment of YAML":             {"a.yaml", "# -- Written anew.\na: anew\n", []string{`1: "anew": writ`}},
		"Go":                            {"a.go", "package a\n\n// A is next\n// beside b.\nvar a = \"is no\" + \"beside\"\n", []string{`4: "beside": wr`, `5: "is no": wri`}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := found(t, tc.file, tc.text, true); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestCheck_HelpAndMessages plants bad texts where commands, rules and controllers
// have theirs.
func TestCheck_HelpAndMessages(t *testing.T) {
	const text = `package a

// The comment is next to nothing anew.
var cmd = &cobra.Command{
	Use:   "check",
	Short: "Check what nobody else checks",
	Long: ` + "`Check files.\n\nWhat is found goes to standard output.`" + `,
}

func init() {
	cmd.Flags().String("level", "", "level that is no default")
	register(policies.Rule{Summary: "A field is set beside another", Fix: "remove one"})
	events.Eventf(o, nil, "Warning", "Failed", "Failed", "the pod %s is to be mended", name)
}
`
	want := []string{`6: "nobody": na`, `7: ". What": be`, `13: "is no": wri`, `14: "beside": wr`, `15: "mended": wr`}
	if got := found(t, "a.go", text, false); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCheck_NotesAndAlerts(t *testing.T) {
	for name, tc := range map[string]struct{ file, text, want string }{
		"notes of a chart": {"NOTES.txt", "usher runs.\n\n    is no\n\nIt is no\nwebhook.\n", `5: "is no": wri`},
		"an alert":         {"alerts.yaml", "# Rules.\ngroups:\n- rules:\n  - alert: A\n    annotations:\n      summary: Beside usher nothing runs\n", `6: "Beside": wr`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := found(t, tc.file, tc.text, true); !slices.Equal(got, []string{tc.want}) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestParseRules_BadLine_IsAnError(t *testing.T) {
	for _, text := range []string{"one field", "(\tadvice", "a\tb\t("} {
		if _, err := parseRules(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
