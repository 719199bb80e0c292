package rules

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
)

// rolling is a Deployment with a strategy, and a claim that its pods use.
const rolling = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  strategy: STRATEGY
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      serviceAccountName: web
      containers:
      - name: web
        image: registry.example/web:1
        resources: {requests: {memory: 1Mi}}
        readinessProbe: {tcpSocket: {port: 80}}
        livenessProbe: {exec: {command: [live]}}
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

// TestFixesOfRollouts_CallForNoOther follows the advice of each finding about a rollout
// with an exclusive volume: none must lead to another finding of its level or a more
// severe one.
func TestFixesOfRollouts_CallForNoOther(t *testing.T) {
	evaluator, err := New(policies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	decoded := func(apiVersion, kind, text string) *policies.Object {
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return evaluator.Decode(apiVersion, kind, raw)
	}
	for name, c := range map[string]struct {
		mode, before, rule string
		after              []string
	}{
		"an addition of pods":                   {"ReadWriteOnce", "{rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}", "deploy-rwo-surge", []string{"{rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}", "{type: Recreate}"}},
		"an outage that nobody wrote":           {"ReadWriteOnce", "{rollingUpdate: {maxSurge: 0, maxUnavailable: 25%}}", "deploy-hidden-outage", []string{"{rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}"}},
		"an outage, with a volume of all nodes": {"ReadWriteMany", "{rollingUpdate: {maxSurge: 0, maxUnavailable: 25%}}", "deploy-hidden-outage", []string{"{rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}"}},
	} {
		t.Run(name, func(t *testing.T) {
			claim := decoded("v1", "PersistentVolumeClaim", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: ["+c.mode+"], resources: {requests: {storage: 1Gi}}}")
			judge := func(strategy string) []finding.Finding {
				d := decoded("apps/v1", "Deployment", strings.Replace(rolling, "STRATEGY", strategy, 1))
				return evaluator.Evaluate(d, policies.Input{Lister: &fixture{objects: []*policies.Object{d, claim}}})
			}
			found := false
			for _, f := range judge(c.before) {
				found = found || f.Rule == c.rule
			}
			if !found {
				t.Fatalf("%s does not find %s", c.rule, c.before)
			}
			for _, strategy := range c.after {
				for _, f := range judge(strategy) {
					if finding.Baseline.Includes(f.Level) {
						t.Errorf("after %s: %s: %s", strategy, f.Rule, f.Message)
					}
				}
			}
		})
	}
}
