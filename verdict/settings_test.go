package verdict_test

import (
	"strings"
	"testing"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies/ruledocs"
	"github.com/usher-dev/usher/verdict"
)

// configMap is a ConfigMap of usher's namespace.
func configMap(name, labels, data string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + ", namespace: usher-system, labels: {" + labels + "}}, data: {" + data + "}}"
}

// TestJudge_Settings judges usher's own settings when they are applied.
func TestJudge_Settings(t *testing.T) {
	for name, c := range map[string]struct {
		object string
		denied bool
		want   []string // beginnings of the findings, in their order
	}{
		"a template":                               {configMap("side-initializer", "", "config: 'containers: [{name: side, image: side@sha256:"+strings.Repeat("1", 64)+"}]'"), false, nil},
		"a ConfigMap that is not a template":       {configMap("notes", "", "a: b"), false, nil},
		"a template that does not parse":           {configMap("side-initializer", "", "config: 'containers: {}'"), true, []string{"data.config"}},
		"a template whose value is a number":       {configMap("side-initializer", "", "config: 7"), true, []string{"data.config: is not a string: write it as a block of text, after config: |"}},
		"a template that ends itself":              {configMap("side-initializer", "", "config: '{containers: [{name: side, image: side}], labels: {ship: done}}', options: 'match: {podSelector: {matchExpressions: [{key: ship, operator: DoesNotExist}]}}'"), false, []string{"data.options: "}},
		"a template with a secret in it":           {configMap("side-initializer", "", `config: 'containers: [{name: side, image: side, env: [{name: PASSWORD, value: hunter2hunter2}]}]'`), false, []string{"data.config.containers[0].env[0].value: template side: "}},
		"a template with an unknown variable":      {configMap("side-initializer", "", `config: 'containers: [{name: side, image: side, args: ["$(PORT)"]}]'`), false, []string{"data.config"}},
		"a template after one that does not exist": {configMap("side-initializer", "", "config: 'containers: [{name: side, image: side}]', options: 'after: [log]'"), true, []string{`data.options.after: names the template "log", which does not exist; did you mean logs?`}},
		"a template after itself":                  {configMap("side-initializer", "", "config: 'containers: [{name: side, image: side}]', options: 'after: [side]'"), true, []string{"data.options.after: is a cycle: side is after side"}},
		"a template in an order that hangs":        {configMap("side-initializer", "", "config: '{volumes: [{name: v}], initContainers: [{name: prep, image: p, volumeMounts: [{name: v, mountPath: /v}]}], containers: [{name: side, image: side, volumeMounts: [{name: v, mountPath: /v, readOnly: true}]}]}'"), false, []string{"data.config: template side: in pods that get its containers as native sidecars, the container side"}},
		"a template that conflicts":                {configMap("side-initializer", "", "config: 'containers: [{name: logs, image: other}]'"), false, []string{"data.config: "}},
		"a revision with a template's name":        {configMap("side-initializer", "usher.dev/revision-of: side, usher.dev/revision: next", "config: 'containers: []'"), true, []string{"metadata.name: ", "data.config: has no container"}},
		"a configuration":                          {configMap("usher", "", "config.yaml: '{apiVersion: config.usher.dev/v1alpha1, kind: Configuration}'"), false, nil},
		"a configuration without its key":          {configMap("usher", "", "config: ''"), true, []string{"data: has no key config.yaml: write the configuration under it"}},
		"a label of a Namespace not a string":      {"{apiVersion: v1, kind: Namespace, metadata: {name: team, labels: {policy.usher.dev/enforce: off}}}", true, []string{`metadata.labels[policy.usher.dev/enforce]: is false, which is not a string: put the value in quotes`}},
		"own Networks for neither yes nor no":      {"{apiVersion: v1, kind: Namespace, metadata: {name: team, labels: {samplecrd.k8s.io/own-network: always}}}", true, []string{`metadata.labels[samplecrd.k8s.io/own-network]: is "always"; write "true" or "false"`}},
		"a revision that cannot be picked":         {"{apiVersion: v1, kind: Namespace, metadata: {name: team, labels: {inject.usher.dev/revision: A.B}}}", false, []string{"metadata.labels[inject.usher.dev/revision]: label inject.usher.dev/revision "}},
		"a revision that does not exist":           {"{apiVersion: v1, kind: Namespace, metadata: {name: team, labels: {inject.usher.dev/revision: logs.next}}}", false, []string{`metadata.labels[inject.usher.dev/revision]: label inject.usher.dev/revision selects the revision "next" of the template "logs", which does not exist`}},
		"a template's name that is not a name":     {"{apiVersion: v1, kind: Namespace, metadata: {name: team, labels: {inject.usher.dev/templates: Logs}}}", false, []string{"metadata.labels[inject.usher.dev/templates]: label inject.usher.dev/templates: write names of templates separated by dots"}},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := verdict.Judge(t.Context(), object(t, c.object), nil, facts(t, ""))
			if err != nil {
				t.Fatal(err)
			}
			if v.Denied != c.denied {
				t.Errorf("denied %v, want %v", v.Denied, c.denied)
			}
			var got []string
			for _, f := range v.Findings {
				if f.Rule == ruledocs.TemplateEffect && f.Level == finding.Strict {
					continue // what the template does to every pod
				}
				text := f.Message
				if f.Field != "" {
					text = f.Field + ": " + text
				}
				got = append(got, text)
			}
			if len(got) != len(c.want) {
				t.Fatalf("findings %q, want %q", got, c.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], c.want[i]) {
					t.Errorf("%q does not begin with %q", got[i], c.want[i])
				}
			}
		})
	}
}

// TestJudge_TheServerDoesNotRepeatASetting omits what the API server says about a
// field that usher has already explained.
func TestJudge_TheServerDoesNotRepeatASetting(t *testing.T) {
	f := facts(t, "")
	f.Validator = server{refuses: []finding.Finding{
		{Rule: "value", Field: "data.config", Message: "Invalid type", RefusedByServer: true},
		{Rule: "value", Field: "metadata.labels", Message: "Invalid value", RefusedByServer: true},
	}}
	v, err := verdict.Judge(t.Context(), object(t, configMap("side-initializer", "", "config: 7")), nil, f)
	if err != nil {
		t.Fatal(err)
	}
	var fields []string
	for _, found := range v.Effects(verdict.Denies) {
		fields = append(fields, found.Field)
	}
	if len(fields) != 2 || fields[0] != "data.config" || fields[1] != "metadata.labels" {
		t.Errorf("denied for %q", fields)
	}
}
