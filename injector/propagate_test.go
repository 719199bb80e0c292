package injector

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/injector/podjson"
)

func TestCarry(t *testing.T) {
	const key, alias = "initializer.kubernetes.io/envoy", "inject.usher.dev/envoy"
	deployment := func(own, template string) string {
		return "{kind: Deployment, metadata: {annotations: {" + own + "}}, spec: {template: {" + template + "}}}"
	}
	annotated := func(pairs string) string { return "metadata: {annotations: {" + pairs + "}}" }
	carried := `"` + key + `": "true", "usher.dev/carried": ` + key

	tests := map[string]struct {
		kind, object, old string
		want              map[string]string // the template's annotations afterwards
		warning           string
	}{
		"a key is carried to a template without metadata": {
			object: deployment(`"`+key+`": "true"`, ""),
			want:   map[string]string{key: "true", wellknown.AnnotationCarried: key}, warning: "copied to spec.template.metadata.annotations",
		},
		"a key is carried next to the user's annotations": {
			object: deployment(`"`+key+`": "true"`, annotated("a: b")),
			want:   map[string]string{"a": "b", key: "true", wellknown.AnnotationCarried: key}, warning: "copied to",
		},
		"a refusal is carried as well, and an override": {
			object: deployment(`"`+alias+`": "false", "`+alias+`.image": x`, ""),
			want:   map[string]string{alias: "false", alias + ".image": "x", wellknown.AnnotationCarried: alias + "," + alias + ".image"}, warning: "copied to",
		},
		"other annotations are not": {object: deployment("a: b", annotated("c: d")), want: map[string]string{"c": "d"}},
		"what the user wrote into the template wins": {
			object: deployment(`"`+key+`": "true"`, annotated(`"`+key+`": "false"`)),
			want:   map[string]string{key: "false"}, warning: "the pod template wins",
		},
		"the same in both places needs nothing": {
			object: deployment(`"`+key+`": "true"`, annotated(`"`+key+`": "true"`)), want: map[string]string{key: "true"},
		},
		"a second pass changes nothing": {
			object: deployment(`"`+key+`": "true"`, annotated(carried)), want: map[string]string{key: "true", wellknown.AnnotationCarried: key},
		},
		"a carried key follows its source": {
			object: deployment(`"`+key+`": "false"`, annotated(carried)), old: deployment(`"`+key+`": "true"`, annotated(carried)),
			want: map[string]string{key: "false", wellknown.AnnotationCarried: key}, warning: "copied to",
		},
		"a carried key goes with its source": {
			object: deployment("", annotated(carried)), old: deployment(`"`+key+`": "true"`, annotated(carried)),
			want: map[string]string{}, warning: "was removed",
		},
		"a carried key that the user has changed is the user's": {
			object: deployment("", annotated(`"`+key+`": "false", "usher.dev/carried": `+key)), old: deployment(`"`+key+`": "true"`, annotated(carried)),
			want: map[string]string{key: "false"},
		},
		"a list of carried keys that names another's takes nothing away": {
			object: deployment("", annotated(`"a": b, "usher.dev/carried": "a,`+key+`"`)), old: deployment(`"`+key+`": "true"`, annotated(carried)),
			want: map[string]string{"a": "b"},
		},
		"a new object is all the user's, though it is a copy": {
			object: deployment("", annotated(carried)), want: map[string]string{key: "true"},
		},
		"a CronJob's pods are two templates down": {
			kind:   "CronJob",
			object: "{metadata: {annotations: {" + `"` + key + `": "true"` + "}}, spec: {jobTemplate: {spec: {template: {spec: {}}}}}}",
			want:   map[string]string{key: "true", wellknown.AnnotationCarried: key}, warning: "spec.jobTemplate.spec.template.metadata.annotations",
		},
		"an UPDATE that touches neither the keys nor the template carries nothing": {
			object: strings.Replace(deployment(`"`+key+`": "true", "deployment.kubernetes.io/revision": "2"`, ""), "spec: {", "spec: {replicas: 3, ", 1),
			old:    deployment(`"`+key+`": "true"`, ""), want: nil,
		},
		"an object with a controller is left alone": {
			kind:   "ReplicaSet",
			object: "{metadata: {annotations: {" + `"` + key + `": "true"` + "}, ownerReferences: [{controller: true}]}, spec: {template: {metadata: {annotations: {a: b}}}}}",
			want:   map[string]string{"a": "b"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.kind == "" {
				tc.kind = "Deployment"
			}
			object := fromYAML(t, tc.object)
			var old []byte
			if tc.old != "" {
				old = fromYAML(t, tc.old)
			}
			c, problem := PropagateOptIn(tc.kind, object, old)
			if problem != nil {
				t.Fatal(problem)
			}
			out, err := c.Patch.Apply(object)
			if err != nil {
				t.Fatal(err)
			}
			got, _, _, problem := podjson.TemplateAnnotations(tc.kind, out)
			if problem != nil {
				t.Fatal(problem)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("template annotations (-want +got):\n%s", diff)
			}
			if text := strings.Join(c.Warnings, "\n"); !strings.Contains(text, tc.warning) || tc.warning == "" && text != "" {
				t.Errorf("warnings %q, want %q", text, tc.warning)
			}
		})
	}
}
