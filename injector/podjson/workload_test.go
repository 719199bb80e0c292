package podjson

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTemplate(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, object  string
		want, problem string
	}{
		"of a Pod":                {"Pod", `{"spec":{}}`, `{"spec":{}}`, ""},
		"of a Deployment":         {"Deployment", `{"kind":"Deployment", "spec": {"replicas":1, "template": {"spec": {"a": 1.0}} }, "status":{"spec":0}}`, `{"spec": {"a": 1.0}}`, ""},
		"of a CronJob":            {"CronJob", `{"spec":{"template":1,"jobTemplate":{"template":2,"spec":{"template":{}}}}}`, `{}`, ""},
		"of a PodTemplate":        {"PodTemplate", `{"spec":0,"template":{"x":"}"}}`, `{"x":"}"}`, ""},
		"an escaped name":         {"Deployment", `{"sp\u0065c":{"template":{}}}`, `{}`, ""},
		"a template of any type":  {"Deployment", `{"spec":{"template":[1]}}`, `[1]`, ""},
		"no spec":                 {"Deployment", `{"metadata":{}}`, "", "spec: is missing"},
		"null":                    {"Deployment", `null`, "", "spec: is missing"},
		"no template":             {"Deployment", `{"spec":{}}`, "", "spec.template: is missing"},
		"a template that is null": {"CronJob", `{"spec":{"jobTemplate":{"spec":{"template":null}}}}`, "", "spec.jobTemplate.spec.template: is missing"},
		"a spec that is a list":   {"Deployment", `{"spec":[]}`, "", "spec: is a list; must be an object"},
		"an object that is one":   {"Deployment", `7`, "", "is a number; must be an object"},
		"a name twice before":     {"Deployment", `{"metadata":{"a":1,"a":2},"spec":{"template":{}}}`, "", "metadata.a: is written twice"},
		"a name twice after":      {"Deployment", `{"spec":{"template":{}},"status":{"a":[{"b":1,"b":2}]}}`, "", "status.a[0].b: is written twice"},
		"two templates":           {"Deployment", `{"spec":{"template":{},"template":{}}}`, "", "spec.template: is written twice"},
		"more than an object":     {"Deployment", `{"spec":{"template":{}}} 1`, "", "is not JSON: invalid character '1' after top-level value at byte 25"},
		"an object that ends":     {"Deployment", `{"spec":{"template":{}`, "", "spec: is not JSON: unexpected EOF at byte 22"},
		"a kind without pods":     {"Service", `{}`, "", `kind: is "Service", which is not a pod and has no pod template`},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, problem := Template(tc.kind, []byte(tc.object))
			said := ""
			if problem != nil {
				said = strings.TrimPrefix(problem.String(), "undecodable: ")
			}
			if diff := cmp.Diff([]string{tc.want, tc.problem}, []string{string(got), said}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
