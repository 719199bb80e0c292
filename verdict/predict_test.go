package verdict_test

import (
	"strings"
	"testing"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/verdict"
)

// TestJudge_PredictsRefusals judges objects whose pods Pod Security or a LimitRange
// refuses.
func TestJudge_PredictsRefusals(t *testing.T) {
	const small = `{apiVersion: v1, kind: LimitRange, metadata: {name: small, namespace: team}, spec: {limits: [{type: Container, max: {memory: 64Mi}}]}}`
	big := strings.Replace(deployment, "image: a}", "image: a, resources: {limits: {memory: 1Gi}}}", 1)
	const security = `the namespace enforces the Pod Security level "restricted:latest": `
	for name, c := range map[string]struct {
		object, level, limits string
		explain               bool
		want                  []string
	}{
		"nothing is enforced":                    {object: deployment},
		"injected pods of a workload":            {object: deployment, level: "restricted", want: []string{"the pods will be refused with and without injection: " + security}},
		"pods that get nothing":                  {object: strings.Replace(deployment, "/logs", "/not-a-key.", 1), level: "restricted"},
		"pods that get nothing, explained":       {object: strings.Replace(deployment, `{inject.usher.dev/logs: "true"}`, "{}", 1), level: "restricted", explain: true, want: []string{"the pods will be refused: " + security}},
		"a pod, explained":                       {object: asking, level: "restricted", explain: true, want: []string{"the pods will be refused with and without injection: " + security}},
		"a pod that the API server refuses":      {object: asking, level: "restricted"},
		"a level that does not exist":            {object: deployment, level: "strictest"},
		"a LimitRange":                           {object: big, limits: small, want: []string{"the pods will be refused, with and without injection: "}},
		"a LimitRange that allows the pods":      {object: big, limits: strings.Replace(small, "64Mi", "2Gi", 1)},
		"Pod Security and a LimitRange together": {object: big, level: "restricted", limits: small, want: []string{security, "the pods will be refused, with and without injection: "}},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts(t, "")
			world := *f.World
			world.Explain = c.explain
			labels := map[string]string{wellknown.LabelEnforce: "off"}
			if c.level != "" {
				labels["pod-security.kubernetes.io/enforce"] = c.level
			}
			f = world.About(labels, verdict.All)
			if c.limits != "" {
				o := object(t, c.limits)
				f.Lister = workloads{"LimitRange": {f.Evaluator.Decode(o.APIVersion, o.Kind, o.JSON)}}
			}
			v, err := verdict.Judge(t.Context(), object(t, c.object), nil, f)
			if err != nil {
				t.Fatal(err)
			}
			var predicted []string
			for _, found := range v.Findings {
				if found.Predicted {
					predicted = append(predicted, found.Message)
				}
			}
			if len(predicted) != len(c.want) {
				t.Fatalf("predicted %q, want %q", predicted, c.want)
			}
			for i, want := range c.want {
				if !strings.Contains(predicted[i], want) {
					t.Errorf("%q does not contain %q", predicted[i], want)
				}
			}
		})
	}
}
