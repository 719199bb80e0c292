package deploy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/cli/chart"
	"github.com/usher-dev/usher/deploy"
)

// TestUsherRendersTheChartAsHelmDoes compares the renderer of usher's command line
// with Helm's.
func TestUsherRendersTheChartAsHelmDoes(t *testing.T) {
	c, err := chart.Load(deploy.Files, deploy.Chart)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range map[string]string{"by default": "", "with every value": everything} {
		t.Run(name, func(t *testing.T) {
			var given map[string]any
			if err := yaml.Unmarshal([]byte(values), &given); err != nil {
				t.Fatal(err)
			}
			manifests, err := chart.Render(c, chart.Release{Name: "usher", Namespace: "usher-system", Service: "Helm"}, given)
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, m := range manifests {
				texts = append(texts, m.Text)
			}
			if diff := cmp.Diff(objects(t, rendered(t, values)), objects(t, strings.Join(texts, "\n---\n"))); diff != "" {
				t.Errorf("-helm +usher:\n%s", diff)
			}
		})
	}
}
