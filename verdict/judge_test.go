package verdict_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/related"
	"github.com/usher-dev/usher/policies/rules"
	"github.com/usher-dev/usher/policies/transition"
	"github.com/usher-dev/usher/verdict"
)

const (
	logs = "containers: [{name: logs, image: example.com/logs:1}]\n"

	asking = `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: team, annotations: {inject.usher.dev/logs: "true"}}, spec: {containers: [{name: a, image: a}]}}`

	deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: team, annotations: {inject.usher.dev/logs: "true"}}, spec: {
  replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}`
)

// object reads a manifest as a surface does.
func object(t *testing.T, text string) verdict.Object {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var head struct {
		APIVersion, Kind string
		Metadata         struct{ Namespace, Name string }
	}
	if err := yaml.Unmarshal(raw, &head); err != nil {
		t.Fatal(err)
	}
	return verdict.Object{APIVersion: head.APIVersion, Kind: head.Kind, Namespace: head.Metadata.Namespace, Name: head.Metadata.Name, JSON: raw}
}

// facts are those of a cluster with the template logs.
func facts(t *testing.T, options string) *verdict.Facts {
	t.Helper()
	template, err := template.Parse("logs", map[string]string{template.ConfigKey: logs, template.OptionsKey: options})
	if err != nil {
		t.Fatal(err)
	}
	evaluator, err := rules.New(policies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	world := &verdict.World{
		Scope: decision.Scope{ReleaseNamespace: "usher-system"}, Configuration: c, NativeSidecars: true,
		Templates: injector.NewSet(map[string]injector.Entry{"logs": {Template: template, ConfigMap: "logs-initializer"}}),
		Evaluator: evaluator, Transitions: transition.All(),
	}
	return world.About(nil, verdict.All)
}

// effects lists the findings that deny or warn about injection and settings, as
// text.
func effects(v *verdict.Verdict) []string {
	var lines []string
	for _, f := range v.Findings {
		if f.Source != verdict.FromRule {
			lines = append(lines, fmt.Sprintf("%s %s", f.Effect, f.Code()))
		}
	}
	return lines
}

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		object, old, options string
		steps                verdict.Steps
		change               func(*verdict.Facts)
		denied, podsDenied   bool
		reason               reason.Reason
		effects              []string
		patch, changes       bool
	}{
		"a pod that asks is injected": {
			object: asking, steps: verdict.Inject, reason: reason.Injected, patch: true, changes: true,
		},
		"a pod that does not ask is left alone": {
			object: strings.Replace(asking, `{inject.usher.dev/logs: "true"}`, "{}", 1), steps: verdict.Inject, reason: reason.NotAsked,
		},
		"a workload's pods get what its own patch does not hold": {
			object: deployment, steps: verdict.PropagateOptIn | verdict.Inject, reason: reason.Injected,
			effects: []string{"warns inject-warning"}, patch: true, changes: true,
		},
		"a conflict denies the pod": {
			object: strings.Replace(asking, "name: a, image", "name: logs, image", 1), steps: verdict.Inject,
			denied: true, reason: reason.ConflictName, effects: []string{"denies conflict-container"},
		},
		"a conflict denies the pods of a workload": {
			object: strings.Replace(deployment, "name: a, image", "name: logs, image", 1), steps: verdict.PropagateOptIn | verdict.Inject,
			podsDenied: true, reason: reason.ConflictName, effects: []string{"warns inject-warning", "denies-pods conflict-container"}, patch: true, changes: true,
		},
		"a mandatory template denies the workload": {
			object: strings.Replace(deployment, "name: a, image", "name: logs, image", 1), options: "mandatory: true", steps: verdict.PropagateOptIn | verdict.Inject,
			denied: true, reason: reason.ConflictName, effects: []string{"warns inject-warning", "denies conflict-container"}, patch: true, changes: true,
		},
		"an UPDATE of neither opt-in nor template injects nothing": {
			object: strings.Replace(deployment, "replicas: 2", "replicas: 3", 1), old: deployment, steps: verdict.PropagateOptIn | verdict.Inject, reason: reason.NotAsked,
		},
		"rules judge what the pods will be": {
			object: asking, reason: reason.PolicyWarned, patch: true, changes: true,
			change: func(f *verdict.Facts) { f.Levels.Warn = finding.Strict },
		},
		"a template that is missing and may exist elsewhere": {
			object: strings.Replace(asking, "/logs", "/lost", 1), steps: verdict.Inject,
			change: func(f *verdict.Facts) { f.UnseenTemplates = "only the templates given were looked at" },
			denied: true, reason: reason.TemplateMissing, effects: []string{"denies template-missing"},
		},
		"a second ConfigMap of a template": {
			object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: usher-system, labels: {usher.dev/template: logs}}, data: {config: 'containers: [{name: a, image: i}]'}}",
			denied: true, reason: reason.TemplateInvalid, effects: []string{"denies template-invalid"},
		},
		"a configuration that cannot be used": {
			object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: usher, namespace: usher-system}, data: {config.yaml: 'kind: Nothing'}}",
			denied: true, reason: reason.ConfigurationInvalid, effects: []string{"denies configuration-invalid"},
		},
		"a label of a Namespace that was there before": {
			object: "{apiVersion: v1, kind: Namespace, metadata: {name: team, labels: {policy.usher.dev/enforce: high, a: b}}}",
			old:    "{apiVersion: v1, kind: Namespace, metadata: {name: team, labels: {policy.usher.dev/enforce: high}}}",
			reason: reason.TemplateValid,
		},
		"a label of a Namespace that asks for what no file holds": {
			object: "{apiVersion: v1, kind: Namespace, metadata: {name: team, labels: {inject.usher.dev/templates: ghost}}}",
			change: func(f *verdict.Facts) { f.UnseenTemplates = "only the templates given were looked at" },
			reason: reason.TemplateMissing, effects: []string{"warns template-missing"},
		},
		"an empty label of a Namespace that was not": {
			object: "{apiVersion: v1, kind: Namespace, metadata: {name: team, labels: {policy.usher.dev/audit: ''}}}",
			old:    "{apiVersion: v1, kind: Namespace, metadata: {name: team}}",
			denied: true, reason: reason.BadValue, effects: []string{"denies bad-value"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts(t, c.options)
			if c.steps != 0 {
				f.Steps = c.steps
			}
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
			if v.Denied != c.denied || v.PodsDenied != c.podsDenied || v.Reason != c.reason {
				t.Errorf("denied %v, pods denied %v, %s; want %v, %v, %s", v.Denied, v.PodsDenied, v.Reason, c.denied, c.podsDenied, c.reason)
			}
			if diff := cmp.Diff(c.effects, effects(v)); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
			if (len(v.Patch) > 0) != c.patch || (len(v.Changes) > 0) != c.changes {
				t.Errorf("patch %s, changes %s", v.Patch.JSON(), v.Changes.JSON())
			}
		})
	}
}

// TestJudge_IsPure calls Judge twice with the same facts: nothing of the first
// verdict may leak into the second.
func TestJudge_IsPure(t *testing.T) {
	f := facts(t, "")
	for _, text := range []string{asking, deployment} {
		o := object(t, text)
		before := slices.Clone(o.JSON)
		first, err := verdict.Judge(t.Context(), o, nil, f)
		if err != nil {
			t.Fatal(err)
		}
		second, err := verdict.Judge(t.Context(), o, nil, f)
		if err != nil {
			t.Fatal(err)
		}
		if string(first.Changes.JSON()) != string(second.Changes.JSON()) || len(first.Findings) != len(second.Findings) || first.Reason != second.Reason {
			t.Errorf("%s: the second verdict differs from the first", o.Kind)
		}
		if !slices.Equal(before, o.JSON) {
			t.Errorf("%s: the object was changed", o.Kind)
		}
	}
}

// TestJudge_OnlyWhatAChangeIntroducesDenies expects only a warning for a
// finding that existed before the change.
func TestJudge_OnlyWhatAChangeIntroducesDenies(t *testing.T) {
	f := facts(t, "")
	f.Steps = verdict.Evaluate | verdict.Compare
	idle := "{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: team}, spec: {completions: 0, parallelism: 1, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}"
	f.Levels.Enforce = finding.Baseline
	v, err := verdict.Judge(t.Context(), object(t, idle), nil, f)
	if err != nil || !v.Denied || v.Reason != reason.PolicyDenied {
		t.Fatalf("CREATE: %v, %+v", err, v)
	}
	old := object(t, idle)
	v, err = verdict.Judge(t.Context(), object(t, strings.Replace(idle, "name: j,", "name: j, labels: {a: b},", 1)), &old, f)
	if err != nil || v.Denied || v.Reason != reason.PolicyWarned {
		t.Errorf("UPDATE of what was there: %v, denied %v, %s", err, v.Denied, v.Reason)
	}
}

// TestJudge_AFindingMovesWithItsContainer expects only a warning for an
// existing finding, even if the user or injection adds containers before its
// container.
func TestJudge_AFindingMovesWithItsContainer(t *testing.T) {
	const one = `{name: a, image: a, resources: {requests: {memory: 1Gi}, limits: {memory: 1Mi}}, livenessProbe: {periodSeconds: 1, httpGet: {port: 80}}, readinessProbe: {periodSeconds: 1, httpGet: {port: 80}}}`
	workload := func(containers, annotations string) string {
		return "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: team}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}, annotations: {" +
			annotations + "}}, spec: {containers: [" + containers + "]}}}}"
	}
	f := facts(t, "native: never")
	f.Levels.Enforce = finding.Strict
	for name, is := range map[string]string{
		"of the user":      workload("{name: first, image: first@sha256:"+strings.Repeat("1", 64)+"}, "+one, ""),
		"of the template":  workload(one, `inject.usher.dev/logs: "true"`),
		"in another order": workload(one+", {name: last, image: last:1}", ""),
	} {
		old := object(t, workload(one, ""))
		v, err := verdict.Judge(t.Context(), object(t, is), &old, f)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, w := range v.Findings {
			if w.Rule != "probe-identical" {
				continue
			}
			found = true
			if w.Effect == verdict.Denies {
				t.Errorf("%s: %s denies, although it was there", name, w.Statement())
			}
		}
		if !found {
			t.Errorf("%s: probe-identical is not found", name)
		}
	}
}

// TestJudge_UnseenObjects_AreReported uses a rule that asks for unreadable objects.
func TestJudge_UnseenObjects_AreReported(t *testing.T) {
	f := facts(t, "")
	f.Lister = blind{}
	v, err := verdict.Judge(t.Context(), object(t, deployment), nil, f)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(v.Incomplete, "no HorizontalPodAutoscaler was read") {
		t.Errorf("Incomplete is %q", v.Incomplete)
	}
}

// blind is a lister that cannot read anything.
type blind struct{}

func (blind) List(kind, _ string) ([]*policies.Object, string) {
	return nil, "no " + kind + " was read"
}

func (blind) Index(kind, _ string) (*related.Index, string) {
	return &related.Index{}, "no " + kind + " was read"
}

func (blind) Get(kind, _, _ string) (*policies.Object, string) {
	return nil, "no " + kind + " was read"
}
