package ruledocs_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/policies/ruledocs"
)

func TestTheDocumentOfRulesIsCurrent(t *testing.T) {
	written, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(written), string(ruledocs.Markdown(ruledocs.Entries()))); diff != "" {
		t.Errorf("docs/rules.md is stale, run make generate (-written +current):\n%s", diff)
	}
}
