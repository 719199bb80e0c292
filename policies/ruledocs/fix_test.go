package ruledocs_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/policies/ruledocs"
)

// imperatives are the verbs that a fix begins with.
var imperatives = []string{"add", "apply", "change", "check", "correct", "create", "leave", "move", "pass", "remove", "rename", "restore", "run", "write"}

// withoutValue are the entries whose fix has no value that every user could paste.
var withoutValue = map[string]string{
	"cronjob-name-52":           "the name is the user's",
	"duplicate-field":           "the finding names the field",
	"etcd-ignored-field":        "the finding names the field",
	"etcd-reserved-env":         "the finding names the variable",
	"etcd-reserved-label":       "the finding names the label",
	"inject-conflict-container": "the names are the user's",
	"inject-conflict-volume":    "the names are the user's",
	"job-indexed-hostname":      "the name is the user's",
	"pod-fields":                "the API server's message has the values",
	"refused-by-server":         "the API server's message has the values",
	"sts-name-52":               "the name is the user's",
	"template-conflict":         "the names are the user's",
	"warned-by-server":          "the API server's message has the values",
}

// TestFixes_AreImperativesWithAValueToPaste also parses the values that are YAML.
func TestFixes_AreImperativesWithAValueToPaste(t *testing.T) {
	excepted := maps.Clone(withoutValue)
	for _, e := range ruledocs.Entries() {
		verb, _, _ := strings.Cut(e.Fix, " ")
		if !slices.Contains(imperatives, verb) || strings.HasSuffix(e.Fix, ".") {
			t.Errorf("%s: the fix is not an imperative of %q without a full stop: %s", e.ID, imperatives, e.Fix)
		}
		parts := strings.Split(e.Fix, "`")
		if (len(parts) < 3) != (withoutValue[e.ID] != "") || len(parts)%2 == 0 {
			t.Errorf("%s: the fix lacks a value in backticks, or withoutValue lists it wrongly: %s", e.ID, e.Fix)
		}
		delete(excepted, e.ID)
		for i := 1; i < len(parts); i += 2 {
			var value any
			if err := yaml.Unmarshal([]byte(parts[i]), &value); err != nil && strings.Contains(parts[i], ": ") {
				t.Errorf("%s: %s: %v", e.ID, parts[i], err)
			}
		}
	}
	for id := range excepted {
		t.Errorf("withoutValue lists %s, which is not an entry", id)
	}
}
