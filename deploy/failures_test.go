package deploy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// A proof shows that a row of the failure table is true.
type proof struct {
	// Tests are pairs of folder and name.
	Tests []string `json:"tests"`
	// Untested explains why no test exists.
	Untested string `json:"untested"`
}

func TestEveryRowOfTheFailureTableIsProved(t *testing.T) {
	text, err := os.ReadFile("testdata/failures.yaml")
	if err != nil {
		t.Fatal(err)
	}
	proofs := map[string]proof{}
	if err := yaml.UnmarshalStrict(text, &proofs); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(failures(t), slices.Sorted(maps.Keys(proofs))); diff != "" {
		t.Errorf("rows (-docs/operations.md +testdata/failures.yaml):\n%s", diff)
	}
	known := map[string][]string{}
	for row, p := range proofs {
		if (len(p.Tests) > 0) == (p.Untested != "") {
			t.Errorf("%s: write tests, or why it is untested", row)
		}
		for _, test := range p.Tests {
			folder, name, _ := strings.Cut(test, " ")
			if known[folder] == nil {
				known[folder] = testsIn(t, filepath.Join("..", folder))
			}
			if !slices.Contains(known[folder], name) {
				t.Errorf("%s: test %s does not exist in %s", row, name, folder)
			}
		}
	}
}

// failures returns the first cells of the table, sorted.
func failures(t *testing.T) []string {
	t.Helper()
	manual, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(manual), "\n## Failure modes\n")
	if !found {
		t.Fatal("docs/operations.md has no section Failure modes")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var rows []string
	for _, row := range regexp.MustCompile(`(?m)^\| (.+?) \|`).FindAllStringSubmatch(section, -1)[1:] { // the first is the heading
		rows = append(rows, row[1])
	}
	return slices.Sorted(slices.Values(rows))
}

// testsIn returns the names of a folder's tests.
func testsIn(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Errorf("%s has no tests: %v", folder, err)
	}
	names := []string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}
