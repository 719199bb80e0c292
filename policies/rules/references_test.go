package rules

import (
	"path/filepath"
	"testing"

	"github.com/usher-dev/usher/policies"
)

// TestRulesOfUnits_AreNotEvaluatedInACluster evaluates their fixtures with a Lister that
// knows the same objects, but not whether others follow.
func TestRulesOfUnits_AreNotEvaluatedInACluster(t *testing.T) {
	e, err := New(policies.Options{Groups: policies.Groups()})
	if err != nil {
		t.Fatal(err)
	}
	together := 0
	for _, r := range All() {
		if !r.Together {
			continue
		}
		together++
		paths, err := filepath.Glob(filepath.Join("testdata", r.ID, "deny", "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			f := readFixture(t, e, path)
			f.input.Lister = struct{ policies.Lister }{f}
			for _, found := range f.findings(e) {
				if found.Rule == r.ID {
					t.Errorf("%s: %s", path, found.Message)
				}
			}
		}
	}
	if together == 0 {
		t.Error("there are no such rules")
	}
}
