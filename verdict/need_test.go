package verdict_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/network"
	"github.com/usher-dev/usher/verdict"
)

// TestJudge_Needs checks which facts a verdict rests on, so that a source with old
// facts reads them again.
func TestJudge_Needs(t *testing.T) {
	silent := strings.Replace(asking, `{inject.usher.dev/logs: "true"}`, "{}", 1)
	lost := strings.Replace(asking, "/logs", "/lost", 1)
	declaring := strings.Replace(asking, `inject.usher.dev/logs: "true"`, "samplecrd.k8s.io/network: blue", 1)
	quiet := strings.Replace(deployment, `annotations: {inject.usher.dev/logs: "true"}`, "annotations: {}", 1)
	own := strings.Replace(deployment, `inject.usher.dev/logs: "true"`, `samplecrd.k8s.io/own-network: "true"`, 1)
	labelled := func(key string) func(*verdict.Facts) {
		return func(f *verdict.Facts) { f.NamespaceLabels = map[string]string{key: "true"} }
	}
	mode := func(options string) func(*verdict.Facts) {
		return func(f *verdict.Facts) {
			parsed, err := template.Parse("logs", map[string]string{template.ConfigKey: "{annotations: {a: \"${param.p}\"}, appContainers: {env: [{name: MODE, value: slow}]}}", template.OptionsKey: options})
			if err != nil {
				t.Fatal(err)
			}
			f.Templates = injector.NewSet(map[string]injector.Entry{"logs": {Template: parsed}})
		}
	}
	autoscaled := func(enforced finding.Level) func(*verdict.Facts) {
		return func(f *verdict.Facts) {
			hpa := object(t, `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: team}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}, maxReplicas: 3}}`)
			f.Lister = workloads{"HorizontalPodAutoscaler": {f.Evaluator.Decode(hpa.APIVersion, hpa.Kind, hpa.JSON)}}
			f.Levels.Enforce, f.Levels.Warn = enforced, finding.Strict
		}
	}
	need := func(f verdict.Fact, names ...string) []verdict.Need { return []verdict.Need{{Fact: f, Names: names}} }
	for name, c := range map[string]struct {
		object, old, options string
		steps                verdict.Steps
		change               func(*verdict.Facts)
		want                 []verdict.Need
	}{
		"an injected pod needs nothing":           {object: asking, steps: verdict.Inject},
		"a pod that does not ask":                 {object: silent, steps: verdict.Inject, want: need(verdict.NamespaceLabels)},
		"an update of one":                        {object: silent, old: silent, steps: verdict.Inject},
		"a workload that does not ask":            {object: quiet, steps: verdict.PropagateOptIn | verdict.Inject, want: need(verdict.NamespaceLabels)},
		"an update of one that changes its pods":  {object: strings.Replace(quiet, "image: a", "image: b", 1), old: quiet, steps: verdict.PropagateOptIn | verdict.Inject, want: need(verdict.NamespaceLabels)},
		"an update of one that changes its scale": {object: strings.Replace(quiet, "replicas: 2", "replicas: 3", 1), old: quiet, steps: verdict.PropagateOptIn | verdict.Inject},
		"a missing template":                      {object: lost, steps: verdict.Inject, want: need(verdict.MissingTemplates, "lost")},
		"a pod that is not held to anything": {object: silent, steps: verdict.VerifyMandatory | verdict.VerifyUpdate,
			want: []verdict.Need{{Fact: verdict.MandatoryTemplates}, {Fact: verdict.NamespaceLabels}}},
		"an update of one that is not":                {object: silent, old: silent, steps: verdict.VerifyMandatory | verdict.VerifyUpdate, want: need(verdict.MandatoryTemplates)},
		"a pod that lacks a mandatory template":       {object: asking, options: "mandatory: true", steps: verdict.VerifyMandatory, want: need(verdict.ReplacedTemplates, "logs")},
		"one whose template is not mandatory here":    {object: asking, steps: verdict.VerifyMandatory, want: []verdict.Need{{Fact: verdict.MandatoryTemplates}, {Fact: verdict.NamespaceLabels}}},
		"a variable that another version may not add": {object: strings.Replace(asking, "image: a}", "image: a, env: [{name: MODE, value: fast}]}", 1), steps: verdict.Inject, change: mode("mandatory: true"), want: need(verdict.ReplacedTemplates, "logs")},
		"a variable that a soft template adds":        {object: strings.Replace(asking, "image: a}", "image: a, env: [{name: MODE, value: fast}]}", 1), steps: verdict.Inject, change: mode("")},
		"a value that the namespace may give":         {object: asking, steps: verdict.Inject, change: mode("{parameters: [{name: p, maxLength: 9, from: [{namespaceAnnotation: example.com/p}]}]}"), want: need(verdict.NamespaceLabels)},
		"a value that only the pod may give":          {object: asking, steps: verdict.Inject, change: mode("{parameters: [{name: p, maxLength: 9, from: [{annotation: example.com/p}]}]}")},
		"a conflict is not that of a version":         {object: strings.Replace(asking, "name: a, image", "name: logs, image", 1), options: "mandatory: true", steps: verdict.Inject},
		"a pod whose Network is missing":              {object: declaring, steps: verdict.Connect, want: need(verdict.Networks)},
		"a pod whose Network exists": {object: declaring, steps: verdict.Connect, change: func(f *verdict.Facts) {
			f.Networks = map[string]network.State{"blue": {Backend: network.MultusBackend}}
		}},
		"a Deployment without a Network":              {object: quiet, steps: verdict.Connect, want: need(verdict.NamespaceLabels)},
		"an update of one without":                    {object: quiet, old: quiet, steps: verdict.Connect},
		"a Deployment whose namespace declares one":   {object: quiet, steps: verdict.Connect, change: labelled(wellknown.OwnNetwork)},
		"a Deployment with its own Network":           {object: own, steps: verdict.Connect},
		"a Deployment whose Network belongs to other": {object: own, steps: verdict.Connect, change: func(f *verdict.Facts) { f.OwnNetworkTaken = true }, want: need(verdict.Networks)},
		"a Namespace that asks for missing templates": {
			object: "{apiVersion: v1, kind: Namespace, metadata: {name: team, labels: {inject.usher.dev/templates: ghost.logs.Wrong, inject.usher.dev/revision: logs.next}}}",
			want:   need(verdict.MissingTemplates, "ghost", "logs/next"),
		},
		"a rule that compares with other objects denies": {object: quiet, steps: verdict.Evaluate, want: need(verdict.OtherObjects), change: autoscaled(finding.Baseline)},
		"one that only warns":                            {object: quiet, steps: verdict.Evaluate, change: autoscaled(finding.Off)},
		"rules that find nothing there":                  {object: quiet, steps: verdict.Evaluate, change: func(f *verdict.Facts) { f.Lister = workloads{} }},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts(t, c.options)
			f.Steps = c.steps
			if c.change != nil {
				c.change(f)
			}
			var old *verdict.Object
			if c.old != "" {
				o := object(t, c.old)
				old = &o
			}
			v, err := verdict.Judge(t.Context(), object(t, c.object), old, f)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, v.Needs); diff != "" {
				t.Errorf("needs of %s (-want +got):\n%s", v.Reason, diff)
			}
		})
	}
}
