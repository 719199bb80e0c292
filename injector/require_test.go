package injector

import (
	"strings"
	"testing"
	"time"

	"github.com/usher-dev/usher/injector/decision"
)

// TestMandatory_ReplacedVersionsAreCompared changes a pod that has the version
// from before an edit: what others may not change of the version, they may not
// change while it still counts.
func TestMandatory_ReplacedVersionsAreCompared(t *testing.T) {
	const variables = "{appContainers: {env: [{name: A, value: a}]}, labels: {side: a}}"
	edit := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		was, options string
		from, to     string
	}{
		"a container":                         {guarding, "mandatory: true", "registry.example.com/side:1", "evil:1"},
		"a container of an optional template": {guarding, "", "registry.example.com/side:1", "evil:1"},
		"a volume of an optional template":    {guarding, "", `"configMap":{"name":"c"}`, `"configMap":{"name":"evil"}`},
		"a label, with no container":          {variables, "mandatory: true", `"side":"a"`, `"side":"b"`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			was := mustParse(t, "side", tc.was, tc.options)
			is := mustParse(t, "side", strings.NewReplacer("side:1", "side:2", "value: a", "value: b").Replace(tc.was), "mandatory: true")
			r := Request{Object: fromYAML(t, asking(asks, "")), Templates: set(was)}
			once := apply(t, r, Decide(r))
			r.Now, r.Templates = edit, NewSet(map[string]Entry{"side": {Template: is, Replaced: []Replaced{{was, edit}}}})
			for text, denied := range map[string]bool{string(once): false, strings.Replace(string(once), tc.from, tc.to, 1): true} {
				r.Object = []byte(text)
				for by, d := range map[string]*decision.Decision{"Decide": Decide(r), "VerifyMandatory": VerifyMandatory(r)} {
					if d.Denied != denied || !denied && len(d.Patch) > 0 {
						t.Errorf("%s: denied %v (%s), want %v, of %s", by, d.Denied, d.Message(), denied, text)
					}
				}
			}
		})
	}
}
