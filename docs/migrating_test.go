package docs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A row of the table of kube-linter's checks.
type row struct {
	check string
	// byDefault says whether kube-linter runs the check without a configuration.
	byDefault bool
	// rules are those of usher that find the same, the first of them at least.
	rules []string
	text  string
}

var (
	checkRow = regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\| (yes)? ?\\| (.+) \\|$")
	ruleLink = regexp.MustCompile(`\[([a-z0-9-]+)\]\(rules\.md#([a-z0-9-]+)\)`)
)

// checks returns the rows of the table in docs/migrating-kube-linter.md.
func checks(t *testing.T) []row {
	t.Helper()
	_, table, found := strings.Cut(read(t, "docs/migrating-kube-linter.md"), "\n## Checks\n")
	if !found {
		t.Fatal("the document has no section Checks")
	}
	var rows []row
	for _, cells := range checkRow.FindAllStringSubmatch(table, -1) {
		r := row{check: cells[1], byDefault: cells[2] == "yes", text: cells[3]}
		if !strings.HasPrefix(r.text, "does not check ") {
			for _, rule := range ruleLink.FindAllStringSubmatch(r.text, -1) {
				r.rules = append(r.rules, rule[1])
			}
		}
		rows = append(rows, r)
	}
	return rows
}

// TestEveryCheckOfKubeLinterHasARow compares the table with kube-linter's list.
func TestEveryCheckOfKubeLinterHasARow(t *testing.T) {
	var got []string
	for _, r := range checks(t) {
		name := r.check
		if r.byDefault {
			name += "\tdefault"
		}
		got = append(got, name)
		if len(r.rules) == 0 && !regexp.MustCompile(`^does not check .*( yet$|because |: |; |, )`).MatchString(r.text) {
			t.Errorf("%s: the row names no rule and no reason: %s", r.check, r.text)
		}
	}
	list := strings.Split(strings.TrimSpace(read(t, "docs/testdata/kube-linter/checks.txt")), "\n")[1:]
	if diff := cmp.Diff(list, got); diff != "" {
		t.Errorf("checks (-kube-linter +table):\n%s", diff)
	}
}

// TestTheNumberOfChecksWithARule keeps the sentence at the top true.
func TestTheNumberOfChecksWithARule(t *testing.T) {
	rows, with := checks(t), 0
	for _, r := range rows {
		if len(r.rules) > 0 {
			with++
		}
	}
	want := fmt.Sprintf("usher has a rule for %d of kube-linter's %d checks", with, len(rows))
	if !strings.Contains(read(t, "docs/migrating-kube-linter.md"), want) {
		t.Errorf("the document does not say %q", want)
	}
}

// TestUsherFindsWhatTheTableSays checks an example of each check that has a rule.
func TestUsherFindsWhatTheTableSays(t *testing.T) {
	examples, err := filepath.Glob("testdata/kube-linter/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range checks(t) {
		if len(r.rules) == 0 {
			continue
		}
		t.Run(r.check, func(t *testing.T) {
			file := "testdata/kube-linter/" + r.check + ".yaml"
			if !slices.Contains(examples, file) {
				t.Fatalf("%s is missing", file)
			}
			examples = slices.DeleteFunc(examples, func(name string) bool { return name == file })
			// The rules of references judge a folder, in which the file is the only one.
			alone := filepath.Join(t.TempDir(), filepath.Base(file))
			if err := os.WriteFile(alone, []byte(read(t, "docs/"+file)), 0o600); err != nil {
				t.Fatal(err)
			}
			out := usher(t, "check", "--level", "strict", "--group", "references", "--group", "security", "-o", "json", alone)
			var report struct {
				Findings []struct{ Rule string }
			}
			if err := json.Unmarshal([]byte(out), &report); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for _, finding := range report.Findings {
				if finding.Rule == r.rules[0] {
					return
				}
			}
			t.Errorf("usher check finds %v, want %s", report.Findings, r.rules[0])
		})
	}
	if len(examples) > 0 {
		t.Errorf("the table has no check with a rule for %v", examples)
	}
}

// TestEveryPolicyOfKyvernoExists compares the tables with the policies of Kyverno's
// library: the well-known folders are complete, and no row has a name that does not
// exist.
func TestEveryPolicyOfKyvernoExists(t *testing.T) {
	policies := strings.Split(strings.TrimSpace(read(t, "docs/testdata/kyverno/policies.txt")), "\n")[1:]
	named := map[string]bool{}
	for _, cells := range regexp.MustCompile("(?m)^\\| `([a-z0-9/-]+/[a-z0-9-]+)` \\|").FindAllStringSubmatch(read(t, "docs/migrating-kyverno.md"), -1) {
		named[cells[1]] = true
		if !slices.Contains(policies, cells[1]) {
			t.Errorf("%s does not exist", cells[1])
		}
	}
	for _, policy := range policies {
		if !strings.HasPrefix(policy, "other/") && !named[policy] {
			t.Errorf("%s has no row", policy)
		}
	}
}
